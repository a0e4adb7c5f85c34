"""`mlnx_qos -i DEV` (MLNX_OFED, DOCA): priorities, flow control and buffers of a ConnectX port.

    {"dcbx": "OS controlled", "trust": "dscp" | "pcp", "dscp_priority": {"0": 0, ..., "63": 7}, "pfc": [3],
     "priority_buffer": [0, 0, 0, 1, 0, 0, 0, 0] | None, "buffer_bytes": [20016, 156096, ...] | None, "cable_m": 7,
     "traffic_classes": [{"tc": 0, "tsa": "ets", "bandwidth_pct": 50, "priorities": [0, 1]}]}

`pfc` are the priorities that are paused instead of dropped; [] is off, measured. With trust pcp no DSCP table is printed.
"""

from __future__ import annotations

import re

from ..values import integer, word
from . import ParseError

PRIO = re.compile(r"prio:([0-7])\s+dscp:([0-9, ]*)")
CLASS = re.compile(r"tc: ([0-7])\b.*?tsa: (\w+)(?:, bw: ([0-9]{1,3})%)?")


def parse(text: str) -> dict:
    """See the module's docstring."""
    found = {"dcbx": None, "trust": None, "dscp_priority": {}, "pfc": None, "priority_buffer": None, "buffer_bytes": None, "cable_m": None}
    classes = []
    for line in map(str.strip, text.splitlines()):
        name, colon, value = line.partition(":")
        match = PRIO.match(line)
        if match:
            found["dscp_priority"].update({str(int(d)): int(match.group(1)) for d in re.findall(r"[0-9]{1,2}", match.group(2))})
        elif line.startswith("tc:"):
            match = CLASS.match(line)
            if match:
                tc, tsa, bandwidth = match.groups()
                classes.append({"tc": int(tc), "tsa": tsa, "bandwidth_pct": int(bandwidth) if bandwidth else None, "priorities": []})
        elif name == "priority" and colon and classes:
            if integer(value) is not None:
                classes[-1]["priorities"].append(integer(value))
        elif line.startswith(("enabled", "buffer")) and _eight(line) is not None:
            flags = _eight(line)
            if line.startswith("enabled") and set(flags) <= {0, 1}:
                found["pfc"] = [priority for priority, flag in enumerate(flags) if flag]
            elif line.startswith("buffer"):
                found["priority_buffer"] = flags
        elif colon:
            _field(found, name, value.strip())
    if found["trust"] is None and found["pfc"] is None:
        raise ParseError(f"mlnx_qos: neither trust nor PFC in: {' '.join(text.split())[:120] or 'nothing'}")
    return {**found, "traffic_classes": classes}


def _eight(line):
    """The eight numbers behind a row's name, or None."""
    numbers = line.split()[1:]
    return [int(number) for number in numbers] if len(numbers) == 8 and all(re.fullmatch("[0-9]", n) for n in numbers) else None


def _field(found, name, value):
    if name == "DCBX mode":
        found["dcbx"] = word(value)
    elif name == "Priority trust state":
        found["trust"] = value if value in ("dscp", "pcp", "both") else None
    elif name == "Cable len":
        found["cable_m"] = integer(value)
    elif name.startswith("Receive buffer size"):
        sizes = [part for part in value.split(",") if re.fullmatch("[0-9]{1,9}", part)]
        found["buffer_bytes"] = [int(part) for part in sizes] if len(sizes) == 8 else None
