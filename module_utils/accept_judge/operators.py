"""The table of operators: what was measured against what is wanted.

Each takes (actual, wanted) and gives an Outcome: True, False, or None where the two cannot be compared. `actual` is never null here.
A number may be an interval [low, high], a measurement with its uncertainty: it holds only if all of it holds, and fails only if all of it
fails.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, NamedTuple


class Outcome(NamedTuple):
    ok: bool | None
    reason: str = ""


HOLDS, FAILS = Outcome(True), Outcome(False)
ABSENT = "none"  # how collectors write the measured absence of something that has a name or a version


def canonical(value) -> str:
    """A key under which equal values are equal: 1 and 1.0 are, 1 and true are not."""
    if value.__class__ is str:
        return f'"{value}"'  # most are; no other kind begins with a quote
    return json.dumps(_plain_numbers(value), sort_keys=True, ensure_ascii=False)


def _plain_numbers(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain_numbers(part) for part in value]
    return {key: _plain_numbers(part) for key, part in value.items()} if isinstance(value, dict) else value


def _cannot(actual, wanted) -> Outcome:
    return Outcome(None, f"cannot compare {_show(actual)} with {_show(wanted)}")


def _show(value) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:79] + "…"


def _number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _interval(value) -> tuple[float, float] | None:
    """The bounds of a number or of an interval."""
    if _number(value):
        return value, value
    if isinstance(value, list) and len(value) == 2 and all(map(_number, value)) and value[0] <= value[1]:
        return value[0], value[1]
    return None


def _kind(value) -> str:
    return "truth" if isinstance(value, bool) else "number" if isinstance(value, int | float) else type(value).__name__


def _same(actual, wanted) -> bool | None:
    """Equality that does not take text for a number: None where kinds differ or a part was not measured."""
    if isinstance(actual, list | dict) and None in (actual.values() if isinstance(actual, dict) else actual):
        return None
    return canonical(actual) == canonical(wanted) if _kind(actual) == _kind(wanted) else None


def _absent(value) -> bool:
    return value is False or value == ABSENT


def eq(actual, wanted) -> Outcome:
    same = _same(actual, wanted)
    if same is None:  # an absence is not what is wanted, whatever kind that is
        return FAILS if _absent(actual) or _absent(wanted) else _cannot(actual, wanted)
    return Outcome(same)


def ne(actual, wanted) -> Outcome:
    same = _same(actual, wanted)
    return _cannot(actual, wanted) if same is None else Outcome(not same)


def _ordered(holds: Callable[[float, float], bool], worst: int) -> Callable[[Any, Any], Outcome]:
    """An order of numbers; `worst` picks the bound of the interval that is last to hold."""

    def compare(actual, wanted) -> Outcome:
        bounds = _interval(actual)
        if bounds is None or not _number(wanted):
            return _cannot(actual, wanted)
        if holds(bounds[worst], wanted):
            return HOLDS
        return (
            Outcome(None, f"the interval {_show(actual)} holds {_show(wanted)}: measured too coarsely")
            if holds(bounds[1 - worst], wanted)
            else FAILS
        )

    return compare


def between(actual, wanted) -> Outcome:
    bounds, limits = _interval(actual), _interval(wanted) if isinstance(wanted, list) else None
    if bounds is None or limits is None:
        return _cannot(actual, wanted)
    if limits[0] <= bounds[0] and bounds[1] <= limits[1]:
        return HOLDS
    if bounds[1] < limits[0] or limits[1] < bounds[0]:
        return FAILS
    return Outcome(None, f"the interval {_show(actual)} holds an end of {_show(wanted)}: measured too coarsely")


def within_pct(actual, wanted) -> Outcome:
    """`want: {of: 1000, pct: 5}`: not further from 1000 than 5 % of it, on either side."""
    of, pct = (wanted.get("of"), wanted.get("pct")) if isinstance(wanted, dict) else (None, None)
    if not _number(of) or not _number(pct) or pct < 0:
        return _cannot(actual, wanted)
    slack = abs(of) * pct / 100
    return between(actual, [of - slack, of + slack])


def member(actual, wanted) -> Outcome:
    if not isinstance(wanted, list) or not wanted:
        return _cannot(actual, wanted)
    found = [eq(actual, part).ok for part in wanted]
    return HOLDS if True in found else FAILS if False in found else _cannot(actual, wanted)


def not_in(actual, wanted) -> Outcome:
    if not isinstance(wanted, list) or not wanted:
        return _cannot(actual, wanted)
    found = [_same(actual, part) for part in wanted]
    return FAILS if True in found else HOLDS if False in found else _cannot(actual, wanted)


def subset(actual, wanted) -> Outcome:
    """Every member of the list is one of those wanted."""
    if not isinstance(actual, list) or not isinstance(wanted, list) or None in actual:
        return _cannot(actual, wanted)
    known = {canonical(part) for part in wanted}
    extra = [part for part in actual if canonical(part) not in known]
    return Outcome(False, f"not among those wanted: {', '.join(map(_text, extra))}") if extra else HOLDS


def matches(actual, wanted) -> Outcome:
    if not isinstance(actual, str) or not isinstance(wanted, str):
        return _cannot(actual, wanted)
    return Outcome(re.search(wanted, actual) is not None)


def not_matches(actual, wanted) -> Outcome:
    ok, reason = matches(actual, wanted)
    return Outcome(None if ok is None else not ok, reason)


def contains(actual, wanted) -> Outcome:
    """A list that has the member (each member, where a list is wanted), or a text that has the part."""
    if isinstance(actual, str) and isinstance(wanted, str):
        return Outcome(wanted in actual)
    if not isinstance(actual, list):
        return FAILS if actual == ABSENT else _cannot(actual, wanted)
    known = {canonical(part) for part in actual}
    lacking = [part for part in (wanted if isinstance(wanted, list) else [wanted]) if canonical(part) not in known]
    if lacking and None in actual:
        return Outcome(None, "part of the list was not measured")
    return Outcome(False, f"lacking: {', '.join(map(_text, lacking))}") if lacking else HOLDS


def _text(value) -> str:
    return value if isinstance(value, str) else _show(value)


def empty(actual, wanted=None) -> Outcome:
    """Nothing there: no items, [], {}, "none", 0, false."""
    if actual == "":
        return Outcome(None, "an empty text is not a measurement")
    return Outcome(actual in ([], {}, ABSENT) or actual is False or (_number(actual) and actual == 0))


def non_empty(actual, wanted=None) -> Outcome:
    ok, reason = empty(actual)
    return Outcome(None if ok is None else not ok, reason)


def version_ge(actual, wanted) -> Outcome:
    from . import versions

    if not isinstance(actual, str) or not isinstance(wanted, str) or actual == ABSENT:
        return _cannot(actual, wanted)
    return Outcome(*versions.at_least(actual, wanted))


def version_floor(actual, wanted) -> Outcome:
    from . import versions

    return Outcome(*versions.floor(actual, wanted))


OPERATORS: dict[str, Callable[[Any, Any], Outcome]] = {
    "eq": eq,
    "ne": ne,
    "ge": _ordered(lambda a, b: a >= b, 0),
    "gt": _ordered(lambda a, b: a > b, 0),
    "le": _ordered(lambda a, b: a <= b, 1),
    "lt": _ordered(lambda a, b: a < b, 1),
    "between": between,
    "within_pct": within_pct,
    "in": member,
    "not_in": not_in,
    "subset": subset,
    "matches": matches,
    "not_matches": not_matches,
    "contains": contains,
    "empty": empty,
    "non_empty": non_empty,
    "version_ge": version_ge,
    "version_floor": version_floor,
}


def _floor_text(row, actual) -> str:
    from . import versions

    return versions.wanted_text(row, actual) if isinstance(row, dict) else row


# How a want is said to people, where it is more than a value or none.
DESCRIBED: dict[str, Callable[[Any, Any], Any]] = {
    "version_floor": _floor_text,
    "empty": lambda wanted, actual: ABSENT,
    "non_empty": lambda wanted, actual: "at least one",
}
WITHOUT_WANT = ("empty", "non_empty")
COLLECTIVE = ("all_equal", "all_distinct")  # judge all values at once: see groups.py
