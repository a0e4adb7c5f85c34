"""How long a launch of collectives takes, about: what a plan says before anything runs, and from which time limits are made."""

from __future__ import annotations

import math

from accept_node.collective_rows import sizes as sizes_of

GPU_ENGINES = ("nccl-tests", "rccl-tests")
# Estimates, said before anything runs: seconds to start ranks, GB/s of a world, seconds of a size where the engine caps it itself
STARTS_S = {"nccl-tests": (15, 0.02), "rccl-tests": (15, 0.02), "torch": (10, 0.3), "mpi": (1.5, 0.3)}
RATE_GBYTES_S, CAPPED_S = 100.0, 0.4


def seconds(launch) -> float:
    """How long a launch takes, about."""
    ranks = len(launch["nodes"]) * launch["ranks_per_node"]
    base, each = STARTS_S[launch["engine"]]
    took, times = base + each * ranks, 2 * (launch["iterations"] + launch["warmup"])
    for size in sizes_of(launch["min_bytes"], launch["max_bytes"], 2):
        if launch["engine"] in GPU_ENGINES:
            took += times * (2e-5 * (1 + math.log2(ranks)) + size / RATE_GBYTES_S / 1e9)
        else:
            took += min(2 * CAPPED_S, times * (2e-5 * ranks + size * ranks / 1e9))
    return took
