"""The plan of a sweep of collectives: which worlds, collectives, modes and repeats, in which order, for how many minutes; then, from what
came back, the launches that find whoever spoils a slow world. Pure, but for the plan's file.

Nodes are taken by rack, leaf and name, so that a world spans as few as can be. Every node runs in a world of each size as far as sizes
divide: worlds of one size are disjoint and run at once. A budget takes repeats away first, then worlds beside the first of their size,
then sizes of worlds between two nodes and all; never message sizes.
"""

from __future__ import annotations

import json
from pathlib import Path

from accept_node.collective_rows import sizes as sizes_of

from . import culprit, culprit_plan
from .facts_store import write
from .nodesets import fold
from .sweep_time import seconds

CONCERN = "nccl_sweep"
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv")
DEPTHS = {  # repeats, minutes, collectives; quick leaves worlds between two nodes and all out
    "quick": (1, 30, ("all_reduce", "all_gather", "reduce_scatter", "alltoall")),
    "standard": (3, 240, COLLECTIVES),
    "full": (5, 960, COLLECTIVES),
}
MAX_BYTES = {"nccl-tests": 16 << 30, "rccl-tests": 16 << 30, "torch": 4 << 30, "mpi": 16 << 20}  # MPI and gloo move through the CPUs
SCALE_OUT = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MNNVL_ENABLE": "0"}  # the network carries all
LOG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET,ENV"}  # what carried the traffic comes before any bandwidth
CROSS_MAX_BYTES = 64 << 20  # does it hang? no more is asked of a launch across NVLink domains
SEARCH_BYTES = 1 << 30  # one size: large enough for the plateau
BATCH_S = 300  # launches of about so long are one run of the module: what it found is saved after it
TRIES = 2  # of a batch that brings nothing back
ROUND_S = 3.0  # of the controller and the head between two batches


def path_of(run_dir: Path) -> Path:
    return Path(run_dir) / "plans" / f"{CONCERN}.json"


def load(run_dir: Path) -> dict:
    return json.loads(path_of(run_dir).read_text(encoding="utf-8"))


def save(run_dir: Path, plan: dict) -> None:
    path = path_of(run_dir)
    path.parent.mkdir(exist_ok=True)
    write(path, json.dumps(plan, indent=1).encode())


def worlds_of(nodes: int, ends: bool = False) -> list[int]:
    """1, 2, 4 ... and all nodes; `ends`: only one, two and all."""
    powers = [1 << power for power in range(nodes.bit_length()) if 1 << power <= nodes]
    return sorted({*(size for size in powers if not ends or size <= 2), nodes})


def cluster(name: str, facts: dict, settings: dict, depth: str) -> dict:
    """The plan of one cluster. facts: head, engine, launcher, ranks_per_node, placement (node -> {rack, leaf}), domains (node -> NVLink
    domain, where NVLink joins nodes), rails (adapters by name), recipe and provider (variables of the modes ours and provider)."""
    repeats, minutes, collectives = DEPTHS[depth]
    budget = settings.get("budget_minutes") or minutes
    shape = {
        "collectives": [one for one in COLLECTIVES if one in (settings.get("collectives") or collectives)],
        "worlds": settings.get("worlds") or worlds_of(len(facts["placement"]), depth == "quick"),
        "repeats": settings.get("repeats") or repeats,
        "beside": True,  # all disjoint worlds of a size, not only the first
        "sizes": sizes_of(settings.get("min_bytes") or 8, settings.get("max_bytes") or MAX_BYTES[facts["engine"]], 2),
    }
    shape["worlds"] = sorted({size for size in shape["worlds"] if 0 < size <= len(facts["placement"])})
    trimmed = _trim(shape, facts, settings, budget)
    batches = _batches(shape, facts, settings)
    least = _minutes(batches)
    if least > budget:
        trimmed.append(f"nothing more can be left out: about {least:.0f} min where {budget:g} were allowed")
    plan = {key: shape[key] for key in ("worlds", "sizes", "repeats")}
    return {
        "name": name,
        "head": facts["head"],
        "engine": facts["engine"],
        "launcher": facts["launcher"],
        "names": facts.get("names") or {},
        "placement": facts["placement"],
        "domains": facts.get("domains") or {},
        "rails": facts.get("rails") or [],
        "ranks_per_node": facts["ranks_per_node"],
        "modes": _environments(facts),
        "collectives": shape["collectives"],
        "plan": {**plan, "minutes": round(least, 1), "trimmed": trimmed},
        "batches": batches,
        "tried": {},
        "launch": {key: settings[key] for key in ("iterations", "warmup", "timeout_s") if settings.get(key)},
    }


def _environments(facts) -> dict:
    """Mode -> variables of its launches. Bare is what a job has that sets nothing: files that a provider ships hold there too."""
    log = {} if facts["engine"] == "mpi" else LOG
    modes = {"bare": {}}
    if facts["engine"] != "mpi":
        modes.update({"provider": facts["provider"]} if facts.get("provider") else {})
        modes.update({"ours": facts["recipe"]} if facts.get("recipe") else {})
        main = modes[_main(modes)]
        modes.update(scale_out={**main, **SCALE_OUT}, cross_domain=main)
    return {mode: {**env, **log} for mode, env in modes.items()}


def _main(modes) -> str:
    return next(mode for mode in ("ours", "provider", "bare") if mode in modes)


def _trim(shape, facts, settings, budget) -> list[str]:
    """Take away until the budget holds; what was taken, in words."""
    trimmed, asked = [], shape["repeats"]
    while shape["repeats"] > 1 and _minutes(_batches(shape, facts, settings)) > budget:
        shape["repeats"] -= 1
    if shape["repeats"] < asked:
        trimmed.append(f"repeats: {shape['repeats']} of {asked}")
    if _minutes(_batches(shape, facts, settings)) > budget:
        shape["beside"] = False
        trimmed.append("worlds of several nodes: the first of each size only")
    between = [size for size in shape["worlds"] if 2 < size < len(facts["placement"])]
    if between and _minutes(_batches(shape, facts, settings)) > budget:
        shape["worlds"] = [size for size in shape["worlds"] if size not in between]
        trimmed.append(f"worlds of {', '.join(map(str, between))} nodes")
    return trimmed


def ordered(placement: dict) -> list[str]:
    """Nodes as worlds take them."""
    return sorted(placement, key=lambda node: (placement[node]["rack"] or "", placement[node]["leaf"] or "", node))


def _blocks(nodes, size, beside) -> list[list[str]]:
    """Disjoint worlds of a size. A node by itself is always looked at."""
    count = len(nodes) // size if beside or size == 1 else 1
    return [nodes[place * size : (place + 1) * size] for place in range(count)]


def _batches(shape, facts, settings) -> list[dict]:
    """[{"launches", "parallel", "seconds"}] in the order of running: small worlds first, each collective over all repeats."""
    nodes, modes = ordered(facts["placement"]), _environments(facts)
    main, found = _main(modes), []

    def add(collective, mode, blocks, repeat, high=None):
        launches = [
            _launch(collective, mode, block, repeat, facts, modes[mode], shape["sizes"][0], high or shape["sizes"][-1], settings)
            for block in blocks
        ]
        width = settings.get("max_parallel") or 64
        for at in range(0, len(launches), width):
            part = launches[at : at + width]
            found.append({"launches": part, "parallel": len(part) > 1, "seconds": max(map(seconds, part)) + (len(part) - 1)})

    for size in shape["worlds"]:
        for collective in shape["collectives"]:
            blocks = _blocks(nodes, size, shape["beside"])
            for repeat in range(shape["repeats"]):
                add(collective, main, blocks if collective == shape["collectives"][0] else blocks[:1], repeat)
    if len(nodes) > 1:
        for mode in ("bare", "provider", "scale_out"):
            if mode in modes and mode != main:
                for collective in [one for one in ("all_reduce", "alltoall") if one in shape["collectives"]][
                    : 2 if mode == "scale_out" else 1
                ]:
                    for repeat in range(shape["repeats"]):
                        add(collective, mode, [nodes], repeat)
    across = _across(nodes, facts.get("domains") or {})
    if across and "cross_domain" in modes:
        add("all_reduce", "cross_domain", [across], 0, min(CROSS_MAX_BYTES, shape["sizes"][-1]))
    return _joined(found)


def _across(nodes, domains) -> list[str]:
    """A node of each of two NVLink domains; none where there is only one."""
    first = {}
    for node in nodes:
        if domains.get(node):
            first.setdefault(domains[node], node)
    return list(first.values())[:2] if len(first) > 1 else []


def _joined(batches) -> list[dict]:
    """Launches that run one after the other share a run of the module, up to its time."""
    found: list[dict] = []
    for batch in batches:
        last = found[-1] if found else None
        if last and not last["parallel"] and not batch["parallel"] and last["seconds"] + batch["seconds"] <= BATCH_S:
            last["launches"] += batch["launches"]
            last["seconds"] += batch["seconds"]
        else:
            found.append({**batch, "launches": list(batch["launches"])})
    return found


def _launch(collective, mode, nodes, repeat, facts, env, low, high, settings, tag="") -> dict:
    launch = {
        "name": f"{tag or mode}.{collective}.w{len(nodes)}.{nodes[0]}.{repeat}",
        "collective": collective,
        "mode": mode,
        "nodes": list(nodes),
        "node_set": fold(nodes),
        "ranks_per_node": facts["ranks_per_node"],
        "min_bytes": low,
        "max_bytes": high,
        "iterations": settings.get("iterations") or 20,
        "warmup": settings.get("warmup") or 5,
        "env": env,
        "repeat": repeat,
        "engine": facts["engine"],
    }
    estimate = seconds(launch)
    launch["timeout_s"] = int(settings.get("timeout_s") or max(120, 4 * estimate + 60))
    return launch


def _minutes(batches) -> float:
    return sum(batch["seconds"] + ROUND_S for batch in batches) / 60


def text(plan: dict) -> list[str]:
    """The plan as a user reads it before it runs."""
    lines = []
    for name, one in plan["clusters"].items():
        shape, count = one["plan"], sum(len(batch["launches"]) for batch in one["batches"])
        low, high = shape["sizes"][0], shape["sizes"][-1]
        who = f"{len(one['placement'])} nodes by {one['launcher']} with {one['engine']}, worlds of {', '.join(map(str, shape['worlds']))}"
        what = f"{low} B to {high} B in {len(shape['sizes'])} sizes; {', '.join(one['collectives'])}; {shape['repeats']} repeats"
        lines.append(f"  {CONCERN} {name}: {who}; {what}: {count} launches, about {shape['minutes']:.0f} min")
        lines += [f"    left out for the budget: {what}" for what in shape["trimmed"]]
        if len(one["placement"]) > 1:
            lines += [f"  {line.strip()} (only where a world is slow)" for line in culprit_plan.text(_search(one), _search_s(one))[-1:]]
    return lines + [f"  {CONCERN} {name}: not run: {reason}" for name, reason in plan["refused"].items()]


# --- while it runs ------------------------------------------------------------------------------------------------------------------------


def advance(one: dict, data: dict | None, searches: dict, slow) -> dict | None:
    """The next launches of a cluster, or None when there is nothing left to do. `data`: what the head has measured; `searches`: the file of
    culprit_plan; `slow`: data -> names of worlds that are slower than they should be."""
    done = {run["name"] for run in (data or {}).get("runs") or ()}
    for place, batch in enumerate(one["batches"]):
        left = [launch for launch in batch["launches"] if launch["name"] not in done]
        key = str(place)
        if left and one["tried"].get(key, 0) < TRIES:
            one["tried"][key] = one["tried"].get(key, 0) + 1
            return {"launches": left, "parallel": batch["parallel"]}
    if not data or len(one["placement"]) < 2:
        return None
    search = next((found for found in searches["searches"] if found["cluster"] == one["name"]), None)
    if search is None:
        worlds = slow(data)
        if not worlds:
            return None
        collective = worlds[0].split(" ", 1)[0]
        search = {"cluster": one["name"], "plan": _search(one), "rounds": [], "collective": collective}
        searches["searches"].append(search)
    return _next_round(one, search, data, done)


def _next_round(one, search, data, done) -> dict | None:
    """The launches of a search's round; those of an unfinished one again, once."""
    if search["rounds"] and not set(search["rounds"][-1]) & done and not search.get("again"):
        search["rounds"].pop()  # the round brought nothing back at all
        search["again"] = True
    outcomes = culprit_plan.outcomes(search, data["columns"], data["runs"])
    wanted, _ = culprit.next_round(search["plan"], outcomes)
    if not wanted:
        return None
    number, size = len(search["rounds"]), min(SEARCH_BYTES, one["plan"]["sizes"][-1])
    launches = []
    for place, found in enumerate(wanted):
        mode = culprit_plan.MODES[found.stage]
        mode = mode if mode in one["modes"] else _main(one["modes"])
        env = {**one["modes"][mode], **({"NCCL_IB_HCA": "=" + ",".join(found.rails)} if found.rails else {})}
        facts = {"engine": one["engine"], "ranks_per_node": one["ranks_per_node"]}
        launch = _launch(search["collective"], mode, list(found.nodes), 0, facts, env, size, size, one["launch"], f"search{number}.{place}")
        launches.append({**launch, "round": f"{number}.{found.stage}", "rails": list(found.rails)})
    search["rounds"].append([launch["name"] for launch in launches])
    return {"launches": launches, "parallel": len(launches) > 1}


def _search(one) -> dict:
    return culprit_plan.make(
        one["placement"], rails=one.get("rails") or (), racks_share_nvlink=bool(one["domains"]), domains=one["domains"]
    )


def _search_s(one) -> float:
    nodes = list(one["placement"])
    size = min(SEARCH_BYTES, one["plan"]["sizes"][-1])
    return seconds(_launch("all_reduce", "bare", nodes, 0, one, {}, size, size, {}))
