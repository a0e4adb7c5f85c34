"""Memory: /proc/meminfo and a NUMA node's meminfo (parse), `lsmem --bytes --summary=only` (parse_lsmem).

parse: {"total_mib": 2063728, "free_mib": ..., "available_mib": ... | None}; lines of a node begin with `Node 0 `.
parse_lsmem: {"installed_mib": 2097152}: what is on line, with what the kernel keeps for itself; so it is equal on equal machines.
"""

from __future__ import annotations

import re

from . import ParseError

LINE = re.compile(r"(?:Node \d{1,4} )?(\w+):\s+(\d{1,15}) kB")
ONLINE = re.compile(r"Total online memory:\s+(\d{1,18})\s*$", re.MULTILINE)


def parse(text: str) -> dict:
    """See the module's docstring."""
    found = {match.group(1): int(match.group(2)) // 1024 for match in map(LINE.match, text.splitlines()) if match}
    if "MemTotal" not in found:
        raise ParseError(f"meminfo: no MemTotal in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"total_mib": found["MemTotal"], "free_mib": found.get("MemFree"), "available_mib": found.get("MemAvailable")}


def parse_lsmem(text: str) -> dict:
    """See the module's docstring."""
    match = ONLINE.search(text)
    if not match:
        raise ParseError(f"lsmem: no total in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"installed_mib": int(match.group(1)) // 1024**2}
