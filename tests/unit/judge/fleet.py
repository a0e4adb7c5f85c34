"""A small world to judge: standards, a run's folder, a contract, written as the real ones are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import yaml

SCHEMA = Path(__file__).resolve().parents[3] / "standards" / "schema"
STARTED = "2026-11-30T08:00:00Z"
AUDIT = {
    "id": "audit",
    "title": "Audit",
    "concerns": "all",
    "phases": ["audit"],
    "reject": ["blocker", "major"],
    "exceptions": ["minor", "major"],
    "incomplete": ["blocker"],
    "coverage": {"tested_pct": {"value": 100, "source": "test"}},
}
PROFILE = {
    "id": "b200_hgx",
    "title": "HGX B200",
    "vendor": "nvidia",
    "form": "hgx",
    "platform": "HGX B200",
    "smi_names": ["NVIDIA B200"],
    "values": {"gpu.count": {"value": 8, "source": "facts", "confidence": "high"}, "gpu.memory_mib": {"value": 183359, "source": "facts"}},
}


def check(id="thing.count", **fields) -> dict:
    """A check with every needed key; fields go over it."""
    base = {"id": id, "title": id, "concern": id.split(".")[0], "severity": "blocker", "op": "eq", "value": "count", "want": 8}
    base |= {"remedy": "mend it", "source": "test", **fields}
    return {key: value for key, value in base.items() if value is not None}


def write_yaml(path: Path, data) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return path


def write_standards(folder: Path, checks: list[dict], **files) -> Path:
    """A standards folder. `files`: "tiers/gold" -> document, and so on."""
    shutil.copytree(SCHEMA, folder / "schema", dirs_exist_ok=True)
    for concern in {check["concern"] for check in checks}:
        write_yaml(folder / "checks" / f"{concern}.yml", [check for check in checks if check["concern"] == concern])
    documents = {"definitions/audit": AUDIT, "profiles/b200_hgx": PROFILE, **files}
    for name, data in documents.items():
        write_yaml(folder / f"{name}.yml", data)
    return folder


def contract(**fields) -> dict:
    cluster = {"name": "c", "sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 2}
    return {"schema": 1, "id": "k1", "title": "Contract", "clusters": [cluster], **fields}


def envelope(host: str, concern: str, data, run_id="r1", **fields) -> dict:
    status = "error" if data is None else "ok"
    base = {
        "schema": 1,
        "concern": concern,
        "owner": "node",
        "host": host,
        "run_id": run_id,
        "mode": "live",
        "status": status,
        "reason": "",
    }
    return {**base, "data": data, "sources": [], "attachments": [], "errors": [], **fields}


def write_run(run_dir: Path, facts: dict, hosts: list[dict] | None = None, **fields) -> Path:
    """A run's folder. `facts`: host -> concern -> data, or a whole envelope (a dict that has schema), or text to write as it is."""
    hosts = hosts or [{"name": host, "cluster": "c", "rack": "r1", "groups": ["gpu_nodes"], "replay": False} for host in facts]
    concerns = sorted({concern for by_concern in facts.values() for concern in by_concern})
    record = {
        "schema": 1,
        "run_id": "r1",
        "started_at": STARTED,
        "operator": "op",
        "controller": {"hostname": "ctl", "ansible": "2.19", "python": "3.11"},
    }
    record |= {"inventory": {"path": "inv", "sha256": "0" * 64, "hosts": hosts}, "risk": "read", "depth": "quick", "definition": "audit"}
    record |= {"concerns": concerns, "phases": [{"name": "audit", "concerns": concerns, "status": "ran", "reason": ""}], **fields}
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / "run.json").write_text(json.dumps(record), encoding="utf-8")
    for host, by_concern in facts.items():
        (run_dir / "facts" / host).mkdir(parents=True, exist_ok=True)
        for concern, data in by_concern.items():
            text = data if isinstance(data, str) else json.dumps(data if data and "schema" in data else envelope(host, concern, data))
            (run_dir / "facts" / host / f"{concern}.json").write_text(text, encoding="utf-8")
    return run_dir


def rows_of(card: dict, check_id: str) -> list[dict]:
    return next(check for check in card["checks"] if check["id"] == check_id)["rows"]
