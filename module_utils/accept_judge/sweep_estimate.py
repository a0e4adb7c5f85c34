"""How long a sweep of collectives takes, about, before any node was asked: planned as it will be, from contract, inventory and profiles."""

from __future__ import annotations

from . import sweep_plan
from .sweep_facts import ENGINES, LAUNCHERS

KEYS = ("engine", "collectives", "worlds", "min_bytes", "max_bytes", "repeats", "budget_minutes", "ranks_per_node", "iterations", "warmup")
NUMBERS = ("min_bytes", "max_bytes", "repeats", "ranks_per_node", "iterations", "warmup")
UNKNOWN = 8  # GPUs of a node where the contract does not say which: as most platforms have


def minutes(hosts: list, clusters: list, profiles: dict, given: dict, depth: str) -> float:
    """Of the slowest cluster: all are swept at once. hosts, clusters: of inventory and contract; given: variables `nccl_sweep_<key>`."""
    settings = {key: given[f"nccl_sweep_{key}"] for key in KEYS if given.get(f"nccl_sweep_{key}")}
    settings.update({key: int(settings[key]) for key in NUMBERS if key in settings})
    settings.update({"budget_minutes": float(settings["budget_minutes"])} if "budget_minutes" in settings else {})
    if settings.get("engine", "mpi") not in sweep_plan.MAX_BYTES:
        raise ValueError(f"nccl_sweep_engine: {settings['engine']!r} unknown; known are {', '.join(sorted(sweep_plan.MAX_BYTES))}")
    heads = {host["cluster"] for host in hosts if "head" in host["groups"]}
    return max((_cluster(one, hosts, profiles, settings, depth) for one in clusters if one["name"] in heads), default=0.0)


def _cluster(one, hosts, profiles, settings, depth) -> float:
    profile = profiles.get(one.get("sku")) or {}
    nodes = [host for host in hosts if host["cluster"] == one["name"] and "gpu_nodes" in host["groups"]]
    if not nodes:
        return 0.0
    engine = settings.get("engine") or ENGINES.get(profile.get("vendor"), "nccl-tests")
    count = ((profile.get("values") or {}).get("gpu.count") or {}).get("value")
    facts = {
        "head": "",
        "engine": engine,
        "launcher": LAUNCHERS.get(one.get("scheduler"), "mpirun"),
        "ranks_per_node": settings.get("ranks_per_node") or count or UNKNOWN,
        "placement": {host["name"]: {"rack": host["rack"] or None, "leaf": None} for host in nodes},
        "domains": {host["name"]: host["rack"] for host in nodes if host["rack"]} if profile.get("form") == "nvl72" else {},
        "recipe": {"derived": "later"},  # that there is one adds the comparison with none
    }
    return sweep_plan.cluster(one["name"], facts, settings, depth)["plan"]["minutes"]
