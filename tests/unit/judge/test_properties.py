"""What must hold whatever the data: nothing unmeasured passes, nothing stricter passes more."""

from __future__ import annotations

import copy

import fleet
import pytest
from accept_judge import nodesets
from accept_judge.evaluate import Check
from accept_judge.operators import COLLECTIVE, OPERATORS, WITHOUT_WANT
from accept_judge.scorecard import score
from accept_judge.wanted import Wanted
from fleet import check
from hypothesis import given
from hypothesis import strategies as st

scalars = st.none() | st.booleans() | st.integers(-5, 20) | st.sampled_from(["none", "a", "b", "1.2.3", ""])
items = st.lists(st.fixed_dictionaries({"v": scalars}) | st.none() | st.just({}), max_size=5)
WANTS = {
    "between": [0, 5],
    "within_pct": {"of": 5, "pct": 50},
    "in": ["a", 5],
    "not_in": ["a", 5],
    "subset": ["a"],
    "matches": "a",
    "not_matches": "a",
}
WANTS |= {"contains": "a", "version_ge": "1.2", "version_floor": {"rule": "minimum", "title": "X", "floors": {"any": {"version": "1.2"}}}}
OPS = [*OPERATORS, *COLLECTIVE]


def judged(op, each, data, **fields):
    want = None if op in (*WITHOUT_WANT, *COLLECTIVE) else WANTS.get(op, 5)
    compiled = Check({"scope": "node", **check(op=op, each=each, value="v", want=want, **fields)})
    return compiled.judge(data, Wanted(want))


@pytest.mark.parametrize("op", OPS)
@given(data=items)
def test_an_unmeasured_item_keeps_a_check_from_passing(op, data):
    verdict = judged(op, "xs", {"xs": data}).verdict
    if not data or any(not item or item.get("v") is None for item in data):
        assert verdict != "pass"


@pytest.mark.parametrize("op", OPS)
@given(data=items, rule=st.sampled_from(["pass", "fail", "not_applicable"]))
def test_nor_does_any_rule_for_absences(op, data, rule):
    if any(not item or item.get("v") is None for item in data):
        assert judged(op, "xs[]", {"xs": data}, absent=rule, empty=rule).verdict in ("fail", "not_measured")


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("data", [{}, {"xs": None}, {"xs": [None]}, {"xs": [{}]}, {"xs": [{"v": None}]}])
def test_nothing_there_is_not_measured(op, data):
    assert judged(op, "xs", data).verdict == "not_measured"


NODE = {"count": 8, "v": "a", "links": [{"kind": "ib", "rate": 400}, {"kind": "eth", "rate": 100}]}
FLEET = {"n1": NODE, "n2": {**NODE, "count": 7}, "n3": {**NODE, "v": "b"}}
CHECKS = [
    check(want=8),
    check("thing.links", each="links[?kind=='ib']", value="rate", want=400),
    check("thing.same", op="all_equal", scope="cluster", value="v", want=None),
]


def passes(tmp_path, name, facts):
    """(check id, host) of every pass."""
    standards = fleet.write_standards(tmp_path / "standards", CHECKS)
    card = score(fleet.write_run(tmp_path / name, {host: {"thing": data} for host, data in facts.items()}), standards)
    rows = [(one["id"], row) for one in card["checks"] for row in one["rows"] if row["verdict"] == "pass"]
    return {(check_id, host) for check_id, row in rows for host in nodesets.unfold(row["nodes"])}


@pytest.mark.parametrize("host", list(FLEET))
@pytest.mark.parametrize(
    ("keys", "judged_by"),
    [
        (("count",), "thing.count"),
        (("v",), "thing.same"),
        (("links",), "thing.links"),
        (("links", 0), "thing.links"),
        (("links", 0, "rate"), "thing.links"),
        (("links", 0, "kind"), "thing.links"),
        (("links", 1, "kind"), "thing.links"),
    ],
)
def test_losing_evidence_never_makes_a_verdict_better(tmp_path, host, keys, judged_by):
    before, broken = passes(tmp_path, "before", FLEET), copy.deepcopy(FLEET)
    place = broken[host]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = None
    after = passes(tmp_path, "after", broken)
    assert after <= before
    assert (judged_by, host) not in after
