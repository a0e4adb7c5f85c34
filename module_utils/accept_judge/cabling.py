"""Planned links against those that were seen: swapped pairs, wrong leaves and ports, missing and extra links, by node."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from .rail_map import Row, number, switch_key

LISTS = ("swapped", "wrong_leaf", "wrong_port", "missing", "extra")


class End(NamedTuple):
    """The switch port that a port is plugged into, as it was seen. `guid` and `description` are other names of switch and port."""

    switch: str
    port: str
    guid: str = ""
    description: str = ""


class Seen(NamedTuple):
    """A port of a node. `end` None: no link, or, with a `reason`, not known. `rail`: one of the fabric's ports, by its board."""

    node: str
    names: tuple  # mlx5_0, mlx5_0/1, rail0: any of them may stand in the map
    end: End | None
    reason: str = ""
    state: str = ""
    rail: bool = True


class Result(NamedTuple):
    """Of one node: the lists by name, (port, reason) of links that are not known, and how many of the planned ones are right."""

    lists: dict
    unknown: list
    planned: int
    right: int


def compare(plan: list[Row], seen: list[Seen], nodes, silent=None) -> dict[str, Result]:
    """Node -> Result, for `nodes` (those of the inventory); rows of other nodes only say whose a switch port is.

    `silent`: node -> why it did not tell its ports; a port that nobody has seen is not known there.
    """
    names = _Names(plan)
    owner = {names.planned(row): row for row in plan}
    ports = {(port.node, name): port for port in seen for name in port.names}
    actual = {(row.node, row.port): ports.get((row.node, row.port)) for row in plan}
    holder = {names.seen(port.end): port for port in seen if port.end}
    moved = _moved(plan, actual, names)
    silent = {**(silent or {}), **moved}
    swapped = _swapped([row for row in plan if row.node not in moved], actual, owner, names)
    results = {node: Result({name: [] for name in LISTS}, [], 0, 0) for node in nodes}
    planned_ports = set()
    for row in plan:
        port = actual[(row.node, row.port)]
        if port:
            planned_ports.add((port.node, port.names))
        if row.node in results:
            if row.node in moved or (port is None and row.node in silent):
                port = Seen(row.node, (row.port,), None, silent[row.node])
            results[row.node] = _judge(row, port, results[row.node], swapped, owner, holder, names)
    known = {row.node for row in plan}
    for port in seen:
        if port.end and port.rail and port.node in results and port.node in known and (port.node, port.names) not in planned_ports:
            results[port.node].lists["extra"].append(f"{port.names[0]} is on {_show(port.end)}; the rail map has no such port")
    return results


def unfamiliar(plan: list[Row], seen: list[Seen]) -> str:
    """Why the two cannot be compared at all: no switch of the map is among those seen. Empty where they can."""
    names = _Names(plan)
    ends = [port.end for port in seen if port.end]
    if not ends or any(names.seen(end)[0] in names.switches for end in ends):
        return ""
    there = sorted({switch_name(end) for end in ends})
    planned = sorted({row.switch for row in plan})
    return f"no switch of the rail map ({_few(planned)}) is among those that were seen ({_few(there)}): the two name them differently"


def _few(names):
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


class _Names:
    """One name for each switch port: that of the map, whichever of its names was seen."""

    def __init__(self, plan):
        self.switches = {switch_key(row.switch) for row in plan}
        self.short = defaultdict(set)
        for name in self.switches:
            self.short[name.split(".")[0]].add(name)
        self.ends = {self.planned(row) for row in plan}
        self.known = {}

    @staticmethod
    def planned(row):
        return switch_key(row.switch), number(row.switch_port)

    def seen(self, end):
        if end not in self.known:
            switch = self._switch(end)
            ports = [number(text) for text in (end.port, end.description) if text]
            self.known[end] = switch, next((port for port in ports if (switch, port) in self.ends), ports[0] if ports else "")
        return self.known[end]

    def _switch(self, end):
        name = switch_key(end.switch or "")
        if name in self.switches:
            return name
        if end.guid in self.switches:
            return end.guid
        alike = self.short.get(name.split(".")[0], set()) if name else set()  # leaf-01 and leaf-01.example.net
        plain = {other for other in alike if "." not in other or "." not in name}
        return plain.pop() if len(plain) == 1 else name or end.guid


def _swapped(plan, actual, owner, names) -> dict:
    """(node, port) -> the row that it is swapped with: each on the other's switch port, or, within one node, on the other's switch."""
    wrong = {}
    for row in plan:
        port = actual[(row.node, row.port)]
        if port and port.end and names.seen(port.end) != names.planned(row):
            wrong[(row.node, row.port)] = (row, names.seen(port.end))
    pairs = {}
    for key, (row, end) in wrong.items():
        other = owner.get(end)
        back = wrong.get((other.node, other.port)) if other else None
        if back and back[1] == names.planned(row):
            pairs[key] = other
    left = defaultdict(list)
    for key, (row, end) in wrong.items():
        if key not in pairs and end[0] != names.planned(row)[0]:
            left[row.node].append((row, end[0]))
    for rows in left.values():
        for row, switch in rows:
            for other, back in rows:
                crossed = switch == names.planned(other)[0] and back == names.planned(row)[0]
                if crossed and not {(row.node, row.port), (other.node, other.port)} & set(pairs):
                    pairs[(row.node, row.port)], pairs[(other.node, other.port)] = other, row
    return pairs


def _moved(plan, actual, names) -> dict:
    """node -> why its names prove nothing: devices are counted, and where one is missing, those behind it move up."""
    planned, moved = defaultdict(list), {}
    for row in plan:
        planned[row.node].append(row)
    for node, rows in planned.items():
        pairs = [(row, actual[(node, row.port)]) for row in rows]
        there = [(row, port) for row, port in pairs if port]
        if len(there) == len(rows) or not there:
            continue
        ends = iter([names.planned(row) for row in rows])
        wrong = any(port.end and names.seen(port.end) != names.planned(row) for row, port in there)
        if wrong and all(port.end is None or names.seen(port.end) in ends for _, port in there):
            moved[node] = f"{len(there)} of {len(rows)} ports are there: device names move up when one is missing"
    return moved


def _judge(row, port, result, swapped, owner, holder, names) -> Result:
    planned, lists = f"planned {row.switch} port {row.switch_port}", result.lists
    right = False
    if port is None:
        result.unknown.append((row.port, "the node has no such port"))
    elif port.end is None and port.reason:
        result.unknown.append((row.port, port.reason))
    elif port.end is None:
        lists["missing"].append(f"{row.port}: {planned}, no link{f' ({port.state})' if port.state else ''}{_instead(row, holder, names)}")
    elif names.seen(port.end) == names.planned(row):
        right = True
    elif (row.node, row.port) in swapped:
        _swap(row, swapped[(row.node, row.port)], port, lists)
    else:
        switch, _ = names.seen(port.end)
        other = owner.get(names.seen(port.end))
        whose = f", which was planned for {other.node} {other.port}" if other else ""
        kind = "wrong_port" if switch == names.planned(row)[0] else "wrong_leaf"
        lists[kind].append(f"{row.port} is on {_show(port.end)}{whose}; {planned}")
    return Result(lists, result.unknown, result.planned + 1, result.right + right)


def _swap(row, other, port, lists):
    """Said once for a pair within a node, by each node for a pair of two."""
    if other.node == row.node:
        if row.line < other.line:
            lists["swapped"].append(
                f"{row.port} <-> {other.port}: {row.port} is on {_show(port.end)}, planned {row.switch} port {row.switch_port};"
                f" {other.port} planned {other.switch} port {other.switch_port}"
            )
    else:
        lists["swapped"].append(
            f"{row.port} <-> {other.node} {other.port}: is on {_show(port.end)}, planned {row.switch} port {row.switch_port}"
        )


def _instead(row, holder, names):
    there = holder.get(names.planned(row))
    return f"; {there.node} {there.names[0]} is plugged in there" if there else ""


def _show(end) -> str:
    return f"{switch_name(end)} port {end.port}"


def switch_name(end) -> str:
    """A switch as people know it."""
    return (end.switch or end.guid).removeprefix("MF0;").split(":")[0] if end.switch else end.guid
