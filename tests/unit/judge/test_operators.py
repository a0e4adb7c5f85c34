"""The table of operators: what holds, what fails, and what cannot be compared."""

from __future__ import annotations

import math

import pytest
from accept_judge.operators import OPERATORS, canonical
from hypothesis import given
from hypothesis import strategies as st

HOLDS, FAILS, UNKNOWN = True, False, None
TABLE = [
    ("eq", 8, 8, HOLDS),
    ("eq", 8.0, 8, HOLDS),
    ("eq", 7, 8, FAILS),
    ("eq", True, 1, UNKNOWN),
    ("eq", 1, True, UNKNOWN),
    ("eq", "8", 8, UNKNOWN),
    ("eq", "none", 8, FAILS),
    ("eq", False, "Enabled", FAILS),
    ("eq", True, True, HOLDS),
    ("eq", [1, 2], [1, 2], HOLDS),
    ("eq", [1, None], [1, 2], UNKNOWN),
    ("eq", {"a": None}, {"a": 1}, UNKNOWN),
    ("ne", "a", "b", HOLDS),
    ("ne", "a", "a", FAILS),
    ("ne", "none", 3, UNKNOWN),
    ("ne", False, 0, UNKNOWN),
    ("ge", 8, 8, HOLDS),
    ("ge", 7, 8, FAILS),
    ("ge", "9", 8, UNKNOWN),
    ("ge", True, 0, UNKNOWN),
    ("ge", "none", 0, UNKNOWN),
    ("ge", math.nan, 0, UNKNOWN),
    ("ge", math.inf, 0, UNKNOWN),
    ("gt", 8, 8, FAILS),
    ("gt", 9, 8, HOLDS),
    ("le", 8, 8, HOLDS),
    ("le", 9, 8, FAILS),
    ("lt", 8, 8, FAILS),
    ("lt", 7.9, 8, HOLDS),
    ("le", [0, 4], 5, HOLDS),
    ("le", [6, 9], 5, FAILS),
    ("le", [4, 6], 5, UNKNOWN),
    ("lt", [4, 5], 5, UNKNOWN),
    ("ge", [5, 9], 5, HOLDS),
    ("ge", [4, 9], 5, UNKNOWN),
    ("ge", [1, 4], 5, FAILS),
    ("gt", [9, 1], 5, UNKNOWN),
    ("between", 5, [5, 6], HOLDS),
    ("between", 7, [5, 6], FAILS),
    ("between", [4, 5.5], [5, 6], UNKNOWN),
    ("between", 5, 5, UNKNOWN),
    ("within_pct", 95, {"of": 100, "pct": 5}, HOLDS),
    ("within_pct", 106, {"of": 100, "pct": 5}, FAILS),
    ("within_pct", -95, {"of": -100, "pct": 5}, HOLDS),
    ("within_pct", 95, 100, UNKNOWN),
    ("within_pct", "95", {"of": 100, "pct": 5}, UNKNOWN),
    ("in", "a", ["a", "b"], HOLDS),
    ("in", "c", ["a", "b"], FAILS),
    ("in", 1, ["a", "b"], UNKNOWN),
    ("in", "none", [1, 2], FAILS),
    ("in", "a", [], UNKNOWN),
    ("in", "a", "abc", UNKNOWN),
    ("not_in", "c", ["a", "b"], HOLDS),
    ("not_in", "a", ["a", "b"], FAILS),
    ("not_in", "none", [1, 2], UNKNOWN),
    ("subset", ["a"], ["a", "b"], HOLDS),
    ("subset", [], ["a", "b"], HOLDS),
    ("subset", ["c"], ["a", "b"], FAILS),
    ("subset", ["a", None], ["a", "b"], UNKNOWN),
    ("subset", "a", ["a", "b"], UNKNOWN),
    ("matches", "MT_0001", "^MT_", HOLDS),
    ("matches", "x", "^MT_", FAILS),
    ("matches", 5, "^MT_", UNKNOWN),
    ("not_matches", "x", "^MT_", HOLDS),
    ("not_matches", "MT_1", "^MT_", FAILS),
    ("not_matches", 5, "^MT_", UNKNOWN),
    ("contains", ["a", "b"], "a", HOLDS),
    ("contains", ["a", "b"], ["a", "c"], FAILS),
    ("contains", ["a", None], "c", UNKNOWN),
    ("contains", ["a", None], "a", HOLDS),
    ("contains", "iommu=pt quiet", "iommu=pt", HOLDS),
    ("contains", "none", ["x"], FAILS),
    ("contains", 5, "x", UNKNOWN),
    ("empty", [], None, HOLDS),
    ("empty", 0, None, HOLDS),
    ("empty", False, None, HOLDS),
    ("empty", "none", None, HOLDS),
    ("empty", "", None, UNKNOWN),
    ("empty", ["x"], None, FAILS),
    ("empty", 3, None, FAILS),
    ("empty", True, None, FAILS),
    ("non_empty", ["x"], None, HOLDS),
    ("non_empty", "none", None, FAILS),
    ("non_empty", "", None, UNKNOWN),
    ("version_ge", "3.10.1", "3.8", HOLDS),
    ("version_ge", "3.6.8", "3.8", FAILS),
    ("version_ge", "none", "3.8", UNKNOWN),
    ("version_ge", 3.1, "3.8", UNKNOWN),
    ("version_floor", "1.2.3", "nonsense", UNKNOWN),
]


@pytest.mark.parametrize(("op", "actual", "wanted", "ok"), TABLE)
def test_table(op, actual, wanted, ok):
    outcome = OPERATORS[op](actual, wanted)
    assert outcome[0] is ok
    if ok is UNKNOWN:
        assert outcome[1], "what cannot be compared says why"


def test_every_operator_is_seen_to_hold_to_fail_and_to_refuse():
    seen = {(op, ok) for op, _, _, ok in TABLE}
    for op in OPERATORS:
        wanted = {UNKNOWN} if op == "version_floor" else {HOLDS, FAILS, UNKNOWN}
        assert wanted <= {ok for name, ok in seen if name == op}, op


def test_canonical_tells_truth_from_number_and_not_int_from_float():
    assert canonical(1) == canonical(1.0) != canonical(True)
    assert canonical({"b": 1, "a": [2.0]}) == canonical({"a": [2], "b": 1})


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize("op", [name for name in OPERATORS if not name.endswith("matches")])
@given(actual=anything.filter(lambda value: value is not None), wanted=anything)
def test_no_operator_raises(op, actual, wanted):
    assert OPERATORS[op](actual, wanted)[0] in (True, False, None)


numbers = st.integers(-1000, 1000) | st.floats(-1000, 1000)


@given(actual=numbers | st.tuples(numbers, numbers).map(sorted), wanted=numbers, step=st.floats(0, 100))
def test_a_stricter_threshold_never_turns_a_failure_into_a_pass(actual, wanted, step):
    for op, stricter in (("ge", wanted + step), ("gt", wanted + step), ("le", wanted - step), ("lt", wanted - step)):
        if OPERATORS[op](actual, wanted).ok is not True:
            assert OPERATORS[op](actual, stricter).ok is not True
        if OPERATORS[op](actual, wanted).ok is False:
            assert OPERATORS[op](actual, stricter).ok is False
    if OPERATORS["within_pct"](actual, {"of": 500, "pct": 5 + step}).ok is False:
        assert OPERATORS["within_pct"](actual, {"of": 500, "pct": 5}).ok is False
