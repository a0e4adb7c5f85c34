"""The demo's collectives: each fault that only jobs over several nodes show is found and named, and nothing else of them."""

from __future__ import annotations

import shutil
import subprocess
import sys

import yaml
from acceptance_runs import ROOT, playbook

CONCERNS = ["preflight", "version_audit", "inventory_audit", "gid_check", "roce_config", "isolation_audit", "nccl_recipe", "nccl_sweep"]
# check -> (nodes of its rows, words in them)
FOUND = {
    "nccl.dips": ("b200-[01-04]", "128 KiB"),  # at b200-01
    "nccl.through": ("b200-[01-04]", "hang at 1 MiB"),
    "transport.as_intended": ("b200-[01-04]", "on b200-04"),
    "nccl.wrong": ("gb300-[01-18]", "all_reduce on gb300-[03-04]"),
    "nccl.expected": ("gb300-[01-18]", "gb300-[11-12]"),
    "nccl.culprits": ("b200-02 gb300-11", "inside each NVLink domain"),
}
# what follows from sockets on one node, and from figures that nobody has published
FOLLOWS = ("transport.gpudirect", "transport.hcas", "transport.hcas_same", "recipe.", "nccl.expectation_known")


def test_every_fault_is_found_and_named_and_none_else(tmp_path):
    folder, captures = tmp_path / "inventories/demo", tmp_path / "captures/demo"
    shutil.copytree(ROOT / "inventories/demo", folder)
    subprocess.run([sys.executable, ROOT / "tools/simulate", folder / "simulation.yml", captures], check=True, stdout=subprocess.DEVNULL)
    tags = ("--tags", "audit,collectives")
    run = playbook(tmp_path / "evidence", folder, *tags, accept_concerns=CONCERNS, accept_gate=False, accept_risk="load")
    found, said = {}, {}
    for check in run.card["checks"]:
        for row in check["rows"] if check["concern"] == "nccl_sweep" else ():
            if row["verdict"] in ("fail", "warn") and not check["id"].startswith(FOLLOWS):
                found.setdefault(check["id"], []).append(row["nodes"])
                said[check["id"]] = said.get(check["id"], "") + yaml.safe_dump([row["actual"], row["items"], row["reason"]], width=1000)
    assert {name: " ".join(sorted(nodes)) for name, nodes in found.items()} == {name: nodes for name, (nodes, _) in FOUND.items()}, run.text
    assert [name for name, (_, word) in FOUND.items() if word not in said[name]] == []
    assert "b200-[03-04]" not in said["nccl.dips"], "what sockets carried is not judged"
    assert '<svg viewBox="' in (run.run_dir / "report.html").read_text()
    assert {plot["kind"] for plot in run.card["plots"]} >= {"curves"}
