"""What a probe of other hosts counted (accept_node/probe.py).

parse(text): {"ports": [{"port", "asked", "open", "refused", "silent"}]}
parse_exports(text): {"servers", "answered", "exports", "open_to_all"}
"""

from __future__ import annotations

from ..loose_json import strict
from . import ParseError

PORT_KEYS = ("port", "asked", "open", "refused", "silent")
EXPORT_KEYS = ("servers", "answered", "exports", "open_to_all")


def parse(text: str) -> dict:
    rows = strict(text).get("ports")
    if not isinstance(rows, list):
        raise ParseError("no ports: %r" % text.strip()[:60])
    return {"ports": [_counts(row, PORT_KEYS) for row in rows]}


def parse_exports(text: str) -> dict:
    return _counts(strict(text), EXPORT_KEYS)


def _counts(row, keys) -> dict:
    found = {key: row.get(key) if isinstance(row, dict) else None for key in keys}
    if not all(type(value) is int and value >= 0 for value in found.values()):
        raise ParseError("counts that are none: %r" % str(row)[:60])
    return found
