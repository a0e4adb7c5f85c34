"""`lspci -D -nn` (what is on the bus) and `lspci -D -vvv -d ::0604` (what the bridges do with peer-to-peer traffic).

parse, also of output without numbers or domains::

    {"devices": [{"pci": "0000:1b:00.0", "class": "3D controller", "class_id": "0302", "vendor_id": "10de", "device_id": "2330",
                  "name": "NVIDIA Corporation GH100 [H100 SXM5 80GB]", "rev": "a1", "kind": "gpu", "vendor": "nvidia", "lost": false}]}

`kind` is gpu, nvswitch, nic, nvme or None. `lost`: revision ff, the device does not answer on the bus any more.
"""

from __future__ import annotations

import re

from ..values import pci_address
from . import ParseError

ADDRESS = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
DEVICE = re.compile(r"(%s) ([^:\[]+?)(?: \[([0-9a-f]{4})\])?: (.+)" % ADDRESS)
IDS = re.compile(r" \[([0-9a-f]{4}):([0-9a-f]{4})\]")
REV = re.compile(r"\(rev ([0-9a-f]{2})\)")
VENDORS = (("nvidia", "10de", "NVIDIA"), ("amd", "1002", "Advanced Micro Devices, Inc. [AMD/ATI]"))
GPU_CLASSES = {"0300", "0302", "0380", "1200"}
GPU_NAMES = {"VGA compatible controller", "3D controller", "Display controller", "Processing accelerators"}
NIC_CLASSES = {"0200": "nic", "0207": "nic", "0108": "nvme"}
NIC_NAMES = {"ethernet controller": "nic", "infiniband controller": "nic", "non-volatile memory controller": "nvme"}


def parse(text: str) -> dict:
    """Every device; see the module's docstring."""
    devices = [_device(*match.groups()) for match in map(DEVICE.fullmatch, (line.rstrip() for line in text.splitlines())) if match]
    if not devices:
        raise ParseError(f"lspci: no device line in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"devices": devices}


def _device(address, kind, class_id, rest) -> dict:
    ids, rev = IDS.findall(rest), REV.search(rest)
    vendor_id, device_id = ids[-1] if ids else (None, None)
    name = REV.sub("", rest.replace(" [%s:%s]" % ids[-1], "") if ids else rest).strip()
    vendor = next((v for v, number, words in VENDORS if vendor_id == number or (not ids and name.startswith(words))), None)
    return {
        "pci": pci_address(address),
        "class": kind,
        "class_id": class_id,
        "vendor_id": vendor_id,
        "device_id": device_id,
        "name": name,
        "rev": rev.group(1) if rev else None,
        "kind": _kind(kind, class_id, vendor),
        "vendor": vendor,
        "lost": bool(rev) and rev.group(1) == "ff",
    }


def from_sysfs(files: dict) -> dict:
    """The same of the files `<address>/vendor` and `<address>/class` below /sys/bus/pci/devices; names and revisions are not there."""
    devices = []
    for path in sorted(files):
        address, what = path.split("/")
        if what == "vendor":
            vendor_id, class_id = files[path].strip()[2:], files.get(address + "/class", "").strip()[2:6]
            vendor = next((v for v, number, _ in VENDORS if vendor_id == number), None)
            known = {"pci": pci_address(address), "class_id": class_id or None, "vendor_id": vendor_id, "vendor": vendor}
            unknown = dict.fromkeys(("class", "device_id", "name", "rev"))
            devices.append({**unknown, **known, "kind": _kind("", class_id, vendor), "lost": False})
    return {"devices": devices}


def _kind(name, class_id, vendor):
    if vendor and (class_id in GPU_CLASSES or name in GPU_NAMES):
        return "gpu"
    if vendor == "nvidia" and (class_id == "0680" or name == "Bridge"):
        return "nvswitch"
    return NIC_CLASSES.get(class_id) or NIC_NAMES.get(name.lower())


def parse_acs(text: str) -> dict:
    """Of `lspci -vvv`: {"bridges": 40, "with_acs": 12, "enabled": ["0000:17:00.0"], "denied": 0}.

    `enabled`: bridges with any control bit of Access Control Services on, which can send traffic between devices below them up to the
    root complex. `denied` counts those whose capabilities may not be read: only root may.
    """
    bridges, with_acs, enabled, denied = 0, set(), set(), 0
    for line in text.splitlines():
        match = re.match(r"(%s) " % ADDRESS, line)
        if match:
            address, bridges = pci_address(match.group(1)), bridges + 1
        elif bridges and "Capabilities: <access denied>" in line:
            denied += 1
        elif bridges and line.strip().startswith("ACSCtl:"):
            with_acs.add(address)
            if "+" in line:
                enabled.add(address)
    if not bridges and text.strip():
        raise ParseError(f"lspci -vvv: no device line in: {' '.join(text.split())[:120]}")
    return {"bridges": bridges, "with_acs": len(with_acs), "enabled": sorted(enabled), "denied": denied}
