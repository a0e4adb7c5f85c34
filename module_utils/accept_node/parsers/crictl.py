"""crictl (cri-tools): what runs in a node's container runtime.

parse_pods: `crictl pods -o json`   {"pods": [{"id", "name", "namespace"}]}
parse_ps: `crictl ps -o json`       {"containers": [{"id", "name"}]}
parse_pid: `crictl inspect -o go-template --template {{.info.pid}}`   the number
parse: whichever of the two lists it is

Ids are hexadecimal; an entry without one is a fault of the whole, since a list that is short reads as complete.
"""

from __future__ import annotations

import json
import re

from . import ParseError

ID = re.compile(r"[0-9a-f]{12,64}")


def parse(text: str) -> dict:
    """See the module's docstring."""
    return parse_pods(text) if '"items"' in text else parse_ps(text)


def parse_pods(text: str) -> dict:
    """See the module's docstring."""
    return {"pods": [{"id": one, "name": name, "namespace": space} for one, name, space in _entries(text, "items")]}


def parse_ps(text: str) -> dict:
    """See the module's docstring."""
    return {"containers": [{"id": one, "name": name} for one, name, _ in _entries(text, "containers")]}


def parse_pid(text: str) -> int:
    """See the module's docstring."""
    match = re.fullmatch(r"\s*'?([1-9][0-9]{0,9})'?\s*", text)
    if not match:
        raise ParseError("crictl inspect: no process id in: %s" % (" ".join(text.split())[:80] or "nothing"))
    return int(match[1])


def _entries(text, key):
    start = text.find("{")
    try:
        found = json.loads(text[start:] if start >= 0 else text)[key]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ParseError("crictl: no list of %s in: %s" % (key, " ".join(text.split())[:80] or "nothing")) from None
    entries = []
    for one in found if isinstance(found, list) else [None]:
        meta = one.get("metadata") if isinstance(one, dict) else None
        if not isinstance(meta, dict) or not ID.fullmatch(str(one.get("id"))):
            raise ParseError("crictl: an entry without id and name")
        entries.append((one["id"], str(meta.get("name"))[:253], str(meta.get("namespace"))[:63]))
    return entries
