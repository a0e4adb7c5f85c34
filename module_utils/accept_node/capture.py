"""Captures: what a node was seen to answer, kept as one JSON file in a folder. The format is documented in docs/evidence.md."""

from __future__ import annotations

import base64
import gzip
import json
import os

SCHEMA = 1
NAMES = ("capture.json", "capture.json.gz")
# What a head was asked for its whole cluster, and what it tried or asked of others: each in a run of its own.
OF_CLUSTER = tuple((name, name + ".gz") for name in ("capture.cluster.json", "capture.probe.json", "capture.monitoring.json"))


class CaptureError(Exception):
    """A capture that cannot be used; the message names the folder and what to do."""


def load(folder: str) -> dict:
    """The capture in a folder; with it what its host, as a head, answered for its whole cluster."""
    found = [_load(path) for path in (_first(folder, names) for names in (NAMES, *OF_CLUSTER)) if path]
    if not found:
        raise CaptureError(f"{folder}: no {NAMES[0]} there; record one with tools/record or make one with tools/simulate")
    joined = found[0]
    for other in found[1:]:
        for kind in ("commands", "files", "trees", "listings"):
            joined[kind] = [*joined.get(kind, ()), *other.get(kind, ())]
    return joined


def _first(folder, names):
    return next((path for path in (os.path.join(folder, name) for name in names) if os.path.exists(path)), None)


def _load(path: str) -> dict:
    try:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as handle:
            capture = json.loads(handle.read().decode("utf-8"))
    except (OSError, EOFError, ValueError) as error:
        raise CaptureError(f"{path}: cannot be read as a capture: {error}") from error
    if not isinstance(capture, dict) or capture.get("schema") != SCHEMA:
        raise CaptureError(
            f"{path}: schema {capture.get('schema') if isinstance(capture, dict) else '?'}, wanted {SCHEMA}: record it again"
        )
    return capture


def save(capture: dict, folder: str) -> str:
    """Write a capture and return its path; a half-written one never stands under the final name."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, NAMES[0])
    with open(path + ".part", "w", encoding="utf-8") as handle:
        json.dump(capture, handle, indent=1, sort_keys=True)
        handle.write("\n")
    os.replace(path + ".part", path)
    return path


def asked(module):
    """The capture that a module's `replay` names, or None where it asks the machine. One that cannot be used ends the module."""
    try:
        return load(module.params["replay"]) if module.params["replay"] else None
    except CaptureError as error:
        module.fail_json(msg=f"replay: {error}")


def attachment(name: str, capture: dict) -> dict:
    """A capture as a module returns it: the name of a file and its content, compressed, in base64."""
    raw = gzip.compress(json.dumps(capture).encode("utf-8", "surrogatepass"), 1)
    return {"name": name, "content": base64.b64encode(raw).decode("ascii")}
