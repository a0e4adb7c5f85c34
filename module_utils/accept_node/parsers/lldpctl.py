"""`lldpctl -f json` (lldpd): who is at the other end of each Ethernet port.

    {"neighbours": {"rail0": [{"switch": "leaf-1", "chassis": "9c:05:...", "port": "swp1", "description": "..."}]}}

lldpd prints one interface as an object and several as a list; a chassis stands below its name, or without one. No neighbour is {}.
"""

from __future__ import annotations

from ..loose_json import load


def parse(text: str) -> dict:
    """See the module's docstring."""
    lldp = load(text, "lldpctl").get("lldp")
    interfaces = lldp.get("interface", []) if isinstance(lldp, dict) else []
    rows = interfaces if isinstance(interfaces, list) else [interfaces]
    neighbours = {}
    for row in rows:
        for name, seen in row.items() if isinstance(row, dict) else ():
            if isinstance(seen, dict):
                neighbours.setdefault(name, []).append(_neighbour(seen))
    return {"neighbours": neighbours}


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
