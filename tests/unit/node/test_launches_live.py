"""Real jobs with a launcher that stands in: whatever it prints or does, the run has a reason, keeps what came, and is never whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from accept_node import collectives
from accept_node.work import LiveWork

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TABLE, JSON = FIXTURES / "nccl_tests/2.19", FIXTURES / "nccl_tests_json/2.17"
WAITING = "srun: job 4711 queued and waiting for resources"
# what stands in -> (its script, status, cause, words of the reason, rows kept)
CASES = {
    "healthy": (f"cat {TABLE}/healthy.txt", "ok", "", "", 6),
    "pending": (f"echo '{WAITING}' >&2; exec sleep 60", "error", "pending", "queued and waiting", 0),
    "not_told": ("exec sleep 60", "hang", "hang", "before the first size", 0),
    "rank_died": (
        f"head -c 2300 {TABLE}/healthy.txt; echo 'srun: error: gpu02: task 9: Killed' >&2; exit 137",
        "partial",
        "rank_died",
        "task 9",
        3,
    ),
    "stuck": (f"grep -v slurmstepd {TABLE}/hang_at_one_size.txt; exec sleep 60", "hang", "hang", "at 16777216 bytes", 4),
    "two_ranks_0": (f"cat {TABLE}/built_without_mpi.txt", "error", "output", "2 ranks 0", 6),
    "interleaved": (f"cat {TABLE}/ranks_interleaved.txt", "partial", "output", "output of ranks is mixed", 6),
    "cut_json": (f"cat {JSON}/cut.txt", "partial", "output", "", None),
    "wrong": (f"cat {TABLE}/wrong_values.txt; exit 1", "partial", "output", "wrong values at 4194304", 6),
    "no_check": (f"sed -E 's/ 0( |$)/ N\\/A\\1/g' {TABLE}/healthy.txt", "ok", "", "", 6),
    "side_by_side": (f"cat {TABLE}/side_by_side.txt", "partial", "output", "side by side", 6),
    "commas": (f"cat {TABLE}/decimal_commas.txt", "partial", "output", "decimal commas", 6),
    "silence": ("exit 0", "error", "output", "no benchmark: nothing", 0),
}


def launch_of(name) -> dict:
    sizes = {"min_bytes": 1 << 20, "max_bytes": 1 << 25, "iterations": 20, "warmup": 5}
    nodes = {"nodes": [f"{name}1", f"{name}2"], "node_set": name, "ranks_per_node": 8}
    return {"name": name, "collective": "all_reduce", "mode": "bare", **nodes, **sizes, "env": {}, "repeat": 0, "timeout_s": 1}


@pytest.fixture
def launched(tmp_path, monkeypatch):
    """launched(names) -> their runs, each a real job of this machine, all at once."""
    monkeypatch.setattr(collectives, "SLACK_S", 1)
    monkeypatch.setattr(collectives, "PAUSE_S", 0.0)

    def start(self, launch):
        script = tmp_path / launch["name"]
        script.write_text("#!/bin/sh\n" + CASES[launch["name"]][0] + "\n")
        script.chmod(0o755)
        self.work.start(launch["name"], [str(script)], launch["timeout_s"] + collectives.SLACK_S)

    monkeypatch.setattr(collectives.Sweep, "_start", start)

    def run(names):
        launches = [launch_of(name) for name in names]
        found = collectives.Sweep(LiveWork(f"test{tmp_path.name[-8:]}", "nccl_sweep"), "nccl-tests", "slurm", {}).run(launches, True)
        return {run["name"]: run for run in found}

    return run


def test_whatever_happens_has_a_reason_and_is_not_whole(launched):
    runs = launched(list(CASES))
    told = {name: (run["status"], run["cause"]) for name, run in runs.items()}
    assert told == {name: (status, cause) for name, (_, status, cause, _, _) in CASES.items()}
    for name, (_, _, _, words, kept) in CASES.items():
        assert words in runs[name]["reason"], (name, runs[name]["reason"])
        assert len(runs[name]["rows"]) == kept if kept is not None else runs[name]["rows"], name
    assert all(run["reason"] for run in runs.values() if run["status"] != "ok")
    assert {value for row in runs["no_check"]["rows"] for value in (row[4], row[8])} == {None}


def test_a_launcher_that_is_not_there_is_said(tmp_path):
    launch = launch_of("missing")
    work = LiveWork(f"test{tmp_path.name[-8:]}", "nccl_sweep")
    (run,) = collectives.Sweep(work, "nccl-tests", "mpirun", {"mpirun": str(tmp_path / "mpirun")}).run([launch], False)
    assert (run["status"], run["cause"], run["rows"]) == ("error", "launcher_missing", [])
    assert "mpirun" in run["reason"]
