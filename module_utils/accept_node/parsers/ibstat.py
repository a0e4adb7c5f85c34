"""`ibstat` (infiniband-diags), and `ibstat -p` (parse_guids).

    {"devices": {"mlx5_0": {"type": "MT4129", "firmware": "28.39.1002", "node_guid": "0x...", "system_guid": "0x...",
                            "ports": {"1": {"state": "active", "phys_state": "linkup", "rate_gbps": 400.0, "lid": 1, "sm_lid": 1,
                                            "lmc": 0, "guid": "0x...", "link_layer": "InfiniBand"}}}},
     "messages": ["ibpanic: ..."]}

What stands before an error is kept, the error is in `messages`. On RoCE a LID of 0 and a port GUID of zeros are normal. The rate of a
port without link is what the port would start with, not what the cable gives.
"""

from __future__ import annotations

import re

from ..values import integer, quantity, word
from . import ParseError

DEVICE = re.compile(r"CA '([^']{1,64})'")
PORT = re.compile(r"Port ([0-9]{1,3}):")
MESSAGE = re.compile(r"(?:ib[a-z]*|can't|cannot|error|warn|failed|.*: *(?:failed|error))\b.*", re.I)
OF_DEVICE = {"CA type": "type", "Firmware version": "firmware", "Node GUID": "node_guid", "System image GUID": "system_guid"}
OF_PORT = {
    "State": ("state", lambda text: (word(text) or "").lower() or None),
    "Physical state": ("phys_state", lambda text: (word(text) or "").lower() or None),
    "Rate": ("rate_gbps", quantity),
    "Base lid": ("lid", integer),
    "SM lid": ("sm_lid", integer),
    "LMC": ("lmc", integer),
    "Port GUID": ("guid", word),
    "Link layer": ("link_layer", word),
}


def parse(text: str) -> dict:
    """See the module's docstring."""
    devices, messages = {}, []
    device = port = None
    for line in map(str.strip, text.splitlines()):
        name, colon, value = line.partition(":")
        if DEVICE.fullmatch(line):
            device, port = devices.setdefault(DEVICE.fullmatch(line).group(1), {**dict.fromkeys(OF_DEVICE.values()), "ports": {}}), None
        elif device is not None and PORT.fullmatch(line):
            port = device["ports"].setdefault(PORT.fullmatch(line).group(1), {key: None for key, _ in OF_PORT.values()})
        elif port is not None and colon and name in OF_PORT:
            key, read = OF_PORT[name]
            port[key] = read(value)
        elif device is not None and colon and name in OF_DEVICE:
            device[OF_DEVICE[name]] = None if value.strip() == "..." else word(value)
        elif MESSAGE.fullmatch(line):
            messages.append(line[:200])
    if not devices:
        raise ParseError(f"ibstat: no CA in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"devices": devices, "messages": messages}


def parse_guids(text: str) -> dict:
    """`ibstat -p`: {"guids": ["0x0ff08c4321664e96"]}; also where they are listed without 0x, among other lines."""
    found = [line.strip().lower() for line in text.splitlines()]
    guids = [guid if guid.startswith("0x") else "0x" + guid for guid in found if re.fullmatch(r"(0x)?[0-9a-f]{16}", guid)]
    if not guids:
        raise ParseError(f"ibstat -p: no GUID in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"guids": guids}
