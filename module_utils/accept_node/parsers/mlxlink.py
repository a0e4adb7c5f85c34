"""`mlxlink -d DEV -m -c` (MFT; mstlink of mstflint prints the same), as JSON (--json) and as text.

    {"state": "active", "phys_state": "linkup", "speed": "IB-NDR", "width": 4, "fec": "Standard_RS-FEC - (544,514)",
     "fec_kind": "standard" | "low_latency" | "other" | "none", "advice": "No issue was observed", "uptime_min": 15423.4,
     "ber": {"raw": 1e-09, "effective": 1.5e-254, "symbol": 1.5e-254}, "link_downs": 0, "link_recoveries": 0,
     "module": {"vendor", "part", "serial", "firmware", "type", "temperature_c": 55.0, "temperature_range_c": [-5.0, 75.0]} | None}

`uptime_min` is the time since the counters were last cleared: a bit error rate over less time than its rule asks for means nothing. The
tool prints 15E-255 for no error at all. Ethernet ports have no symbol rate. A cut JSON gives what of its first section can be read.
"""

from __future__ import annotations

import re

from ..loose_json import load, real, whole
from ..values import integer, word
from . import ParseError

COLOUR = re.compile(r"\x1b\[[0-9;]{0,8}m")
LINE = re.compile(r"^([A-Z][^:\n]{0,60}?)\s*: ?(.*)$", re.M)
PAIR = re.compile(r'"([^"\n]{1,60})"\s*:\s*"([^"\n]{0,200})"')
RANGE = re.compile(r"(-?[0-9]{1,4}(?:\.[0-9]{1,3})?)(?:\s*\[(-?[0-9]{1,4}(?:\.[0-9]{1,3})?)\.\.(-?[0-9]{1,4}(?:\.[0-9]{1,3})?)\])?")


def parse(text: str) -> dict:
    """See the module's docstring."""
    plain = COLOUR.sub("", text)
    if plain.lstrip().startswith("{"):
        try:
            fields = _flat(load(plain, "mlxlink"))
        except ParseError:
            fields = dict(PAIR.findall(plain))
    else:
        fields = {name.strip(): value.strip() for name, value in LINE.findall(plain)}
    if "State" not in fields:
        raise ParseError(f"mlxlink: no State in: {' '.join(plain.split())[:120] or 'nothing'}")
    ber = {key: real(fields.get(name)) for key, name in BERS.items()}
    return {
        "state": _low(fields.get("State")),
        "phys_state": _low(fields.get("Physical state")),
        "speed": word(fields.get("Speed")),
        "width": integer(fields.get("Width"), "x"),
        "fec": word(fields.get("FEC")),
        "fec_kind": fec_kind(word(fields.get("FEC"))),
        "advice": word(fields.get("Recommendation")),
        "uptime_min": real(fields.get("Time Since Last Clear [Min]")),
        "ber": ber,
        "link_downs": whole(fields.get("Link Down Counter")),
        "link_recoveries": whole(fields.get("Link Error Recovery Counter")),
        "module": _module(fields),
    }


BERS = {"raw": "Raw Physical BER", "effective": "Effective Physical BER", "symbol": "Symbol BER"}
MODULE = {
    "vendor": "Vendor Name",
    "part": "Vendor Part Number",
    "serial": "Vendor Serial Number",
    "firmware": "FW Version",
    "type": "Cable Type",
}


def _low(text):
    return (word(text) or "").lower() or None


def _flat(node, fields=None):
    """All "name": "value" pairs, whatever section they stand in; lists joined by commas."""
    fields = {} if fields is None else fields
    for name, value in node.items():
        if isinstance(value, dict) and not isinstance(value.get("values"), list):
            _flat(value, fields)
        elif isinstance(value, dict):
            fields.setdefault(name, ",".join(map(str, value["values"])))
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            fields.setdefault(name, str(value))
    return fields


def fec_kind(fec):
    """Which row of the table of bit error rates a FEC belongs to: low_latency (with retransmission), standard (KP4, 544,514), other."""
    low = re.sub(r"[^a-z0-9]+", "_", (fec or "").lower())
    if not low:
        return None
    retransmits = "plr" in low
    if re.search(r"(^|_)(ll|low_latency)_", low) and retransmits:
        return "low_latency"
    return "none" if "no_fec" in low else "standard" if "544_514" in low and not retransmits else "other"


def _module(fields):
    found = {key: word(fields.get(name)) for key, name in MODULE.items()}
    temperature = RANGE.match((word(fields.get("Temperature [C]")) or "").strip())
    numbers = [float(part) if part is not None else None for part in temperature.groups()] if temperature else [None] * 3
    limits = numbers[1:] if numbers[1] is not None else None
    if not any(found.values()):
        return None
    return {**found, "temperature_c": numbers[0], "temperature_range_c": limits}
