"""Paths into data, compiled once. What is null on the way is unknown, never left out.

JMESPath drops nulls from projections and calls a comparison with null false: a port whose link layer could not be read would vanish from
`ports[?link_layer=='Ethernet']`, and with it the chance to see that it was not measured. So its syntax is used, and its trees are walked
here with a third truth value. Functions are left to jmespath.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Callable, NamedTuple

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

PLAIN_LIST = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[\*\])?")
DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


class Unknown(NamedTuple):
    """An item that could not be had, and what was missing."""

    reason: str


class Item(NamedTuple):
    """One thing to judge; the label is its place in the data."""

    label: str
    value: Any


@functools.cache
def getter(path: str) -> Callable[[Any], Any]:
    """Item -> value, or None. Raises ValueError for a path that cannot be read."""
    if DOTTED.fullmatch(path):
        names = path.split(".")
        if len(names) == 1:
            return lambda item: item.get(path) if type(item) is dict else None

        def follow(item):
            for name in names:
                if type(item) is not dict:
                    return None
                item = item.get(name)
            return item

        return follow
    tree = _parse(path)

    def walk(item):
        value = _plain(_eval(tree, item))
        return None if isinstance(value, Unknown) else value

    return walk


@functools.cache
def lister(path: str) -> Callable[[Any], list | None]:
    """Data -> list of Item and Unknown, or None where there is nothing to list (not measured). A single value is a list of one."""
    tree, plain = _parse(path), PLAIN_LIST.fullmatch(path)
    if plain:  # most are; they need no walk
        name = plain[1]

        def members(data):
            value = data.get(name) if isinstance(data, dict) else None
            return None if value is None else _enumerate(value) if isinstance(value, list) else [Item("", value)]

        if not plain[2]:
            return members
        return lambda data: members(data) if isinstance(data, dict) and isinstance(data.get(name), list) else None

    def items(data):
        value = _eval(tree, data)
        if value is None or isinstance(value, Unknown):
            return None
        return _spread(value) if isinstance(value, list) else [Item("", value)]

    return items


@functools.cache
def members(path: str) -> Callable[[dict], list | None]:
    """Data -> the list that a plain path names, as it stands there; None where it is none, or the path does more than name a list."""
    plain = PLAIN_LIST.fullmatch(path)
    if not plain:
        return lambda data: None
    name = plain[1]
    return lambda data: value if isinstance(value := data.get(name), list) else None


@functools.cache
def truth(expression: str) -> Callable[[Any], bool | None]:
    """Data -> True, False, or None where what decides it is null. `x == null` is decided all the same."""
    tree = _parse(expression)
    return lambda data: _truth(tree, data)


def fields(expression: str) -> set[str]:
    """Top-level names that an expression reads."""
    found = set()

    def visit(node):
        if node["type"] == "field":
            found.add(node["value"])
        for child in node["children"][:1] if node["type"] == "subexpression" else node["children"]:
            if isinstance(child, dict):
                visit(child)

    visit(_parse(expression))
    return found - {"null"}


def _parse(expression: str) -> dict:
    try:
        return jmespath.compile(expression).parsed
    except JMESPathError as error:
        raise ValueError(f"{expression!r} is no JMESPath: {str(error).splitlines()[0]}") from error


def _spread(value: list) -> list:
    """The items of a projection, those of a projection inside it (`a[*].b[*]`) in its place."""
    found = []
    for part in _enumerate(value):
        nested = isinstance(part, Item) and isinstance(part.value, list) and any(isinstance(inner, Item | Unknown) for inner in part.value)
        found += _flat(part) if nested else [part]
    return found


def _enumerate(value: list) -> list:
    return [
        part if isinstance(part, Item | Unknown) else Unknown(f"item {number} is null") if part is None else Item(str(number), part)
        for number, part in enumerate(value)
    ]


def _eval(node: dict, data):
    kind, children = node["type"], node["children"]
    if kind == "field":
        return data.get(node["value"]) if isinstance(data, dict) else None
    if kind == "literal":
        return node["value"]
    if kind in ("identity", "current"):
        return data
    if kind in ("subexpression", "index_expression"):
        for child in children:
            data = None if data is None else _eval(child, data)
        return data
    if kind == "index":
        return data[node["value"]] if isinstance(data, list) and -len(data) <= node["value"] < len(data) else None
    if kind in ("projection", "flatten", "value_projection", "filter_projection"):
        return _project(kind, children, data)
    return _library(node, data)


def _project(kind: str, children: list, data):
    base = _eval(children[0], data)
    if kind == "value_projection":
        base = [Item(str(name), value) for name, value in base.items()] if isinstance(base, dict) else None
    if not isinstance(base, list):
        return None
    if kind == "flatten":
        return [inner for part in _enumerate(base) for inner in _flat(part)]
    return [result for part in _enumerate(base) for result in _step(kind, children, part)]


def _flat(part):
    """The members of a list in a list; anything else stays."""
    if isinstance(part, Unknown) or not isinstance(part.value, list):
        return [part]
    return [inner if isinstance(inner, Unknown) else Item(f"{part.label}.{inner.label}", inner.value) for inner in _enumerate(part.value)]


def _step(kind: str, children: list, part):
    """One element of a projection: kept, dropped by a filter, or unknown."""
    if isinstance(part, Unknown):
        return [part]
    if kind == "filter_projection":
        keep = _truth(children[2], part.value)
        if keep is None:
            return [Unknown(f"item {part.label}: what selects it was not measured")]
        if not keep:
            return []
    value = _eval(children[1], part.value)
    if value is None:
        return [Unknown(f"item {part.label} was not measured")]
    return [value if isinstance(value, Unknown) else Item(part.label, value)]


def _truth(node: dict, data) -> bool | None:
    kind, children = node["type"], node["children"]
    if kind in ("and_expression", "or_expression"):
        decisive = kind == "or_expression"
        sides = [_truth(child, data) for child in children]
        return decisive if decisive in sides else None if None in sides else not decisive
    if kind == "not_expression":
        inner = _truth(children[0], data)
        return None if inner is None else not inner
    if kind == "comparator":
        return _compare(node["value"], children, data)
    value = _plain(_eval(node, data))
    return None if value is None or isinstance(value, Unknown) else value not in ("", [], {}, False) or (value == 0 and value is not False)


def _compare(op: str, children: list, data) -> bool | None:
    left, right = (_plain(_eval(child, data)) for child in children)
    null_is_meant = any(child.get("value") in (None, "null") and child["type"] in ("literal", "field") for child in children)
    if isinstance(left, Unknown) or isinstance(right, Unknown) or ((left is None or right is None) and not null_is_meant):
        return None
    if op in ("eq", "ne"):
        same = left == right and isinstance(left, bool) == isinstance(right, bool)
        return same if op == "eq" else not same
    if not all(isinstance(side, int | float) and not isinstance(side, bool) for side in (left, right)):
        return None
    return {"lt": left < right, "lte": left <= right, "gt": left > right, "gte": left >= right}[op]


def _library(node: dict, data):
    """Pipes, multi-selects, and what jmespath does: functions, slices. A function of something unknown is unknown."""
    kind, children = node["type"], node["children"]
    if kind == "pipe":
        inner = _plain(_eval(children[0], data))
        return inner if inner is None or isinstance(inner, Unknown) else _eval(children[1], inner)
    if kind == "multi_select_list":
        return [_plain(_eval(child, data)) for child in children]
    if kind == "function_expression" and node["value"] != "not_null":
        values = [child if child["type"] == "expref" else _plain(_eval(child, data)) for child in children]
        if any(value is None or isinstance(value, Unknown) for value in values):
            return None
        literals = [
            value if child["type"] == "expref" else {"type": "literal", "value": value, "children": []}
            for child, value in zip(children, values)
        ]
        node = {**node, "children": literals}
    try:
        return TreeInterpreter().visit(node, data)
    except (JMESPathError, TypeError, ValueError):  # jmespath lets some type errors through
        return None


def _plain(value):
    """A projection's items as plain data; unknown if one of them is."""
    if isinstance(value, list) and any(isinstance(part, Item | Unknown) for part in value):
        parts = [_plain(part.value) if isinstance(part, Item) else part for part in value]
        return next((part for part in parts if isinstance(part, Unknown)), parts)
    return value
