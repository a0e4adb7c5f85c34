"""Pieces of a capture (docs/evidence.md), as renderers hand them over: each function returns one record, `merge` puts parts together.

A renderer returns {"commands": [...], "files": [...], "trees": [...], "listings": [...]}; a key may be left out.
"""

from __future__ import annotations

KINDS = ("commands", "files", "trees", "listings")


def command(argv, stdout="", rc=0, stderr="", duration_s=0.05, reason="", at_s=0.0) -> dict:
    """A command that ran. `reason` is set (and `rc` None) when it did not run to its end."""
    return {
        "at_s": at_s,
        "argv": list(argv),
        "rc": rc,
        "stdout": stdout,
        "stderr": stderr,
        "duration_s": duration_s,
        "reason": reason,
    }


def missing(argv) -> dict:
    """A command whose program is not installed."""
    return command(argv, rc=None, stderr="[Errno 2] not found: '" + argv[0] + "'", duration_s=0.0, reason="missing")


def hung(argv, stdout="", timeout_s=30.0) -> dict:
    """A command that did not come back in its time; what it printed until then is kept."""
    return command(argv, stdout, rc=None, duration_s=timeout_s, reason="timeout")


def file(path, text) -> dict:
    """A file that was read."""
    return {"at_s": 0.0, "path": path, "text": text, "reason": ""}


def missing_file(path) -> dict:
    """A file that is not there."""
    return {"at_s": 0.0, "path": path, "text": None, "reason": "missing"}


def denied_file(path) -> dict:
    """A file that the user may not read."""
    return {"at_s": 0.0, "path": path, "text": None, "reason": "permission"}


def tree(root, files, links=None, errors=None, reason="") -> dict:
    """Small files below a root: paths relative to it -> text; `links`: directories -> their real paths; `errors`: paths -> reason."""
    return {"at_s": 0.0, "root": root, "files": dict(files), "links": dict(links or {}), "errors": dict(errors or {}), "reason": reason}


def missing_tree(root) -> dict:
    """A root that is not there."""
    return tree(root, {}, reason="missing")


def listing(path, names) -> dict:
    """The names in a directory."""
    return {"at_s": 0.0, "path": path, "names": sorted(names), "reason": ""}


def missing_listing(path) -> dict:
    """A directory that is not there."""
    return {"at_s": 0.0, "path": path, "names": [], "reason": "missing"}


def merge(parts) -> dict:
    """All records of several parts, kind by kind. The same question asked twice is kept once; two answers to it are a bug."""
    merged = {}
    for kind in KINDS:
        seen = {}
        for part in parts:
            for record in part.get(kind, []):
                key = (str(record.get("argv") or record.get("path") or record.get("root")), record["at_s"])
                if kind == "trees" and key in seen:
                    record = _joined(seen[key], record)
                elif key in seen and seen[key] != record:
                    raise ValueError(f"{kind}: two answers to {key[0]}")
                seen[key] = record
        merged[kind] = list(seen.values())
    return merged


def _joined(one, other) -> dict:
    """Two renderers may each give a part of one tree."""
    joined = dict(one)
    for part in ("files", "links", "errors"):
        joined[part] = {**one[part], **other[part]}
        for name in set(one[part]) & set(other[part]):
            if one[part][name] != other[part][name]:
                raise ValueError(f"trees: two answers to {one['root']}/{name}")
    return joined
