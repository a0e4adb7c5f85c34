"""/proc/mounts: {"mounts": [{"device": str, "mount_point": str, "type": str, "options": [str]}]}, in the kernel's order (man 5 proc)."""

from __future__ import annotations

import re

from . import ParseError

ESCAPE = re.compile(r"\\([0-3][0-7]{2})")


def parse(text: str) -> dict:
    mounts = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split(" ")
        if not line.strip():
            continue
        if len(fields) != 6 or not (fields[4].isdigit() and fields[5].strip().isdigit()):
            raise ParseError(f"line {number} is no mount: {line[:80]!r}")
        device, mount_point, kind = (ESCAPE.sub(lambda found: chr(int(found[1], 8)), field) for field in fields[:3])
        mounts.append({"device": device, "mount_point": mount_point, "type": kind, "options": fields[3].split(",")})
    if not mounts:
        raise ParseError("empty: not even the root file system is mounted")
    return {"mounts": mounts}
