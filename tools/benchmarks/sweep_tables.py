"""How fast the table of a collective is found in the log of 1,440 ranks, and the rows that the library's lines break into."""

from __future__ import annotations

import time

from accept_node.collective_rows import sizes
from accept_node.parsers import nccl_tests

from . import library_logs

WANTED_MBYTES_S = 50
HEAD = "# nccl-tests version 2.19.6 nccl-headers=23007 nccl-library=23007\n# Collective test starting: all_reduce_perf\n"
TITLES = "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"


def text(log: str) -> str:
    """Every third row is broken by a line of the library; the log stands between the rows."""
    asked, lines = sizes(1 << 20, 1 << 34, 2), log.splitlines(keepends=True)
    said = [
        HEAD,
        f"# nThread 1 nGpus 1 minBytes {asked[0]} maxBytes {asked[-1]} step: 2(factor) warmup iters: 5 iters: 20\n#\n# Using devices\n",
    ]
    for rank in range(library_logs.RANKS):
        node = f"r{rank // library_logs.RACK}t{rank // library_logs.NODE % 18:02d}"
        said.append(f"#  Rank {rank:2d} Group  0 Pid {1000 + rank % 4:6d} on {node:>10} device {rank % 4:2d} [0008:01:00] NVIDIA GB300\n")
    said.append(TITLES)
    step, busbw = len(lines) // len(asked), 0.0
    for place, size in enumerate(asked):
        took = 50 + size / 4e5
        half = f"  {took:7.0f}  {size / took / 1000:6.2f}  {size / took / 500:6.2f}      0"
        busbw += float(f"{size / took / 500:.2f}") / len(asked)
        row = f"{size:12d}  {size // 4:12d}  {'float':>8}  {'sum':>6}  {-1:6d}"
        said += [row, lines[place * step].split(": ", 1)[1] if place % 3 == 0 else "", half, half, "\n"]
        said += lines[place * step : (place + 1) * step]
    return "".join([*said, f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {busbw:g} \n#\n"])


def figures():
    whole, best = text(library_logs.log()), float("inf")
    for _ in range(3):
        start = time.process_time()
        found = nccl_tests.parse(whole)
        best = min(best, time.process_time() - start)
    rate = len(whole) / 1e6 / best
    yield {
        "name": "collective_table_mbytes_s",
        "value": round(rate, 1),
        "unit": "MB/s",
        "target": f">= {WANTED_MBYTES_S}",
        "ok": found["status"] == "ok" and found["ranks"] == library_logs.RANKS and len(found["rows"]) == 15 and rate >= WANTED_MBYTES_S,
        "note": f"{len(whole) / 1e6:.0f} MB of {library_logs.RANKS} ranks, broken rows among them; processor time, best of three",
    }
