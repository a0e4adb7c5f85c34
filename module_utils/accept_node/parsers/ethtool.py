"""`ethtool DEV` (parse), `ethtool -g` (parse_rings), `-i` (parse_driver), `-m` (parse_module) and `-S` (parse_stats).

parse: {"device": "eth1", "speed_gbps": 1.0, "duplex": "Full", "link": true, "autoneg": true, "messages": ["Cannot get ..."]}
parse_rings: {"device", "max": {"RX": 256, "RX Mini": None}, "current": {...}}
parse_driver: {"driver": "mlx5_core", "version", "firmware", "bus": "0000:1b:00.0"}
parse_module: {"identifier": "0x19", "type": "OSFP", "vendor": "NVIDIA", "part": "MMA4Z00-NS400", "serial": "MT2...", "temperature_c": 55.1}
parse_stats: {"counters": {"tx_packets": 25}}
"""

from __future__ import annotations

import re

from ..values import flag, integer, pci_address, quantity, word
from . import ParseError


def _fields(text, what, wanted):
    """name -> value of the lines with a colon; `wanted` must be among them."""
    fields = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    if wanted not in fields:
        raise ParseError(f"ethtool{what}: no {wanted} in: {' '.join(text.split())[:120] or 'nothing'}")
    return fields


def _device(text, before):
    match = re.search(before + r" for (\S+?):", text)
    return match.group(1) if match else None


def parse(text: str) -> dict:
    """Speed and link of a device."""
    device = _device(text, "Settings")
    if not device:
        raise ParseError(f"ethtool: no settings in: {' '.join(text.split())[:120] or 'nothing'}")
    fields = _fields(text, "", "Settings for " + device)
    speed = quantity(fields.get("Speed"), "Mb/s")
    return {
        "device": device,
        "speed_gbps": speed / 1000 if speed is not None else None,
        "duplex": None if str(fields.get("Duplex", "")).startswith("Unknown") else word(fields.get("Duplex")),
        "link": flag(fields.get("Link detected")),
        "autoneg": flag(fields.get("Auto-negotiation")),
        "messages": [line.strip() for line in text.splitlines() if line.startswith("Cannot ")],
    }


def parse_rings(text: str) -> dict:
    """Ring sizes; what is no number is None."""
    found = {"device": _device(text, "Ring parameters"), "max": {}, "current": {}}
    part = None
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if line.startswith("Pre-set maximums"):
            part = "max"
        elif line.startswith("Current hardware settings"):
            part = "current"
        elif part and colon:
            found[part][name.strip()] = integer(value)
    if not found["current"]:
        raise ParseError(f"ethtool -g: no current settings in: {' '.join(text.split())[:120] or 'nothing'}")
    return found


def parse_driver(text: str) -> dict:
    """Driver and firmware."""
    fields = _fields(text, " -i", "driver")
    names = {"driver": "driver", "version": "version", "firmware": "firmware-version"}
    return {**{ours: word(fields.get(theirs)) for ours, theirs in names.items()}, "bus": pci_address(fields.get("bus-info"))}


def parse_module(text: str) -> dict:
    """Transceiver or cable of a port."""
    fields = _fields(text, " -m", "Identifier")
    kind = re.fullmatch(r"(0x[0-9a-fA-F]{2})(?: \((.{1,80})\))?", fields["Identifier"])
    temperature = re.match(r"(-?[0-9]{1,3}(?:\.[0-9]{1,2})?) degrees C", fields.get("Module temperature", ""))
    names = {"vendor": "Vendor name", "part": "Vendor PN", "serial": "Vendor SN"}
    return {
        "identifier": kind.group(1) if kind else None,
        "type": kind.group(2) if kind else None,
        **{ours: word(fields.get(theirs)) for ours, theirs in names.items()},
        "temperature_c": float(temperature.group(1)) if temperature else None,
    }


def parse_stats(text: str) -> dict:
    """All counters."""
    counters = dict(re.findall(r"^\s+(\S[^:\n]*?): (\d{1,20})\s*$", text, re.MULTILINE))
    if not counters:
        raise ParseError(f"ethtool -S: no counter in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"counters": {name: int(value) for name, value in counters.items()}}
