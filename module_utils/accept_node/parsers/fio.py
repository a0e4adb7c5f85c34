"""`fio --output-format=json` or `json+`, of fio 2.x and 3.x, with whatever stands around the document. `parse(text)` returns::

    {"version": "3.33" | None, "started_at_s": 1796071792 | None, "documents": 1,    more with --status-interval: the last one counts
     "interrupted": bool,       a signal ended it: its figures are those of a shorter run
     "errors": [line],          what fio complained of beside the document; the first 20
     "error_codes": {"5": 7},   errno -> lines that name it
     "global_options": {name: text | [text]},
     "jobs": [{"name": "r1", "host": None | "n1", "group": 0, "error": 0 | None, "runtime_ms": 92 | None,
               "errors_in_all", "first_error": None,    what --continue_on_error passed over
               "options": {name: text | [text]},     a list where an option stands several times (filename)
               "read" | "write" | "trim": None | {"bytes", "bytes_s", "iops", "ios", "short_ios", "dropped_ios", "runtime_ms",
                   "latency_us": None | {"min", "mean", "max"}, "completion_us": the same, "percentiles_us": {"99": 11599.872}}}],
     "disks": [{"name": "vda", "busy_pct": 19.2}] | None}    None where fio prints none

Null is not measured. Sizes are bytes and times microseconds whatever the version printed: fio 2 counts KiB and microseconds, fio 3 bytes
and nanoseconds; the names of the keys say which. A rate of 0 beside bytes that were moved is no rate but none measured. A key that stands
twice with different figures has none. The percentiles are those of completion where fio was not asked for those of the whole latency.

A cut document is refused, and the refusal names fio's own complaint where it made one.
Format: https://fio.readthedocs.io/en/latest/fio_doc.html (JSON output) and https://github.com/axboe/fio, stat.c.
"""

from __future__ import annotations

import json
import re

from ..loose_json import real, whole
from . import ParseError

OPENING = re.compile(r"^\{", re.M)
COMPLAINT = re.compile(
    r"^(?:<[^<>]{1,100}> )?(?:fio|verify|\w+): .*(?:err(?:or)?\b|fail|not loadable|not found|unable|bad |invalid|unknown|cannot)", re.I
)
CODE = re.compile(r"\berr(?:or)?=\s*(\d{1,5})\b")
SIGNAL = re.compile(r"^(?:<[^<>]{1,100}> )?fio: terminating on signal \d+", re.M)
MAX_ERRORS, MAX_JOBS, MAX_DOCUMENTS = 20, 4096, 10000


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: fio has printed nothing")
    document, count, around = _last_document(text)
    errors, codes = _complaints(around)
    if "jobs" not in document and "client_stats" not in document:
        raise ParseError("fio: a JSON document that is none of its own")
    listed = document.get("jobs") or document.get("client_stats")
    jobs = [_job(job) for job in listed if isinstance(job, dict)] if isinstance(listed, list) else []
    jobs = [job for job in jobs if job["name"] != "All clients"]  # their sum, which would count everything twice
    if not jobs:
        raise ParseError("fio: a document without a job" + _because(errors))
    version = re.match(r"fio-(\d[\w.-]*)", str(document.get("fio version")))
    disks = document.get("disk_util")
    return {
        "version": version[1] if version else None,
        "started_at_s": whole(document.get("timestamp")),
        "documents": count,
        "interrupted": bool(SIGNAL.search(around)),
        "errors": errors,
        "error_codes": codes,
        "global_options": _options(document.get("global options")),
        "jobs": jobs[:MAX_JOBS],
        "disks": [_disk(disk) for disk in disks if isinstance(disk, dict)] if isinstance(disks, list) else None,
    }


def _last_document(text):
    """The last document, how many there are, and the text outside them. A cut one is refused, whatever stands before it."""
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=lambda name: None)
    document, count, position, around = None, 0, 0, []
    while count < MAX_DOCUMENTS:
        opening = OPENING.search(text, position) or (re.compile(r"\{").search(text) if count == 0 else None)
        if opening is None:
            break
        around.append(text[position : opening.start()])
        try:
            document, position = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError) as error:
            raise ParseError("fio: its JSON is cut or broken" + _because(_complaints("\n".join(around))[0])) from error
        count += 1
    around.append(text[position:])
    if document is None:
        complaint = _complaints(text)[0] or [" ".join(text.split())[:100]]
        raise ParseError("fio: no JSON" + _because(complaint))
    return document, count, "\n".join(around)


def _pairs(pairs):
    """An object whose keys may stand several times (of a server's options, each does): different texts are all kept, different
    figures are none."""
    found, several = {}, {}
    for key, value in pairs:
        if key not in found:
            found[key] = value
        elif value not in several.get(key, [found[key]]):
            several.setdefault(key, [found[key]]).append(value)
    for key, values in several.items():
        found[key] = values if all(isinstance(value, str) for value in values) else None
    return found


def _complaints(text):
    lines = [" ".join(line.split())[:200] for line in text.splitlines() if COMPLAINT.match(line)]
    codes = {}
    for code in (CODE.search(line) for line in lines):
        if code:
            codes[code[1]] = codes.get(code[1], 0) + 1
    return lines[:MAX_ERRORS], codes


def _because(lines):
    return ": " + lines[0] if lines else ""


def _dict(value):
    return value if isinstance(value, dict) else {}


def _options(value):
    return {key: item for key, item in _dict(value).items() if isinstance(item, (str, list))}


def _job(job):
    return {
        "name": str(job.get("jobname") or ""),
        "host": job["hostname"] if isinstance(job.get("hostname"), str) else None,
        "group": whole(job.get("groupid")),
        "error": whole(job.get("error")),
        "errors_in_all": whole(job.get("total_err")),
        "first_error": whole(job.get("first_error")),
        "runtime_ms": whole(job.get("job_runtime")),
        "options": _options(job.get("job options")),
        **{key: _direction(job[key]) if isinstance(job.get(key), dict) else None for key in ("read", "write", "trim")},
    }


def _direction(found):
    size, rate = whole(found.get("io_bytes")), real(found.get("bw_bytes"))
    if "bw_bytes" not in found:  # fio 2: both count KiB
        rate = _times(real(found.get("bw")), 1024)
        size = _times(size, 1024) if "io_kbytes" not in found else size
    iops = real(found.get("iops"))
    moved = bool(size)
    completion, latency = _latency(found, "clat"), _latency(found, "lat")
    return {
        "bytes": size,
        "bytes_s": None if moved and not rate else rate,
        "iops": None if moved and not iops else iops,
        "ios": whole(found.get("total_ios")),
        "short_ios": whole(found.get("short_ios")),
        "dropped_ios": whole(found.get("drop_ios")),
        "runtime_ms": whole(found.get("runtime")),
        "latency_us": latency[0],
        "completion_us": completion[0],
        "percentiles_us": latency[1] or completion[1],
    }


def _times(value, factor):
    return None if value is None else value * factor


def _latency(found, name):
    """(min, mean, max) and percentiles, in microseconds; None and {} where no request was timed."""
    per_us = 1000 if name + "_ns" in found else 1
    block = _dict(found.get(name + "_ns" if per_us == 1000 else name))
    values = {key: real(block.get(key)) for key in ("min", "mean", "max")}
    if not values["max"]:
        return None, {}
    percentiles = {}
    for key, value in _dict(block.get("percentile")).items():
        rank, value = real(key), real(value)
        if rank and 0 < rank <= 100 and value is not None:  # fio 2 pads its table with 0.00
            percentiles["%g" % rank] = value / per_us
    return {key: None if value is None else value / per_us for key, value in values.items()}, percentiles


def _disk(disk):
    return {"name": str(disk.get("name") or ""), "busy_pct": real(disk.get("util"))}
