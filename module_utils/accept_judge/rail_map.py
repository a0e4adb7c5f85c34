"""The planned rail map: a CSV file in which each port of each node has the switch port that it was planned to be plugged into.

    node,port,switch,switch_port,rail
    gpu-01,mlx5_0,leaf-01,1,0

`port` is an RDMA device (mlx5_0), one port of it (mlx5_0/2) or its net device (rail0); `switch` a name as the fabric or LLDP tells it, or
a GUID (0x...) where switches have no names; `switch_port` a number, cage/lane (17/2), sw17p2, or what LLDP calls the port; `rail` (a whole
number) and `note` may be left out. Empty lines and lines that begin with # are passed over.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from . import csv_table

OPTIONAL = ("rail",)
SHAPES = {
    "node": re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,200}"),
    "port": re.compile(r"[A-Za-z0-9_.-]{1,40}(?:/[0-9]{1,2})?"),
    "switch": re.compile(r"\S.{0,120}"),
    "switch_port": re.compile(r"[A-Za-z0-9][A-Za-z0-9_/.: -]{0,40}"),
    "rail": re.compile(r"[0-9]{0,3}"),
}
CAGE = re.compile(r"(?:sw)?([0-9]{1,3})(?:/|p)([12])")


class Row(NamedTuple):
    """One planned link. `line` is where the file says it."""

    node: str
    port: str
    switch: str
    switch_port: str
    rail: int | None
    line: int


def load(path: Path) -> list[Row]:
    """The rows of a rail map, or DocumentError with each fault as file:line:column."""
    rows = csv_table.load(path, SHAPES, OPTIONAL, "a rail map has one line for each port of each node", _once)
    return [_row(given, line) for given, line in rows]


def _row(given, line) -> Row:
    rail = given.get("rail") or ""
    return Row(given["node"], given["port"], given["switch"], given["switch_port"], int(rail) if rail else None, line)


def _once(given):
    """A port is planned once, and a switch port holds one cable."""
    end = (switch_key(given["switch"]), number(given["switch_port"]))
    return [
        ("node", (given["node"], given["port"]), f"{given['node']} {given['port']}"),
        ("switch", end, f"{given['switch']} port {given['switch_port']}"),
    ]


def switch_key(text: str) -> str:
    """A switch's name without what InfiniBand puts around it (MF0;leaf-01:MQM9700/U1), in small letters."""
    match = re.fullmatch(r"(?:MF0;)?(.*?)(?::[A-Z0-9-]+/U[0-9]+)?", text.strip())
    return match.group(1).strip().lower()


def number(text: str) -> str:
    """An InfiniBand switch counts its ports: cage 17, lane 2 (17/2, sw17p2) is port 34. Anything else stays, in small letters."""
    match = CAGE.fullmatch(text.strip().lower())
    if match:
        return str(2 * (int(match.group(1)) - 1) + int(match.group(2)))
    return str(int(text)) if text.strip().isdigit() else text.strip().lower()
