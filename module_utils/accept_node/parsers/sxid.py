"""One NVSwitch error message of the NVIDIA kernel driver ("nvidia-nvswitchN: SXid ...").

`parse(text)` takes one message, with no time stamp before it, and returns::

    {"kind": "sxid", "code": 20034, "pci": "0000:c2:00.0", "severity": None | "Fatal" | "Non-fatal" | "Correctable", "link": None | int,
     "pid": None, "name": None, "detail": {"switch": 0}, "follow_up": bool}

`follow_up`: a "Severity N Engine ..." or "Data {...}" line, which belongs to an event told before and is no further one. Not every code
carries a severity word. Formats: github.com/NVIDIA/open-gpu-kernel-modules (src/common/nvswitch). Systems with NVLink 5 have no SXids.
"""

from __future__ import annotations

import re

from . import ParseError
from .xid import ADDRESS, address

SXID = re.compile(
    r"nvidia-nvswitch(?P<switch>\d{1,3}): SXid \(PCI:(?P<pci>" + ADDRESS + r")\): (?P<code>\d{1,6})(?!\w),? ?(?P<rest>.*)", re.S
)
SEVERITY = re.compile(r"(Fatal|Non-fatal|Correctable)\b")
LINK = re.compile(r"\bLink (\d{1,4})\b")
FOLLOW_UP = re.compile(r"Severity \d+ Engine|Data \{")


def parse(text: str) -> dict:
    event = match(text.strip())
    if event is None:
        raise ParseError(f"no SXid message: {text.strip()[:80]!r}" if text.strip() else "empty text where an SXid message was expected")
    return event


def match(message: str):
    """The event that a message tells, or None."""
    found = SXID.match(message)
    if not found:
        return None
    severity, link = SEVERITY.match(found["rest"]), LINK.search(found["rest"])
    return {
        "kind": "sxid",
        "code": int(found["code"]),
        "pci": address(found["pci"]),
        "severity": severity[1] if severity else None,
        "link": int(link[1]) if link else None,
        "pid": None,
        "name": None,
        "detail": {"switch": int(found["switch"])},
        "follow_up": bool(FOLLOW_UP.match(found["rest"])),
    }
