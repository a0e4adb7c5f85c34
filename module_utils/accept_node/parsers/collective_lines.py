"""What this project's own engines (MPI, torch.distributed) print: one JSON object per line, so that a hang leaves all that was measured.

    {"engine": "mpi", "library": "Open MPI 4.1.4", "collective": "all_reduce", "ranks": 4, "hosts": ["n1"], "min_bytes": 8, "max_bytes": 64,
     "factor": 2}
    {"begin": 8}                                                                          before each size
    {"bytes": 8, "time_out_us": 3.1, "wrong_out": 0, "time_in_us": 3.2, "wrong_in": 0}    after it
    {"end": true}                                                                         after the last

`parse(text)` returns the record of ..collective_rows (see nccl_tests), with bandwidths worked out as nccl-tests does: algorithm bandwidth
is bytes by time, bus bandwidth that times what the collective moves over the bus. Other lines, and what stands before an object in its
line, are a launcher's: they are passed over, and kept where they say what broke.

Format: this project's module_utils/accept_node/engines; factors: https://github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md.
"""

from __future__ import annotations

import json

from .. import collective_rows as rows
from . import ParseError
from .nccl_tests import ERRORS, MAX_ERRORS

BUS = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0 if n > 1 else 0.0,
    "sendrecv": lambda n: 1.0 if n > 1 else 0.0,
}
TRACE = ("Error: ", "Exception: ", "RuntimeError", "ImportError", "ModuleNotFoundError", "OSError", "MemoryError")


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: the benchmark has printed nothing")
    found, head, ended, begun = rows.record(), None, False, None
    for line in text.splitlines():
        entry = _object(line)
        if entry is None:
            if (ERRORS.search(line) or any(word in line for word in TRACE)) and len(found["errors"]) < MAX_ERRORS:
                found["errors"].append(" ".join(line.split())[:200])
        elif "engine" in entry:
            if head:
                rows.add(found, "the engine began twice: ranks that knew nothing of each other", "error")
            head = head or entry
        elif "begin" in entry:
            begun = entry["begin"]
        elif "bytes" in entry and head:
            begun = None
            _row(found, entry, head)
        ended |= entry is not None and entry.get("end") is True
    if head is None and not found["errors"]:
        raise ParseError(f"no line of an engine: {' '.join(text.split())[:80]!r}")
    for error in found["errors"][:2]:
        rows.add(found, f"broke: {error}", "ok" if ended else "partial")  # with its last line the output is whole
    return _finish(found, head or {}, ended, begun)


def _object(line):
    at = line.find('{"')
    if at < 0:
        return None
    try:
        entry = json.loads(line[at:])
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _number(value):
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf") else None


def _row(found, entry, head):
    size, ranks = _number(entry["bytes"]), _number(head.get("ranks"))
    factor = BUS.get(str(head.get("collective")))
    if size == 0:
        found["zero_size_rows"] += 1
        return
    if not size or not ranks or factor is None:
        rows.add(found, "a row, or the line before it, without bytes, ranks or collective")
        return
    row = [int(size)]
    for side in ("out", "in"):
        time = _number(entry.get(f"time_{side}_us"))
        algbw = size / time / 1000 if time else None
        wrong = _number(entry.get(f"wrong_{side}"))
        row += [time, algbw and round(algbw, 6), algbw and round(algbw * factor(ranks), 6), None if wrong is None else int(wrong)]
    found["rows"].append(row)


def _finish(found, head, ended, begun):
    found["tool"] = str(head["engine"])[:40] if "engine" in head else None
    found["library_version"] = str(head["library"])[:80] if head.get("library") else None
    found["collective"] = head.get("collective") if head.get("collective") in BUS else None
    for key in ("ranks", "min_bytes", "max_bytes"):
        number = _number(head.get(key))
        found[key] = None if number is None else int(number)
    hosts = head.get("hosts")
    found["hosts"] = sorted({str(host)[:200] for host in hosts}) if isinstance(hosts, list) else []
    if found["rows"] and not ended:
        rows.add(found, "no summary: the output ends before it")
    found["unfinished_bytes"] = int(begun) if _number(begun) is not None else None
    return rows.whole(found, *rows.wanted(found, int(_number(head.get("factor")) or 0)))
