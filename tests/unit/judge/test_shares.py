"""A fleet judged on several cores counts as one judged on one, also where a process fails."""

from __future__ import annotations

import json
import os

import fleet
import pytest
from accept_judge import scorecard, shares
from fleet import check, contract


@pytest.fixture
def fleet_of_nine(tmp_path):
    checks = [
        check(),
        check("thing.same", op="all_equal", scope="cluster", value="kind", want=None),
        check("thing.distinct", op="all_distinct", scope="cluster", each="serials", value=None, want=None),
        check("thing.low", op="lt", want=100, severity="minor"),
    ]
    waiver = {"check": "thing.count", "hosts": "n[7-8]", "owner": "buyer", "reason": "spare", "expires": "2026-12-31"}
    agreed = contract(waivers=[waiver])
    agreed["clusters"][0]["nodes"] = 9
    facts = {
        f"n{i}": {"thing": {"count": 8 if i % 3 else i, "kind": "a" if i != 5 else "b", "serials": [str(i % 7)]}} for i in range(1, 10)
    }
    facts["n4"] = {"thing": None}
    standards = fleet.write_standards(tmp_path / "standards", checks)
    run_dir = fleet.write_run(tmp_path / "run", facts)
    path = fleet.write_yaml(tmp_path / "contract.yml", agreed)
    return lambda: scorecard.score(run_dir, standards, path, generated_at="2026-11-30T09:00:00Z")


def on_cores(monkeypatch, number):
    monkeypatch.setattr(shares, "LEAST", 1)
    monkeypatch.setattr(shares.os, "sched_getaffinity", lambda pid: set(range(number)))


@pytest.mark.parametrize("cores", [2, 3, 9, 40])
def test_the_scorecard_does_not_depend_on_the_cores(fleet_of_nine, monkeypatch, cores):
    one = fleet_of_nine()
    on_cores(monkeypatch, cores)
    assert json.dumps(fleet_of_nine()) == json.dumps(one)


def test_a_share_whose_process_fails_is_judged_again(fleet_of_nine, monkeypatch):
    one = fleet_of_nine()
    on_cores(monkeypatch, 3)
    parent, dump = os.getpid(), shares.pickle.dump

    def failing(*args):
        assert os.getpid() != parent
        raise MemoryError

    monkeypatch.setattr(shares.pickle, "dump", failing)
    assert json.dumps(fleet_of_nine()) == json.dumps(one)
    monkeypatch.setattr(shares.pickle, "dump", dump)
