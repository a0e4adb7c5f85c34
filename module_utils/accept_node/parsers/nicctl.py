"""AMD's (Pensando) `nicctl show card -j` (parse), `nicctl show port -j` (parse_port) and `nicctl show qos` (parse_qos).

{"cards": [{"id", "product", "asic", "firmware", "serial", "pci": "0000:41:00.0", "netdev_pci": "0000:44:00.0"}]}
{"ports": [{"card", "name": "eth1/1", "speed_gbps": 100.0, "up": true, "mtu": 1500, "fec": "RS", "pause": "PFC", "link_downs": 11,
            "transceiver": "QSFP-100G-CR4"}]}
{"cards": [{"card": "<id>" | None, "classification": "dscp", "dscp_priority": {"26": 3}, "pfc": [3], "no_drop": [3]}]}
"""

from __future__ import annotations

import re

from ..loose_json import load, whole
from ..values import pci_address, quantity, word
from . import ParseError


def _nics(text, what):
    nics = load(text, what).get("nic")
    if not isinstance(nics, list):
        raise ParseError(f"{what}: no list of NICs")
    return [nic for nic in nics if isinstance(nic, dict)]


def _text(value):
    return word(value) if isinstance(value, str) else None


def parse(text: str) -> dict:
    """The cards."""
    return {
        "cards": [
            {
                "id": _text(nic.get("id")),
                "product": _text(nic.get("product_name")),
                "asic": _text(nic.get("asic")),
                "firmware": _text(nic.get("firmware_version")),
                "serial": _text(nic.get("serial_number")),
                "pci": pci_address(_text(nic.get("pcie_bdf"))),
                "netdev_pci": pci_address(_text(nic.get("eth_bdf"))),
            }
            for nic in _nics(text, "nicctl show card")
        ]
    }


def parse_port(text: str) -> dict:
    """The ports, as asked for and as they are."""
    ports = []
    for nic in _nics(text, "nicctl show port"):
        for port in nic["port"] if isinstance(nic.get("port"), list) else ():
            spec, status = (port.get(key) if isinstance(port, dict) else None for key in ("spec", "status"))
            spec, status = (part if isinstance(part, dict) else {} for part in (spec, status))
            state = _text(status.get("operational_status"))
            ports.append(
                {
                    "card": _text(nic.get("id")),
                    "name": _text(spec.get("name")),
                    "speed_gbps": quantity(_text(status.get("port_speed") or spec.get("port_speed")), "G"),
                    "up": None if state is None else state.upper() == "UP",
                    "mtu": whole(spec.get("mtu")),
                    "fec": _text(status.get("fec_type") or spec.get("fec_type")),
                    "pause": _text(spec.get("pause_type")),
                    "link_downs": whole(status.get("number_of_link_down_events")),
                    "transceiver": _text(status.get("transceiver_pid")),
                }
            )
    return {"ports": ports}


def parse_qos(text: str) -> dict:
    """Flow control of each card; the text is the same for each, below the card's id where there are several."""
    blocks, cards = re.split(r"^\s*NIC\s*(?:ID)?\s*:\s*(\S{1,64}).*$", text, flags=re.M), []
    for card, block in [(None, blocks[0]), *zip(blocks[1::2], blocks[2::2])]:
        kind = re.search(r"Classification type\s*: *(\w+)", block)
        bitmap = re.search(r"PFC priority bitmap\s*: *0x([0-9a-fA-F]{1,2})\b", block)
        no_drop = re.search(r"PFC no-drop priorities\s*:[ \t]*([0-7, ]*)$", block, re.M)
        if kind or bitmap:
            bits = int(bitmap.group(1), 16) if bitmap else None
            cards.append(
                {
                    "card": card,
                    "classification": kind.group(1).lower() if kind else None,
                    "dscp_priority": _dscp(block),
                    "pfc": None if bits is None else [priority for priority in range(8) if bits >> priority & 1],
                    "no_drop": [int(part) for part in re.findall("[0-7]", no_drop.group(1))] if no_drop else None,
                }
            )
    if not cards:
        raise ParseError(f"nicctl show qos: no classification in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"cards": cards}


def _dscp(block):
    """DSCP : 0-25, 27-63 ==> priority : 0."""
    table = {}
    for values, priority in re.findall(r"DSCP\s*: *([0-9, -]{1,200}?)\s*==> priority : ([0-7])", block):
        for low, high in re.findall(r"([0-9]{1,2})(?:-([0-9]{1,2}))?", values):
            table.update({str(value): int(priority) for value in range(int(low), int(high or low) + 1)})
    return table
