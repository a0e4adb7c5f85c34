"""A run: its name, its folder, its record and its plan."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
import time
from pathlib import Path

import yaml

from . import paths
from .facts_store import safe, write

SCHEMA = 1
RISKS = ("read", "load", "disrupt", "destroy")


def digest(value) -> str:
    """sha256 of a file's bytes, or of anything else as canonical JSON."""
    content = value.read_bytes() if isinstance(value, Path) else json.dumps(value, sort_keys=True, default=str).encode()
    return hashlib.sha256(content).hexdigest()


def read(run_dir: Path) -> dict:
    """The record of a run."""
    return json.loads((run_dir / "run.json").read_text(encoding="utf-8"))


def choose(evidence: Path, run_id: str, inventory_sha256: str, contract_sha256: str) -> tuple[str, bool]:
    """The run's id and whether it goes on with an earlier one.

    The id that was given, else the newest run of this inventory and contract that is not scored and that nobody works on, else new.
    """
    if run_id:
        return safe(run_id), (evidence / run_id / "run.json").exists()
    for folder in sorted(evidence.glob("*/run.json"), reverse=True):
        run_dir = folder.parent
        if run_dir.is_symlink() or (run_dir / "scorecard.json").exists() or locked_by(run_dir):
            continue
        try:
            record = read(run_dir)
            digests = record["inventory"]["sha256"], record["contract"]["sha256"]
        except (OSError, ValueError, TypeError, LookupError):  # nobody's: a record that is damaged belongs to no inventory
            continue
        if digests == (inventory_sha256, contract_sha256):
            return run_dir.name, True
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + "-" + secrets.token_hex(2), False


def locked_by(run_dir: Path) -> int:
    """The process that works on a run, or 0. A lock of another machine holds until somebody removes it."""
    try:
        lock = json.loads((run_dir / "run.lock").read_text(encoding="utf-8"))
        host, pid, birth = lock["host"], int(lock["pid"]), lock["birth"]
    except (OSError, ValueError, TypeError, LookupError, OverflowError):
        return 0
    alive = host != socket.gethostname() or (_birth(pid) or None) == birth
    return pid if alive else 0


def lock(run_dir: Path, pid: int) -> None:
    """Take a run for the process pid; it is free again when that process has ended."""
    owner = locked_by(run_dir)
    if owner and owner != pid:
        raise BlockingIOError(f"{run_dir}: process {owner} works on this run; wait for it or choose another accept_run_id")
    write(run_dir / "run.lock", json.dumps({"pid": pid, "birth": _birth(pid), "host": socket.gethostname()}).encode())


def _birth(pid: int) -> str:
    """When a process began, in the kernel's ticks: a pid alone may be somebody else's by now."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


def open_run(evidence: Path, run_id: str, record: dict, plan: dict, pid: int) -> Path:
    """Make or take the run's folder, write its record and plan, and let evidence/latest point to it."""
    run_dir = evidence / run_id
    run_dir.mkdir(parents=True, exist_ok=True)
    lock(run_dir, pid)
    for name, content in (("run.json", record), ("plan.json", plan)):
        write(run_dir / name, (json.dumps(content, indent=1, sort_keys=True) + "\n").encode())
    latest = evidence / f".latest.{os.getpid()}"
    latest.unlink(missing_ok=True)
    latest.symlink_to(run_id)
    os.replace(latest, evidence / "latest")
    return run_dir


def make_plan(
    standards_dir: Path,
    hosts: int,
    forks: int,
    risk: str,
    run_tags,
    skip_tags,
    concerns,
    clusters=(),
    given=(),
    depth: str = "",
    minutes=None,
) -> dict:
    """{"phases": [{name, title, risk, concerns, cluster_concerns, minutes, status: planned|not_run, reason}]}

    `cluster_concerns`, which are among `concerns`, are asked once for each cluster, on its head. `clusters`: those of the contract; what
    none of them has (a scheduler, say) is not asked. `given`: variables that the user set; a phase may need one. `minutes`: phase ->
    what its own plan takes.
    """
    data = yaml.load((standards_dir / "phases.yml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    phases = []
    for phase in data["phases"]:
        of_cluster = [name for name in phase.get("cluster_concerns", {}) if any(has(phase, name, one) for one in clusters)]
        everything = [*phase["concerns"], *of_cluster]
        chosen = [concern for concern in everything if not concerns or concern in concerns]
        reason = ""
        if RISKS.index(phase["risk"]) > RISKS.index(risk):
            reason = f"needs accept_risk={phase['risk']}, allowed is {risk}"
        elif not {"all", "always", "tagged", phase["name"]} & set(run_tags or ["all"]):
            reason = f"not among --tags {','.join(run_tags)}"
        elif phase["name"] in (skip_tags or ()):
            reason = "--skip-tags"
        elif not chosen:
            reason = "none of its concerns was asked for"
        elif phase.get("needs") and phase["needs"] not in given:
            reason = f"needs {phase['needs']}: {phase['why']}"
        seconds = phase["base_s"] * -(-hosts // max(forks, 1)) + phase["host_s"] * hosts + phase.get("depth_s", {}).get(depth, 0)
        phases.append(
            {
                "name": phase["name"],
                "title": phase["title"],
                "risk": phase["risk"],
                "concerns": chosen or everything,
                "cluster_concerns": [concern for concern in chosen or everything if concern in of_cluster],
                "minutes": round((minutes or {}).get(phase["name"], seconds / 60), 1),
                "status": "not_run" if reason else "planned",
                "reason": reason,
            }
        )
    return {"schema": SCHEMA, "hosts": hosts, "forks": forks, "phases": phases}


def unknown_concerns(standards_dir: Path, concerns) -> list[str]:
    """One line for each concern that was asked for and that no phase has: a slip of the pen would measure nothing."""
    data = yaml.load((standards_dir / "phases.yml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    known = sorted({name for phase in data["phases"] for name in (*phase["concerns"], *phase.get("cluster_concerns", {}))})
    return [f"accept_concerns: {name!r} unknown; known are {', '.join(known)}" for name in concerns if name not in known]


def say_minutes(run_dir: Path, phase: str, minutes: float) -> None:
    """A phase has planned itself by what was measured since: record and plan of the run say so too."""
    for name in ("run.json", "plan.json"):
        content = json.loads((run_dir / name).read_text(encoding="utf-8"))
        for one in content["phases"]:
            one["minutes"] = round(minutes, 1) if one["name"] == phase else one["minutes"]
        write(run_dir / name, (json.dumps(content, indent=1, sort_keys=True) + "\n").encode())


def has(phase: dict, concern: str, cluster: dict) -> bool:
    """Has a cluster of the contract what a concern of whole clusters is about? phases.yml has the condition."""
    return paths.truth(phase["cluster_concerns"][concern])(cluster) is not False


def asked(standards_dir: Path, plan: dict, hosts: list[dict], clusters: list[dict]) -> dict[str, dict]:
    """Planned phase -> {"nodes": [concern, ...], "heads": {host: [concern, ...]}}: what nodes are asked, and heads for their clusters."""
    data = yaml.load((standards_dir / "phases.yml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    phases, by_name, found = {phase["name"]: phase for phase in data["phases"]}, {cluster["name"]: cluster for cluster in clusters}, {}
    for planned in plan["phases"]:
        if planned["status"] == "planned":
            of_cluster, heads = planned["cluster_concerns"], {}
            for host in hosts:
                cluster = by_name.get(host["cluster"])
                concerns = [c for c in of_cluster if "head" in host["groups"] and cluster and has(phases[planned["name"]], c, cluster)]
                heads.update({host["name"]: concerns} if concerns else {})
            found[planned["name"]] = {"nodes": [c for c in planned["concerns"] if c not in of_cluster], "heads": heads}
    return found
