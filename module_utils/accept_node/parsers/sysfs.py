"""Small texts of the kernel.

parse, a choice with the chosen word in brackets (`always [madvise] never`): {"chosen": "madvise", "choices": [...]}.
parse_cmdline, /proc/cmdline: {"words": {"iommu": "pt", "quiet": True}}; the last of a name counts, as for the kernel.
bridges, the real path of a PCI device below /sys/devices: ["0000:15:01.0", ..., "0000:1b:00.0"], from the root port to the device.
"""

from __future__ import annotations

import re

from ..values import pci_address
from . import ParseError

ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def parse(text: str) -> dict:
    """A choice."""
    chosen = re.findall(r"\[([^\]\s]{1,40})\]", text)
    if len(chosen) != 1:
        raise ParseError(f"no single choice in: {' '.join(text.split())[:80] or 'nothing'}")
    return {"chosen": chosen[0], "choices": text.replace("[", " ").replace("]", " ").split()}


def parse_cmdline(text: str) -> dict:
    """The kernel's parameters."""
    if not text.strip():
        raise ParseError("/proc/cmdline: empty")
    pairs = (word.partition("=") for word in text.split())
    return {"words": {name: value if equals else True for name, equals, value in pairs}}


def bridges(path: str) -> list:
    """The addresses on the way to a device, itself included."""
    return [pci_address(part) for part in path.split("/") if ADDRESS.fullmatch(part)]
