"""The planned rail map: a CSV file in which each port of each node has the switch port that it was planned to be plugged into.

    node,port,switch,switch_port,rail
    gpu-01,mlx5_0,leaf-01,1,0

`port` is an RDMA device (mlx5_0), one port of it (mlx5_0/2) or its net device (rail0); `switch` a name as the fabric or LLDP tells it, or
a GUID (0x...) where switches have no names; `switch_port` a number, cage/lane (17/2), sw17p2, or what LLDP calls the port; `rail` (a whole
number) and `note` may be left out. Empty lines and lines that begin with # are passed over.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

from .documents import DocumentError

REQUIRED = ("node", "port", "switch", "switch_port")
OPTIONAL = ("rail", "note")
SHAPES = {
    "node": re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,200}"),
    "port": re.compile(r"[A-Za-z0-9_.-]{1,40}(?:/[0-9]{1,2})?"),
    "switch": re.compile(r"\S.{0,120}"),
    "switch_port": re.compile(r"[A-Za-z0-9][A-Za-z0-9_/.: -]{0,40}"),
    "rail": re.compile(r"[0-9]{0,3}"),
}
MOST_ERRORS = 20
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
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DocumentError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise DocumentError([f"{path}: is not UTF-8"]) from error
    rows, errors = _rows(text, str(path))
    if not errors:
        errors = _twice(rows, str(path))
    if not rows and not errors:
        errors = [f"{path}:1:1: no rows: a rail map has one line for each port of each node"]
    if errors:
        more = [f"{path}: {len(errors) - MOST_ERRORS} more errors"] if len(errors) > MOST_ERRORS else []
        raise DocumentError(errors[:MOST_ERRORS] + more)
    return rows


def _rows(text, name):
    head, rows, errors = None, [], []
    reader = csv.reader(io.StringIO(text), strict=True, skipinitialspace=True)
    try:
        for cells in reader:
            line = reader.line_num
            cells = [cell.strip() for cell in cells]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if head is None:
                head, errors = [cell.lower() for cell in cells], _head(cells, f"{name}:{line}")
                if errors:
                    break
                continue
            row, faults = _row(head, cells, line, f"{name}:{line}")
            errors += faults
            rows += [row] if row else []
    except csv.Error as error:
        errors.append(f"{name}:{reader.line_num}:1: is no CSV: {error}")
    if head is None and not errors:
        errors = [f"{name}:1:1: no header; wanted: {','.join(REQUIRED)},rail"]
    return rows, errors


def _head(cells, place):
    names = [cell.lower() for cell in cells]
    errors = [f"{place}:{at}: {cell!r} is no column; known are {', '.join(REQUIRED + OPTIONAL)}"
              for at, (cell, name) in enumerate(zip(cells, names), 1) if name not in REQUIRED + OPTIONAL]  # fmt: skip
    errors += [f"{place}:{at}: column {name} stands twice" for at, name in enumerate(names, 1) if name in names[: at - 1]]
    return errors + [f"{place}:{len(names) + 1}: column {name} is missing" for name in REQUIRED if name not in names]


def _row(head, cells, line, place):
    if len(cells) != len(head):
        return None, [f"{place}:{min(len(cells), len(head)) + 1}: {len(cells)} fields, the header has {len(head)}"]
    given = dict(zip(head, cells))
    errors = [
        f"{place}:{head.index(key) + 1}: {key}: {'is empty' if not given[key] else repr(given[key][:60]) + ' is none'}"
        for key, shape in SHAPES.items()
        if key in given and not shape.fullmatch(given[key])
    ]
    if errors:
        return None, errors
    rail = given.get("rail") or ""
    return Row(given["node"], given["port"], given["switch"], given["switch_port"], int(rail) if rail else None, line), []


def _twice(rows, name):
    """A port is planned once, and a switch port holds one cable."""
    errors, ports, ends = [], {}, {}
    for row in rows:
        for key, seen, what in (
            ((row.node, row.port), ports, f"{row.node} {row.port}"),
            ((switch_key(row.switch), number(row.switch_port)), ends, f"{row.switch} port {row.switch_port}"),
        ):
            if key in seen:
                errors.append(f"{name}:{row.line}:{1 if seen is ports else 3}: {what} stands already in line {seen[key]}")
            seen.setdefault(key, row.line)
    return errors


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
