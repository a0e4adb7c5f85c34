"""Write what a node answered into the run's folder: one file per envelope, attachments beside them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from pathlib import Path

SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,200}")


class UnsafeName(ValueError):
    """A name from outside that may not become a path."""


def safe(name: str) -> str:
    """The name itself, if it can be one component of a path and nothing else."""
    if not isinstance(name, str) or not SAFE_NAME.fullmatch(name):
        raise UnsafeName(f"{str(name)[:80]!r} cannot be a file name")
    return name


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: a full disk leaves what stood there before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(part, "wb") as handle:
            handle.write(content)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def save(run_dir: Path, run_id: str, host: str, result: dict, before: float, after: float, append: bool = False) -> dict:
    """Stamp and write the envelopes and attachments of one module run. Returns concern -> status.

    `append`: a load comes in rounds, each a module run; what earlier rounds of this run have found stays, whatever becomes of this one.
    """
    safe(host)
    attachments = [_attach(run_dir, host, attachment) for attachment in result.get("attachments", ())]
    statuses = {}
    for envelope in result["envelopes"]:
        envelope |= {"host": host, "run_id": run_id, "observed": [round(before, 3), round(after, 3)], "attachments": attachments}
        if envelope["concern"] == "preflight" and envelope["mode"] == "live" and envelope["data"] and result.get("clock"):
            envelope["data"]["clock_offset_s"] = clock_offset_s(result["clock"], before, after)
        path = run_dir / "facts" / host / f"{safe(envelope['concern'])}.json"
        if append:
            envelope = appended(_earlier(path, run_id), envelope)
        write(path, json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode())
        statuses[envelope["concern"]] = envelope["status"]
    return statuses


def appended(earlier: dict | None, later: dict) -> dict:
    """Two envelopes of one concern as one: lists grow, other values are the later ones, as far as they were measured; a round that was
    lost is an error of the whole."""
    if not earlier or not earlier.get("data"):
        return later
    joined = {**later, "observed": [earlier["observed"][0], later["observed"][1]], "collected_at": earlier["collected_at"]}
    for key in ("sources", "errors", "attachments"):
        joined[key] = [*earlier[key], *later[key]]
    if later["data"] is None:
        joined["errors"].append({"source": later["concern"], "reason": later["reason"].split(":")[0], "message": later["reason"]})
    joined["data"] = dict(earlier["data"])
    for key, value in (later["data"] or {}).items():
        before = joined["data"].get(key)
        grows = isinstance(before, list) and isinstance(value, list) and before != value  # what is said again is not said twice
        joined["data"][key] = [*before, *value] if grows else _later(before, value)
    joined["duration_s"] = round((earlier["duration_s"] or 0) + (later["duration_s"] or 0), 3)
    return {**joined, "status": "partial" if joined["errors"] else "ok", "reason": ""}


def _later(before, value):
    """What is null now was not measured now: a version that an earlier round has seen stays."""
    if isinstance(before, dict) and isinstance(value, dict) and before.keys() == value.keys():
        return {key: before[key] if value[key] is None else value[key] for key in value}
    return before if value is None else value


def _earlier(path: Path, run_id: str) -> dict | None:
    """What this run has already found."""
    try:
        envelope = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return envelope if isinstance(envelope, dict) and envelope.get("run_id") == run_id else None


def clock_offset_s(clock, before: float, after: float) -> list:
    """The interval that holds the node's clock minus ours: its first reading came after we began, its last before we ended."""
    return [round(clock[1] - after, 3), round(clock[0] - before, 3)]


def _attach(run_dir: Path, host: str, attachment: dict) -> dict:
    content = base64.b64decode(attachment["content"])
    path = run_dir / "attachments" / host / safe(attachment["name"])
    write(path, content)
    return {"path": str(path.relative_to(run_dir)), "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
