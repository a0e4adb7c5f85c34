"""What each RDMA port of a node is, and what it is plugged into as far as the node itself can see.

An Ethernet port knows its switch by LLDP. An InfiniBand port does not: its GUID is what a sweep of the fabric finds it by.
"""

from __future__ import annotations

import re

from ..parsers import lldpctl
from . import rdma
from .ib_config import LLDPCTL

KEYS = ("name", "device", "port", "netdev", "link_layer", "state", "phys_state", "rail", "vf")


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/cabling.json is its shape."""
    ports = rdma.read(gather)["ports"]
    if not ports:
        return {"ports": ports, "neighbours_by": "none"}
    tree = gather.tree(rdma.ROOT, ["*/node_guid", "*/ports/*/gids/0"], optional=True)
    ethernet = any(port["link_layer"] == "Ethernet" for port in ports)
    seen = gather.command(LLDPCTL, lldpctl.parse, optional=True) if ethernet else None
    entries = []
    for port in ports:
        neighbours = (seen or {"neighbours": {}})["neighbours"].get(port["netdev"]) or []
        entries.append(
            {
                **{key: port[key] for key in KEYS},
                "guid": _port_guid(tree, port),
                "node_guid": _guid(tree.files.get(port["device"] + "/node_guid", "")) if tree else None,
                "neighbour": None if seen is None else neighbours[0] if neighbours else "none",
            }
        )
    return {"ports": entries, "neighbours_by": "lldpctl" if seen else "none"}


def _port_guid(tree, port):
    """The last half of an InfiniBand port's first GID."""
    if tree is None or port["link_layer"] == "Ethernet":
        return None
    digits = tree.files.get(f"{port['device']}/ports/{port['port']}/gids/0", "").strip().replace(":", "")
    return _guid(digits[16:]) if len(digits) == 32 else None


def _guid(text):
    digits = text.strip().replace(":", "").lower()
    return "0x" + digits if re.fullmatch("[0-9a-f]{16}", digits) and digits.strip("0") else None
