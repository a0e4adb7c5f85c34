"""/sys/class/infiniband: the RDMA devices of a machine and their ports.

`read` takes the files of a tree (path below the root -> text); `parse` takes `grep -r . /sys/class/infiniband`, as people record it.

    {"devices": {"mlx5_0": {"firmware": "28.41.1000", "board_id": "MT_0000000838", "hca_type": "MT4129", "numa": 0,
                            "pcie": {"gen": 5, "gen_max": 5, "width": 16, "width_max": 16},
                            "ports": {"1": {"state": "active", "phys_state": "linkup", "rate_gbps": 400, "speed": "4X NDR",
                                            "link_layer": "InfiniBand", "counters": {"link_downed": 0}}}}}}

A counter that the kernel will not give (an error, no number) is None. `parse_counters` takes the counters of one port, as
`=== ./name ===` and the value below it, or as `name :value` (EFA): {"counters": {...}, "saturated": ["link_downed"]}; a saturated one
stands at its ceiling and says "at least".
"""

from __future__ import annotations

import re

from ..values import integer
from . import ParseError
from .amd_smi import GENERATIONS

LINE = re.compile(r"/sys/class/infiniband/([^:\s]+):(.*)")
RATE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?) Gb/sec(?: \(([^)]{1,20})\))?")
HEAD = re.compile(r"=== \./(\w+) ===")
PAIR = re.compile(r"(\w+) ?:.{0,40}")
CEILINGS = {  # where the InfiniBand specification's counters stop
    **dict.fromkeys(("local_link_integrity_errors", "excessive_buffer_overrun_errors"), 15),
    **dict.fromkeys(("link_downed", "link_error_recovery", "port_rcv_constraint_errors", "port_xmit_constraint_errors"), 255),
    **dict.fromkeys(("symbol_error", "port_rcv_errors", "port_xmit_discards", "VL15_dropped"), 65535),
    **dict.fromkeys(("port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors"), 65535),
    "port_xmit_wait": 4294967295,
}
STATE = re.compile(r"[0-9]{1,2}: (.+)")
SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s.*")
DEVICE = {"fw_ver": "firmware", "board_id": "board_id", "hca_type": "hca_type"}
LINK = {"current_link_speed": "gen", "max_link_speed": "gen_max", "current_link_width": "width", "max_link_width": "width_max"}


def parse(text: str) -> dict:
    """`grep -r .` below the class."""
    files = dict(match.groups() for match in map(LINE.fullmatch, (line.rstrip() for line in text.splitlines())) if match)
    if not files:
        raise ParseError(f"/sys/class/infiniband: no file in: {' '.join(text.split())[:120] or 'nothing'}")
    return read(files)


def read(files: dict) -> dict:
    """The devices in a tree of files; other files are passed over."""
    devices = {}
    for path, text in sorted(files.items()):
        name, *rest = path.split("/")
        if not rest:
            continue
        device = devices.setdefault(name, {**dict.fromkeys([*DEVICE.values(), "numa"]), "pcie": dict.fromkeys(LINK.values()), "ports": {}})
        if len(rest) == 1 and rest[0] in DEVICE:
            device[DEVICE[rest[0]]] = text.strip() or None
        elif rest == ["device", "numa_node"]:
            device["numa"] = integer(text) if not text.startswith("-") else None
        elif rest[0] == "device" and len(rest) == 2 and rest[1] in LINK:
            device["pcie"][LINK[rest[1]]] = link(text)
        elif rest[0] == "ports" and len(rest) >= 3:
            port = device["ports"].setdefault(
                rest[1], {"state": None, "phys_state": None, "rate_gbps": None, "speed": None, "link_layer": None, "counters": {}}
            )
            _port(port, rest[2:], text.strip())
    return {"devices": devices}


def link(text):
    """Generation of `32.0 GT/s PCIe`, or a width; None where the kernel says it does not know."""
    match = SPEED.fullmatch(text.strip())
    return GENERATIONS.get(float(match.group(1))) if match else integer(text) or None


def _port(port, rest, text):
    if len(rest) == 1 and rest[0] in ("state", "phys_state"):
        match = STATE.fullmatch(text)
        port[rest[0]] = match.group(1).lower() if match else None
    elif rest == ["rate"]:
        match = RATE.fullmatch(text)
        port["rate_gbps"], port["speed"] = (float(match.group(1)), match.group(2)) if match else (None, None)
    elif rest == ["link_layer"]:
        port["link_layer"] = text or None
    elif len(rest) == 2 and rest[0] in ("counters", "hw_counters"):
        port["counters"][rest[1]] = int(text) if re.fullmatch(r"[0-9]{1,20}", text) else None


def parse_counters(text: str) -> dict:
    """The counters of one port; see the module's docstring."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    pairs = [(HEAD.fullmatch(head), value) for head, value in zip(lines, lines[1:] + [""])]
    if not any(head for head, _ in pairs):
        pairs = [(PAIR.fullmatch(line), line.rpartition(":")[2].strip()) for line in lines]
    counters = {head.group(1): int(value) if re.fullmatch(r"[0-9]{1,20}", value) else None for head, value in pairs if head}
    if not counters:
        raise ParseError(f"InfiniBand counters: none in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"counters": counters, "saturated": saturated(counters)}


def saturated(counters: dict) -> list:
    """The names of counters that stand at their ceiling."""
    return sorted(name for name, value in counters.items() if value is not None and value == CEILINGS.get(name))
