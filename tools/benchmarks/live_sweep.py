"""How long a real sweep takes: six collectives of four MPI ranks on this machine, 8 B to 16 MiB, as a user starts it."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from accept_node.collective_rows import COLUMNS
from accept_node.engines.mpi_collectives import LIBRARIES

from .measure import BIN, ROOT

NAME, WANTED_S, LARGEST = "live_sweep_s", 90, 16 << 20
SIX = ["all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv"]


def lacking() -> str:
    """Why it cannot be measured here; empty where it can."""
    if not shutil.which("mpirun"):
        return "not installed: mpirun"
    for name in LIBRARIES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return ""
    return "not installed: libmpi"


def figures():
    row = {"name": NAME, "unit": "s", "target": f"<= {WANTED_S}"}
    reason = lacking()
    if reason:
        yield {**row, "value": "skipped", "ok": None, "note": f"{reason}; lab/setup installs it"}
        return
    with tempfile.TemporaryDirectory() as folder:
        took, fault = sweep(Path(folder))
    note = fault or f"four ranks, six collectives, 8 B to 16 MiB, nothing wrong; {os.cpu_count()} cores"
    yield {**row, "value": round(took, 1), "ok": not fault and took <= WANTED_S, "note": note}


def sweep(folder) -> tuple[float, str]:
    """Wall time of the whole playbook, and what was not as it should be."""
    box = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    groups = {"gpu_nodes": {"hosts": {"box": box}}, "head": {"hosts": {"box": {}}}}
    contract = {"schema": 1, "id": "bench", "title": "Bench", "tier": "gold", "definition": "collectives"}
    contract |= {"agreed_date": "2026-12-15", "walk_away_date": "2027-01-31"}
    contract["clusters"] = [{"name": "bench", "sku": "auto", "transport": "infiniband", "scheduler": "none", "nodes": 1}]
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": groups}}))
    (folder / "contract.yml").write_text(yaml.safe_dump(contract))
    given = {"accept_risk": "load", "accept_gate": False, "accept_evidence": str(folder / "evidence"), "nccl_sweep_engine": "mpi"}
    given |= {"nccl_sweep_launcher": "local", "nccl_sweep_ranks_per_node": 4, "nccl_sweep_collectives": SIX, "nccl_sweep_repeats": 1}
    argv = [str(BIN / "ansible-playbook"), "playbooks/collectives.yml", "-i", str(folder / "hosts.yml"), "-e", json.dumps(given)]
    env = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": f"{BIN}:{os.environ['PATH']}"}
    began = time.monotonic()
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    took = time.monotonic() - began
    path = folder / "evidence/latest/facts/box/nccl_sweep.json"
    if not path.exists():
        return took, f"exit status {done.returncode}, no sweep: {(done.stdout + done.stderr).strip()[-200:]}"
    return took, faults(json.loads(path.read_text())["data"] or {"runs": []})


def faults(data) -> str:
    wrong = COLUMNS.index("wrong_out")
    whole = [
        run["collective"]
        for run in data["runs"]
        if run["status"] == "ok" and run["ranks"] == 4 and run["rows"][-1][0] == LARGEST and not any(row[wrong] for row in run["rows"])
    ]
    return "" if whole == SIX else f"only {', '.join(whole) or 'nothing'} came through"
