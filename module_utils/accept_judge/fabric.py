"""The fabric behind the hosts of one cluster, from the run's evidence: who is ours, what each port is plugged into, the planned rail map.

One host's analysis needs what others said; it is read once for each run and cluster.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

from accept_node import discreet
from accept_node.collectors.ib_links import unpack

from . import documents, evidence, rail_map
from .cabling import End, Seen, compare, switch_name, unfamiliar

MAP = "rail_map.csv"  # preflight keeps a copy of the map in the run's folder
NO_MAP = "no planned rail map: put rail_map.csv (node,port,switch,switch_port,rail) beside the inventory, or set accept_rail_map"


@dataclass(frozen=True)
class Fabric:
    """Of one cluster. `problem` says why its cables cannot be compared with a map."""

    hosts: tuple = ()  # of the cluster
    members: tuple = ()  # those of them that are GPU nodes
    ours: tuple = ()  # (GUID's pseudonym -> "host mlx5_0", digest of a name -> host) of all hosts of the inventory
    results: dict = field(default_factory=dict)  # host -> Result, against the map
    leaves: dict = field(default_factory=dict)  # host -> {port: leaf}, None where some are not known
    problem: str = ""


def of(view) -> Fabric:
    """The fabric of the host that is being judged."""
    try:
        stamp = (Path(view.run_dir) / "run.json").stat().st_mtime_ns
    except OSError:
        return Fabric(problem="the run's record is not at hand")
    return _read(str(view.run_dir), str(view.envelope.get("host", "")), stamp)


def _read(run_dir: str, host: str, stamp: int) -> Fabric:
    clusters = _clusters(run_dir, stamp)
    return (
        _fabric(run_dir, clusters[host], stamp) if host in clusters else Fabric(problem=f"{host or 'the host'} is not in the run's record")
    )


@functools.lru_cache(maxsize=2)
def _run(run_dir: str, stamp: int) -> dict:
    return evidence.read_run(Path(run_dir))


@functools.lru_cache(maxsize=2)
def _clusters(run_dir: str, stamp: int) -> dict:
    return {host["name"]: host.get("cluster", "") for host in _run(run_dir, stamp)["inventory"]["hosts"]}


@functools.lru_cache(maxsize=8)
def _fabric(run_dir: str, cluster: str, stamp: int) -> Fabric:
    folder, run, clusters = Path(run_dir), _run(run_dir, stamp), _clusters(run_dir, stamp)
    hosts = tuple(name for name, its in clusters.items() if its == cluster)
    ports, swept = {}, None
    for host in hosts:
        facts = evidence.facts_of(folder, run, host, ["cabling", "ib_fabric"])
        ports[host] = (facts["cabling"].data or {}).get("ports")
        swept = facts["ib_fabric"].data or swept
    seen = _seen(ports, swept)
    leaves = {host: _leaves(found) for host, found in _by_node(seen).items()}
    plan, problem = _plan(folder / MAP)
    if plan:
        own = [row for row in plan if row.node in ports]
        problem = unfamiliar(own, seen) if own else "the rail map has no row of this cluster's nodes"
    silent = {
        host: "the node did not answer, and the fabric knows no such port by its name" for host, found in ports.items() if found is None
    }
    results = compare(plan, seen, hosts, silent) if plan and not problem else {}
    nodes = {host["name"] for host in run["inventory"]["hosts"] if "gpu_nodes" in host.get("groups", ())}
    members = tuple(host for host in hosts if host in nodes) or hosts
    return Fabric(hosts, members, _ours(run_dir, stamp), results, leaves, problem)


@functools.lru_cache(maxsize=2)
def _ours(run_dir: str, stamp: int) -> tuple[dict, dict]:
    """See Fabric.ours. A device answers by the GUIDs of its ports and by its own."""
    folder, run, guids, names = Path(run_dir), _run(run_dir, stamp), {}, {}
    for host in _clusters(run_dir, stamp):
        names[discreet.host(host)] = host
        for port in (evidence.facts_of(folder, run, host, ["cabling"])["cabling"].data or {}).get("ports") or ():
            for guid in (port["node_guid"], port["guid"]):
                if guid:
                    guids[discreet.guid(guid)] = f"{host} {port['device'] if port['port'] == 1 else port['name']}"
    return guids, names


def _plan(path):
    if not path.exists():
        return None, NO_MAP
    try:
        return rail_map.load(path), ""
    except documents.DocumentError as error:
        return None, error.errors[0]


# --- what is plugged in where -------------------------------------------------------------------------------------------------------------


def _seen(ports: dict, swept: dict | None) -> list[Seen]:
    by_guid, by_name, problem = _links(swept)
    seen = []
    for host, known in ports.items():
        digest = discreet.host(host)
        if known is None:  # the node did not answer; the fabric may still know its ports by its name
            seen += [Seen(host, (name, name + "/1"), _end(link)) for (of, name), link in by_name.items() if of == digest]
        for port in known or ():
            names = tuple(name for name in (port["device"], port["name"], port["netdev"]) if name)
            names = names if port["port"] == 1 else names[1:]
            state = "/".join(part for part in (port["state"], port["phys_state"]) if part)
            end, reason = (
                _of_ethernet(port) if port["link_layer"] == "Ethernet" else _of_infiniband(port, digest, by_guid, by_name, problem)
            )
            seen.append(Seen(host, names, end, reason, state, port["rail"]))
    return seen


def _links(swept):
    """Links of a sweep by the GUID's pseudonym and by (digest of the host's name, port's name); why there is none."""
    if swept is None:
        return {}, {}, "no sweep of the fabric is at hand (concern ib_fabric, asked on the host in group head)"
    subnets = swept.get("subnets")
    if not subnets:
        return {}, {}, "the host in group head has no active InfiniBand port to sweep the fabric from"
    problems = [f"the fabric could not be listed: {subnet['listed_reason']}" for subnet in subnets if not subnet["listed"]]
    links = [link for subnet in subnets for link in unpack(subnet)["host_links"] or ()]
    named = {}
    for link in links:
        host, _, port = (link["host"] or "").partition(" ")
        named[(host.rpartition("-")[2] if discreet.PSEUDONYM.fullmatch(host) else discreet.host(host), port)] = link
    return {discreet.guid(link["guid"]): link for link in links}, named, problems[0] if problems else ""


def _of_infiniband(port, digest, by_guid, by_name, problem):
    link = by_guid.get(discreet.guid(port["guid"])) if port["guid"] else by_name.get((digest, port["device"]))
    if link:
        return _end(link), ""
    if problem:
        return None, problem
    return None, "it is active, but no sweep has reached it" if port["state"] == "active" else ""


def _end(link) -> End:
    return End(link["switch_name"] or "", str(link["switch_port"]), link["switch"] or "")


def _of_ethernet(port):
    neighbour = port["neighbour"]
    if neighbour == "none":
        return None, "" if port["state"] != "active" else "it is up, and no LLDP neighbour is heard there"
    if neighbour is None:
        return None, "LLDP neighbours need lldpd on the node (lldpctl), and LLDP on the switch"
    return End(neighbour["switch"] or "", neighbour["port"] or "", neighbour["chassis"] or "", neighbour["description"] or ""), ""


def _by_node(seen) -> dict:
    nodes: dict = {}
    for port in seen:
        nodes.setdefault(port.node, []).append(port)
    return nodes


def _leaves(ports) -> dict | None:
    """{port: leaf} of a node's rails, None where one is not known; a port without a link is told by "none"."""
    rails = [port for port in ports if port.rail]
    if not rails or any(port.end is None and port.reason for port in rails):
        return None
    return {port.names[0]: switch_name(port.end) if port.end else "none" for port in rails}
