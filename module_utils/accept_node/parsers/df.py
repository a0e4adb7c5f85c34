"""`df -B1 -P`: free space of the file systems that paths lie on."""

from __future__ import annotations

from . import ParseError


def parse(text: str) -> dict:
    """{"filesystems": [{"source", "mounted_on", "size_bytes", "used_bytes", "free_bytes"}]}; a number that df could not tell is None."""
    lines = text.splitlines()
    if not lines or not lines[0].split()[:1] == ["Filesystem"]:
        raise ParseError(f"no header of df: {text[:60]!r}")
    filesystems = []
    for line in lines[1:]:
        parts = line.split()
        # The mount point may hold blanks: the numbers are the three fields before the percentage.
        at = next((i for i, part in enumerate(parts) if i >= 4 and (part.endswith("%") or part == "-")), None)
        if at is None or at + 1 >= len(parts):
            continue
        filesystems.append(
            {
                "source": " ".join(parts[: at - 3]),
                "mounted_on": " ".join(parts[at + 1 :]),
                "size_bytes": _number(parts[at - 3]),
                "used_bytes": _number(parts[at - 2]),
                "free_bytes": _number(parts[at - 1]),
            }
        )
    if not filesystems:
        raise ParseError("df names no file system")
    return {"filesystems": filesystems}


def _number(text):
    return int(text) if text.isdigit() and text.isascii() and len(text) < 20 else None
