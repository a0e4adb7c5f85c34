"""Lists of the Kubernetes API as `kubectl get --raw` gives them, page by page: the frame that all kinds share, and quantities.

API conventions: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
"""

from __future__ import annotations

import json
import re

from ..loose_json import strict
from . import ParseError

SUFFIX = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


def parse(text: str) -> dict:
    """{"items": [dict, ...], "continue": token | None, "remaining": N | None}"""
    document = strict(text)
    if document.get("kind") == "Status":
        raise ParseError("the API server says: %s" % " ".join(str(document.get("message") or document.get("reason")).split())[:160])
    items = document.get("items")
    if items is None and str(document.get("kind", "")).endswith("List"):
        items = []  # Go writes an empty list as null
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ParseError("no list of objects: %r" % text.strip()[:60])
    token, remaining = at(document, "metadata", "continue"), at(document, "metadata", "remainingItemCount")
    return {
        "items": items,
        "continue": token if isinstance(token, str) and token else None,
        "remaining": remaining if isinstance(remaining, int) and not isinstance(remaining, bool) else None,
    }


def at(value, *names):
    """A member of nested mappings, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_at(value, *names):
    """A text in nested mappings, or None where it is none or empty."""
    found = at(value, *names)
    return found if isinstance(found, str) and found else None


def count_at(value, *names):
    """A whole number, of zero or more, or None."""
    found = at(value, *names)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def mapping(value) -> dict:
    return value if isinstance(value, dict) else {}


def listing(value) -> list:
    """The mappings in a list."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def quantity(value):
    """`8`, `224`, `223500m`, `2113456Ki`, `1024Gi` -> a number; None where it is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = re.fullmatch(r"([0-9]{1,18})(?:\.[0-9]{1,9})?(m|k|M|G|T|Ki|Mi|Gi|Ti|Pi|)", value) if isinstance(value, str) else None
    if not match:
        return None
    return int(match.group(1)) // 1000 if match.group(2) == "m" else int(match.group(1)) * SUFFIX[match.group(2)]


def repack(text: str, keep) -> str:
    """The list with each item as `keep(item)` gives it (None: dropped). A text that is no such list is given back as it is."""
    try:
        parse(text)
    except ParseError:
        return text
    document = json.loads(text)
    kept = [keep(item) for item in document["items"] or []] if "items" in document else []
    frame = {key: document[key] for key in ("kind", "apiVersion") if key in document}
    meta = {key: at(document, "metadata", key) for key in ("continue", "remainingItemCount") if at(document, "metadata", key)}
    return json.dumps({**frame, "metadata": meta, "items": [item for item in kept if item is not None]}, separators=(",", ":"))
