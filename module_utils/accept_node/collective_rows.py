"""One record per size, whichever benchmark printed it: what parsers of collective benchmarks have in common.

A row is a list in the order of COLUMNS; null is not measured. GB/s are 10^9 bytes per second, as the benchmarks print them. `status`:
`ok` (every size asked for is there, to the summary), `partial` (rows were kept, but something is missing or unreadable: `reasons`),
`error` (no row that could be judged).
"""

from __future__ import annotations

from statistics import median

COLUMNS = (
    "bytes",
    "time_out_us",
    "algbw_out_gbytes_s",
    "busbw_out_gbytes_s",
    "wrong_out",
    "time_in_us",
    "algbw_in_gbytes_s",
    "busbw_in_gbytes_s",
    "wrong_in",
)
HALVES = ((1, 2, 3, 4), (5, 6, 7, 8))
OFF = 0.03  # bandwidth and time of one row may be apart by rounding only; below 1 GB/s two decimals say too little
MAX_NAMED = 6


def record() -> dict:
    """A record of a launch in which nothing was found yet."""
    return {
        "tool": None,
        "tool_version": None,
        "library_version": None,
        "collective": None,
        "ranks": None,
        "hosts": [],
        "min_bytes": None,
        "max_bytes": None,
        "rows": [],
        "zero_size_rows": 0,
        "unfinished_bytes": None,
        "average_busbw_gbytes_s": None,
        "wrong_values": None,
        "warnings": 0,
        "status": "ok",
        "reasons": [],
        "errors": [],
    }


def sizes(min_bytes: int, max_bytes: int, factor: int) -> list:
    """The sizes of a sweep, each `factor` times the one before it."""
    found, size = [], max(1, min_bytes)
    while size <= max_bytes:
        found.append(size)
        size *= factor
    return found


def wanted(found: dict, factor: int) -> tuple:
    """(the sizes that the settings of a record name, the factor between them); no sizes where that is not said."""
    low, high = found["min_bytes"], found["max_bytes"]
    return (sizes(low, high, factor), factor) if factor > 1 and low is not None and high is not None else ([], 2)


def named(values) -> str:
    values = list(values)
    more = f" and {len(values) - MAX_NAMED} more" if len(values) > MAX_NAMED else ""
    return ", ".join(str(value) for value in values[:MAX_NAMED]) + more


def add(found: dict, reason: str, status: str = "partial") -> None:
    """Note a reason once; the worst status stays."""
    if reason not in found["reasons"]:
        found["reasons"].append(reason)
    order = ("ok", "partial", "error")
    found["status"] = max(found["status"], status, key=order.index)


def one_rank(found: dict) -> None:
    """A bus bandwidth of nothing beside an algorithm bandwidth is what a single rank prints: it has no bus."""
    for row in found["rows"]:
        for _, algbw, busbw, _ in HALVES:
            if row[busbw] == 0 and (found["ranks"] == 1 or (row[algbw] or 0) >= 1):
                row[busbw] = None
                add(found, "bus bandwidth 0: one rank alone, nothing went over a bus")


def wrong(found: dict) -> None:
    """Rows with wrong values are whole, and say so."""
    bad = [row[0] for row in found["rows"] if (row[4] or 0) > 0 or (row[8] or 0) > 0]
    if bad:
        add(found, f"wrong values at {named(bad)} bytes", "ok")


def consistent(found: dict) -> None:
    """Bandwidth times time is the same part of the bytes in every row of one table: where it is not, numbers of two ranks were mixed."""
    ratios = []
    for row in found["rows"]:
        for time, algbw, _, _ in HALVES:
            if row[time] and row[algbw] and row[algbw] >= 1:
                ratios.append((row[algbw] * row[time] * 1000 / row[0], row[0]))
    if len(ratios) < 4:
        return
    usual = median(ratio for ratio, _ in ratios)
    off = dict.fromkeys(size for ratio, size in ratios if abs(ratio / usual - 1) > OFF)
    if off:
        add(found, f"time and bandwidth do not belong together at {named(off)} bytes: output of ranks is mixed")


def missing(found: dict, asked, factor: int) -> list:
    """The sizes that have no row. Benchmarks round a size down to whole elements of every rank; what became nothing counts as seen."""
    have = [row[0] for row in found["rows"]]
    return [size for size in asked[found["zero_size_rows"] :] if not any(size / factor < bytes_ <= size for bytes_ in have)]


def whole(found: dict, asked=(), factor: int = 2) -> dict:
    """Say what is missing of the sizes that were asked for, and drop what repeats; the last step of every parser."""
    kept, twice = {}, {}
    for row in found["rows"]:
        (twice if row[0] in kept else kept)[row[0]] = row
    if twice:
        add(found, f"{named(twice)} bytes more than once: output of several tests, the first is kept")
    found["rows"] = [kept[size] for size in sorted(kept)]
    lacking = missing(found, asked, factor)
    if kept and lacking:
        add(found, f"no result for {named(lacking)} bytes")
    if found["unfinished_bytes"] is not None:
        add(found, f"{found['unfinished_bytes']} bytes: began, and no result")
    sides = [time for time, *_ in HALVES if any(row[time] is not None for row in found["rows"])]
    empty = [row[0] for row in found["rows"] if not sides or any(row[time] is None for time in sides)]
    if empty:
        add(found, f"no time for {named(empty)} bytes")
    one_rank(found)
    wrong(found)
    consistent(found)
    if not found["rows"]:
        add(found, "no row of results", "error")
    return found
