"""Generic resources as Slurm prints them: `gpu:h100:8(S:0-1),nic:2`, `gpu:tesla:3(IDX:0,2-3)`, `(null)`, and cut by a column's width."""

from __future__ import annotations

import re

from . import ParseError

ITEM = re.compile(r"([A-Za-z][\w./-]*)((?::[\w./-]*)*)(\([^()]*\))?")
FACTOR = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


def parse(text: str) -> dict:
    """{"gpus": N | None, "types": {"h100": 8}, "sockets": "0-1" | None, "index": "0,2-3" | None, "cut": bool, "other": {"nic": 2}}

    No GPU at all is 0. `gpus` is None where the string is cut before a count, or the count cannot be read: a cut string is never a smaller
    number. `types` has "" for GPUs without a type.
    """
    bare = text.strip()
    found = {"gpus": 0, "types": {}, "sockets": None, "index": None, "cut": False, "other": {}}
    if bare in ("", "(null)", "N/A", "none", "(none)"):
        return found
    for word in _split(bare):
        match = ITEM.fullmatch(word)
        if not match:
            opened = ITEM.match(word)
            if opened is None:
                raise ParseError("not generic resources: %r" % text[:60])
            # cut in the part behind the count: the count before the bracket still stands; cut anywhere else, nothing does
            found["cut"] = True
            match = re.fullmatch(r"([A-Za-z][\w./-]*)((?::[\w./-]*)*)(\()[^()]*", word)
            if not match:
                raise ParseError("not generic resources: %r" % text[:60])
        _take(found, match.group(1), match.group(2).split(":")[1:], match.group(3) or "")
    return found


def _split(text):
    """At commas outside of brackets: a list of sockets has commas of its own."""
    return [word.strip() for word in re.findall(r"(?:[^,(]|\([^()]*\)?)+", text) if word.strip()]


def _take(found, name, parts, bracket):
    count = re.fullmatch(r"([0-9]{1,9})([KMGT]?)", parts[-1]) if parts else None
    number = int(count.group(1)) * FACTOR[count.group(2)] if count else None
    kind = next((part for part in parts[:-1] if part not in ("no_consume", "")), "") if count else ""
    if number is None and "gpu".startswith(name):  # cut in the name itself, or behind it
        found["gpus"], found["cut"] = None, True
        return
    if name != "gpu":
        found["cut"] = found["cut"] or number is None
        found["other"][name] = None if number is None else (found["other"].get(name) or 0) + number
        return
    where = re.match(r"\((S|IDX):([^()]*)\)", bracket)
    if where:
        key = {"S": "sockets", "IDX": "index"}[where.group(1)]
        found[key] = where.group(2) if found[key] is None else found[key] + "," + where.group(2)
    if found["gpus"] is None:
        return
    found["gpus"] += number
    found["types"][kind] = found["types"].get(kind, 0) + number
