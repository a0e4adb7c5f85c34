"""The sweep of collectives live: real MPI ranks, on this host and over nodes in namespaces, with a slow node and one that hangs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab" / "network"), str(ROOT / "lab"), str(ROOT / "module_utils")]

from accept_judge.nodesets import unfold  # noqa: E402
from accept_node.collective_rows import COLUMNS  # noqa: E402
from steps import slurm as steps  # noqa: E402

pytestmark = [pytest.mark.lab, pytest.mark.skipif(not shutil.which("mpirun"), reason="not installed: mpirun (openmpi-bin)")]
BIN = Path(sys.executable).parent
SIX = ["all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv"]
# What ssh does between machines: here a command of one node enters the other's namespace, under that node's own name
AGENT = """#!/bin/sh
while [ "$1" = -o ]; do shift 2; done
node=acc${1##*.}
shift
exec ip netns exec "$node" unshare --uts sh -c "hostname $node; $*"
"""


@pytest.fixture(scope="module")
def cluster(spaces):
    made = spaces(4)
    agent = made.folder / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    return made


def run(folder, inventory, scheduler="none", enter=list, **settings):
    """(output, data of nccl_sweep, check -> nodes of its failing rows, seconds)"""
    folder.mkdir(exist_ok=True)
    (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
    contract = {"schema": 1, "id": "lab", "title": "Lab", "tier": "gold", "definition": "collectives"}
    contract |= {"agreed_date": "2026-12-15", "walk_away_date": "2027-01-31"}
    count = len(inventory["all"]["children"]["gpu_nodes"]["hosts"])
    contract["clusters"] = [{"name": "lab", "sku": "auto", "transport": "infiniband", "scheduler": scheduler, "nodes": count}]
    (folder / "contract.yml").write_text(yaml.safe_dump(contract))
    given = {"accept_risk": "load", "accept_evidence": str(folder / "evidence"), "nccl_sweep_engine": "mpi"}
    given |= {f"nccl_sweep_{key}": value for key, value in settings.items()}
    argv = [str(BIN / "ansible-playbook"), "playbooks/collectives.yml", "-i", str(folder / "hosts.yml"), "-e", json.dumps(given)]
    env = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": f"{BIN}:{os.environ['PATH']}"}
    began = time.monotonic()
    done = subprocess.run(enter(argv), cwd=ROOT, env=env, capture_output=True, text=True, timeout=500, check=False)
    took = time.monotonic() - began
    assert (folder / "evidence/latest/scorecard.json").exists(), done.stdout + done.stderr
    card = json.loads((folder / "evidence/latest/scorecard.json").read_text())
    failed = {c["id"]: " ".join(r["nodes"] for r in c["rows"] if r["verdict"] in ("fail", "warn")) for c in card["checks"]}
    (path,) = (folder / "evidence/latest/facts").glob("*/nccl_sweep.json")
    return done.stdout, json.loads(path.read_text())["data"], {name: who for name, who in failed.items() if who}, took


def test_four_ranks_from_8_bytes_to_16_mib(tmp_path):
    """All six collectives at every size, nothing wrong, within 90 seconds."""
    box = {"box": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}
    inventory = {"all": {"children": {"gpu_nodes": {"hosts": box}, "head": {"hosts": {"box": {}}}}}}
    output, data, failed, took = run(tmp_path, inventory, launcher="local", ranks_per_node=4, collectives=SIX, repeats=1)
    assert [run["collective"] for run in data["runs"]] == SIX, output
    assert {run["status"] for run in data["runs"]} == {"ok"}
    assert all({run["ranks"]} == {4} and run["rows"][-1][0] == 16 << 20 for run in data["runs"])
    assert all(row[COLUMNS.index("wrong_out")] == 0 for run in data["runs"] for row in run["rows"])
    assert {len(run["rows"]) for run in data["runs"]} <= {21, 22}  # 8 bytes are not two floats for each of four ranks
    assert "nccl.wrong" not in failed
    assert took < 90, f"{took:.0f} s"


def culprits(folder):
    """Whom the search named, as the judge says it."""
    card = json.loads((folder / "evidence/latest/scorecard.json").read_text())
    rows = next(check["rows"] for check in card["checks"] if check["id"] == "nccl.culprits")
    return [{"name": item["label"], "finding": item["actual"]} for row in rows for item in row["items"]]


OVER = {"launcher": "mpirun", "ranks_per_node": 2, "collectives": ["all_reduce"], "max_bytes": 65536, "warmup": 2, "iterations": 5}


def settings_of(cluster, **more):
    own = {"interface": "eth0", "oversubscribe": True, "options": ["--mca", "plm_rsh_agent", str(cluster.folder / "agent")]}
    return {**OVER, "mpirun": own, **more}


def test_over_nodes_every_world_comes_through(cluster, tmp_path):
    output, data, failed, _ = run(tmp_path, cluster.inventory(), **settings_of(cluster, repeats=1, worlds=[1, 2, 4]))
    worlds = {tuple(run["nodes"]) for run in data["runs"] if not run["round"]}
    assert worlds == {("acc1",), ("acc2",), ("acc3",), ("acc4",), ("acc1", "acc2"), ("acc3", "acc4"), ("acc1", "acc2", "acc3", "acc4")}, (
        output
    )
    assert {run["status"] for run in data["runs"]} == {"ok"}, [(run["name"], run["reason"]) for run in data["runs"]]
    assert {run["ranks"] for run in data["runs"]} == {2, 4, 8}
    assert data["plan"]["worlds"] == [1, 2, 4]
    assert "nccl.wrong" not in failed
    assert "nccl.through" not in failed


def test_a_node_that_hangs_is_named_and_judged_by_no_bandwidth(cluster, tmp_path):
    """Whoever starts ranks on acc2 waits for ever: worlds with it hang, the search that follows names it, and nothing is left running."""
    agent = cluster.folder / "agent"
    agent.write_text(AGENT.replace("node=acc", 'case "$1" in *.2) sleep 600;; esac\nnode=acc', 1))
    try:
        output, data, failed, _ = run(tmp_path, cluster.inventory(), **settings_of(cluster, repeats=1, worlds=[2], timeout_s=10))
    finally:
        agent.write_text(AGENT)
    told = {tuple(run["nodes"]): run for run in data["runs"] if not run["round"]}
    assert told["acc3", "acc4"]["status"] == "ok", told["acc3", "acc4"]["reason"]
    assert (told["acc1", "acc2"]["status"], told["acc1", "acc2"]["rows"]) == ("hang", [])
    assert "before the first size" in told["acc1", "acc2"]["reason"]
    assert "nccl.through" in failed
    assert any(run["round"] for run in data["runs"]), output
    hanging = [one["name"] for one in culprits(tmp_path) if "hangs" in str(one["finding"])]
    assert hanging == ["acc2"]  # on two shared cores others may well be called slow
    assert "acc2" in unfold(failed["nccl.culprits"])
    assert not any(cluster.pids(name) for name in cluster.names), "ranks have outlived their launch"


@pytest.fixture(scope="module")
def slurm():
    reason = steps.lacking()
    if reason:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="accept-lab-") as folder:  # of pytest's folders munge says that others cannot reach them
        made = steps.Slurm(Path(folder), 2)
        try:
            yield made.up()
        finally:
            made.down()
            time.sleep(1)


def test_under_slurm_launches_are_steps_of_one_allocation(slurm, tmp_path):
    nodes = {name: {"accept_rack": "r1"} for name in slurm.names}
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    inventory = {"all": {"vars": local, "children": {"gpu_nodes": {"hosts": nodes}, "head": {"hosts": {"ctl": {}}}}}}
    more = {"python": str(slurm.python), "ranks_per_node": 2, "collectives": ["all_reduce", "alltoall"], "max_bytes": 65536}
    _, data, failed, _ = run(tmp_path, inventory, "slurm", slurm.enter, **more)
    assert data["launcher"] == "slurm"
    assert {tuple(run["nodes"]) for run in data["runs"]} == {("node1",), ("node2",), ("node1", "node2")}
    assert {run["status"] for run in data["runs"]} == {"ok"}, [(run["name"], run["reason"]) for run in data["runs"]]
    assert {run["ranks"] for run in data["runs"]} == {2, 4}, "ranks found each other by PMIx"
    assert "nccl.wrong" not in failed
    assert slurm.jobs() == [], "the allocation was given back"
