"""`ibswinfo`: what an unmanaged InfiniBand switch says of itself.

    {"part_number": "MSB7790-ES2F", "serial": "MT...", "product": "Scorpion IB EDR Unmanaged", "ports": 36, "psid": "MT_...",
     "guid": "0x...", "firmware": "11.2008.2102", "uptime_s": 13862333, "temperature_c": 45, "max_temperature_c": 57,
     "fan_status": "OK", "psus": [{"index": 0, "status": "OK", "dc_power": "OK", "fan_status": "OK", "power_w": 71}],
     "fans_rpm": {"1": 8493}}

A field that is not printed, empty, or no number where one belongs, is None.
"""

from __future__ import annotations

import re

from ..values import integer, word
from . import ParseError

LINE = re.compile(r"([^|]{1,40})\|(.*)")
UPTIME = re.compile(r"([0-9]{1,5})d-([0-9]{1,2}):([0-9]{2}):([0-9]{2})")
TEXTS = {"part number": "part_number", "serial number": "serial", "product name": "product", "PSID": "psid", "GUID": "guid"}
TEXTS.update({"firmware version": "firmware", "fan status": "fan_status"})
NUMBERS = {"ports": "ports", "temperature (C)": "temperature_c", "max temp (C)": "max_temperature_c"}
OF_PSU = {"DC power": ("dc_power", word), "fan status": ("fan_status", word), "power (W)": ("power_w", integer)}


def parse(text: str) -> dict:
    """See the module's docstring."""
    found = {**dict.fromkeys([*TEXTS.values(), *NUMBERS.values()]), "uptime_s": None, "psus": [], "fans_rpm": {}}
    psu = None
    for raw in text.splitlines():
        if raw.startswith("-----"):
            psu = None
        match = LINE.fullmatch(raw)
        if not match:
            continue
        name, value = match.group(1).strip(), match.group(2)
        head, fan = re.fullmatch(r"PSU([0-9]) status", name), re.fullmatch(r"fan#([0-9]{1,2}) \(rpm\)", name)
        if head:
            psu = {"index": int(head.group(1)), "status": word(value), "dc_power": None, "fan_status": None, "power_w": None}
            found["psus"].append(psu)
        elif fan:
            found["fans_rpm"][fan.group(1)] = integer(value)
        elif psu is not None and name in OF_PSU:
            key, read = OF_PSU[name]
            psu[key] = read(value)
        elif psu is None and name in TEXTS:
            found[TEXTS[name]] = word(value)
        elif psu is None and name in NUMBERS:
            found[NUMBERS[name]] = integer(value)
        elif name.startswith("uptime") and UPTIME.fullmatch(value.strip()):
            days, hours, minutes, seconds = map(int, UPTIME.fullmatch(value.strip()).groups())
            found["uptime_s"] = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if found["guid"] is None and found["part_number"] is None:
        raise ParseError(f"ibswinfo: no switch in: {' '.join(text.split())[:120] or 'nothing'}")
    return found
