"""Broadcom's `niccli --list_devices` (parse) and `niccli --dev N qos --ets --show` (parse_qos).

    {"devices": [{"number": 1, "model": "Broadcom BCM57608 ...", "netdev": "abcd1p1" | None, "pci": "0000:22:00.0",
                  "firmware": "224.1.102.0" | None}]}
    {"priority_tc": {"3": 1}, "tc_bandwidth_pct": [50, 50, 0], "tsa": {"0": "ets"}, "pfc": [3], "dscp_priority": {"26": 3},
     "apps": [{"priority": 3, "protocol": "udp", "port": 4791}]}

`--list` of older releases prints a table: its PCI column puts the domain first (00:0d:00:00).
"""

from __future__ import annotations

import re

from ..values import integer, pci_address, word
from . import ParseError

ENTRY = re.compile(r"\s*([0-9]{1,3})\) (.+?)(?: \((Adp#\S+ Port#\S+)\))?\s*")
TABLE = re.compile(r"\s*([0-9]{1,3})\) (BCM\S{1,20})\s+([0-9A-Fa-f:]{17})\s+(\S{1,24})\s+([0-9a-fA-F:]{11,16})\s+NIC\b.*")


def parse(text: str) -> dict:
    """The list of devices."""
    devices = []
    for line in text.splitlines():
        row, entry = TABLE.fullmatch(line), ENTRY.fullmatch(line)
        name, colon, value = line.partition(":")
        if row:
            number, model, _, firmware, pci = row.groups()
            domain, bus, device, function = (pci.split(":") + [""] * 4)[:4]
            address = pci_address(f"{domain}:{bus}:{device}.{int(function or '0')}") if function.isdigit() else None
            devices.append({"number": int(number), "model": model, "netdev": None, "pci": address, "firmware": word(firmware)})
        elif entry and "Broadcom" in line:
            devices.append({"number": int(entry.group(1)), "model": entry.group(2), "netdev": None, "pci": None, "firmware": None})
        elif colon and devices and name.strip() == "Device Interface":
            devices[-1]["netdev"] = word(value)
        elif colon and devices and name.strip() == "PCI Address":
            devices[-1]["pci"] = pci_address(value)
    if not devices:
        raise ParseError(f"niccli: no device in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"devices": devices}


def parse_qos(text: str) -> dict:
    """Priorities, flow control and what is sorted into them."""
    priority_map = re.search(r"PRIO_MAP: ([0-7:\s]+)$", text, re.M)
    bandwidth = re.search(r"TC Bandwidth: ([0-9% ]+)$", text, re.M)
    tsa = re.search(r"TSA_MAP: (.+)$", text, re.M)
    pfc = re.search(r"PFC enabled:[ \t]*(.*)$", text, re.M)
    if not pfc and not priority_map:
        raise ParseError(f"niccli qos: neither PRIO_MAP nor PFC in: {' '.join(text.split())[:120] or 'nothing'}")
    dscp, apps = {}, []
    for block in re.split(r"APP#[0-9]{1,3}:", text)[1:]:
        fields = dict(re.findall(r"^\s*([A-Z][\w ]{2,20}?):[ \t]*([0-9]{1,5})\s*$", block, re.M))
        priority = integer(fields.get("Priority"))
        if "DSCP" in fields and priority is not None:
            dscp[fields["DSCP"]] = priority
        elif "UDP or DCCP" in fields:
            apps.append({"priority": priority, "protocol": "udp", "port": integer(fields["UDP or DCCP"])})
    said = pfc.group(1).strip().lower() if pfc else None
    return {
        "priority_tc": dict(re.findall(r"([0-7]):([0-7])", priority_map.group(1))) if priority_map else None,
        "tc_bandwidth_pct": [int(part) for part in re.findall(r"([0-9]{1,3})%", bandwidth.group(1))] if bandwidth else None,
        "tsa": dict(re.findall(r"([0-7]):(\w+)", tsa.group(1))) if tsa else None,
        "pfc": None if said is None else sorted(map(int, re.findall("[0-7]", said))) if re.fullmatch(r"[0-7, ]+|none|", said) else None,
        "dscp_priority": dscp,
        "apps": apps,
    }
