"""From rows to a verdict: coverage, waivers, lost nodes, foreign evidence, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import fleet
import jsonschema
import pytest
from accept_judge.decision import NoVerdict
from accept_judge.documents import DocumentError
from accept_judge.evidence import EvidenceError
from accept_judge.scorecard import score
from fleet import check, contract, rows_of

GOOD, BAD = {"thing": {"count": 8}}, {"thing": {"count": 7}}
SCHEMA = json.loads((fleet.SCHEMA / "scorecard.json").read_text(encoding="utf-8"))


def decision(card):
    jsonschema.validate(card, SCHEMA)
    return card["decision"]["verdict"], card["decision"]["exit_code"]


def waiver(**fields):
    return {"check": "thing.count", "hosts": "n2", "owner": "buyer", "reason": "spare on its way", "expires": "2026-12-31", **fields}


def test_accepted(judge):
    card = judge([check()], {"n1": GOOD, "n2": GOOD}, contract())
    assert decision(card) == ("accepted", 0)
    assert card["decision"] == {"verdict": "accepted", "exit_code": 0, "demonstration": False, "reasons": []}
    assert card["coverage"]["nodes"] == {
        "delivered": 2, "listed": 2, "reachable": 2, "tested": 2, "passed": 2, "failed": 0, "waived": 0, "not_measured": 0,
    }  # fmt: skip
    assert card["coverage"]["statement"].startswith(
        "Of 2 nodes delivered, 2 are in the inventory, 2 answered and 2 were tested in full: 2 passed"
    )


@pytest.mark.parametrize(
    ("severity", "verdict"),
    [("blocker", ("rejected", 10)), ("major", ("rejected", 10)), ("minor", ("accepted_with_exceptions", 0)), ("info", ("accepted", 0))],
)
def test_what_a_failure_does(judge, severity, verdict):
    card = judge([check(severity=severity)], {"n1": GOOD, "n2": BAD}, contract())
    assert decision(card) == verdict
    assert rows_of(card, "thing.count")[0]["verdict"] == ("fail" if severity in ("blocker", "major") else "warn")


@pytest.mark.parametrize(
    ("severity", "verdict"),
    [
        ("blocker", ("incomplete", 11)),
        ("major", ("accepted_with_exceptions", 0)),
        ("minor", ("accepted_with_exceptions", 0)),
        ("info", ("accepted", 0)),
    ],
)
def test_what_something_not_measured_does(judge, severity, verdict):
    card = judge(
        [check(severity=severity), check("thing.other", value="x", want=1)],
        {n: {"thing": {"count": None, "x": 1}} for n in ("n1", "n2")},
        contract(),
    )
    assert decision(card) == verdict


def test_rejected_beats_incomplete(judge):
    card = judge([check()], {"n1": BAD, "n2": {"thing": None}}, contract())
    assert decision(card) == ("rejected", 10)
    assert card["decision"]["reasons"] == [
        "blocker: 1 check failed on n1: thing.count",
        "blocker: 1 check not measured on n2: thing.count",
        "coverage: 1 of 2 nodes delivered in cluster c tested in full, 100 % wanted",
    ]


def test_a_node_that_was_delivered_and_is_not_in_the_inventory(judge):
    agreed = contract()
    agreed["clusters"][0]["nodes"] = 3
    card = judge([check()], {"n1": GOOD, "n2": GOOD}, agreed)
    assert decision(card) == ("incomplete", 11)
    assert card["coverage"]["nodes"]["not_measured"] == 1


def test_a_surplus_in_one_cluster_does_not_hide_a_gap_in_another(judge):
    agreed = contract()
    agreed["clusters"].append({**agreed["clusters"][0], "name": "d", "nodes": 1})
    hosts = [{"name": name, "cluster": "c", "rack": "r"} for name in ("n1", "n2", "n3")]
    card = judge([check()], dict.fromkeys(("n1", "n2", "n3"), GOOD), agreed, run={"hosts": hosts})
    assert decision(card) == ("incomplete", 11)
    assert "coverage: 0 of 1 nodes delivered in cluster d tested in full, 100 % wanted" in card["decision"]["reasons"]
    assert card["coverage"]["nodes"]["not_measured"] == 1


def test_one_replayed_host_makes_a_demonstration_that_is_never_accepted(judge):
    hosts = [{"name": "n1", "cluster": "c", "rack": "r", "replay": True}, {"name": "n2", "cluster": "c", "rack": "r", "replay": False}]
    card = judge([check()], {"n1": GOOD, "n2": GOOD}, contract(), run={"hosts": hosts})
    assert decision(card) == ("incomplete", 11), "a replayed machine is never accepted"
    assert card["decision"]["demonstration"] is True
    assert card["decision"]["reasons"][0].startswith("a demonstration: 1 of 2 nodes")
    card = judge([check()], {"n1": GOOD, "n2": {"thing": fleet.envelope("n2", "thing", {"count": 8}, mode="replay")}}, contract())
    assert card["decision"]["demonstration"] is True  # the envelope says it, whatever the inventory says


def test_a_demonstration_can_still_be_rejected(judge):
    hosts = [{"name": "n1", "cluster": "c", "rack": "r", "replay": True}, {"name": "n2", "cluster": "c", "rack": "r", "replay": True}]
    card = judge([check()], {"n1": GOOD, "n2": BAD}, contract(), run={"hosts": hosts})
    assert decision(card) == ("rejected", 10)
    assert card["decision"]["demonstration"] is True


def test_a_waived_failure_is_waived_and_never_a_pass(judge):
    card = judge([check()], {"n1": GOOD, "n2": BAD}, contract(waivers=[waiver()]))
    assert decision(card) == ("accepted_with_exceptions", 0)
    waived = rows_of(card, "thing.count")[0]
    assert (waived["verdict"], waived["nodes"]) == ("waived", "n2")
    assert waived["waiver"] == {"owner": "buyer", "reason": "spare on its way", "expires": "2026-12-31", "verdict": "fail"}
    assert card["coverage"]["nodes"]["waived"] == 1
    assert card["coverage"]["nodes"]["passed"] == 1


def test_a_waiver_covers_its_hosts_its_check_and_its_time(judge):
    assert decision(judge([check()], {"n1": BAD, "n2": BAD}, contract(waivers=[waiver()]))) == ("rejected", 10)
    assert decision(judge([check(), check("thing.two")], {"n1": GOOD, "n2": BAD}, contract(waivers=[waiver()]))) == ("rejected", 10)
    card = judge([check()], {"n1": GOOD, "n2": BAD}, contract(waivers=[waiver(expires="2026-11-29")]))
    assert decision(card) == ("rejected", 10)
    assert "waiver of thing.count on n2 (buyer) expired on 2026-11-29: not applied" in card["decision"]["reasons"]
    assert decision(judge([check()], {"n1": BAD, "n2": BAD}, contract(waivers=[waiver(hosts="all")]))) == ("accepted_with_exceptions", 0)


def test_a_pass_is_not_waived(judge):
    card = judge([check()], {"n1": GOOD, "n2": GOOD}, contract(waivers=[waiver(hosts="all")]))
    assert [row["verdict"] for row in rows_of(card, "thing.count")] == ["pass"]


def test_a_waiver_on_one_of_the_odd_ones_out_leaves_the_other(judge):
    checks = [check(op="all_equal", scope="cluster", value="v", want=None)]
    facts = {f"n{n}": {"thing": {"v": "b" if n in (2, 5) else "a"}} for n in range(1, 8)}
    agreed = contract(waivers=[waiver()])
    agreed["clusters"][0]["nodes"] = 7
    card = judge(checks, facts, agreed)
    assert [(row["verdict"], row["nodes"]) for row in rows_of(card, "thing.count")] == [("fail", "n5"), ("waived", "n2")]
    assert {host["name"]: host["worst"] for host in card["hosts"]}["n2"] == "waived"


def test_a_lost_node_counts_as_not_measured_and_the_others_stand(judge):
    lost = fleet.envelope("n2", "thing", None, reason="unreachable: no answer on port 22 within 10 s")
    card = judge([check()], {"n1": GOOD, "n2": {"thing": lost}}, contract())
    assert decision(card) == ("incomplete", 11)
    assert [host["reachable"] for host in card["hosts"]] == [True, False]
    assert card["coverage"]["nodes"]["reachable"] == 1
    assert rows_of(card, "thing.count")[0]["reason"].startswith("unreachable: no answer")


@pytest.mark.parametrize(
    ("envelope", "reason"),
    [
        ("{", "the envelope is damaged"),
        ("[" * 100_000, "the envelope is damaged"),
        ("[1]", "the envelope is not of schema 1"),
        (fleet.envelope("n2", "thing", {"count": 8}, run_id="r0"), "the envelope is of another run_id: 'r0'"),
        (fleet.envelope("n1", "thing", {"count": 8}), "the envelope is of another host: 'n1'"),
        (fleet.envelope("n2", "other", {"count": 8}), "the envelope is of another concern: 'other'"),
        ({**fleet.envelope("n2", "thing", {"count": 8}), "schema": 2}, "the envelope is not of schema 1"),
        (fleet.envelope("n2", "thing", [8], status="ok"), "the envelope is damaged: its data is no mapping"),
        (fleet.envelope("n2", "thing", {"count": 8}, status="not_run", reason="busy"), "busy"),
        (
            fleet.envelope("n2", "thing", {"count": 8}, status="not_applicable", reason=""),
            "the envelope says not_applicable, and no reason",
        ),
    ],
)
def test_what_is_not_this_runs_fact_is_not_mixed_in(judge, envelope, reason):
    card = judge([check()], {"n1": GOOD, "n2": {"thing": envelope}}, contract())
    row = rows_of(card, "thing.count")[0]
    assert (row["verdict"], row["nodes"]) == ("not_measured", "n2")
    assert reason in row["reason"]
    assert decision(card) == ("incomplete", 11)


def test_no_envelope_says_which_phase_was_not_run(judge):
    phases = [
        {"name": "audit", "concerns": ["thing"], "status": "ran", "reason": ""},
        {"name": "soak", "concerns": ["load"], "status": "not_run", "reason": "needs accept_risk=load"},
    ]
    card = judge([check(), check("load.count")], {"n1": GOOD, "n2": GOOD}, contract(), run={"phases": phases})
    assert rows_of(card, "load.count")[0]["reason"] == "phase soak was not run: needs accept_risk=load"
    assert card["coverage"]["not_run"] == [{"concern": "load", "reason": "phase soak was not run: needs accept_risk=load"}]
    assert decision(card) == ("incomplete", 11)


def test_a_phase_that_the_definition_asks_for(judge):
    definition = {**fleet.AUDIT, "phases": ["audit", "drill"]}
    card = judge([check()], {"n1": GOOD, "n2": GOOD}, contract(), **{"definitions/audit": definition})
    assert decision(card) == ("incomplete", 11)
    assert "phase drill was not run: it is not in the plan of this run" in card["decision"]["reasons"]


def test_planned_is_run_only_if_something_came_back(judge):
    phases = [{"name": "audit", "concerns": ["thing"], "status": "planned", "reason": ""}]
    card = judge([check()], {"n1": GOOD, "n2": GOOD}, contract(), run={"phases": phases})
    assert decision(card) == ("accepted", 0)
    assert card["run"]["phases"][0]["status"] == "ran"
    phases[0]["concerns"] = ["nothing"]
    assert decision(judge([check()], {"n1": GOOD, "n2": GOOD}, contract(), run={"phases": phases})) == ("incomplete", 11)


def test_a_definition_names_what_is_judged(judge):
    checks = [check(), check("load.count")]
    definition = {**fleet.AUDIT, "concerns": ["thing", "absent"]}
    card = judge(checks, {"n1": GOOD, "n2": GOOD}, contract(), **{"definitions/audit": definition})
    assert [card["id"] for card in card["checks"]] == ["thing.count"]
    assert {"concern": "load", "reason": "not part of the definition audit"} in card["coverage"]["not_run"]
    assert "concern absent: there is no check of it" in card["decision"]["reasons"]


def test_nothing_scored_is_no_verdict(judge):
    with pytest.raises(NoVerdict, match="not one check could be scored: count was not measured"):
        judge([check()], {"n1": {"thing": {}}, "n2": {"thing": {}}}, contract())
    with pytest.raises(NoVerdict):
        judge([check(applies="transport == 'roce'")], {"n1": GOOD, "n2": GOOD}, contract())


def test_standards_or_contract_that_the_run_did_not_begin_with(judge):
    card = judge(
        [check()],
        {"n1": GOOD, "n2": GOOD},
        contract(),
        run={"standards": {"sha256": "f" * 64}, "contract": {"path": "/k.yml", "sha256": "e" * 64}},
    )
    assert len([reason for reason in card["decision"]["reasons"] if "not as when the run began" in reason]) == 2


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (None, "cannot be read"),
        ("{", "is no JSON"),
        ("{}", "schema: this judge reads schema 1"),
        ('{"schema": 1, "run_id": "r"}', "started_at: is missing"),
    ],
)
def test_a_run_that_cannot_be_judged(tmp_path, text, part):
    standards = fleet.write_standards(tmp_path / "standards", [check()])
    (tmp_path / "run").mkdir()
    if text is not None:
        (tmp_path / "run" / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(EvidenceError, match=part) as caught:
        score(tmp_path / "run", standards)
    assert "\n" not in str(caught.value)


def test_empty_inventory_and_unknown_cluster(judge):
    with pytest.raises(EvidenceError, match=r"inventory\.hosts: a run needs hosts"):
        judge([check()], {"n1": GOOD}, run={"inventory": {"path": "i", "sha256": "0", "hosts": []}})
    hosts = [{"name": "n1", "cluster": "elsewhere", "rack": "r"}]
    with pytest.raises(DocumentError, match="the inventory's cluster 'elsewhere' is not named here"):
        judge([check()], {"n1": GOOD}, contract(), run={"hosts": hosts})


def test_racks_and_causes(judge):
    hosts = [{"name": f"node{n:02d}", "cluster": "c", "rack": "r1" if n < 10 else "r2"} for n in range(1, 19)]
    facts = {host["name"]: BAD if host["name"] in ("node03", "node17", "node04") else GOOD for host in hosts}
    checks = [
        check(cause="broken"),
        check("thing.two", severity="minor", cause="broken"),
        check("thing.three", severity="minor", op="ge", want=9, cause="odd"),
    ]
    card = judge(checks, facts, run={"hosts": hosts})
    (cluster,) = card["clusters"]
    assert [(rack["name"], rack["nodes"], rack["worst"], rack["bad_nodes"]) for rack in cluster["racks"]] == [
        ("r1", 9, "fail", "node[03-04]"),
        ("r2", 9, "fail", "node17"),
    ]
    assert cluster["counts"] == {"fail": 3, "warn": 21, "pass": 30}
    assert [(cause["cause"], cause["severity"], cause["rows"], cause["nodes"]) for cause in card["causes"]] == [
        ("broken", "blocker", 6, "node[03-04,17]"),
        ("odd", "minor", 18, "node[01-18]"),
    ]


def test_passes_of_different_values_fold_into_one_row(judge):
    card = judge([check(op="ge", want=1)], {f"n{n}": {"thing": {"count": n}} for n in range(1, 5)})
    (row,) = rows_of(card, "thing.count")
    assert (row["nodes"], row["count"], row["actual"], row["evidence"]) == ("n[1-4]", 4, "1 to 4", "facts/{host}/thing.json")


def test_the_same_evidence_gives_the_same_scorecard(judge):
    first = judge([check()], {"n2": BAD, "n1": GOOD}, contract())
    assert json.dumps(first) == json.dumps(judge([check()], {"n2": BAD, "n1": GOOD}, contract()))
    assert Path(first["contract"]["path"]).name == "contract.yml"
