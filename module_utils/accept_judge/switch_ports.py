"""What the switches' side of each cable is set to, as its owner exports it: a CSV file, since no node can read a switch.

    switch,switch_port,pfc,ecn,mtu
    leaf-01,swp7,3,3,9216

`pfc`, `ecn`: the priorities that are paused, and marked under congestion, joined by + (3+4); `none` is off; an empty cell was not
exported. `mtu` in bytes. switch and switch_port are named as in the rail map; one of the three others must be there, `note` may be.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from . import csv_table
from .cabling import End, switch_name
from .rail_map import SHAPES as CABLES
from .rail_map import number, switch_key

FILE = "switch_ports.csv"
PRIORITIES = re.compile(r"(?:none|[0-7](?:\+[0-7]){0,7})?")
SHAPES = {
    "switch": CABLES["switch"],
    "switch_port": CABLES["switch_port"],
    "pfc": PRIORITIES,
    "ecn": PRIORITIES,
    "mtu": re.compile(r"(?:[0-9]{3,5})?"),
}
OPTIONAL = ("pfc", "ecn", "mtu")


class Port(NamedTuple):
    """One switch port; None is not exported, [] is off. `line` is where the file says it."""

    pfc: list | None
    ecn: list | None
    mtu: int | None
    line: int


def load(path: Path) -> dict[tuple, Port]:
    """(switch, port) -> Port, to be asked by `find`; or DocumentError with each fault as file:line:column."""
    rows = csv_table.load(path, SHAPES, OPTIONAL, "it has one line for each switch port that a rail is plugged into", _once)
    mtu = {line: int(given["mtu"]) if given.get("mtu") else None for given, line in rows}
    return {_key(given): Port(_list(given.get("pfc")), _list(given.get("ecn")), mtu[line], line) for given, line in rows}


def find(table: dict[tuple, Port], end: End) -> Port | None:
    """The port that LLDP names, by its id or its description."""
    names = (switch_name(end), end.guid)
    keys = [(switch_key(name), number(port)) for name in names if name for port in (end.port, end.description) if port]
    keys += [(name.split(".")[0], port) for name, port in keys]
    return next((table[key] for key in keys if key in table), None)


def _key(given) -> tuple:
    return switch_key(given["switch"]), number(given["switch_port"])


def _once(given):
    return [("switch", _key(given), f"{given['switch']} port {given['switch_port']}")]


def _list(text):
    return None if not text else [] if text == "none" else sorted({int(one) for one in text.split("+")})
