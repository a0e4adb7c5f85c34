"""Which run an invocation belongs to, and what it plans."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from accept_judge import runs


def record(run_id, inventory="i", contract="c"):
    return {"run_id": run_id, "inventory": {"sha256": inventory}, "contract": {"sha256": contract}}


@pytest.fixture
def ended():
    """The id of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def opened(evidence, run_id, pid, **digests):
    return runs.open_run(evidence, run_id, record(run_id, **digests), {}, pid)


def test_an_unfinished_run_of_the_same_inventory_and_contract_goes_on(tmp_path, ended):
    opened(tmp_path, "20260101T000000Z-aaaa", ended)
    opened(tmp_path, "20260102T000000Z-bbbb", ended)
    opened(tmp_path, "20260103T000000Z-cccc", ended, inventory="other")
    opened(tmp_path, "20260104T000000Z-dddd", ended, contract="other")
    assert runs.choose(tmp_path, "", "i", "c") == ("20260102T000000Z-bbbb", True)


def test_a_scored_or_locked_run_does_not(tmp_path, ended):
    run_dir = opened(tmp_path, "20260101T000000Z-aaaa", ended)
    (run_dir / "scorecard.json").write_text("{}")
    opened(tmp_path, "20260102T000000Z-bbbb", os.getpid())
    run_id, resumed = runs.choose(tmp_path, "", "i", "c")
    assert not resumed
    assert run_id not in {"20260101T000000Z-aaaa", "20260102T000000Z-bbbb"}


def test_two_new_runs_have_two_names(tmp_path):
    assert runs.choose(tmp_path, "", "i", "c")[0] != runs.choose(tmp_path, "", "i", "c")[0]


def test_a_run_that_somebody_works_on_is_refused(tmp_path):
    opened(tmp_path, "night", os.getpid())
    with pytest.raises(BlockingIOError, match="works on this run"):
        opened(tmp_path, "night", os.getppid())


def test_a_given_name_is_taken_and_checked(tmp_path):
    assert runs.choose(tmp_path, "handover-1", "i", "c") == ("handover-1", False)
    with pytest.raises(ValueError, match="cannot be a file name"):
        runs.choose(tmp_path, "../elsewhere", "i", "c")


def test_a_damaged_record_is_passed_over(tmp_path, ended):
    opened(tmp_path, "20260101T000000Z-aaaa", ended)
    (tmp_path / "20260101T000000Z-aaaa" / "run.json").write_text("{")
    assert runs.choose(tmp_path, "", "i", "c")[1] is False


def test_latest_points_to_the_newest(tmp_path, ended):
    opened(tmp_path, "a", ended)
    opened(tmp_path, "b", ended)
    assert (tmp_path / "latest").resolve().name == "b"


def plan(root, **rest):
    values = {"hosts": 40, "forks": 20, "risk": "read", "run_tags": ["all"], "skip_tags": [], "concerns": [], **rest}
    (audit,) = [phase for phase in runs.make_plan(root / "standards", **values)["phases"] if phase["name"] == "audit"]
    return audit


def test_a_plan_has_minutes_and_says_what_will_not_run(root):
    assert plan(root)["status"] == "planned"
    assert plan(root)["minutes"] > 0
    assert plan(root, hosts=400)["minutes"] > plan(root, hosts=40)["minutes"]
    assert plan(root, run_tags=["bench"])["reason"] == "not among --tags bench"
    assert plan(root, run_tags=["audit"])["status"] == "planned"
    assert plan(root, skip_tags=["audit"])["reason"] == "--skip-tags"
    assert plan(root, concerns=["boot"])["concerns"] == ["boot"]
    assert plan(root, concerns=["nothing"])["status"] == "not_run"


@pytest.mark.parametrize("record", ["[]", "null", "{}", '{"inventory": {}, "contract": "c"}', '{"inventory": [1]}'])
@pytest.mark.parametrize("lock", ["null", "[]", "{}", '{"host": "h", "pid": "x", "birth": 1}', '{"host": "h", "pid": 1e400, "birth": 1}'])
def test_what_another_has_left_damaged_stops_no_later_run(tmp_path, record, lock):
    run_dir = tmp_path / "20260101T000000Z-aaaa"
    run_dir.mkdir()
    (run_dir / "run.json").write_text(record)
    (run_dir / "run.lock").write_text(lock)
    assert runs.choose(tmp_path, "", "i", "c")[1] is False
    runs.lock(run_dir, os.getpid())


def test_a_concern_that_no_phase_has_is_named(root):
    assert runs.unknown_concerns(root / "standards", ["boot", "ib_fabric"]) == []
    (line,) = runs.unknown_concerns(root / "standards", ["boot", "bout"])
    assert line.startswith("accept_concerns: 'bout' unknown; known are boot, ")
