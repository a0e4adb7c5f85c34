"""The inventories that ship: their contracts hold, their hosts are those of contract and simulation, and every demo fault can be built."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from accept_judge import contract as contracts
from accept_judge import standards
from simulation import build, faults

NAMES = ["demo", "example", "localhost"]


@pytest.fixture(scope="module")
def wanted(root):
    return standards.load(root / "standards")


def inventory(root, name):
    """Host -> variables, and the groups, as Ansible reads the folder."""
    command = [str(Path(sys.executable).with_name("ansible-inventory")), "-i", f"inventories/{name}", "--list"]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, env={**os.environ, "ANSIBLE_CONFIG": str(root / "ansible.cfg")}, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    listed = json.loads(done.stdout)
    return listed["_meta"]["hostvars"], listed


@pytest.mark.parametrize("name", NAMES)
def test_contract_and_inventory_agree(name, root, wanted):
    contract = contracts.load(root / f"inventories/{name}/contract.yml", wanted, on=datetime.date(2026, 11, 30))
    hosts, groups = inventory(root, name)
    clusters = [cluster["name"] for cluster in contract.data["clusters"]]
    rows = [
        {"name": host, "cluster": v.get("accept_cluster") or clusters[0], "rack": v.get("accept_rack", "")} for host, v in hosts.items()
    ]
    assert contracts.inventory_faults(contract, rows) == []
    for cluster in contract.data["clusters"]:
        assert sum(row["cluster"] == cluster["name"] for row in rows) == cluster["nodes"]
    assert groups["head"]["hosts"]
    assert {"gpu_nodes", "head"} <= set(groups)


def test_the_demo_replays_what_its_spec_simulates(root):
    spec = build.load_spec(root / "inventories/demo/simulation.yml")
    nodes = build.build(spec)
    hosts, _ = inventory(root, "demo")
    assert {node.name: (node.cluster, node.rack) for node in nodes} == {
        name: (v["accept_cluster"], v["accept_rack"]) for name, v in hosts.items()
    }
    for name, variables in hosts.items():
        assert variables["accept_replay"] == "{{ inventory_dir }}/../../captures/demo/{{ inventory_hostname }}", name
    contract = yaml.safe_load((root / "inventories/demo/contract.yml").read_text())
    keys = ("name", "sku", "transport", "scheduler", "nodes", "racks")
    assert [{key: cluster[key] for key in keys} for cluster in contract["clusters"]] == [
        {key: c[key] for key in keys} for c in spec["clusters"]
    ]


def test_the_demo_shows_at_least_fourteen_faults_and_near_misses(root):
    named = [entry["fault"] for entry in build.load_spec(root / "inventories/demo/simulation.yml")["faults"]]
    near = [name for name in named if faults.registry()[name].__doc__.startswith("Near miss")]
    assert len(set(named) - set(near)) >= 14
    assert len(near) >= 3


def test_what_the_example_comments_out_is_right_too(root, wanted, tmp_path):
    """The commented waiver and override, taken in, are a contract that holds."""
    text = (root / "inventories/example/contract.yml").read_text()
    taken = "\n".join(
        line.removeprefix("# ") if line.startswith(("# overrides:", "#   ", "# waivers:")) else line for line in text.splitlines()
    )
    path = tmp_path / "contract.yml"
    path.write_text(taken)
    contract = contracts.load(path, wanted, on=datetime.date(2026, 11, 30))
    assert contract.data["waivers"]
    assert contract.data["overrides"]
    assert {row["check"] for row in contract.data["waivers"]} <= {check["id"] for check in wanted.checks}


def test_the_example_allows_reading_only(root):
    hosts, _ = inventory(root, "example")
    assert {variables["accept_risk"] for variables in hosts.values()} == {"read"}
