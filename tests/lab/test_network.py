"""The fabric phase on live nodes: namespaces with real ping and iperf3 between them, with delay and loss, and a stand-in for perftest."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lab" / "network"), str(ROOT / "module_utils")]


pytestmark = pytest.mark.lab
BIN = Path(sys.executable).parent
QUICK = {
    "rdma_bandwidth_duration_s": 1,
    "mgmt_network_seconds": 1,
    "mgmt_network_pings": 30,
    "mgmt_network_ping_interval_s": 0.05,
    "mgmt_network_cap_mbps": 200,
}


@pytest.fixture(scope="module")
def cluster(spaces):
    return spaces(4)


def begin(cluster, folder, playbook="fabric", **variables):
    """The playbook on these nodes, as a user starts it."""
    (folder / "hosts.yml").write_text(yaml.safe_dump(cluster.inventory()))
    contract = {"schema": 1, "id": "lab", "title": "Lab", "tier": "gold", "definition": "fabric"}
    contract |= {"agreed_date": "2026-12-15", "walk_away_date": "2027-01-31"}
    one = {"name": "lab", "sku": "h200_hgx", "transport": "infiniband", "scheduler": "none", "nodes": len(cluster.names)}
    (folder / "contract.yml").write_text(yaml.safe_dump({**contract, "clusters": [one]}))
    given = {"accept_risk": "load", "accept_evidence": str(folder / "evidence"), **QUICK, **variables}
    argv = [str(BIN / "ansible-playbook"), f"playbooks/{playbook}.yml", "-i", str(folder / "hosts.yml"), "-e", json.dumps(given)]
    env = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def run(cluster, folder, **variables):
    """(exit code, output, check -> nodes of its failing rows, host -> concern -> data)"""
    process = begin(cluster, folder, **variables)
    output = process.communicate(timeout=400)[0]
    card = json.loads((folder / "evidence/latest/scorecard.json").read_text())
    failed = {c["id"]: " ".join(r["nodes"] for r in c["rows"] if r["verdict"] in ("fail", "warn")) for c in card["checks"]}
    facts = {}
    for path in (folder / "evidence/latest/facts").glob("*/*.json"):
        facts.setdefault(path.parent.name, {})[path.stem] = json.loads(path.read_text())["data"]
    return process.returncode, output, {name: who for name, who in failed.items() if who}, facts


def test_front_end_with_loss_delay_and_a_black_hole(cluster, tmp_path):
    cluster.impair("acc2", loss_pct=20)
    cluster.impair("acc3", delay_ms=15)
    cluster.mtu("acc4", 1500, 1400)
    try:
        code, output, failed, facts = run(cluster, tmp_path, accept_concerns=["mgmt_network"])
    finally:
        for name in cluster.names:
            cluster.mend(name)
    assert code == 10, output
    assert failed["mgmt.packet_loss"] == "acc2"
    assert failed["mgmt.round_trip"] == "acc3"
    assert failed["mgmt.full_mtu"] == "acc4"
    peers = {peer["peer"]: peer for peer in facts["acc1"]["mgmt_network"]["peers"]}
    assert peers["acc2"]["loss_pct"] > 0
    assert 14 < peers["acc3"]["rtt_avg_ms"] < 60
    assert peers["acc4"]["full_mtu"] == "dropped"
    assert peers["acc3"]["tcp_gbps"] > 0
    assert not any(cluster.pids(name) for name in cluster.names), "a server has outlived its run"


def test_a_slow_rail_and_one_that_hangs(cluster, tmp_path):
    (cluster.folder / "acc2" / "speed.json").write_text(json.dumps({"mlx5_1": 180.0}))
    try:
        passes = ["loopback", "together", "incast"]
        code, output, failed, facts = run(cluster, tmp_path, accept_concerns=["rdma_bandwidth"], rdma_bandwidth_passes=passes)
    finally:
        (cluster.folder / "acc2" / "speed.json").unlink()
    assert code == 10, output
    assert failed["rdma.write_bw"] == "acc2"
    assert "2 rails" in output
    plan = json.loads((tmp_path / "evidence/latest/plans/rdma_bandwidth.json").read_text())
    found = plan["clusters"]["lab"]["found"]["together"]
    assert [(row["node"], row["rail"]) for row in found["culprits"]] == [("acc2", "mlx5_1")]
    assert not found["paths"]
    assert {entry["status"] for data in facts.values() for entry in data["rdma_bandwidth"]["tests"]} == {"ok"}
    assert {entry["pass"] for entry in facts["acc1"]["rdma_bandwidth"]["tests"]} == {"loopback", "together", "incast"}
    assert not any(cluster.pids(name) for name in cluster.names), "a server has outlived its run"


def test_kill_9_of_the_controller_then_stop(cluster, tmp_path):
    """The load goes on detached, and playbooks/stop.yml finds and ends it."""
    (cluster.folder / "acc1" / "speed.json").write_text(json.dumps({"mlx5_0": "hang", "mlx5_1": "hang"}))
    process = begin(cluster, tmp_path, accept_concerns=["rdma_bandwidth"], rdma_bandwidth_passes=["together"])
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until and not (cluster.pids("acc1") and any((cluster.folder / "acc1/run").iterdir())):
            time.sleep(0.2)
        time.sleep(2)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(1)
        assert any(cluster.pids(name) for name in cluster.names), "nothing runs that could be stopped"
        stopped = begin(cluster, tmp_path, playbook="stop")
        output = stopped.communicate(timeout=120)[0]
        assert stopped.returncode == 0, output
        until = time.monotonic() + 10
        while time.monotonic() < until and any(cluster.pids(name) for name in cluster.names):
            time.sleep(0.2)
        assert not any(cluster.pids(name) for name in cluster.names)
    finally:
        (cluster.folder / "acc1" / "speed.json").unlink()


def test_behind_a_schedulers_back_nothing_is_loaded(cluster, tmp_path):
    """A contract that names Slurm, and no allocation: refused in words, nothing measured, nothing passed."""
    process = begin(cluster, tmp_path)
    process.kill()
    process.wait()
    contract = yaml.safe_load((tmp_path / "contract.yml").read_text())
    contract["clusters"][0]["scheduler"] = "slurm"
    folder = tmp_path / "slurm"
    folder.mkdir()
    (folder / "hosts.yml").write_text((tmp_path / "hosts.yml").read_text())
    (folder / "contract.yml").write_text(yaml.safe_dump(contract))
    given = json.dumps({"accept_risk": "load", "accept_evidence": str(folder / "evidence")})
    done = subprocess.run(
        [BIN / "ansible-playbook", "playbooks/fabric.yml", "-i", folder / "hosts.yml", "-e", given],
        cwd=ROOT, env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode not in (0, 10), done.stdout
    assert "salloc --no-shell" in done.stdout
    told = json.loads((folder / "evidence/latest/facts/acc1/mgmt_network.json").read_text())
    assert (told["status"], told["data"]) == ("not_run", None)
