"""Runs of the playbook itself, as a user starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import yaml

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def simulate(folder: Path, faults=()) -> Path:
    """Captures, inventory and contract of a small cluster: node-01 to node-04 in two racks."""
    cluster = {"name": "small", "prefix": "node", "sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm"}
    spec = {"schema": 1, "seed": 3, "clusters": [{**cluster, "nodes": 4, "racks": {"r1": 2, "r2": 2}}], "faults": list(faults)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spec.yml").write_text(yaml.safe_dump(spec, sort_keys=False))
    subprocess.run([sys.executable, ROOT / "tools" / "simulate", folder / "spec.yml", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def environment() -> dict:
    return {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}


def playbook(evidence: Path, inventory, *options, play="acceptance.yml", **variables):
    """One run of ansible-playbook: rc, text, and the scorecard and folder of the newest run, if there are."""
    extra = json.dumps({"accept_evidence": str(evidence), **variables})
    done = subprocess.run(
        [BIN / "ansible-playbook", play, "-i", str(inventory), "-e", extra, *options],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    run_dir = (evidence / "latest").resolve()
    card = run_dir / "scorecard.json"
    return SimpleNamespace(
        rc=done.returncode,
        text=done.stdout + done.stderr,
        run_dir=run_dir,
        card=json.loads(card.read_text()) if card.exists() else None,
    )


def rows(card, check_id):
    (check,) = [check for check in card["checks"] if check["id"] == check_id]
    return check["rows"]
