"""/proc/driver/nvidia/version: the loaded NVIDIA kernel module.

Format: the driver's own text, whose first line changed order with the open modules and again between branches 590 and 595.
Shape: {"version": "580.159.03", "flavour": "open" | "proprietary", "compiler": "gcc version 13.3.0 (...)" | None}
"""

from __future__ import annotations

import re

from . import ParseError

LINE = re.compile(r"^(?:NVRM version:\s*)?NVIDIA UNIX\b(?P<kind>.*?)\s(?P<version>[0-9]{3,4}\.[0-9]+(?:\.[0-9]+)?)(?=\s|$)", re.M)
COMPILER = re.compile(r"^GCC version:\s*(\S.*?)\s*$", re.M)


def parse(text: str) -> dict:
    """The version stays text: a leading zero in 570.211.01 belongs to it."""
    found = LINE.search(text)
    if not found:
        raise ParseError("no line that names an NVIDIA UNIX kernel module and its version")
    compiler = COMPILER.search(text)
    return {
        "version": found["version"],
        "flavour": "open" if re.search(r"\bOpen Kernel\b", found["kind"]) else "proprietary",
        "compiler": compiler.group(1) if compiler else None,
    }
