"""/proc/driver/nvidia/params, what the loaded NVIDIA module was started with: {"values": {"RmProfilingAdminOnly": 1, ...}}."""

from __future__ import annotations

import re

from . import ParseError


def parse(text: str) -> dict:
    values = {}
    for name, value in re.findall(r"^([A-Z]\w*): *(.*?)\s*$", text, re.M):
        values[name] = int(value) if re.fullmatch(r"-?\d{1,10}", value) else value.strip('"')
    if "ResmanDebugLevel" not in values and "DeviceFileMode" not in values:
        raise ParseError("no parameters of the driver: %r" % text.strip()[:60])
    return {"values": values}
