"""What a cluster's scheduler amounts to: each node of the inventory as it sees it, beside what the node says of itself."""

from __future__ import annotations

import datetime
import re

from . import scheduler_kubernetes, scheduler_slurm

SAME = "same"
OUT_BY_HAND = {"drained", "draining", "failing"}


def analyse(data: dict, run) -> dict:
    """as_contracted, placed_twice, members; and what scheduler_slurm and scheduler_kubernetes derive.

    members: [{node, name, known, placeable, said_why, gpus, gpus_usable_fit, gpus_fit_hardware, partitions, version}] of the inventory's
    nodes, and what Kubernetes adds. `placeable`: true, "by this run" (we drained it), or what stands against it. `<key>_reason`: why a key
    is null.
    """
    found = {
        "as_contracted": _as_contracted(data, run.context.get("scheduler")),
        "as_contracted_reason": _not_known(data, run.context.get("scheduler")),
        "placed_twice": _placed_twice(data),
        "placed_twice_reason": data.get("nodes_reason") or "",
        **_release(data, run),
        "members": _members(data, run),
        "members_reason": data.get("nodes_reason") or "no scheduler was found on the head",
    }
    found.update(scheduler_slurm.derive(data, found["members"]))
    found.update(scheduler_kubernetes.derive(data, run, found["members"]))
    return found


def _as_contracted(data, wanted):
    """ "as contracted", or what is there instead. A contracted scheduler that could not be asked is not known, whatever else is there."""
    scheduler, there = data.get("scheduler"), data.get("found") or {}
    if wanted is None or (scheduler is None and (there.get(wanted) or {}).get("present") is not False):
        return None
    if (there.get(wanted) or {}).get("present") is None and wanted in there:
        return None
    if scheduler in (wanted, "slurm_on_kubernetes", "slurm and kubernetes") and wanted != "none":
        return "as contracted"
    return scheduler or "none"


def _not_known(data, wanted):
    """Why the contracted scheduler could not be asked."""
    return ((data.get("found") or {}).get(wanted) or {}).get("reason") or data.get("scheduler_reason") or "nothing was told of schedulers"


def _placed_twice(data):
    """Nodes on which two schedulers that know nothing of each other place jobs."""
    if data.get("scheduler") is None or data.get("nodes") is None:
        return None
    if data["scheduler"] != "slurm and kubernetes":
        return []
    open_to = [node["name"] for node in data["nodes"] if node["schedulable"] is not False]
    return sorted({name for name in open_to if open_to.count(name) > 1})


def _release(data, run) -> dict:
    """release_support: "supported", or since when not; null for a release that the table does not know."""
    there = data.get("found") or {}
    name = "slurm" if (there.get("slurm") or {}).get("present") else "kubernetes"
    version = (there.get(name) or {}).get("version")
    match = re.match(r"([0-9]+\.[0-9]+)", version or "")
    if not match:
        return {"release_support": None, "release_support_reason": "the scheduler's version was not told"}
    release, key = match.group(1), {"slurm": "slurm.supported_until", "kubernetes": "kubernetes.supported_minors"}[name]
    table = run.wanted.key(key).value
    word = _until(release, table, run.started_at.date()) if isinstance(table, dict) else _among(release, table)
    return {"release_support": word, "release_support_reason": f"the table schedulers does not know {name} {release}"}


def _until(release, table, today):
    if release in table:
        return "supported" if today <= datetime.date.fromisoformat(table[release]) else f"{release} ended on {table[release]}"
    return f"{release} ended before {min(table.values())}" if release < min(table) else None


def _among(release, table):
    number, known = int(release.split(".")[1]), [int(minor.split(".")[1]) for minor in table or ()]
    if not known or number > max(known):
        return None
    return "supported" if number in known else f"{release} is older than {table[0]}"


# --- the inventory's nodes --------------------------------------------------------------------------------------------------------------


def _members(data, run):
    nodes = data.get("nodes")
    if nodes is None or data.get("scheduler") == "none":
        return None
    book = _book(nodes)
    complete = (data.get("kubernetes") or {}).get("complete") is not False
    wanted = run.wanted.key("gpu.count").value
    return [_member(host, _find(book, host, run), run, complete, wanted) for host in run.hosts]


def _book(nodes) -> dict:
    """Name -> node: its own name, that of its host, and both without their domain where that is nobody else's."""
    book, short = {}, {}
    for node in nodes:
        for name in filter(None, (node["name"], node["hostname"])):
            book.setdefault(name, node)
            short.setdefault(name.split(".")[0], {})[node["name"]] = node
        if node["boot_id"]:
            book.setdefault(node["boot_id"], node)
    for name, owners in short.items():
        if len(owners) == 1:
            book.setdefault(name, next(iter(owners.values())))
    return book


def _find(book, host, run):
    """A node under the inventory's name; under another name it is known by the boot that it runs."""
    node = book.get(host) or book.get(host.split(".")[0])
    if node is None:
        boot_id = (run.fact(host, "boot").data or {}).get("boot_id")
        node = book.get(boot_id) if boot_id else None
    return node


def _member(host, node, run, complete, wanted) -> dict:
    if node is None:
        reason = "" if complete else "only a part of the list of nodes came"
        none = dict.fromkeys(("placeable", "gpus", "gpus_usable_fit", "gpus_fit_hardware"))
        unknown = {f"{key}_reason": "the scheduler does not have this node" if complete else reason for key in none}
        return {"node": host, "name": None, "known": False if complete else None, "known_reason": reason, **none, **unknown}
    ours = run.envelope.get("run_id")
    by_us = bool(ours) and ours in (node["reason"] or "")
    against = "; ".join(node["against"] or [])
    told = ", ".join(filter(None, (node["reason"], node["set_by"] and f"by {node['set_by']}", node["set_at"])))
    offered = node["gpus"]
    return {
        "node": host,
        "name": node["name"],
        "known": True,
        "placeable": {True: True, False: "by this run" if by_us else f"{against}{': ' + told if told else ''}", None: None}[
            node["schedulable"]
        ],
        "placeable_reason": f"its state {node['state']!r} does not tell",
        "said_why": bool(node["reason"]) or not OUT_BY_HAND & set(node["against"] or ()),
        "gpus": offered,
        "gpus_reason": "the number of its GPUs could not be read",
        "gpus_usable_fit": _fit(node["gpus_usable"], offered),
        "gpus_usable_fit_reason": "not told by the scheduler",
        **_hardware(host, offered, run),
        "partitions": node["partitions"],
        "version": node["version"],
    }


def _fit(usable, offered):
    return None if usable is None or offered is None else SAME if usable == offered else f"{usable} of {offered}"


def _hardware(host, offered, run) -> dict:
    """What the scheduler offers beside what the node's driver lists: a GPU may be missing on either side."""
    fact = run.fact(host, "inventory_audit")
    gpus = (fact.data or {}).get("gpus")
    if offered is None or not isinstance(gpus, list):
        return {"gpus_fit_hardware": None, "gpus_fit_hardware_reason": fact.reason or "the node's GPUs were not measured"}
    fits = offered == len(gpus)
    return {"gpus_fit_hardware": SAME if fits else f"scheduler {offered}, node {len(gpus)}", "gpus_fit_hardware_reason": ""}
