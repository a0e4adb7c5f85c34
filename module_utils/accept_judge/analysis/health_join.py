"""What the scheduler says of the health program it runs on its nodes, read from the head's envelope of the same run."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import NamedTuple

UNKNOWN = "the scheduler was not asked, or did not tell its configuration"


class Program(NamedTuple):
    """Slurm's HealthCheckProgram; `path` None where there is none. `reason` is set where it is not known."""

    path: str | None = None
    interval_s: float | None = None
    states: tuple = ()
    reason: str = ""


def program(run) -> Program:
    """Of the cluster that this host belongs to."""
    if run.context.get("scheduler") in ("kubernetes", "none"):
        return Program()
    host = run.envelope.get("host")
    clusters = _clusters(run.run_dir)
    told = _told(run.run_dir)
    found = told.get(clusters.get(host)) if host in clusters else next(iter(told.values()), None) if len(told) == 1 else None
    return found or Program(reason=UNKNOWN)


@functools.lru_cache(maxsize=8)
def _clusters(run_dir: Path) -> dict:
    """Host -> cluster."""
    try:
        record = json.loads((run_dir / "run.json").read_text(encoding="utf-8"))
        return {host["name"]: host.get("cluster") for host in record["inventory"]["hosts"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


@functools.lru_cache(maxsize=8)
def _told(run_dir: Path) -> dict:
    """Cluster -> Program, of all heads that told one."""
    found = {}
    for path in sorted(run_dir.glob("facts/*/scheduler_audit.json")):
        try:
            data = json.loads(path.read_text(encoding="utf-8")).get("data") or {}
        except (OSError, ValueError):
            continue
        config = (data.get("slurm") or {}).get("config")
        if config:
            found[_clusters(run_dir).get(path.parent.name)] = of_config(config)
    return found


def of_config(config: dict) -> Program:
    """From `scontrol show config`: an interval of 0 is never."""
    path, interval = config.get("HealthCheckProgram"), config.get("HealthCheckInterval")
    if path in (None, "none", "(null)", "") or interval == 0:
        return Program()
    states = tuple(state for state in re.split(r"[,\s]+", str(config.get("HealthCheckNodeState") or "").upper()) if state)
    return Program(str(path), interval if isinstance(interval, int | float) else None, states)
