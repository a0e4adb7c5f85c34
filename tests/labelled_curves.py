"""Curves with a known answer: healthy ones as published and as simulated, and the same with a dip or a loss of known depth put in.

Published tables are read in place from the corpus and are no part of the project. The tests and `tools/bench collectives` use the same set.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from accept_judge.curves import FACTORS, LOSS, Curve, factor

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"
# Healthy by the corpus's own list: complete runs without a wrong value, on systems that nobody complained of. File -> (collective, ranks)
HEALTHY = {
    "allreduce_a100_16gpu_2node.txt": ("all_reduce", 16),
    "cw_gb200_1440gpu.txt": ("all_reduce", 1440),
    "cw_gb200_nvl72.txt": ("all_reduce", 72),
    "cw_h100_64gpu_sharp.txt": ("all_reduce", 64),
    "gcp_a3high_with_nccl_info.txt": ("all_gather", 16),
    "gcp_a3mega_wide_columns.txt": ("all_gather", 16),
    "gke_gib_allgather_ssh_noise.txt": ("all_gather", 2),
    "iss44_oldformat_noredop_truncated_avg.txt": ("all_gather", 16),
    "iss176_sharp_error_column_1e06.txt": ("all_reduce", 128),
    "sb_nccl_allgather.txt": ("all_gather", 8),
    "sb_nccl_alltoall.txt": ("alltoall", 8),
    "sb_nccl_broadcast.txt": ("broadcast", 8),
    "sb_nccl_reduce.txt": ("reduce", 8),
    "sb_nccl_reducescatter.txt": ("reduce_scatter", 8),
}
NUMBERS = re.compile(r"^\s*(\d+)\s+\d+\s+[a-z]\w*\s+(.*)$")


def table(path: Path) -> np.ndarray:
    """bytes, time out, time in of each row of a published table; columns between type and time differ by version."""
    rows = []
    for line in path.read_text(errors="replace").splitlines():
        found = NUMBERS.match(re.sub(r"\[\d+\] ?", "", line))
        words = found.group(2).split() if found else []
        if len(words) >= 8 and int(found.group(1)):
            rows.append((int(found.group(1)), float(words[-8]), float(words[-4])))
    return np.array(rows)


def curve(collective, ranks, sizes, out, inside, repeats=3, spread=0.01, rng=None) -> Curve:
    """A curve of given times, repeated with a spread; repeats=1: as published."""
    times = np.repeat(np.stack([out, inside])[:, None, :], repeats, axis=1)
    if rng is not None and repeats > 1:
        times = times * np.exp(rng.normal(0, spread, times.shape))
    return Curve(collective, "bare", ("n1", "n2"), ranks, np.asarray(sizes), factor(collective, ranks) * sizes / times / 1000, times)


def published(corpus: Path = CORPUS) -> dict:
    """Name -> (collective, ranks, sizes, time out, time in)."""
    found = {}
    for name, (collective, ranks) in HEALTHY.items():
        rows = table(corpus / "a_nccl" / name)
        found[name] = (collective, ranks, rows[:, 0], rows[:, 1], rows[:, 2])
    return found


def simulated(count: int, rng) -> dict:
    """Healthy curves of latency, bandwidth, and a switch of the library's protocol that costs up to a tenth at one size."""
    found = {}
    for number in range(count):
        collective = rng.choice(list(FACTORS)[:4])
        ranks = int(2 ** rng.integers(2, 11))
        sizes = 2.0 ** np.arange(3, 35)
        plateau, latency = rng.uniform(20, 900), rng.uniform(8, 25) * (1 + np.log2(ranks)) / 3
        half = rng.uniform(0.3, 1.0) * latency * plateau * 1000
        sharp = rng.uniform(0.85, 1.6)  # how abruptly latency gives way to bandwidth
        times = (latency**sharp + (factor(collective, ranks) * sizes / plateau / 1000) ** sharp) ** (1 / sharp)
        times *= 1 + 0.4 * half / (half + sizes) * (sizes > half / 30) * (sizes < half * 2) * 0.3
        times[rng.integers(8, 20)] *= 1 + rng.uniform(0, 0.1)
        found[f"simulated {number}"] = (collective, ranks, sizes, times, times * 0.99)
    return found


def dipped(healthy: Curve, place: int, depth: float, repeats, wide: int = 1) -> Curve:
    """The curve with a dip at sizes[place:place + wide] in some of its repeats: both placements of a size suffer."""
    busbw, times = healthy.busbw.copy(), healthy.times.copy()
    for repeat in repeats:
        busbw[:, repeat, place : place + wide] *= 1 - depth
        times[:, repeat, place : place + wide] /= 1 - depth
    return healthy._replace(busbw=busbw, times=times)


def alarms(found: dict) -> list:
    """What a healthy curve must not have."""
    sagging = found["sag"] is not None and found["sag"]["low_pct"] > LOSS
    return [name for name, wrong in (("dips", found["dips"]), ("jagged", found["jagged"]), ("sag", sagging)) if wrong]


def covers(found: dict, size) -> bool:
    return any(dip["from_bytes"] <= size <= dip["to_bytes"] for dip in found["dips"] or ())
