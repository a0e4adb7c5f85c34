"""`ibnetdiscover` (infiniband-diags): the nodes of a subnet and their links; `parse_ports` reads `ibnetdiscover -p`.

    {"nodes": [{"kind": "switch", "guid": "0x08c0eb03008cc87c", "name": "spine-03", "lid": 304, "ports_total": 41,
                "links": [{"port": 1, "port_guid": None, "lid": None, "width": "4X", "speed": "HDR",
                           "peer": {"kind": "switch", "guid": "0x...", "port": 23, "port_guid": None, "name": "leaf-101", "lid": 1}}]}]}
    {"ports": [{"kind": "ca", "lid": 134, "port": 1, "guid": "0x...", "name": "o0001 HCA-1", "width": "4X", "speed": "EDR",
                "peer": {"kind": "switch", "lid": 1719, "port": 10, "guid": "0x...", "name": "leaf-1"}}]}

Kinds: ca, switch, router. A port with one name only is not connected: `peer` is None, and the width and speed that -p prints for it are
what it would begin with. `speed` is the name of a generation, None where the tool prints ???. Names lose the blanks around them.
"""

from __future__ import annotations

import re

from . import ParseError

KINDS = {"SW": "switch", "CA": "ca", "RT": "router", "S": "switch", "H": "ca", "R": "router"}
KINDS.update({"Switch": "switch", "Ca": "ca", "Rt": "router"})
NODE = re.compile(r'(Switch|Ca|Rt)\s+([0-9]{1,3})\s+"([SHR])-([0-9a-f]{16})"\s*(?:#\s*"(.*)"(.*))?')
LINK = re.compile(
    r'\[([0-9]{1,3})\](?:\(([0-9a-f]{1,16})\))?\s*"([SHR])-([0-9a-f]{16})"\[([0-9]{1,3})\](?:\(([0-9a-f]{1,16})\))?\s*(?:#\s*(.*))?'
)
LID = re.compile(r"\blid ([0-9]{1,5})\b")
RATE = re.compile(r"\b([0-9]{1,2})[xX]([A-Z][A-Z0-9]{1,7})\b")
PORT = re.compile(
    r"(SW|CA|RT)\s+([0-9]{1,5})\s+([0-9]{1,3})\s+0x([0-9a-f]{1,16})\s+([0-9]{1,2})x\s+(\S+)"
    r"(?:\s+-\s+(SW|CA|RT)\s+([0-9]{1,5})\s+([0-9]{1,3})\s+0x([0-9a-f]{1,16})\s+\(\s*'(.*)' - '(.*)'\s*\)|\s+(\S.*))"
)


def parse(text: str) -> dict:
    """The full form."""
    nodes = []
    for line in map(str.strip, text.splitlines()):
        head, link = NODE.fullmatch(line), LINK.fullmatch(line)
        if head:
            kind, total, _, guid, name, rest = head.groups()
            nodes.append({"kind": KINDS[kind], "guid": "0x" + guid, "name": _name(name), "lid": _lid(rest), "ports_total": int(total)})
            nodes[-1]["links"] = []
        elif link and nodes:
            nodes[-1]["links"].append(_link(link, nodes[-1]["kind"]))
    if not nodes:
        raise ParseError(f"ibnetdiscover: no node in: {_shown(text)}")
    return {"nodes": nodes}


def _link(match, kind):
    """Of a CA's port the comment says its own LID, then the peer's name and LID; of a switch's port only the latter."""
    port, own, peer_kind, guid, peer_port, peer_guid, comment = match.groups()
    before, _, after = (comment or "").partition('"')
    name, _, after = after.rpartition('"')
    rate = RATE.search(after)
    return {
        "port": int(port),
        "port_guid": _guid(own),
        "lid": _lid(before) if kind == "ca" else None,
        "width": rate.group(1) + "X" if rate else None,
        "speed": rate.group(2) if rate else None,
        "peer": {
            "kind": KINDS[peer_kind],
            "guid": "0x" + guid,
            "port": int(peer_port),
            "port_guid": _guid(peer_guid),
            "name": _name(name),
            "lid": _lid(after),
        },
    }


def parse_ports(text: str) -> dict:
    """`-p`: one line for each end of each link, and for each port without one."""
    ports = []
    for match in filter(None, map(PORT.fullmatch, map(str.strip, text.splitlines()))):
        kind, lid, port, guid, width, speed, peer_kind, peer_lid, peer_port, peer_guid, name, peer_name, alone = match.groups()
        entry = {
            "kind": KINDS[kind],
            "lid": int(lid),
            "port": int(port),
            "guid": _guid(guid),
            "name": _name(alone if peer_kind is None else name),
        }
        entry.update(width=width + "X", speed=speed if speed.isalnum() else None, peer=None)
        if peer_kind:
            peer = {"kind": KINDS[peer_kind], "lid": int(peer_lid), "port": int(peer_port), "guid": _guid(peer_guid)}
            entry["peer"] = {**peer, "name": _name(peer_name)}
        ports.append(entry)
    if not ports:
        raise ParseError(f"ibnetdiscover -p: no port in: {_shown(text)}")
    return {"ports": ports}


def _name(text):
    return (text or "").strip().strip("'").strip() or None


def _lid(text):
    match = LID.search(text or "")
    return int(match.group(1)) if match else None


def _guid(text):
    return "0x" + text.rjust(16, "0") if text else None


def _shown(text):
    return " ".join(text.split())[:120] or "nothing"
