"""`iblinkinfo` (infiniband-diags): both ends of each link with width, speed and state; `parse_lines` reads `iblinkinfo -l`.

    {"ports": [{"kind": "ca", "guid": "0x...", "name": "gpu001 mlx5_0", "lid": 1, "port": 1, "state": "active", "phys_state": "linkup",
                "width": "4X", "speed_gbps": 53.125, "could_be_width": "12X", "could_be_gbps": None,
                "peer": {"guid": None, "lid": 3, "port": 1, "name": "leaf01"}}],
     "warnings": ["ibwarn: ..."]}

`speed_gbps` is that of one lane (25.78125 EDR, 53.125 HDR, 106.25 NDR, 212.5 XDR). The guid of a switch is the node's, of a CA the port's;
the full form names a peer by LID and name, -l also by guid, but does not say which node is a CA (`kind` None). `peer` None: nothing
answers there. Lines of ports that cannot be read stand in `warnings`. `could_be_*` is what both ends support; packaged simulators print
12X there for every link.
"""

from __future__ import annotations

import re

from . import ParseError

HEAD = re.compile(r"(CA|Switch|Router): (?:(0x[0-9a-f]{1,16}) )?(.*):")
KINDS = {"CA": "ca", "Switch": "switch", "Router": "router"}
STATE = r"==\(\s*(?:([0-9]{1,2}X)\s+)?([^/]{0,60}?)\s*(\w+)/\s*(\w+)\s*\)==>"
PEER = r'(?:\s*(0x[0-9a-f]{1,16}))?\s+(?:([0-9]{1,5})\s+([0-9]{1,3}))?\[[^\]]*\]\s+"(.*)" \((.*)\)'
PORT = re.compile(r"(?:(0x[0-9a-f]{1,16})\s+)?([0-9]{1,5})\s+([0-9]{1,3})\[[^\]]*\]\s+" + STATE + PEER)
LINE = re.compile(r'(0x[0-9a-f]{1,16})\s+"(.*?)"\s+([0-9]{1,5})\s+([0-9]{1,3})\[[^\]]*\]\s+' + STATE + PEER)
WARNING = re.compile(r"(?:ib\w+|\S+\.c:[0-9]+)[:;] .*|.*==\(.*")  # what a tool complains of, and lines of ports that nobody can read


def parse(text: str) -> dict:
    """The full form: sections by node."""
    ports, warnings, node = [], [], None
    for line in map(str.strip, text.splitlines()):
        head, port = HEAD.fullmatch(line), PORT.fullmatch(line)
        if head:
            node = (KINDS[head.group(1)], _guid(head.group(2)), _name(head.group(3)))
        elif port and node:
            ports.append(_port(node[0], _guid(port.group(1)) or node[1], node[2], port.groups()[1:]))
        elif WARNING.fullmatch(line):
            warnings.append(line[:200])
    return _found(ports, warnings, text, "iblinkinfo")


def parse_lines(text: str) -> dict:
    """`-l`: one line for each port."""
    ports, warnings = [], []
    for line in map(str.strip, text.splitlines()):
        port = LINE.fullmatch(line)
        if port:
            ports.append(_port(None, _guid(port.group(1)), _name(port.group(2)), port.groups()[2:]))
        elif WARNING.fullmatch(line):
            warnings.append(line[:200])
    return _found(ports, warnings, text, "iblinkinfo -l")


def _found(ports, warnings, text, what):
    if not ports:
        raise ParseError(f"{what}: no port in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"ports": ports, "warnings": warnings}


def _port(kind, guid, name, fields):
    lid, port, width, gbps, state, phys, peer_guid, peer_lid, peer_port, peer_name, message = fields
    wider = re.search(r"Could be ([0-9]{1,2}X)\b", message)
    faster = re.search(r"Could be ([0-9.]{1,9}) Gbps", message)
    there = peer_lid is not None
    return {
        "kind": kind,
        "guid": guid,
        "name": name,
        "lid": int(lid),
        "port": int(port),
        "state": state.lower(),
        "phys_state": phys.lower(),
        "width": width,
        "speed_gbps": _number(gbps.partition(" Gbps")[0]),
        "could_be_width": wider.group(1) if wider else None,
        "could_be_gbps": _number(faster.group(1)) if faster else None,
        "peer": {"guid": _guid(peer_guid), "lid": int(peer_lid), "port": int(peer_port), "name": _name(peer_name)} if there else None,
    }


def _number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def _name(text):
    return (text or "").strip() or None


def _guid(text):
    return "0x" + text[2:].rjust(16, "0") if text else None
