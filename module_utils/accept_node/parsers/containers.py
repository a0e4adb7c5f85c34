"""Containers of a node: `crictl ps -o json`, and `docker ps --format '{{json .}}'` (one JSON object a line) with `parse_docker`.

{"containers": [{"name", "pod": str | None, "namespace": str | None, "image": str | None, "state": "running" | ..., "attempt": int | None}]}
"""

from __future__ import annotations

import json

from . import ParseError

LABELS = {"pod": "io.kubernetes.pod.name", "namespace": "io.kubernetes.pod.namespace"}


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: crictl printed nothing")
    start = text.find("{")  # warnings about the endpoint come first
    try:
        document = json.loads(text[start:]) if start >= 0 else None
    except ValueError as error:
        raise ParseError(f"not JSON: {error}") from None
    listed = document.get("containers") if isinstance(document, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ParseError("no list of containers")
    return {"containers": [_of_crictl(one) for one in listed]}


def _of_crictl(one) -> dict:
    metadata, labels, image = (one.get(key) if isinstance(one.get(key), dict) else {} for key in ("metadata", "labels", "image"))
    attempt = metadata.get("attempt")
    return {
        "name": _text(metadata.get("name")),
        **{key: _text(labels.get(label)) for key, label in LABELS.items()},
        "image": _text(image.get("userSpecifiedImage")) or _text(image.get("image")),
        "state": (_text(one.get("state")) or "unknown").replace("CONTAINER_", "").lower(),
        "attempt": attempt if isinstance(attempt, int) and not isinstance(attempt, bool) else None,
    }


def parse_docker(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: docker printed nothing")
    found = []
    for line in text.splitlines():
        if not line.strip():
            continue
        try:
            one = json.loads(line)
        except ValueError as error:
            raise ParseError(f"not JSON: {error}: {line.strip()[:60]!r}") from None
        if not isinstance(one, dict) or not _text(one.get("Names")):
            raise ParseError(f"no container: {line.strip()[:60]!r}")
        state = _text(one.get("State")) or ("running" if (_text(one.get("Status")) or "").startswith("Up") else "unknown")
        found.append(
            {"name": one["Names"], "pod": None, "namespace": None, "image": _text(one.get("Image")), "state": state, "attempt": None}
        )
    return {"containers": found}


def _text(value):
    return value if isinstance(value, str) and value else None
