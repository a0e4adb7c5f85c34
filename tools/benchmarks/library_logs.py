"""How fast the log of a collective library is read: a launch of 1,440 ranks with all that NCCL_DEBUG=INFO prints of it."""

from __future__ import annotations

import random
import time

from accept_node.parsers import nccl_debug

RANKS, NODE, RACK = 1440, 4, 72
WANTED_MBYTES_S = 50


def log() -> str:
    """Some 34 MB: messages of all ranks, shuffled as they arrive."""
    lines = []
    for rank in range(RANKS):
        say = f"{rank}: r{rank // RACK}t{rank // NODE % 18:02d}:{1000 + rank % NODE}:{1050 + rank % NODE} [{rank % NODE}] NCCL INFO "
        lines += [
            say + "NCCL version 2.27.6+cuda13.0",
            say + "Bootstrap: Using eth0:10.0.0.1<0>",
            say + "NCCL_IB_TC set by environment to 96.",
            say + "NET/IB : Using [0]ibp0:1/RoCE [1]ibp1:1/RoCE [2]ibp2:1/RoCE [3]ibp3:1/RoCE [RO]; OOB eth0:10.0.0.1<0>",
            say + "Using network IB",
            say + f"NVLS multicast support is available on dev {rank % NODE} (NVLS_NCHANNELS 24)",
            say + "MNNVL busId 0x801000 fabric UUID 7a4af5e106e46349.c4fe63d71b7d9aa1 cliqueId 0x7ffe state 3 healthMask 0xff",
            say + f"comm 0x55 rank {rank} nRanks {RANKS} nNodes {RANKS // RACK} localRanks {RACK} localRank {rank % RACK} MNNVL 1",
        ]
        for channel in range(64):
            near, far = (rank + 1) % RANKS, (rank + RACK) % RANKS
            lines.append(f"{say}Channel {channel:02d}/0 : {rank}[{rank % NODE}] -> {near}[{near % NODE}] via P2P/MNNVL")
            lines.append(f"{say}Channel {channel:02d}/0 : {rank}[0] -> {far}[0] [send] via NET/IB/{channel % 4}/GDRDMA")
        for pair in range(32):
            device = f"NCCL Dev {pair % 4} IbDev {pair % 4} Port 1 qpn {500 + pair} mtu 5 GID 3 (0/1064A8C0FFFF0000)"
            lines.append(f"{say}NET/IB: {device} fifoRkey=0x1b9e9c fifoLkey=0x1b9e9c")
            lines.append(f"{say}Connected to proxy localRank {rank % NODE} -> connection 0x73576c004fb0")
            lines.append(say + "Trees [0] 1/-1/-1->0->-1 [1] -1/-1/-1->0->1 [2] 1/-1/-1->0->-1 [3] -1/-1/-1->0->1")
    random.Random(1).shuffle(lines)
    return "\n".join(lines)


def figures():
    text, best = log(), float("inf")
    for _ in range(3):
        start = time.process_time()
        found = nccl_debug.parse(text)
        best = min(best, time.process_time() - start)
    rate = len(text) / 1e6 / best
    whole = found["processes"] == RANKS and found["network"] == "roce" and found["gpudirect"] is True
    yield {
        "name": "library_log_mbytes_s",
        "value": round(rate, 1),
        "unit": "MB/s",
        "target": f">= {WANTED_MBYTES_S}",
        "ok": whole and rate >= WANTED_MBYTES_S,
        "note": f"{len(text) / 1e6:.0f} MB of {RANKS} ranks; processor time, best of three",
    }
