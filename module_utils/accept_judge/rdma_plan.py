"""The rounds of rdma_bandwidth, cluster by cluster: what has been measured decides what is measured next.

A pass is one kind of test (`PASSES`); by depth more of them. The plan is a file of the run, plans/rdma_bandwidth.json, so that a run that
was broken off goes on where it was::

    {"settings", "refused": {host: why}, "clusters": {name: {
      "nodes", "rails", "devices": {node: {rail: {address, gpu, gpu_memory}}}, "passes",
      "found": {pass: verdict of pairs.py, rounds, nodes},
      "job": id of our allocation, "containers": {node: id of our pod's},
      "rounds": [{"pass", "number", "groups": [[sender, receiver] or [receiver, sender, ...]]}]}}}
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from . import pairs
from .facts_store import write
from .pairs import NOT_RUN, Outcome

CONCERN = "rdma_bandwidth"
PASSES = {  # name -> kind, verb, memory, all rails at once, key of what is wanted
    "loopback": ("loopback", "write_bw", "host", False, ""),
    "together": ("pair", "write_bw", "host", True, "nic.ib_write_bw_min_gbps"),
    "latency": ("pair", "write_lat", "host", False, "nic.rdma_latency_max_us"),
    "read": ("pair", "read_bw", "host", True, "nic.ib_write_bw_min_gbps"),
    "gpu": ("pair", "write_bw", "gpu", True, "nic.ib_write_bw_gdr_min_gbps"),
    "incast": ("incast", "write_bw", "host", True, ""),
    "alone": ("pair", "write_bw", "host", False, "nic.ib_write_bw_min_gbps"),
}
DEPTHS = {"quick": ["loopback", "together"], "standard": ["loopback", "together", "latency", "read", "gpu", "incast"], "full": list(PASSES)}
CLIENT_SLACK_S, LATENCY_S, FAN = 30, 20, 8
PORTS_OF_INCAST = 100
STEPS_PER_S = 10.0  # steps of a job that all nodes together begin, at most: this project's own cap, loops of them overwhelm slurmctld


def path_of(run_dir: Path) -> Path:
    return run_dir / "plans" / f"{CONCERN}.json"


def load(run_dir: Path) -> dict:
    return json.loads(path_of(run_dir).read_bytes())


def save(run_dir: Path, plan: dict) -> None:
    write(path_of(run_dir), (json.dumps(plan, indent=1, sort_keys=True) + "\n").encode())


def passes_of(settings: dict, depth: str) -> list:
    """The passes that were asked for; ValueError where there is no such pass."""
    passes = settings.get("passes") or DEPTHS[depth]
    unknown = sorted(set(passes) - set(PASSES))
    if unknown:
        raise ValueError(f"rdma_bandwidth_passes: {', '.join(unknown)} unknown; known are {', '.join(PASSES)}")
    return passes


def make(hosts: dict, facts: dict, settings: dict, depth: str, refused: dict, held: dict | None = None) -> dict:
    """A plan. `hosts`: name -> {cluster, address}; `facts`: name -> data of the first step (devices, perftest), or None.

    `held`: cluster -> allocation of ours that its tests run in.
    """
    passes, held = passes_of(settings, depth), held or {}
    clusters = {}
    for name in sorted({host["cluster"] for host in hosts.values()}):
        members = [host for host, entry in hosts.items() if entry["cluster"] == name and host not in refused]
        able = [host for host in members if (facts.get(host) or {}).get("perftest", {}).get("installed")]
        rails = settings.get("devices") or _rails([facts[host]["devices"] or [] for host in able])
        devices = {host: _usable(facts[host], rails, hosts[host]["address"], settings) for host in able}
        nodes = [host for host in able if devices[host]]
        clusters[name] = {"nodes": nodes, "rails": rails, "devices": devices, "passes": list(passes), "rounds": [], "found": {}}
    return taken_up({"schema": 1, "settings": settings, "refused": refused, "clusters": clusters}, held, refused)


def taken_up(plan: dict, held: dict, refused: dict) -> dict:
    """A plan, with the allocations that the run holds now, and the nodes that have none: those rest."""
    for name, ours in held.items():
        if name in plan["clusters"]:
            cluster, pods = plan["clusters"][name], {host: pod for host, pod in (ours.get("pods") or {}).items() if pod["container"]}
            cluster.update(job=ours.get("job"), containers={host: pod["container"] for host, pod in pods.items()})
            for host, rails in cluster["devices"].items():
                for rail in rails.values():
                    rail["address"] = pods[host]["address"] if host in pods else rail["address"]
    return {**plan, "refused": refused}


def _rails(tables) -> list:
    """The devices of most nodes that are as fast as the node's fastest: adapters for storage or the front end are none."""
    votes = Counter()
    for devices in tables:
        fastest = max((device["rate_gbps"] or 0 for device in devices), default=0)
        votes.update(device["name"] for device in devices if fastest and device["rate_gbps"] == fastest)
    order = {device["name"]: place for devices in tables for place, device in enumerate(devices)}
    return sorted((name for name, count in votes.items() if 2 * count >= len(tables)), key=lambda name: (order[name], name))


def _usable(data, rails, address, settings) -> dict:
    """Rail -> where its server is reached, and the GPU next to it. Only ports that are up; in a VRF only the rail's own address will do."""
    found = {}
    for device in data["devices"] or ():
        where = device["address"] if settings.get("vrf") else address
        if device["name"] in rails and device["state"] == "ACTIVE" and where:
            way = data["perftest"]["gpu_memory"]
            able = way not in (None, "none") and device["gpu"] is not None
            found[device["name"]] = {"address": where, "gpu": device["gpu"] if able else None, "gpu_memory": way if able else None}
    return found


def advance(plan: dict, facts: dict, floors: dict) -> dict:
    """{host: what it does} of the next round of every cluster, noted in the plan; empty when all is done.

    `floors`: cluster -> key of what is wanted -> value.
    """
    found = {}
    for name, cluster in plan["clusters"].items():
        found.update(_advance(plan, cluster, facts, floors.get(name, {})))
    return found


def _advance(plan, cluster, facts, floors) -> dict:
    for name in cluster["passes"]:
        if name in cluster["found"]:
            continue
        kind, verb, memory, _, key = PASSES[name]
        run = [entry for entry in cluster["rounds"] if entry["pass"] == name]
        nodes = [node for node in cluster["nodes"] if node not in plan["refused"]]
        if memory == "gpu":
            nodes = [node for node in nodes if any(rail["gpu"] is not None for rail in cluster["devices"][node].values())]
        if kind == "pair":
            floor = floors.get(key)
            outcomes = outcomes_of(cluster, name, facts)
            groups = pairs.next_round(nodes, outcomes, len(run), 1000 / floor if floor and verb.endswith("_lat") else floor)
        elif run:
            groups, outcomes = [], []
        else:
            many = [[one, *others] for one, others in pairs.incasts(nodes, FAN)] if kind == "incast" else []
            groups, outcomes = many or [[node, node] for node in nodes if kind == "loopback"], []
        if groups:
            entry = {"pass": name, "number": len(run), "groups": [list(group) for group in groups]}
            cluster["rounds"].append(entry)
            return _orders(plan, cluster, entry)
        found = pairs.verdict(nodes, outcomes, floor) if kind == "pair" and not verb.endswith("_lat") else {}
        cluster["found"][name] = {**found, "rounds": len(run), "nodes": len(nodes)}
    return {}


def outcomes_of(cluster: dict, name: str, facts: dict) -> list:
    """What the pairs of a pass have measured. Latency counts by its inverse: more is better there too."""
    told = {}  # (number, node, peer, rail, role) -> entry
    for node in cluster["nodes"]:
        for entry in (facts.get(node) or {}).get("tests") or ():
            if entry["pass"] == name and entry["kind"] == "pair":
                told[entry["number"], node, entry["peer"], entry["device"], entry["role"]] = entry
    outcomes = []
    for entry in cluster["rounds"]:
        if entry["pass"] != name:
            continue
        for sender, receiver in entry["groups"]:
            for rail in _common(cluster, sender, receiver, PASSES[name][2]):
                client = told.get((entry["number"], sender, receiver, rail, "client"))
                server = told.get((entry["number"], receiver, sender, rail, "server"))
                outcomes.append(Outcome(entry["number"], sender, receiver, rail, _score(client, server)))
    return outcomes


def _score(client, server):
    """Of a test; a server that broke explains why its client was refused."""
    if client and client["status"] == "ok":
        return client["gbps"] if client["gbps"] is not None else 1000 / client["latency_us"] if client["latency_us"] else None
    if client and client["status"] in ("failed", "hung"):
        return None
    return None if client and server and server["status"] == "failed" else NOT_RUN


def _common(cluster, one, other, memory="host") -> list:
    """The rails that both have."""
    devices = cluster["devices"]
    rails = [rail for rail in cluster["rails"] if rail in devices[one] and rail in devices[other]]
    return [rail for rail in rails if memory == "host" or None not in (devices[one][rail]["gpu"], devices[other][rail]["gpu"])]


def _orders(plan, cluster, entry) -> dict:
    """Host -> its part in a round."""
    kind, verb, memory, together, _ = PASSES[entry["pass"]]
    settings, found = plan["settings"], {}
    client_s = (LATENCY_S if verb.endswith("_lat") else settings["duration_s"]) + CLIENT_SLACK_S
    batches = -(-len(entry["groups"]) // max(1, settings.get("forks") or 1))
    server_s = 120 + batches * (client_s if together else client_s * len(cluster["rails"])) + len(cluster["nodes"])
    kept = {key: settings.get(key) for key in ("duration_s", "bytes", "qps", "iterations", "gid_index", "traffic_class", "vrf")}
    job, forks = cluster.get("job") or settings.get("slurm_job"), max(1, settings.get("forks") or 1)
    stagger_s = round(len(cluster["rails"]) / STEPS_PER_S, 2) if job else 0.0
    server_s += 2 * batches * forks * stagger_s
    kept.update(slurm_job=job, client_s=client_s, server_s=server_s)

    def header(host):
        """What all tests of a host have in common; nodes that run at once call the scheduler one after the other."""
        turn = cluster["nodes"].index(host) % forks * stagger_s
        own = {"container": cluster.get("containers", {}).get(host), "start_after_s": round(turn, 2)}
        return {"round": f"{entry['pass']}-{entry['number']}", "settings": {**kept, **own}}

    def give(host, peer, role, rail, place, extra=0):
        """One test of one host. The server listens on the port that its client was told."""
        devices = cluster["devices"]
        reached = (
            "127.0.0.1" if role == "both" and not settings.get("vrf") else devices[peer if role != "server" else host][rail]["address"]
        )
        test = {
            "id": f"{rail}.{extra}",
            "kind": kind,
            "role": role,
            "peer": peer if role != "both" else "loopback",
            "address": reached,
            "port": settings["port"] + (PORTS_OF_INCAST + place * FAN + extra if kind == "incast" else place),
            "device": rail,
            "peer_device": rail,
            "verb": verb,
            "memory": memory,
            "gpu": devices[host][rail]["gpu"],
            "gpu_memory": devices[host][rail].get("gpu_memory") if memory == "gpu" else None,
            "together": together,
        }
        found.setdefault(host, {**header(host), "tests": []})["tests"].append(test)

    for group in entry["groups"]:
        if kind == "loopback":
            for place, rail in enumerate(cluster["rails"]):
                if rail in cluster["devices"][group[0]]:
                    give(group[0], group[0], "both", rail, place)
            continue
        links = [group] if kind == "pair" else [(sender, group[0]) for sender in group[1:]]
        for extra, (sender, receiver) in enumerate(links):
            for rail in _common(cluster, sender, receiver, memory):
                place = cluster["rails"].index(rail)
                give(sender, receiver, "client", rail, place, extra)
                give(receiver, sender, "server", rail, place, extra)
    return found


def minutes_of(nodes: int, rails: int, passes: list, settings: dict) -> tuple:
    """([fewest, most rounds], [fewest, most minutes]) of a cluster."""
    count, minutes = [0, 0], [0.0, 0.0]
    for one in passes:
        kind, _, _, together, _ = PASSES[one]
        screening = min(pairs.SCREENING, max(0, nodes - 1))
        rounds = (screening, pairs.budget(nodes)) if kind == "pair" else (1, 1)
        test_s = settings["duration_s"] * (1 if together else max(1, rails))
        for at in (0, 1):
            minutes[at] += pairs.minutes(nodes, rounds[at], test_s, settings.get("forks") or 1)
            count[at] += rounds[at]
    return count, minutes


def text(plan: dict) -> list[str]:
    """The plan as a user reads it before it runs: rounds, minutes, and what will be covered."""
    lines, settings = [], plan["settings"]
    for name, cluster in plan["clusters"].items():
        nodes, rails = len(cluster["nodes"]), len(cluster["rails"])
        count, (least, most) = minutes_of(nodes, rails, cluster["passes"], settings)
        lines.append(
            f"  {CONCERN} {name}: {nodes} nodes, {rails} rails, passes {', '.join(cluster['passes'])}: {count[0]} to {count[1]} rounds, "
            f"{least:.1f} to {most:.1f} min; {pairs.coverage(nodes)}"
        )
    for reason in dict.fromkeys(plan["refused"].values()):
        lines.append(f"  {CONCERN}: {sum(why == reason for why in plan['refused'].values())} nodes not run: {reason}")
    return lines
