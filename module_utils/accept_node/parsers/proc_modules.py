"""/proc/modules: {"modules": [{"name": str, "state": "Live" | "Loading" | "Unloading", "taint": "" | "OE"}]}, sorted by name (man 5 proc).

`taint`: P proprietary, O built out of the kernel's tree, E unsigned, F forced.
"""

from __future__ import annotations

import re

from . import ParseError

LINE = re.compile(r"([\w-]{1,64}) \d+ (?:-|\d+) \S+ (Live|Loading|Unloading) 0x[0-9a-f]+(?: \(([A-Z+-]{1,12})\))?", re.ASCII)


def parse(text: str) -> dict:
    modules = []
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.fullmatch(line.strip())
        if found:
            modules.append({"name": found[1], "state": found[2], "taint": found[3] or ""})
        elif line.strip():
            raise ParseError(f"line {number} is no module: {line[:80]!r}")
    if not modules:
        raise ParseError("empty: no module is listed")
    return {"modules": sorted(modules, key=lambda module: module["name"])}
