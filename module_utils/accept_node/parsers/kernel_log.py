"""The kernel's log, in every shape that kernel_line knows (also mixed), as a bounded list of events. `parse(text)` returns::

    {"lines": int, "records": int,                     records: lines less continuation and empty ones
     "first_s": float | None, "last_s": float | None,  seconds since boot of the first and last record, where the shape has them
     "covers_boot": True | False | None,               is the beginning of this boot still there, and nothing lost? None: cannot be told
     "gpu_uuids": {"0000:2b:00.0": "GPU-..."},         as the driver logs them before a GPU's first Xid
     "counts": {kind: records}, "events": [...], "events_dropped": int}

An event is a distinct fault, however many records repeat it: `kind code pci severity link pid name detail` as xid, sxid and
kernel_events say, `facility` and `priority` as kernel_line does, `text` (300 characters at most), `count` records, `episodes` (groups
of records more than a second apart; None: no times), `first_s last_s`, and `first last` for times in words. At most 100 are kept.
"""

from __future__ import annotations

import re

from . import ParseError, kernel_events, sxid, xid
from .kernel_line import split

MAX_EVENTS, MAX_TEXT, MAX_KNOWN = 100, 300, 10_000
UUID = re.compile(r"NVRM: GPU at PCI:(" + xid.ADDRESS + r"): (GPU-[0-9a-f-]{8,40})")
PID = re.compile(r"pid=\d{1,9}")
BOOT = ("Linux version ", "Booting Linux ")
LOST = re.compile(r"\*\* \d+ printk messages dropped|Missed \d+ kernel messages")
NEEDLES = ["Xid (", "NVRM: GPU at PCI:", *sorted({rule.needle for rule in kernel_events.RULES})]
# What of `detail` tells one fault from another.
KEYS = ("switch unit intr_info error_status caused_by recovery_to cpu device netdev server library what module section").split()
# The kinds kept first where there are more events than may be returned.
FIRST = ("xid sxid fallen_off_bus rm_init_failed amdgpu_ras amd_hw_error mce apei edac aer").split()


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no kernel log")
    events, uuids = _events(text)
    head, tail = _edges(text)
    if not events and not any(record is None or record.shaped for record in head):
        raise ParseError(f"no kernel log: no line looks like one, the first is {text.strip().splitlines()[0][:60]!r}")
    head, tail = ([record for record in side if record and record.message] for side in (head, tail))
    first = next((record.time_s for record in head if record.time_s is not None), None)
    last = next((record.time_s for record in reversed(tail) if record.time_s is not None), None)
    return {
        **_sizes(text),
        "first_s": first,
        "last_s": last,
        "covers_boot": _covers_boot(text, head, first),
        "gpu_uuids": uuids,
        **_bounded(_without_follow_ups(events)),
    }


def _events(text):
    """(events with their repeats folded in, GPU UUIDs)."""
    hits, uuids, folded, known = _hits(text), {}, {}, {}
    for start in sorted(hits):
        record = _record_at(text, start)
        for message in record.message.split("\\x0a") if record else ():  # how /dev/kmsg shows a line end in a message
            uuid = UUID.match(message)
            if uuid:
                uuids[xid.address(uuid[1])] = uuid[2]
                continue
            # A storm says the same again and again, at most with another process.
            same = record.facility, PID.sub("", message, 1)
            if same in known:
                _repeat(known[same], record)
                break
            event = _event(text, start, message, record, hits[start])
            if event:
                kept = _fold(folded, event, record)
                if event["kind"] in ("xid", "sxid") and len(known) < MAX_KNOWN:
                    known[same] = kept
                break
    return list(folded.values()), uuids


def _hits(text):
    """Start of each line that has a needle in it, and which: searching the text is far faster than looking at each line."""
    hits = {}
    for needle in NEEDLES:
        at = text.find(needle)
        while at >= 0:
            hits.setdefault(text.rfind("\n", 0, at) + 1, []).append(needle)
            end = text.find("\n", at)
            at = text.find(needle, end) if end >= 0 else -1
    return hits


def _line(text, start):
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end]


def _around(text, start, step, limit):
    """The non-empty lines after (step 1) or before (step -1) the line that begins at start."""
    while limit > 0:
        if step > 0:
            end = text.find("\n", start)
            if end < 0 or end + 1 >= len(text):
                return
            start = end + 1
        elif start == 0:
            return
        else:
            start = text.rfind("\n", 0, start - 1) + 1
        line = _line(text, start)
        if line.strip():
            limit -= 1
            yield line


def _record_at(text, start):
    """The record of a line; an indented line belongs to the record above and has its time."""
    line = _line(text, start)
    if not line.startswith((" ", "\t")):
        return split(line)
    for above in _around(text, start, -1, 8):
        if not above.startswith((" ", "\t")):
            record = split(above)
            return record and record._replace(message=line.strip())
    return split(line.strip())


def _event(text, start, message, record, needles):
    if "Xid (" in message:
        return xid.match(message) or sxid.match(message)
    for rule in kernel_events.RULES:
        if rule.needle in needles and rule.needle in message:
            event = kernel_events.match(rule, record.message if rule.kind == "fallen_off_bus" else message)
            if event:
                if rule.kind == "fallen_off_bus" and not event["pci"]:
                    event["pci"] = _gpu_above(text, start)
                if rule.kind in kernel_events.BELOW:
                    below = (split(line) for line in _around(text, start, 1, 40))
                    kernel_events.add_below(event, (one.message for one in below if one))
                return event
    return None


def _gpu_above(text, start):
    """The probe's message has three lines: the GPU stands in the first, "fallen off the bus" in the last."""
    for line in _around(text, start, -1, 4):
        found = re.search(r"The NVIDIA GPU (" + xid.ADDRESS + ")", line)
        if found or "fallen off the bus" in line:
            return xid.address(found[1]) if found and "fallen off the bus" not in line else None
    return None


def _fold(folded, event, record):
    """Put an event among those seen; returns the kept one."""
    detail = event["detail"]
    key = (event["kind"], event["code"], event["pci"], event["severity"], event["link"], event.get("follow_up"))
    key += (record.facility not in (None, "kern"), *(detail.get(name) for name in KEYS))
    if key not in folded:
        times = {"first_s": record.time_s, "last_s": record.time_s, "first": record.time, "last": record.time}
        told = {"facility": record.facility, "priority": record.priority, "text": record.message[:MAX_TEXT]}
        folded[key] = {**event, **told, "count": 1, "episodes": None if record.time_s is record.time is None else 1, **times}
    else:
        if "errors" in detail:
            folded[key]["detail"]["errors"] = folded[key]["detail"].get("errors", 0) + detail["errors"]
        _repeat(folded[key], record)
    return folded[key]


def _repeat(kept, record):
    kept["count"] += 1
    if kept["episodes"] is not None:
        if record.time_s is not None and kept["last_s"] is not None:
            kept["episodes"] += record.time_s - kept["last_s"] > 1.0
        else:
            kept["episodes"] += (record.time or "")[:19] != (kept["last"] or "")[:19]
    kept["last_s"], kept["last"] = record.time_s, record.time


def _without_follow_ups(events):
    """Further lines about an event count only where its own line is lost."""

    def group(event):
        user = event["facility"] not in (None, "kern")
        if event["kind"] in ("oom", "mce", "edac"):  # EDAC tells which memory it was that a machine check was logged for
            return "mce" if event["kind"] == "edac" else event["kind"], user
        return event["kind"], event["code"], event["pci"], user

    told = {group(event) for event in events if not event.get("follow_up")}
    return [event for event in events if not event.pop("follow_up", False) or group(event) not in told]


def _bounded(events):
    counts = {}
    for event in events:
        counts[event["kind"]] = counts.get(event["kind"], 0) + event["count"]
    rank = {kind: number for number, kind in enumerate(FIRST)}
    kept = sorted(events, key=lambda event: rank.get(event["kind"], len(FIRST)))[:MAX_EVENTS]  # stable: in order of time within a kind
    return {"counts": counts, "events": kept, "events_dropped": len(events) - len(kept)}


def _sizes(text):
    lines = text.count("\n") + (not text.endswith("\n"))
    rest = text.count("\n ") + text.count("\n\t") + text.count("\n\n") + text.startswith((" ", "\t", "\n"))
    return {"lines": lines, "records": max(lines - rest, 0)}


def _edges(text, count=20):
    """The first and last records (None: another program's), for times and shape. Journal headers ("-- ...") and indented lines are none."""
    parts = text[:40_000].splitlines()[:count], text[-40_000:].splitlines()[-count:]
    return [[split(line) for line in part if line.strip() and not line.startswith((" ", "\t", "-- "))] for part in parts]


def _covers_boot(text, head, first_s):
    if LOST.search(text):
        return False
    if any(record.message.startswith(BOOT) for record in head[:5]):
        return True
    return None if first_s is None else first_s == 0.0
