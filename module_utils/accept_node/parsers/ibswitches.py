"""`ibswitches` and `ibhosts` (infiniband-diags): the nodes of a subnet, one a line.

    {"nodes": [{"kind": "switch", "guid": "0x0002c90300000230", "ports_total": 16, "name": "leaf04", "lid": 9}]}

A host's line says no LID.
"""

from __future__ import annotations

import re

from . import ParseError

LINE = re.compile(r'(Switch|Ca|Rt)\s*: 0x([0-9a-f]{1,16}) ports ([0-9]{1,3}) "(.*)"(?: .*?\blid ([0-9]{1,5})\b.*)?')
KINDS = {"Switch": "switch", "Ca": "ca", "Rt": "router"}


def parse(text: str) -> dict:
    """See the module's docstring."""
    nodes = []
    for match in filter(None, map(LINE.fullmatch, map(str.strip, text.splitlines()))):
        kind, guid, ports, name, lid = match.groups()
        nodes.append({"kind": KINDS[kind], "guid": "0x" + guid.rjust(16, "0"), "ports_total": int(ports)})
        nodes[-1].update(name=name.strip() or None, lid=int(lid) if lid else None)
    if not nodes:
        raise ParseError(f"ibswitches: no node in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"nodes": nodes}
