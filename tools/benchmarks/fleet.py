"""Simulated fleets for benchmarks and tests: captures, and evidence made from them without Ansible."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import yaml
from accept_judge import facts_store, runs
from accept_node import capture as captures
from accept_node.envelope import collect, envelope
from accept_node.node import ReplayNode

from .measure import ROOT

CONCERNS = (
    "preflight",
    "version_audit",
    "inventory_audit",
    "boot",
    "gid_check",
    "roce_config",
    "ib_config",
    "health_audit",
    "cabling",
    "isolation_audit",
    "nccl_recipe",
)


def simulate(out: Path, nodes: int, sku: str = "b200_hgx", transport: str = "infiniband", scheduler: str = "slurm", faults=()) -> Path:
    """A cluster of `nodes` nodes, node-0001 and so on; the folder holds captures, an inventory and a contract."""
    cluster = {"name": "fleet", "prefix": "node", "sku": sku, "nodes": nodes, "transport": transport, "scheduler": scheduler}
    spec = {"schema": 1, "seed": 1, "clusters": [cluster], "faults": list(faults)}
    out.mkdir(parents=True, exist_ok=True)
    (out / "spec.yml").write_text(yaml.safe_dump(spec, sort_keys=False))
    subprocess.run([sys.executable, ROOT / "tools" / "simulate", out / "spec.yml", out], check=True, stdout=subprocess.DEVNULL)
    return out


def collectors():
    from accept_node.collectors import (
        boot,
        cabling,
        gid_check,
        health_audit,
        ib_config,
        inventory_audit,
        isolation_audit,
        nccl_recipe,
        preflight,
        roce_config,
        version_audit,
    )

    modules = (preflight, version_audit, inventory_audit, boot, gid_check, roce_config, ib_config, health_audit, cabling)
    modules += (isolation_audit, nccl_recipe)
    return {concern: module.collect for concern, module in zip(CONCERNS, modules)}


def evidence(folder: Path, run_dir: Path, started_at: str = "2026-11-30T12:00:00.000Z") -> Path:
    """A run's folder as the playbook leaves it before judging, from a folder of captures with its inventory and contract."""
    inventory = yaml.safe_load((folder / "hosts.yml").read_text())
    hosts = [
        {"name": name, "cluster": v["accept_cluster"], "rack": v["accept_rack"], "groups": ["gpu_nodes"], "replay": True}
        for name, v in _hosts(inventory)
    ]
    now = time.time()
    for host in hosts:
        capture = captures.load(str(folder / host["name"]))
        if capture.get("unreachable"):
            found = [envelope(c, mode="replay", status="error", reason="unreachable: " + capture["unreachable"]) for c in CONCERNS]
        else:
            node = ReplayNode(capture)
            found = [collect(concern, collector, node) for concern, collector in collectors().items()]
        facts_store.save(run_dir, run_dir.name, host["name"], {"envelopes": found}, now, now)
    contract = (folder / "contract.yml").read_bytes()
    facts_store.write(run_dir / "contract.yml", contract)
    record = {
        "schema": runs.SCHEMA,
        "run_id": run_dir.name,
        "started_at": started_at,
        "operator": "bench",
        "controller": {"hostname": "controller", "ansible": "2.19", "python": "3.11"},
        "inventory": {"path": "hosts.yml", "sha256": runs.digest(hosts), "hosts": hosts},
        "contract": {"path": "contract.yml", "sha256": runs.digest(run_dir / "contract.yml")},
        "standards": {"path": "standards", "sha256": ""},
        "version_table": None,
        "risk": "read",
        "depth": "quick",
        "definition": yaml.safe_load(contract)["definition"],
        "limit": None,
        "concerns": list(CONCERNS),
        "phases": [
            {"name": "audit", "title": "", "risk": "read", "concerns": list(CONCERNS), "minutes": 1, "status": "planned", "reason": ""}
        ],
    }
    facts_store.write(run_dir / "run.json", json.dumps(record).encode())
    return run_dir


def _hosts(group: dict):
    """(name, variables) of every host of an inventory in YAML, with the variables of its groups."""
    found = {}

    def walk(node, inherited):
        inherited = {**inherited, **(node.get("vars") or {})}
        for name, variables in (node.get("hosts") or {}).items():
            found[name] = {**found.get(name, {}), **inherited, **(variables or {})}
        for child in (node.get("children") or {}).values():
            walk(child or {}, inherited)

    for top in group.values():
        walk(top, {})
    return sorted(found.items())


def all_checks() -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "standards" / "checks").glob("*.yml")))


def answered(run_dir: Path) -> int:
    """Rows of a scorecard that were decided: passed, warned or failed."""
    rows = json.loads((run_dir / "scorecard.json").read_text())["coverage"]["rows"]
    return rows["pass"] + rows["warn"] + rows["fail"]
