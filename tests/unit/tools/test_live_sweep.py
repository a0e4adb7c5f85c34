"""The figure of a real sweep: never reached where it was not measured, or where anything of it is missing."""

from __future__ import annotations

from accept_node.collective_rows import COLUMNS
from benchmarks import live_sweep


def test_what_was_not_measured_is_not_reached(monkeypatch):
    monkeypatch.setattr(live_sweep, "LIBRARIES", ("libnot-there.so.1",))
    monkeypatch.setattr(live_sweep.shutil, "which", lambda name: "/usr/bin/" + name)
    (row,) = live_sweep.figures()
    assert row["ok"] is None
    assert row["value"] == "skipped"
    assert row["note"].startswith("not installed: libmpi")


def run(collective, **changed):
    row = [0] * len(COLUMNS)
    row[0] = live_sweep.LARGEST
    return {"collective": collective, "status": "ok", "ranks": 4, "rows": [row], **changed}


def test_a_sweep_with_a_part_missing_is_not_reached():
    whole = [run(name) for name in live_sweep.SIX]
    assert live_sweep.faults({"runs": whole}) == ""
    assert live_sweep.faults({"runs": []}) == "only nothing came through"
    assert live_sweep.faults({"runs": whole[1:]})
    assert live_sweep.faults({"runs": [run("all_reduce", ranks=2), *whole[1:]]})
    assert live_sweep.faults({"runs": [run("all_reduce", status="partial"), *whole[1:]]})
    bad = run("all_reduce")
    bad["rows"][0][COLUMNS.index("wrong_out")] = 1
    assert live_sweep.faults({"runs": [bad, *whole[1:]]})
