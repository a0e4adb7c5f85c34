"""`ibv_devinfo` (rdma-core), and `ibv_devinfo -l` (parse_list).

    {"devices": {"mlx5_7": {"firmware": "28.39.2048", "node_guid": "58a2:e103:...", "system_guid": "...", "vendor_id": "0x02c9",
                            "part": 4129, "board_id": "MT_0000000838" | None,
                            "ports": {"1": {"state": "active", "max_mtu": 4096, "mtu": 4096, "lid": 0, "sm_lid": 0,
                                            "link_layer": "Ethernet"}}}}}

`mtu` is the active one, in bytes. A block whose head is cut off goes under the name "?". `No IB devices found` is a ParseError.
"""

from __future__ import annotations

import re

from ..values import integer, word
from . import ParseError

NUMBERED = re.compile(r"([^()]+?)\s*\([0-9]{1,3}\)")
OF_DEVICE = {
    "fw_ver": ("firmware", word),
    "node_guid": ("node_guid", word),
    "sys_image_guid": ("system_guid", word),
    "vendor_id": ("vendor_id", word),
    "vendor_part_id": ("part", integer),
    "board_id": ("board_id", word),
}


def _named(value):
    """`4096 (5)` -> 4096, as text; None where it is cut."""
    match = NUMBERED.fullmatch(value)
    return match.group(1) if match else None


def _bytes(value):
    return integer(_named(value))


OF_PORT = {
    "state": ("state", lambda value: (_named(value) or "").lower().replace("port_", "") or None),
    "max_mtu": ("max_mtu", _bytes),
    "active_mtu": ("mtu", _bytes),
    "port_lid": ("lid", integer),
    "sm_lid": ("sm_lid", integer),
    "link_layer": ("link_layer", word),
}


def parse(text: str) -> dict:
    """See the module's docstring."""
    devices, device, port = {}, None, None
    for line in map(str.strip, text.splitlines()):
        name, colon, value = line.partition(":")
        value = value.strip()
        if not colon:
            continue
        if name == "hca_id" or (device is None and name in OF_DEVICE):
            device = devices.setdefault(value if name == "hca_id" else "?", {**{key: None for key, _ in OF_DEVICE.values()}, "ports": {}})
            port = None
        if device is None:
            continue
        if name == "port" and value.isascii() and value.isdigit():
            port = device["ports"].setdefault(value, {key: None for key, _ in OF_PORT.values()})
        elif port is not None and name in OF_PORT:
            key, read = OF_PORT[name]
            port[key] = read(value)
        elif name in OF_DEVICE:
            key, read = OF_DEVICE[name]
            device[key] = read(value)
    if not devices:
        raise ParseError(f"ibv_devinfo: no device in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"devices": devices}


def parse_list(text: str) -> dict:
    """`4 HCAs found:` and their names: {"count": 4, "devices": ["mlx5_0"]}."""
    head = re.search(r"^\s*([0-9]{1,4}) HCAs? found", text, re.M)
    if not head:
        raise ParseError(f"ibv_devinfo -l: no count in: {' '.join(text.split())[:120] or 'nothing'}")
    names = re.findall(r"^[ \t]+([A-Za-z][\w.-]{0,63})[ \t]*$", text[head.end() :], re.M)
    return {"count": int(head.group(1)), "devices": names}
