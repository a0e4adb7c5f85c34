"""One GPU error message of the NVIDIA kernel driver ("NVRM: Xid ...").

`parse(text)` takes one message, with no time stamp before it, and returns::

    {"kind": "xid", "code": 79, "pci": "0000:2b:00.0", "severity": None | "Fatal" | "Nonfatal", "link": None | int,
     "pid": None | int, "name": None | str, "detail": {...}}

`detail` holds what the code's own wording adds: `unit intr_info error_status` (NVLink 5, codes 144-150), `registers` (74), `caused_by`
(45), `recovery_from recovery_to` (154), `reset_required drain_required` (94, 95), `gpu_instance compute_instance` (MIG). The wording
changed with the driver: "pid=, name=" is always there up to 565 and only with a process from 570; before 340 there was no "PCI:". Lines
may be cut anywhere behind the code. Formats: the driver's source (github.com/NVIDIA/open-gpu-kernel-modules, kernel_rc.c, gpu.c).
"""

from __future__ import annotations

import re

from ..values import pci_address
from . import ParseError

ADDRESS = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"
XID = re.compile(r"(?:NVRM: )?Xid \((?:PCI:)?(?P<pci>" + ADDRESS + r")(?P<mig>[^)]{0,40})\): (?P<code>\d{1,4})(?!\w)(?P<rest>.*)", re.S)
PROCESS = re.compile(r",? ?pid='?(?P<pid>[^,' ]*)'?(?:, name=(?P<name>[^,\n]*))?,? ?")
MIG = re.compile(r"GPU-(C?I):(\d{1,3})")
NVLINK5 = re.compile(
    r"(?P<unit>[A-Z][\w/ ]*?) +(?P<severity>Fatal|Nonfatal) +XC\d+ i\d+"
    r"(?: Link (?P<link>-?\d{1,4}))?(?: \((?P<words>0x[0-9a-fA-F]{1,8}[^)]*))?"
)
NVLINK = re.compile(r"NVLink: fatal error detected on link (?P<link>\d{1,4})(?:\((?P<words>[^)]*))?")
CAUSED = re.compile(r"caused by previous Xid (\d{1,4})")
RECOVERY = re.compile(r"GPU recovery action changed from 0x[0-9a-fA-F]+ \(([^)]*)\) to 0x[0-9a-fA-F]+ \(([^)]*)\)")
RESET = re.compile(r"\bRST: (Yes|No)(?:, D-RST: (Yes|No))?")
# Health agents forward the line with their advice behind it; the kernel never writes this.
FORWARDED = " Recommended Action="


def parse(text: str) -> dict:
    event = match(text.strip())
    if event is None:
        raise ParseError(f"no Xid message: {text.strip()[:80]!r}" if text.strip() else "empty text where an Xid message was expected")
    return event


def match(message: str):
    """The event that a message tells, or None. The message must begin with it: a quoted Xid is somebody's remark, no event."""
    found = XID.match(message)
    if not found or FORWARDED in message:
        return None
    rest, detail = found["rest"], {}
    process = PROCESS.match(rest)
    pid, name = (process["pid"], process["name"]) if process else (None, None)
    text = rest[process.end() :] if process else rest.lstrip(", ")
    for kind, number in MIG.findall(found["mig"]):
        detail["gpu_instance" if kind == "I" else "compute_instance"] = int(number)
    severity, link = _wording(text, detail)
    return {
        "kind": "xid",
        "code": int(found["code"]),
        "pci": address(found["pci"]),
        "severity": severity,
        "link": link,
        "pid": int(pid) if pid and re.fullmatch("[0-9]{1,9}", pid) else None,
        "name": name.strip() if name and name.strip() not in ("<unknown>", "") else None,
        "detail": detail,
    }


def _wording(text, detail):
    """Fill `detail` from the text behind code and process; returns (severity, link)."""
    nvlink5, nvlink = NVLINK5.match(text), NVLINK.match(text)
    caused, recovery, reset = CAUSED.search(text), RECOVERY.search(text), RESET.search(text)
    if caused:
        detail["caused_by"] = int(caused[1])
    if recovery:
        detail["recovery_from"], detail["recovery_to"] = recovery[1], recovery[2]
    if reset:
        detail["reset_required"] = reset[1] == "Yes"
        detail["drain_required"] = reset[2] == "Yes" if reset[2] else None
    if nvlink5:
        words = re.findall("0x[0-9a-fA-F]{1,8}", nvlink5["words"] or "")[:2] + [None, None]
        detail["unit"], detail["intr_info"], detail["error_status"] = nvlink5["unit"], words[0], words[1]
        return nvlink5["severity"], _number(nvlink5["link"])
    if nvlink:
        detail["registers"] = re.findall("0x[0-9a-fA-F]{1,8}", nvlink["words"] or "")[:7]
        return "Fatal", int(nvlink["link"])
    return None, None


def _number(text):
    return None if text is None else int(text)


def address(text: str):
    """A PCI address in the usual form. GPU lines leave the function out, which is then 0."""
    return pci_address(text if "." in text else text + ".0")
