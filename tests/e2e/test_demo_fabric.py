"""The demo's fabric: each seeded fault is found and named, and nothing else is."""

from __future__ import annotations

import shutil
import subprocess
import sys

import yaml
from acceptance_runs import ROOT, playbook

CONCERNS = ["version_audit", "inventory_audit", "gid_check", "roce_config", "ib_config", "cabling", "ib_fabric"]
FOUND = {  # check -> (nodes, a word of what the row or its items say)
    "gid.rocev2_routable": ("gb300-10", "mlx5_5/1"),  # a link-local GID on one rail, which NCCL would choose
    "gid.rocev2_one_index": ("gb300-10", ""),
    "gid.nccl_choice": ("gb300-10", "link-local"),
    "gid.container_routable": ("gb300-10", "acceptance/accept-gid mlx5_5/1"),  # and so does a pod there
    "gid.container_choice": ("gb300-10", "link-local"),
    "gid.rocev2_index_same": ("gb300-13", "gb300-13 mlx5_0/1"),  # another index on one node
    "partition.default_membership": ("b200-01 b200-02 b200-03 b200-04", "full"),  # a tenant's ports reach all others
    "cabling.swapped": ("b200-03", "mlx5_5 <-> mlx5_6"),
    "ib.port_rate": ("b200-04", "mlx5_3/1"),  # one port at half width, seen by the node and by the fabric
    "ib.port_lanes_same": ("b200-04", "2X"),
    "fabric.link_width": ("b200-[01-04]", "b200-04 mlx5_3 <-> b200-leaf04 port 4: 2X"),
    "roce.pfc": ("gb300-15", "rail0"),  # PFC off on the node
    "roce.qos_same": ("gb300-15", "PFC off"),
    "roce.switch_pfc": ("gb300-11", "rail6 to gb300-leaf07 swp11"),  # PFC off on the switch's side
}


def test_every_fault_is_found_by_name_and_none_else(tmp_path):
    folder = tmp_path / "inventories/demo"
    shutil.copytree(ROOT / "inventories/demo", folder)
    captures = tmp_path / "captures/demo"
    subprocess.run([sys.executable, ROOT / "tools/simulate", folder / "simulation.yml", captures], check=True, stdout=subprocess.DEVNULL)
    run = playbook(tmp_path / "evidence", folder, accept_concerns=CONCERNS, accept_gate=False)
    found, said = {}, {}
    for check in run.card["checks"]:
        if check["concern"] in CONCERNS[2:]:
            for row in check["rows"]:
                if row["verdict"] in ("fail", "warn"):
                    found.setdefault(check["id"], []).append(row["nodes"])
                    said[check["id"]] = said.get(check["id"], "") + yaml.safe_dump([row["actual"], row["items"], row["reason"]], width=1000)
    assert {name: " ".join(sorted(nodes)) for name, nodes in found.items()} == {name: nodes for name, (nodes, _) in FOUND.items()}, run.text
    assert [name for name, (_, word) in FOUND.items() if word not in said[name]] == []
