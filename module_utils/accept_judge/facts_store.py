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


def save(run_dir: Path, run_id: str, host: str, result: dict, before: float, after: float) -> dict:
    """Stamp and write the envelopes and attachments of one module run. Returns concern -> status."""
    safe(host)
    attachments = [_attach(run_dir, host, attachment) for attachment in result.get("attachments", ())]
    statuses = {}
    for envelope in result["envelopes"]:
        envelope |= {"host": host, "run_id": run_id, "observed": [round(before, 3), round(after, 3)], "attachments": attachments}
        if envelope["concern"] == "preflight" and envelope["mode"] == "live" and envelope["data"] and result.get("clock"):
            envelope["data"]["clock_offset_s"] = clock_offset_s(result["clock"], before, after)
        path = run_dir / "facts" / host / f"{safe(envelope['concern'])}.json"
        write(path, json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode())
        statuses[envelope["concern"]] = envelope["status"]
    return statuses


def clock_offset_s(clock, before: float, after: float) -> list:
    """The interval that holds the node's clock minus ours: its first reading came after we began, its last before we ended."""
    return [round(clock[1] - after, 3), round(clock[0] - before, 3)]


def _attach(run_dir: Path, host: str, attachment: dict) -> dict:
    content = base64.b64decode(attachment["content"])
    path = run_dir / "attachments" / host / safe(attachment["name"])
    write(path, content)
    return {"path": str(path.relative_to(run_dir)), "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
