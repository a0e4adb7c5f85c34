"""`lldpctl -f json` (lldpd): who is at the other end of each Ethernet port.

    {"neighbours": {"rail0": [{"switch": "leaf-1", "chassis": "9c:05:...", "port": "swp1", "description": "..."}]}}

lldpd prints one interface as an object and several as a list; a chassis stands below its name, or without one. No neighbour is {}.

`parse_pfc` reads what the neighbour says of its priority flow control (IEEE 802.1Qaz in DCBX: OUI 00-80-C2, subtype 11), which lldpd
passes on among the TLVs that it does not know::

    {"pfc": {"rail0": {"switch": "leaf-1", "port": "swp1", "chassis": ..., "description": ..., "pfc": [3]}}}

`pfc`: the priorities that it pauses, [] none; None where it does not say. Of several neighbours on a port the first with a word counts.
"""

from __future__ import annotations

import re

from ..loose_json import load

PFC = ("00,80,C2", "11")  # OUI and subtype; its two bytes: flags and number of classes, then a bit for each priority


def parse(text: str) -> dict:
    """See the module's docstring."""
    neighbours = {}
    for name, seen in _seen(text):
        neighbours.setdefault(name, []).append(_neighbour(seen))
    return {"neighbours": neighbours}


def parse_pfc(text: str) -> dict:
    """See the module's docstring."""
    found = {}
    for name, seen in _seen(text):
        entry = {**_neighbour(seen), "pfc": _pfc(seen.get("unknown-tlvs"))}
        if name not in found or (found[name]["pfc"] is None and entry["pfc"] is not None):
            found[name] = entry
    return {"pfc": found}


def _seen(text):
    """(interface, what was heard there) of each neighbour."""
    lldp = load(text, "lldpctl").get("lldp")
    interfaces = lldp.get("interface", []) if isinstance(lldp, dict) else []
    for row in interfaces if isinstance(interfaces, list) else [interfaces]:
        for name, seen in row.items() if isinstance(row, dict) else ():
            if isinstance(seen, dict):
                yield name, seen


def _pfc(unknown):
    tlvs = unknown.get("unknown-tlv") if isinstance(unknown, dict) else None
    for tlv in tlvs if isinstance(tlvs, list) else [tlvs]:
        if isinstance(tlv, dict) and (str(tlv.get("oui")).upper(), str(tlv.get("subtype"))) == PFC:
            octets = str(tlv.get("value")).split(",")
            if len(octets) == 2 and all(re.fullmatch("[0-9A-Fa-f]{2}", octet) for octet in octets):
                return [priority for priority in range(8) if int(octets[1], 16) >> priority & 1]
    return None


def _neighbour(seen):
    chassis, port = seen.get("chassis"), seen.get("port")
    switch, chassis = _chassis(chassis if isinstance(chassis, dict) else {})
    port = port if isinstance(port, dict) else {}
    return {"switch": switch, "chassis": chassis, "port": _value(port.get("id")), "description": _text(port.get("descr"))}


def _chassis(chassis):
    if "id" in chassis:
        return _text(chassis.get("name")), _value(chassis["id"])
    for name, inner in chassis.items():
        if isinstance(inner, dict):
            return name, _value(inner.get("id"))
    return None, None


def _value(node):
    return _text(node.get("value")) if isinstance(node, dict) else None


def _text(value):
    return value if isinstance(value, str) and value else None
