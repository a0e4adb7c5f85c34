"""Tables that kubectl prints for people: custom columns with counts of GPUs, and the conditions in `kubectl describe node`."""

from __future__ import annotations

import re

from . import ParseError

COLUMNS = re.compile(r"\s{2,}")


def parse(text: str) -> dict:
    """`describe node`: {"conditions": [{type, status, heartbeat, since, reason, message}]}; `<unset>` and what is missing is None."""
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if re.match(r"\s*Type\s{2,}Status\s{2,}", line)]
    if not starts:
        raise ParseError("no conditions: %r" % text.strip()[:60])
    names, conditions = ("type", "status", "heartbeat", "since", "reason", "message"), []
    for line in lines[starts[0] + 1 :]:
        parts = COLUMNS.split(line.strip(), len(names) - 1)
        if not line.startswith(" ") or len(parts) < 2:
            break
        if not parts[0].startswith("--"):
            known = [None if part in ("", "<unset>", "<none>", "<unknown>") else part for part in parts]
            conditions.append(dict(zip(names, known + [None] * (len(names) - len(known)))))
    return {"conditions": conditions}


def parse_gpus(text: str) -> dict:
    """`-o custom-columns` of name, capacity, allocatable: {"nodes": [{name, capacity, allocatable}]}; `<none>`, no such resource, is 0."""
    nodes = []
    for line in text.split("\n"):
        parts = line.split()
        if not parts or parts[0].isupper():
            continue
        counts = [0 if part == "<none>" else int(part) if re.fullmatch("[0-9]{1,6}", part) else None for part in parts[1:]]
        if len(parts) != 3 or None in counts:
            raise ParseError("not a name and two counts: %r" % line[:60])
        nodes.append({"name": parts[0], "capacity": counts[0], "allocatable": counts[1]})
    if not nodes:
        raise ParseError("no nodes: %r" % text.strip()[:60])
    return {"nodes": nodes}
