"""JSON of nccl-tests (`-J file`, 2.17 and later, and the form proposed before it) and of rccl-tests (`-Z json`, an object per line).

`parse(text)` returns the same record as `nccl_tests.parse`. Lines of launchers before the first object are passed over. A file that was
cut keeps the sizes that are complete, and is `partial`.

Format: https://github.com/NVIDIA/nccl-tests, src/util.cu; https://github.com/ROCm/rccl-tests.
"""

from __future__ import annotations

import json
import re

from .. import collective_rows as rows
from . import ParseError

BEGIN = re.compile(r"\{\s*\"(?:version|identifier|#wrong|size|name|algBw|start_time)\"")
RESULT = re.compile(r"\{\s*\"size\"\s*:")
OLD_RESULT = re.compile(r"\"(\d{1,15})\"\s*:\s*(?=\{\s*\"count\")")
DECODE = json.JSONDecoder().raw_decode
NAMES = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "AlltoAll": "alltoall",
    "AllToAll": "alltoall",
    "Broadcast": "broadcast",
    "SendRecv": "sendrecv",
    "Reduce": "reduce",
}


def parse(text: str) -> dict:
    begin = BEGIN.search(text)
    if not begin:
        raise ParseError(f"no JSON of nccl-tests or rccl-tests: {' '.join(text.split())[:80]!r}" if text.strip() else "empty output")
    body = text[begin.start() :]
    found = rows.record()
    try:
        if re.match(r"\{[^{}]*\"inPlace\"", body):
            return _lines(found, body)
        if '"identifier"' in body[:60]:
            return _proposed(found, body)
        return _file(found, body)
    except (TypeError, AttributeError, OverflowError) as error:
        raise ParseError(f"no JSON as nccl-tests writes it: {' '.join(str(error).split())[:120]}") from None


def _whole(body):
    """The document, or None where it is cut."""
    try:
        document = DECODE(body)[0]
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _objects(pattern, body):
    """The complete objects that begin where the pattern says."""
    for match in pattern.finditer(body):
        try:
            yield match, DECODE(body, match.end() if pattern is OLD_RESULT else match.start())[0]
        except (ValueError, RecursionError):
            return


def _number(value):
    """A number; null, "nan" and "N/A" are None."""
    try:
        number = float(value) if not isinstance(value, bool) and value is not None else None
    except (TypeError, ValueError):
        return None
    return number if number is not None and abs(number) != float("inf") and number == number else None


def _count(value):
    number = _number(value)
    return None if number is None else int(number)


def _cut(found):
    rows.add(found, "the JSON is cut: what is complete was kept")


def _file(found, body):
    document = _whole(body)
    if document is None:
        _cut(found)
    head = document or {}
    found["tool"] = "nccl-tests"
    config = head.get("config") or {}
    program = re.search(r"(\w+?)_perf\b", " ".join(str(word) for word in head.get("args") or ()) or body[:4000])
    found["collective"] = program[1].rpartition("/")[2] if program else None
    found["library_version"] = _version(head.get("nccl_version") or (re.search(r'"nccl_version":\s*(\d+)', body) or [0, None])[1])
    devices = config.get("devices") or ()
    found["ranks"], found["hosts"] = len(devices) or None, sorted({str(device["hostname"]) for device in devices})
    numbers = [_count(device["rank"]) for device in devices]
    if len(set(numbers)) < len(numbers):
        rows.add(found, "two ranks of one number: tests that knew nothing of each other", "error")
    found["min_bytes"], found["max_bytes"] = _count(config.get("minimum_bytes")), _count(config.get("maximum_bytes"))
    results = head["results"] if "results" in head else [result for _, result in _objects(RESULT, body)]
    for result in results or ():
        half = [result.get(place) or {} for place in ("out_of_place", "in_place")]
        sides = [(side.get("time", side.get("cpu_time")), side.get("alg_bw"), side.get("bus_bw"), side.get("nwrong")) for side in half]
        _row(found, result.get("size"), *sides)
    found["wrong_values"] = _count((head.get("out_of_bounds") or {}).get("count"))
    found["average_busbw_gbytes_s"] = _number((head.get("average_bus_bandwidth") or {}).get("bandwidth"))
    found["errors"] = [" ".join(str(error).split())[:200] for error in head.get("errors") or () if str(error).strip()][:12]
    for error in found["errors"][:2]:
        rows.add(found, f"broke: {error}")
    if document is not None and "end_time" not in document:
        rows.add(found, "no summary: the output ends before it")
    return rows.whole(found, *rows.wanted(found, _count(config.get("step_factor")) or 0))


def _version(code):
    """22807 is 2.28.7, as NCCL_VERSION makes it since 2.9."""
    code = _count(code)
    return None if not code else f"{code // 10000}.{code % 10000 // 100}.{code % 100}"


def _row(found, size, out, inside):
    size = _count(size)
    if size is None:
        rows.add(found, "a result without its size")
    elif size == 0:
        found["zero_size_rows"] += 1
    else:
        sides = [*(_number(value) for value in out[:3]), _count(out[3]), *(_number(value) for value in inside[:3]), _count(inside[3])]
        found["rows"].append([size, *sides])


def _proposed(found, body):
    document = _whole(body)
    if document is None:
        _cut(found)
    found["tool"] = "nccl-tests"
    found["library_version"] = (re.search(r'"version":\s*"([^"]{1,60})"', body) or [0, None])[1]
    for match, result in _objects(OLD_RESULT, body):
        sides = [[result.get(side + key) for key in ("time", "algbw", "busbw", "error")] for side in ("oop_", "ip_")]
        _row(found, match[1], *sides)
    return rows.whole(found)


def _lines(found, body):
    found["tool"], pairs = "rccl-tests", {}
    for line in body.splitlines():
        if not line.strip():
            continue
        record = _whole(line.strip())
        if record is None or "size" not in record:
            if line.lstrip().startswith("{"):
                _cut(found)
            continue
        found["collective"] = NAMES.get(str(record.get("name")), found["collective"])
        found["ranks"] = _count(record.get("ranks")) or _count(record.get("gpus"))
        side = [record.get(key) for key in ("time", "algBw", "busBw", "#wrong")]
        place = 1 if str(record.get("inPlace")) in ("1", "True", "true") else 0
        sides = pairs.setdefault(_count(record["size"]), [None, None])
        if sides[place] is not None:
            rows.add(found, f"{record['size']} bytes more than once: output of several tests, the first is kept")
            continue
        sides[place] = side
    for size, (out, inside) in pairs.items():
        if out is None or inside is None:
            rows.add(found, f"{size} bytes: one of its two records is missing")
        _row(found, size, out or [None] * 4, inside or [None] * 4)
    return rows.whole(found)
