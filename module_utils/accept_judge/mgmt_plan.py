"""Who measures the front-end network to whom: each directed pair of a sample of each cluster's nodes."""

from __future__ import annotations

from . import pairs

CONCERN = "mgmt_network"
SLACK_S = 45  # of one pair beside its traffic: pings, starts, the longest time limits


def sample(nodes: list, size: int) -> list:
    """So many nodes, spread evenly over the inventory's order, which mostly is that of the racks."""
    if size >= len(nodes):
        return list(nodes)
    return [nodes[place * len(nodes) // size] for place in range(size)]


def make(hosts: dict, settings: dict, refused: dict) -> dict:
    """{"plans": {host: what it does}, "chosen": {cluster: [host]}, "idle": [hosts that are not in the sample]}"""
    plans, chosen, idle = {}, {}, []
    for name in sorted({host["cluster"] for host in hosts.values()}):
        members = [host for host, entry in hosts.items() if entry["cluster"] == name and host not in refused]
        nodes = chosen[name] = sample(members, settings["sample"]) if len(members) > 1 else []
        idle += [host for host in members if host not in nodes]
        order = [pair for turn in range(len(nodes) - 1 + len(nodes) % 2) for pair in pairs.circle(nodes, turn)]
        peers = {node: [b if a == node else a for a, b in order if node in (a, b)] for node in nodes}
        for node in nodes:
            server_s = (
                60
                + SLACK_S
                + len(nodes) * (len(nodes) - 1) * (2 * settings["seconds"] + settings["pings"] * settings["ping_interval_s"] + 15)
            )
            plans[node] = {
                "settings": {**{key: settings[key] for key in ("pings", "ping_interval_s", "seconds", "cap_mbps")}, "server_s": server_s},
                "tests": [{"peer": p, "address": hosts[p]["address"], "port": settings["port"] + nodes.index(node)} for p in peers[node]],
                "servers": [{"peer": p, "port": settings["port"] + nodes.index(p)} for p in peers[node]],
            }
    return {"plans": plans, "chosen": chosen, "idle": idle}


def text(plan: dict, settings: dict, refused: dict) -> list[str]:
    """The plan as a user reads it before it runs."""
    lines, each = [], 2 * settings["seconds"] + settings["pings"] * settings["ping_interval_s"] + 2
    for name, nodes in plan["chosen"].items():
        of = len(nodes) + sum(1 for host in plan["idle"])
        directed = len(nodes) * (len(nodes) - 1)
        minutes = each * (len(nodes) - 1 if settings["simultaneous"] else directed) / 60
        how = "all at once" if settings["simultaneous"] else "one pair at a time"
        cap = f"at most {settings['cap_mbps']} Mb/s" if settings["cap_mbps"] else "without a cap"
        lines.append(
            f"  {CONCERN} {name}: {directed} directed pairs of {len(nodes)} sampled nodes of {of}, {how}, {cap}: {minutes:.1f} min"
        )
    for reason in dict.fromkeys(refused.values()):
        lines.append(f"  {CONCERN}: {sum(why == reason for why in refused.values())} nodes not run: {reason}")
    return lines
