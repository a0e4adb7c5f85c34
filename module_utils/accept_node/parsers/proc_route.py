"""/proc/net/route and /proc/net/ipv6_route: {"default": [device, ...]}, the devices of default routes; other routes are not kept."""

from __future__ import annotations

import re

from . import ParseError


def parse(text: str) -> dict:
    lines = text.splitlines()
    if not lines or not lines[0].startswith("Iface"):
        raise ParseError("no table of routes: %r" % text.strip()[:60])
    rows = [line.split() for line in lines[1:] if line.strip()]
    if not all(len(row) >= 8 for row in rows):
        raise ParseError("a cut row in the table of routes")
    return {"default": sorted({row[0] for row in rows if row[1] == "00000000" and row[7] == "00000000"})}


def parse_ipv6(text: str) -> dict:
    """Without a header. A default route through lo refuses; it leads nowhere."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    if not rows or not all(len(row) == 10 and re.fullmatch("[0-9a-f]{32}", row[0]) for row in rows):
        raise ParseError("no table of IPv6 routes: %r" % text.strip()[:60])
    return {"default": sorted({row[9] for row in rows if set(row[0]) == {"0"} and row[1] == "00" and row[9] != "lo"})}
