"""From rows to nodes, racks, clusters and the sentence on coverage: worst of all, with the count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from . import nodesets
from .evaluate import FAILED, ORDER, RANK
from .tally import Tally

SEVERITIES = ("blocker", "major", "minor", "info")


@dataclass
class Host:
    """A node of the inventory and what came back from it."""

    name: str
    cluster: str
    rack: str
    member: bool = True  # false: a head or a client, which only speaks for its cluster
    replayed: bool = False
    reachable: bool = False
    tested: bool = False
    reasons: dict = field(default_factory=dict)  # concern -> why there is no data
    plots: list = field(default_factory=list)  # what the analysis of its concerns wants drawn: docs/evidence.md


def worst_of(verdicts) -> str:
    """The worst of some verdicts; of none: nothing was measured."""
    return max(verdicts, key=RANK.__getitem__, default="not_measured")


def counts_of(counter: Counter) -> dict:
    """Counts in one order, worst first, zeros left out."""
    return {verdict: counter[verdict] for verdict in reversed(ORDER) if counter[verdict]}


def host_worst(tally: Tally, host: Host) -> str:
    return worst_of(tally.worst[host.name].values())


def host_cards(tally: Tally, hosts: list[Host]) -> list[dict]:
    return [
        {
            "name": host.name,
            "cluster": host.cluster,
            "rack": host.rack,
            "mode": "replay" if host.replayed else "live",
            "reachable": host.reachable,
            "worst": host_worst(tally, host),
            "counts": counts_of(tally.by_host[host.name]),
            "concerns": dict(sorted(tally.worst[host.name].items())),
        }
        for host in hosts
    ]


def cluster_cards(tally: Tally, hosts: list[Host], contexts: dict[str, dict]) -> list[dict]:
    cards = []
    for name, context in contexts.items():
        here = [host for host in hosts if host.cluster == name]
        counts = sum((tally.by_host[host.name] for host in here), Counter()) + tally.of_group[name]
        verdicts = [host_worst(tally, host) for host in here] + list(tally.of_group[name])
        racks = [_rack(tally, rack, [host for host in here if host.rack == rack]) for rack in sorted({host.rack for host in here})]
        cards.append(
            {
                "name": name,
                "sku": context["sku"],
                "platform": context["platform"],
                "nodes": len(here),
                "worst": worst_of(verdicts),
                "counts": counts_of(counts),
                "racks": racks,
            }
        )
    return cards


def _rack(tally: Tally, name: str, hosts: list[Host]) -> dict:
    worst = worst_of(host_worst(tally, host) for host in hosts)
    bad = [host.name for host in hosts if host_worst(tally, host) == worst] if worst in ("fail", "warn", "not_measured") else []
    counts = sum((tally.by_host[host.name] for host in hosts), Counter())
    return {"name": name, "nodes": len(hosts), "worst": worst, "counts": counts_of(counts), "bad_nodes": nodesets.fold(bad) if bad else ""}


def coverage(tally: Tally, hosts: list[Host], contract, cards: list[dict], left_out: list[dict]) -> dict:
    """Delivered, listed, reachable, tested; and each delivered node once as passed, failed, waived or not measured."""
    shares = delivery(hosts, contract)
    counted = [(host, tally.counted.get(host.name, "not_measured")) for host in hosts]
    worst = Counter(verdict if host.tested or verdict == "fail" else "not_measured" for host, verdict in counted)
    nodes = {
        "delivered": sum(share["delivered"] for share in shares.values()),
        "listed": len(hosts),
        "reachable": sum(host.reachable for host in hosts),
        "tested": sum(host.tested for host in hosts),
        "passed": worst["pass"] + worst["warn"] + worst["not_applicable"],
        "failed": worst["fail"],
        "waived": worst["waived"],
        "not_measured": worst["not_measured"] + sum(max(share["delivered"] - share["listed"], 0) for share in shares.values()),
    }
    rows = sum((Counter(card["counts"]) for card in cards), Counter())
    replayed = sum(host.replayed for host in hosts)
    return {
        "statement": statement(nodes, rows, replayed),
        "nodes": nodes,
        "rows": {verdict: rows[verdict] for verdict in ("pass", "warn", "fail", "not_measured", "not_applicable", "waived")},
        "replayed_hosts": replayed,
        "live_hosts": len(hosts) - replayed,
        "not_run": _not_run(hosts, sorted({card["concern"] for card in cards})) + left_out,
    }


def delivery(hosts: list[Host], contract) -> dict[str, dict]:
    """Cluster -> nodes delivered by the contract (without one: those listed), listed in the inventory, tested in full."""
    shares = {}
    for name in dict.fromkeys([host.cluster for host in hosts] + [c["name"] for c in (contract.data["clusters"] if contract else ())]):
        here = [host for host in hosts if host.cluster == name]
        agreed = contract.cluster(name) if contract else None
        shares[name] = {
            "delivered": agreed["nodes"] if agreed else len(here),
            "listed": len(here),
            "tested": sum(host.tested for host in here),
        }
    return shares


def statement(nodes: dict, rows: Counter, replayed: int) -> str:
    """Coverage in one sentence."""
    surplus = nodes["listed"] - nodes["delivered"]
    text = (
        f"Of {nodes['delivered']} nodes delivered, {nodes['listed']} are in the inventory, {nodes['reachable']} answered "
        f"and {nodes['tested']} were tested in full: {nodes['passed']} passed, {nodes['failed']} failed, {nodes['waived']} waived, "
        f"{nodes['not_measured']} not measured; {rows['not_measured']} of {sum(rows.values())} rows were not measured"
    )
    text += f"; the inventory lists {surplus} more than were delivered" if surplus > 0 else ""
    return text + (f"; {replayed} of {nodes['listed']} nodes are replayed from captures." if replayed else ".")


def _not_run(hosts: list[Host], concerns: list[str]) -> list[dict]:
    """Concerns that no node gave anything for, with the reason of most."""
    found = []
    for concern in concerns:
        reasons = Counter(host.reasons[concern] for host in hosts if concern in host.reasons)
        if sum(reasons.values()) == len(hosts) and reasons:
            found.append({"concern": concern, "reason": reasons.most_common(1)[0][0]})
    return found


def causes(cards: list[dict]) -> list[dict]:
    """Failing rows by the repair that clears them, the gravest and widest first."""
    groups: dict[str, dict] = {}
    for card in sorted(cards, key=lambda card: SEVERITIES.index(card["severity"])):
        bad = [row for row in card["rows"] if row["verdict"] in FAILED]
        if not bad:
            continue
        cause = groups.setdefault(
            card["cause"],
            {"cause": card["cause"], "severity": card["severity"], "rows": 0, "nodes": set(), "remedy": card["remedy"], "checks": []},
        )
        cause["rows"] += len(bad)
        cause["nodes"] |= {name for row in bad if row["nodes"] for name in nodesets.unfold(row["nodes"])}
        cause["checks"].append(card["id"])
    ordered = sorted(groups.values(), key=lambda cause: (SEVERITIES.index(cause["severity"]), -cause["rows"], cause["cause"]))
    return [{**cause, "nodes": nodesets.fold(cause["nodes"]) if cause["nodes"] else ""} for cause in ordered]
