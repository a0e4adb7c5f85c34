"""The evidence of one run, read host by host. What is missing, damaged or another run's becomes a reason and is never mixed in."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from . import documents

SCHEMA = 1
UNREACHABLE = "unreachable"
MEASURED = ("ok", "partial")


class EvidenceError(ValueError):
    """There is no run to judge."""


@dataclass
class Fact:
    """One envelope, or the reason why there is none. `data` is None where nothing was measured."""

    concern: str
    status: str = "missing"
    reason: str = ""
    data: dict | None = None
    envelope: dict = field(default_factory=dict)

    @property
    def unreachable(self) -> bool:
        return self.status == "error" and self.reason.startswith(UNREACHABLE)

    @property
    def of_cluster(self) -> bool:
        return self.envelope.get("owner") == "cluster"


def read_run(run_dir: Path) -> dict:
    """run.json, with `moment` of its start checked; EvidenceError in one line otherwise."""
    path = Path(run_dir) / "run.json"
    try:
        run = json.loads(path.read_bytes())
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise EvidenceError(f"{path}: is no JSON: {error}") from error
    if not isinstance(run, dict) or run.get("schema") != SCHEMA:
        raise EvidenceError(f"{path}: schema: this judge reads schema {SCHEMA}")
    for key in ("run_id", "started_at", "inventory"):
        if not run.get(key):
            raise EvidenceError(f"{path}: {key}: is missing")
    if documents.moment(run["started_at"]) is None:
        raise EvidenceError(f"{path}: started_at: {run['started_at']!r} is no time in ISO 8601")
    hosts = run["inventory"].get("hosts") if isinstance(run["inventory"], dict) else None
    if not isinstance(hosts, list) or not hosts or not all(isinstance(host, dict) and host.get("name") for host in hosts):
        raise EvidenceError(f"{path}: inventory.hosts: a run needs hosts, each with a name")
    names = [host["name"] for host in hosts]
    if len(set(names)) != len(names):
        raise EvidenceError(f"{path}: inventory.hosts: {next(name for name in names if names.count(name) > 1)} stands twice")
    return run


def facts_of(run_dir: Path, run: dict, host: str, concerns) -> dict[str, Fact]:
    """Concern -> Fact of one host."""
    return {concern: _fact(Path(run_dir), run, host, concern) for concern in concerns}


def evidence_path(host: str, concern: str) -> str:
    """Where the envelope stands, below the run's folder."""
    return f"facts/{host}/{concern}.json"


def _fact(run_dir: Path, run: dict, host: str, concern: str) -> Fact:
    path = run_dir / evidence_path(host, concern)
    try:
        envelope = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Fact(concern, reason=_why_missing(run, concern, host))
    except OSError as error:
        return Fact(concern, "unreadable", f"the envelope cannot be read: {error.strerror}")
    except (ValueError, RecursionError) as error:
        return Fact(concern, "unreadable", f"the envelope is damaged: {str(error).splitlines()[0][:120]}")
    reason = _foreign(envelope, run, host, concern)
    if reason:
        return Fact(concern, "unreadable", reason)
    status, data = envelope.get("status"), envelope.get("data")
    if status in MEASURED:
        return Fact(concern, status, "", data, envelope)
    return Fact(concern, status or "error", envelope.get("reason") or f"the envelope says {status}, and no reason", None, envelope)


def _foreign(envelope, run: dict, host: str, concern: str) -> str:
    """Why an envelope is not this run's fact of this host."""
    if not isinstance(envelope, dict) or envelope.get("schema") != SCHEMA:
        return f"the envelope is not of schema {SCHEMA}"
    for key, wanted in (("run_id", run["run_id"]), ("host", host), ("concern", concern)):
        if envelope.get(key) != wanted:
            return f"the envelope is of another {key}: {str(envelope.get(key))[:80]!r}"
    if envelope.get("status") in MEASURED and not isinstance(envelope.get("data"), dict):
        return "the envelope is damaged: its data is no mapping"
    if not isinstance(envelope.get("reason") or "", str) or not isinstance(envelope.get("errors") or [], list):
        return "the envelope is damaged: its reason is no text, or its errors are no list"
    return ""


def _why_missing(run: dict, concern: str, host: str) -> str:
    """No envelope: because its phase did not run, because another host answers for it, or because nothing came back."""
    for phase in run.get("phases") or ():
        if concern in (phase.get("concerns") or ()) and phase.get("status") == "not_run":
            return f"phase {phase['name']} was not run: {phase.get('reason') or 'no reason given'}"
    if run.get("concerns") and concern not in run["concerns"]:
        return f"{concern} was not asked for in this run"
    if any(concern in (phase.get("cluster_concerns") or ()) for phase in run.get("phases") or ()):
        return _of_head(run, concern, host)
    return f"no evidence: nothing of {concern} came back from the node"


def _of_head(run: dict, concern: str, host: str) -> str:
    """A concern of the whole cluster: the head answers for it, if there is one."""
    hosts = {entry["name"]: entry for entry in run["inventory"]["hosts"]}
    heads = [name for name, entry in hosts.items() if "head" in (entry.get("groups") or ())]
    if any(hosts[head].get("cluster") == hosts[host].get("cluster") for head in heads if host in hosts):
        return f"no evidence: nothing of {concern} came back from the head of the cluster"
    return "nobody to ask: no host of this cluster is in the inventory's group head"
