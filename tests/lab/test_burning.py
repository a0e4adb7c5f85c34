"""A burn-in of one minute on two nodes that are network namespaces: real load on real cores, real sockets between them. Its controller is
interrupted, killed, begun again; a node's load is held up on purpose, and found; the emergency stop ends all of it.
"""

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
DURATION_S = 60
SETTINGS = {
    "accept_risk": "load",
    "burn_in_duration_s": DURATION_S,
    "burn_in_soak_s": 4,
    "burn_in_warm_up_s": 6,
    "burn_in_workers": 1,
    "burn_in_rack_stagger_s": 3,
    "burn_in_join_s": 60,
    "burn_in_timeout_s": 30,
    "burn_in_exchange_bytes": 16384,
    "burn_in_cap_mbps": 100,
    "burn_in_python": sys.executable,
    "burn_in_engine": "cpu",
}


@pytest.fixture(scope="module")
def cluster(spaces):
    return spaces(2, "burn", "10.203.8")


def begin(cluster, folder, playbook="burn_in"):
    """The playbook on these nodes, as a user starts it: the same command each time."""
    inventory = cluster.inventory()
    for number, host in enumerate(inventory["all"]["children"]["gpu_nodes"]["hosts"].values()):
        host.update(accept_rack=f"r{number}", burn_in_cores=str(number % (os.cpu_count() or 1)))
    (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
    contract = {"schema": 1, "id": "lab", "title": "Lab", "tier": "gold", "definition": "burn_in"}
    contract |= {"agreed_date": "2026-12-15", "walk_away_date": "2027-01-31"}
    one = {"name": "lab", "sku": "auto", "transport": "infiniband", "scheduler": "none", "nodes": len(cluster.names)}
    (folder / "contract.yml").write_text(yaml.safe_dump({**contract, "clusters": [{**one, "racks": {"r0": 1, "r1": 1}}]}))
    given = json.dumps({**SETTINGS, "accept_evidence": str(folder / "evidence")})
    argv = [str(BIN / "ansible-playbook"), f"playbooks/{playbook}.yml", "-i", str(folder / "hosts.yml"), "-e", given]
    env = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def workers(cluster, name):
    """The processes that load a node."""
    found = []
    for pid in cluster.pids(name):
        try:
            if b"engines.load_cpu" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(int(pid))
        except OSError:
            continue
    return found


def wait_for(what, seconds):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, f"nothing came within {seconds} s"
        time.sleep(0.2)


def loaded(cluster):
    return all(workers(cluster, name) for name in cluster.names)


def facts(folder, host):
    return json.loads((folder / f"evidence/latest/facts/{host}/burn_in.json").read_text())


def test_interrupted_killed_and_begun_again_it_finds_the_load_that_was_held_up(cluster, tmp_path):
    first = begin(cluster, tmp_path)
    wait_for(lambda: loaded(cluster), 120)
    began = time.monotonic()
    before = {name: workers(cluster, name) for name in cluster.names}
    time.sleep(3)
    os.killpg(first.pid, signal.SIGINT)
    output = first.communicate(timeout=30)[0]
    assert "Ctrl-C leaves it running" in output, "it says so before"
    assert "burn_in goes on on the nodes" in output, "and when it happens, with the way back"
    assert "accept_run_id=" in output
    assert {name: workers(cluster, name) for name in cluster.names} == before, "the load did not notice"

    second = begin(cluster, tmp_path)
    time.sleep(12)
    os.killpg(second.pid, signal.SIGKILL)
    second.wait()
    assert {name: workers(cluster, name) for name in cluster.names} == before

    held = workers(cluster, "burn2")[0]
    time.sleep(max(0.0, began + 28 - time.monotonic()))
    os.kill(held, signal.SIGSTOP)
    time.sleep(13)
    os.kill(held, signal.SIGCONT)

    third = begin(cluster, tmp_path)
    output = third.communicate(timeout=240)[0]
    assert third.returncode in (10, 11), output
    assert "goes on detached" in output
    assert len(list((tmp_path / "evidence").glob("*/run.json"))) == 2, "one run, and latest"
    card = json.loads((tmp_path / "evidence/latest/scorecard.json").read_text())
    failed = {c["id"]: " ".join(r["nodes"] for r in c["rows"] if r["verdict"] == "fail") for c in card["checks"]}
    assert "burn2" in failed["burn_in.dip"]
    if os.getloadavg()[0] < len(cluster.names) + 0.5:  # else others' work takes its cores, which is found too
        assert failed["burn_in.dip"] == "burn2"
    for name in cluster.names:
        data = facts(tmp_path, name)["data"]
        device = data["devices"][0]
        assert data["state"] == "done"
        assert data["ran_s"] >= DURATION_S - 1
        assert device["iterations"] > 1000
        assert (device["mismatches"], data["exchange"]["wrong"], data["exchange"]["errors"]) == (0, 0, 0)
        assert data["exchange"]["count"] > 50
        assert [one["count"] > 0 for one in data["soak"]] == [True] * 3
        assert data["kernel"]["measured"]
        series = tmp_path / f"evidence/latest/attachments/{name}/burn_in.series.jsonl.gz"
        assert series.stat().st_size > 1000
        assert not list((cluster.folder / name / "run").iterdir()), "something was left on the node"
    one, two = (facts(tmp_path, name)["data"] for name in cluster.names)
    assert one["devices"][0]["checksum"] == two["devices"][0]["checksum"]
    assert (one["offset_s"], two["offset_s"]) == (0, 3), "rack by rack"
    figures = two["devices"][0]["tflops"]
    assert figures["lowest"] < 0.5 * figures["median"]
    assert 15 < figures["lowest_at_s"] < 50, "when it was held up"
    assert not any(cluster.pids(name) for name in cluster.names), "something has outlived the burn-in"


def test_the_emergency_stop_ends_it_everywhere(cluster, tmp_path):
    process = begin(cluster, tmp_path)
    wait_for(lambda: loaded(cluster), 120)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    stopped = begin(cluster, tmp_path, playbook="stop")
    output = stopped.communicate(timeout=120)[0]
    assert stopped.returncode == 0, output
    wait_for(lambda: not any(cluster.pids(name) for name in cluster.names), 15)
    assert not any(list((cluster.folder / name / "run").iterdir()) for name in cluster.names)
    again = begin(cluster, tmp_path)
    output = again.communicate(timeout=120)[0]
    assert again.returncode == 11, output
    assert not any(workers(cluster, name) for name in cluster.names), "what was stopped is not begun a second time"
    card = json.loads((tmp_path / "evidence/latest/scorecard.json").read_text())
    ran = next(check for check in card["checks"] if check["id"] == "burn_in.ran")
    assert {row["verdict"] for row in ran["rows"]} == {"not_measured"}
    assert "stopped" in ran["rows"][0]["reason"]
