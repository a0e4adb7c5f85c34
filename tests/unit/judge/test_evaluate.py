"""A check on hosts, racks and clusters: items, absences, unknowns, majorities."""

from __future__ import annotations

import fleet
import pytest
from fleet import check, rows_of


def verdicts(card, check_id="thing.count"):
    return [(row["verdict"], row["nodes"]) for row in rows_of(card, check_id)]


def test_offending_items_are_kept_and_named(judge):
    gpus = [{"index": 0, "width": 16}, {"index": 1, "width": 8}]
    card = judge([check(each="gpus", label="index", value="width", want=16)], {"n1": {"thing": {"gpus": gpus}}})
    (row,) = rows_of(card, "thing.count")
    assert row["verdict"] == "fail"
    assert row["items"] == [{"label": "1", "actual": 8}]
    assert row["actual"] == 8
    assert row["evidence"] == "facts/n1/thing.json"


def test_one_unmeasured_item_keeps_the_rest_from_passing(judge):
    gpus = [{"width": 16}, {"width": None, "width_reason": "[N/A]"}]
    checks = [check(each="gpus", value="width", want=16), check("thing.other", value="x", want=1)]
    (row,) = rows_of(judge(checks, {"n1": {"thing": {"gpus": gpus, "x": 1}}}), "thing.count")
    assert (row["verdict"], row["reason"]) == ("not_measured", "[N/A]")


def test_a_failure_outranks_an_unmeasured_item_which_is_still_told(judge):
    gpus = [{"width": 8}, {"width": None}]
    card = judge([check(each="gpus", value="width", want=16, severity="minor")], {"n1": {"thing": {"gpus": gpus}}})
    (row,) = rows_of(card, "thing.count")
    assert row["verdict"] == "warn"
    assert "1 of 2 items not measured" in row["reason"]


@pytest.mark.parametrize(
    ("rule", "verdict"), [(None, "not_measured"), ("pass", "pass"), ("fail", "fail"), ("not_applicable", "not_applicable")]
)
def test_no_items(judge, rule, verdict):
    card = judge(
        [check(each="gpus", value="width", want=16, empty=rule), check("thing.other", value="x", want=1)],
        {"n1": {"thing": {"gpus": [], "x": 1}}},
    )
    assert verdicts(card) == [(verdict, "n1")]


@pytest.mark.parametrize(
    ("rule", "verdict"), [(None, "not_measured"), ("pass", "pass"), ("fail", "fail"), ("not_applicable", "not_applicable")]
)
def test_a_measured_absence_that_the_operator_cannot_judge(judge, rule, verdict):
    checks = [check(op="ge", value="version", want=3, absent=rule), check("thing.other", value="x", want=1)]
    assert verdicts(judge(checks, {"n1": {"thing": {"version": "none", "x": 1}}})) == [(verdict, "n1")]


def test_null_is_not_measured_whatever_the_rule_for_absences(judge):
    checks = [check(op="ge", value="version", want=3, absent="pass", empty="pass"), check("thing.other", value="x", want=1)]
    assert verdicts(judge(checks, {"n1": {"thing": {"version": None, "x": 1}}})) == [("not_measured", "n1")]


def test_what_the_node_could_not_read_is_in_the_reason(judge):
    errors = [{"source": "nvidia-smi -q", "reason": "timeout", "message": "nvidia-smi -q: timeout"}]
    facts = {"n1": {"thing": fleet.envelope("n1", "thing", {"count": None, "x": 1}, status="partial", errors=errors)}}
    card = judge([check(), check("thing.other", value="x", want=1)], facts)
    assert rows_of(card, "thing.count")[0]["reason"] == "count was not measured (the node: nvidia-smi -q: timeout)"


@pytest.mark.parametrize(("data", "verdict"), [([], "pass"), ([{"x": 1}], "fail"), ([None], "not_measured"), (None, "not_measured")])
def test_empty_judges_the_items_themselves(judge, data, verdict):
    checks = [check(op="empty", each="events", value=None, want=None), check("thing.other", value="x", want=1)]
    assert verdicts(judge(checks, {"n1": {"thing": {"events": data, "x": 1}}})) == [(verdict, "n1")]


def test_applies_is_the_way_to_not_applicable_and_needs_what_it_asks(judge):
    checks = [check(), check("thing.roce", applies="transport == 'roce'"), check("thing.form", applies="form == 'nvl72'")]
    card = judge(checks, {"n1": {"thing": {"count": 8}}}, fleet.contract())
    assert verdicts(card, "thing.roce") == [("not_applicable", "n1")]
    assert "transport is infiniband" in rows_of(card, "thing.roce")[0]["reason"]
    card = judge(checks, {"n1": {"thing": {"count": 8}}})  # no contract, no hardware seen: neither is known
    assert verdicts(card, "thing.roce") == [("not_measured", "n1")]
    assert verdicts(card, "thing.form") == [("not_measured", "n1")]


def test_all_equal_names_the_odd_ones_out(judge):
    checks = [check(op="all_equal", scope="cluster", value="v", want=None)]
    facts = {f"node{n:02d}": {"thing": {"v": "b" if n in (3, 17) else "a"}} for n in range(1, 19)}
    (row,) = rows_of(judge(checks, facts), "thing.count")
    assert (row["verdict"], row["nodes"], row["count"], row["actual"], row["wanted"]) == ("fail", "node[03,17]", 2, "b", "a")
    assert row["items"] == [{"label": "node03", "actual": "b"}, {"label": "node17", "actual": "b"}]
    assert row["wanted_from"] == "most of cluster c"


def test_a_tie_has_no_majority_and_names_all_values(judge):
    checks = [check(op="all_equal", scope="cluster", value="v", want=None)]
    card = judge(
        checks, {"n1": {"thing": {"v": "a"}}, "n2": {"thing": {"v": "b"}}, "n3": {"thing": {"v": "a"}}, "n4": {"thing": {"v": "b"}}}
    )
    (row,) = rows_of(card, "thing.count")
    assert (row["verdict"], row["nodes"], row["wanted"]) == ("fail", "n[1-4]", None)
    assert sorted(row["actual"]) == ["a", "b"]
    assert "no majority" in row["reason"]


def test_all_equal_with_a_host_unmeasured_does_not_pass(judge):
    checks = [check(op="all_equal", scope="cluster", value="v", want=None), check("thing.other", value="x", want=1)]
    card = judge(checks, {"n1": {"thing": {"v": "a", "x": 1}}, "n2": {"thing": {"v": None, "x": 1}}, "n3": {"thing": {"v": "a", "x": 1}}})
    (row,) = rows_of(card, "thing.count")
    assert (row["verdict"], row["nodes"]) == ("not_measured", "n2")
    assert "1 of 3 nodes not measured" in row["reason"]


def test_all_equal_and_wanted(judge):
    checks = [check(op="all_equal", scope="cluster", value="v", want="a")]
    (row,) = rows_of(judge(checks, {"n1": {"thing": {"v": "b"}}, "n2": {"thing": {"v": "b"}}}), "thing.count")
    assert (row["verdict"], row["wanted"], row["reason"]) == ("fail", "a", "cluster c: 0 of 2 values agree")


def test_racks_are_compared_apart(judge):
    checks = [check(op="all_equal", scope="rack", value="domain", want=None)]
    facts = {f"n{n}": {"thing": {"domain": "x" if n < 4 else "y"}} for n in range(1, 7)}
    hosts = [{"name": f"n{n}", "cluster": "c", "rack": "r1" if n < 4 else "r2"} for n in range(1, 7)]
    card = judge(checks, facts, run={"hosts": hosts})
    assert verdicts(card) == [("pass", "n[1-3]"), ("pass", "n[4-6]")]
    facts["n5"]["thing"]["domain"] = "z"
    card = judge(checks, facts, run={"hosts": hosts})
    assert ("fail", "n5") in verdicts(card)


def test_all_equal_on_the_items_of_one_host(judge):
    gpus = [{"index": n, "vbios": "96.00" if n != 5 else "97.00"} for n in range(8)]
    checks = [check(op="all_equal", each="gpus", label="index", value="vbios", want=None)]
    (row,) = rows_of(judge(checks, {"n1": {"thing": {"gpus": gpus}}}), "thing.count")
    assert (row["verdict"], row["items"], row["wanted"]) == ("fail", [{"label": "5", "actual": "97.00"}], "96.00")


def test_a_threshold_on_a_cluster_is_its_worst_host_with_the_count(judge):
    checks = [check(op="ge", scope="cluster", value="v", want=5)]
    (row,) = rows_of(judge(checks, {"n1": {"thing": {"v": 5}}, "n2": {"thing": {"v": 3}}, "n3": {"thing": {"v": 9}}}), "thing.count")
    assert (row["verdict"], row["nodes"], row["items"], row["reason"]) == (
        "fail",
        "n2",
        [{"label": "n2", "actual": 3}],
        "cluster c: 1 of 3 nodes",
    )


def test_a_fact_of_the_cluster_is_judged_once_whoever_read_it(judge):
    head = fleet.envelope("head", "thing", {"count": 8}, owner="cluster")
    hosts = [
        {"name": name, "cluster": "c", "rack": "r", "groups": groups}
        for name, groups in (("head", ["head"]), ("n1", ["gpu_nodes"]), ("n2", ["gpu_nodes"]))
    ]
    hosts[0]["rack"] = ""  # a login node stands in none of the contract's racks
    agreed = fleet.contract()
    agreed["clusters"][0]["racks"] = {"r": 2}
    card = judge([check(scope="cluster")], {"head": {"thing": head}}, run={"hosts": hosts, "concerns": ["thing"]}, contract=agreed)
    (row,) = rows_of(card, "thing.count")
    assert (row["verdict"], row["nodes"], row["evidence"]) == ("pass", "n[1-2]", "facts/head/thing.json")
    assert [host["name"] for host in card["hosts"]] == ["n1", "n2"]


def test_a_bug_in_the_judge_is_not_a_pass(judge, monkeypatch):
    from accept_judge import operators

    monkeypatch.setitem(operators.OPERATORS, "eq", lambda actual, wanted: 1 / 0)
    card = judge([check(), check("thing.other", op="ge", value="count", want=1)], {"n1": {"thing": {"count": 8}}})
    (row,) = rows_of(card, "thing.count")
    assert row["verdict"] == "not_measured"
    assert "ZeroDivisionError" in row["reason"]


def test_run_scope_sees_the_tables_and_their_age(judge):
    checks = [check(scope="run", value="tables.table.age_days", op="le", want=10, severity="minor"), check("thing.other", want=8)]
    baseline = {"as_of": "2026-08-19", "values": {"versions.x": {"value": 1, "source": "test"}}, "max_age_days": 10}
    card = judge(checks, {"n1": {"thing": {"count": 8}}}, **{"baselines/table": baseline})
    (row,) = rows_of(card, "thing.count")
    assert (row["verdict"], row["actual"], row["nodes"], row["evidence"]) == ("warn", 103, "", "run.json")


def test_a_floor_is_said_in_words_whether_or_not_there_is_a_version(judge):
    row = {
        "title": "X",
        "rule": "minimum",
        "floors": {"any": {"version": "1.2", "advisory": "bulletin 7", "cves": [], "fixed_on": "2026-01-01"}},
    }
    baseline = {"as_of": "2026-08-19", "values": {"versions.x": {"value": row, "source": "test"}}}
    facts = {"n1": {"thing": {"count": "1.3"}}, "n2": {"thing": {"count": "1.0"}}, "n3": {"thing": {"count": None}}, "n4": {"thing": None}}
    card = judge([check(op="version_floor", want="$versions.x")], facts, **{"baselines/table": baseline})
    assert [row["verdict"] for row in rows_of(card, "thing.count")] == ["fail", "not_measured", "not_measured", "pass"]
    assert all(row["wanted"].startswith("1.2 ") and "bulletin 7" in row["wanted"] for row in rows_of(card, "thing.count"))


def test_what_only_informs_makes_a_host_neither_better_nor_worse(judge):
    checks = [check(), check("thing.note", severity="info", value="note", want=1)]
    card = judge(checks, {"n1": {"thing": {"count": 8, "note": None}}, "n2": {"thing": {"count": 8, "note": 2}}})
    assert [(host["worst"], host["counts"]) for host in card["hosts"]] == [
        ("pass", {"not_measured": 1, "pass": 1}),
        ("pass", {"warn": 1, "pass": 1}),
    ]
    assert card["decision"]["verdict"] == "accepted"
