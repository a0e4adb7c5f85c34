"""What a sweep needs to know of a cluster before it is planned: its head, who launches with what, and where its nodes stand."""

from __future__ import annotations

from collections import Counter

from . import analysis, context, documents, evidence, transport
from .recipe import natural
from .wanted import Lookup

SAMPLE = 8  # nodes whose GPUs say what a cluster is, where the contract does not
OUTSIDE = "nccl_sweep_outside_scheduler: true launches beside the scheduler"
BEHIND = f"load belongs into an allocation: nccl_sweep_launcher: {{}}; {OUTSIDE}"
LAUNCHERS = {"slurm": "slurm", "kubernetes": "kubernetes", "slurm_on_kubernetes": "slurm", "none": "mpirun"}
ENGINES = {"nvidia": "nccl-tests", "amd": "rccl-tests"}


def view(run_dir, record, standards, contract, cluster, head=None):
    """A View of a cluster, for facts of its nodes and what is wanted of them."""
    at = documents.moment(record["started_at"])
    hosts = tuple(one["name"] for one in record["inventory"]["hosts"] if one["cluster"] == cluster["name"] and "gpu_nodes" in one["groups"])
    seen = [evidence.facts_of(run_dir, record, host, ["inventory_audit"])["inventory_audit"].data for host in hosts[:SAMPLE]]
    votes = [(*context.detect(data, standards.profiles), context.vendor_of(data)) for data in seen]
    found, reason = context.settle(votes, cluster, contract.tier, record.get("definition") or "audit", standards.profiles)
    lookup = Lookup(standards, contract, cluster["name"], found["sku"], reason or "no profile", at)
    return analysis.View(standards, found, {"host": head}, lookup, at, run_dir, record, hosts)


def cluster(view, contract_cluster, settings, task_vars, recipe) -> tuple[dict | None, str]:
    """(facts as sweep_plan.cluster takes them, why it is not run or ""); (None, "") where nothing was asked of this cluster."""
    variables, record = task_vars["hostvars"], view.run
    known = {one["name"]: one for one in record["inventory"]["hosts"]}
    head = next(
        (name for name in task_vars["ansible_play_hosts_all"] if known.get(name, {}).get("cluster") == contract_cluster["name"]), None
    )
    if head is None:
        return None, ""
    replayed, scheduler = known[head]["replay"], contract_cluster.get("scheduler", "none")
    launcher = settings.get("launcher") or LAUNCHERS.get(scheduler, "mpirun")
    domains = transport.surroundings(view)["domains"] if view.context.get("form") == "nvl72" else {}
    answered = [host for host in view.hosts if not view.fact(host, "preflight").unreachable]  # one that is away holds every world up
    engine = settings.get("engine") or ENGINES.get(view.context.get("vendor"), "mpi")
    facts = {
        "head": head,
        "engine": engine,
        "launcher": launcher,
        "ranks_per_node": settings.get("ranks_per_node") or view.wanted.key("gpu.count").value or 2,
        "placement": {host: {"rack": known[host]["rack"] or None, "leaf": _leaf(variables[host], view, host)} for host in answered},
        "names": {host: name for host in answered if (name := _name(variables[host], launcher, host)) != host},
        "domains": {host: domains[host] for host in answered if domains.get(host)},
        "rails": _rails(view, answered) if engine != "mpi" else [],
        "recipe": settings.get("recipe") or recipe,
        "provider": settings.get("provider_env") or {},
    }
    if not facts["placement"]:
        return facts, "no node of it is in the group gpu_nodes"
    if replayed:
        return facts, ""
    if scheduler != "none" and launcher not in (LAUNCHERS.get(scheduler), "slurm", "kubernetes") and not settings.get("outside_scheduler"):
        return facts, BEHIND.format(LAUNCHERS.get(scheduler, "slurm"))
    lacking = [key for key in ("image", "resources") if launcher == "kubernetes" and not (settings.get("kubernetes") or {}).get(key)]
    return facts, f"nccl_sweep_kubernetes lacks {' and '.join(lacking)}" if lacking else ""


def _rails(view, hosts) -> list:
    """The adapters that carry traffic, where nodes call them alike: as most nodes have them, and no node one by another name."""
    seen = []
    for host in hosts:
        ports = (view.fact(host, "gid_check").data or {}).get("ports") or ()
        seen.append(frozenset(port["device"] for port in ports if port.get("traffic")))
    usual, times = Counter(filter(None, seen)).most_common(1)[0] if any(seen) else (frozenset(), 0)
    alike = 2 * times > len(seen) and all(names <= usual for names in seen)
    return sorted(usual, key=natural) if alike and view.context.get("transport") != "efa" else []


def _name(variables, launcher, host) -> str:
    if launcher in ("slurm", "kubernetes"):
        return variables.get("accept_scheduler_name") or host
    return variables.get("nccl_sweep_address") or variables.get("ansible_host") or host


def _leaf(variables, view, host) -> str | None:
    """The switch that most of a node's rails are plugged into, unless the inventory says which leaf it is on."""
    if variables.get("accept_leaf"):
        return str(variables["accept_leaf"])
    ports = (view.fact(host, "cabling").data or {}).get("ports") or ()
    seen = Counter(port["neighbour"].get("description") or port["neighbour"].get("switch") for port in ports if _plugged(port))
    (name, count), *_ = seen.most_common(1) or [(None, 0)]
    return name if count * 2 > sum(seen.values()) else None  # rails that go to a leaf each share none


def _plugged(port) -> bool:
    return bool(port.get("rail")) and isinstance(port.get("neighbour"), dict)


def launcher_settings(settings, one) -> dict:
    """Of the role's settings, what engine and launcher take: accept_node/launchers."""
    own = settings.get({"slurm": "slurm_step", "kubernetes": "kubernetes"}.get(one["launcher"], "mpirun")) or {}
    rest = {key: settings[key] for key in ("folder", "python", "pending_s") if settings.get(key)}
    job = settings.get("slurm_job") or one.get("job")
    return {**rest, **own, **({"job": job} if job and one["launcher"] == "slurm" else {})}


def slow_worlds(data, view) -> list:
    """Names of worlds that a search should look at."""
    module = analysis.module_of("nccl_sweep")
    return module.analyse(data, view)["slow_worlds"] if module else []
