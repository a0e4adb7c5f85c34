"""`ibstatus` (infiniband-diags): the ports of all RDMA devices.

    {"ports": [{"device": "mlx5_0", "port": 1, "gid": "fe80:...", "lid": 0, "sm_lid": 0, "state": "active", "phys_state": "linkup",
                "rate_gbps": 100.0, "lanes": "4X EDR", "link_layer": "Ethernet"}]}

No device at all is `Fatal error`, and a ParseError. A block that is cut keeps None for what is missing.
"""

from __future__ import annotations

import re

from ..values import word
from . import ParseError

HEAD = re.compile(r"Infiniband device '([^']{1,64})' port ([0-9]{1,3}) status:", re.I)
STATE = re.compile(r"[0-9]{1,2}: (\w+)")
RATE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?) Gb/sec(?: \(([^)]{1,20})\))?")
KEYS = ("gid", "lid", "sm_lid", "state", "phys_state", "rate_gbps", "lanes", "link_layer")


def parse(text: str) -> dict:
    """See the module's docstring."""
    ports = []
    for line in map(str.strip, text.splitlines()):
        head = HEAD.fullmatch(line)
        name, colon, value = line.partition(":")
        value = value.strip()
        if head:
            ports.append({"device": head.group(1), "port": int(head.group(2)), **dict.fromkeys(KEYS)})
        elif ports and colon:
            _field(ports[-1], name, value)
    if not ports:
        fatal = re.search(r"Fatal error:.{0,120}", text)
        raise ParseError(f"ibstatus: {fatal.group(0) if fatal else 'no device in: ' + (' '.join(text.split())[:120] or 'nothing')}")
    return {"ports": ports}


def _field(port, name, value):
    if name in ("base lid", "sm lid") and re.fullmatch(r"0x[0-9a-fA-F]{1,4}", value):
        port["lid" if name == "base lid" else "sm_lid"] = int(value, 16)
    elif name in ("state", "phys state"):
        match = STATE.fullmatch(value)
        port[name.replace(" ", "_")] = match.group(1).lower() if match else None
    elif name == "rate":
        match = RATE.fullmatch(value)
        port["rate_gbps"], port["lanes"] = (float(match.group(1)), match.group(2)) if match else (None, None)
    elif name in ("default gid", "link_layer"):
        port["gid" if name == "default gid" else name] = word(value)
