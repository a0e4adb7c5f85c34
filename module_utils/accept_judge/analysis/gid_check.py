"""What the GID tables amount to for NCCL: the choice it would make on each rail, and whether a pinned index still fits the table."""

from __future__ import annotations

import json

from accept_node.parsers import sysfs_gids

from .. import nccl_gid

NO_POD = "no pod bears the label accept-audit=gid: start one as jobs are started, with RDMA devices, and audit again (roles/gid_check)"


def analyse(data: dict, run) -> dict:
    """nccl: {"version", "version_reason", "settings": {name: "value (file)"}}
    nccl_choices: [{name, index, finding, finding_reason}] of each rail of RoCE; `finding` is text where the choice is not routable RoCE
        v2, and null where it is: a prediction proves nothing, and `finding_reason` says what to look for
    container_ports: [{name, best_v2, finding, finding_reason}] of each Ethernet port that a declared container sees, likewise
    nccl_pinned: [{name, finding}] where an index is fixed: "none", or what is wrong with the GID that stands there
    """
    settings = nccl_gid.in_force((data.get("settings") or {}).get("files") or [])
    version, why = _version(run)
    facts = {"nccl": {"version": version, "version_reason": why, "settings": {k: f"{s.value} ({s.origin})" for k, s in settings.items()}}}
    facts.update(_inside(data))
    ports = data.get("ports") and [_full(port) for port in data["ports"]]
    if ports is None:
        return {**facts, "nccl_choices": None, "nccl_pinned": None}
    hca = settings.get("NCCL_IB_HCA")
    rails = [p for p in ports if p.get("traffic") and p["link_layer"] == "Ethernet" and nccl_gid.uses(p["device"], hca)]
    pinned = nccl_gid.number(settings.get("NCCL_IB_GID_INDEX"))
    unread = (data.get("settings") or {}).get("unread") or []
    choices = [_choice(port, settings, version, unread) for port in rails]
    fixed = [] if pinned is None or pinned < 0 else [{"name": port["name"], "finding": _standing(port, pinned)} for port in rails]
    return {**facts, "nccl_choices": choices, "nccl_pinned": None if unread and pinned is None else fixed}


def _full(port) -> dict:
    """A port with its GIDs in full."""
    return {**port, "gids": port["gids"] if port["gids"] is None else sysfs_gids.full(port["gids"])}


def _choice(port, settings, version, unread) -> dict:
    entry = {"name": port["name"], "index": None, "finding": None}
    gids = port["gids"]
    if gids is None or port["gids_left_out"]:
        return {
            **entry,
            "finding_reason": "the GID table is not known" if gids is None else f"{port['gids_left_out']} further GIDs were not kept",
        }
    if unread:
        return {**entry, "finding_reason": f"the settings in {', '.join(unread)} could not be read"}
    choice = nccl_gid.choose(gids, settings, version)
    if choice.index is None:
        return {**entry, "finding_reason": choice.reason}
    finding = nccl_gid.finding(_at(gids, choice.index), choice.index)
    if finding != "none":
        return {**entry, "index": choice.index, "finding": f"{finding} ({choice.reason})"}
    proof = "a prediction, no proof: NCCL_DEBUG=INFO of a job between two nodes and its traffic decide"
    return {**entry, "index": choice.index, "finding_reason": f"{choice.reason}: index {choice.index}, routable RoCE v2; {proof}"}


def _inside(data) -> dict:
    found = data.get("containers")
    if not found:
        why = NO_POD if found == [] else "containers of this node could not be asked for (crictl, as root)"
        return {"container_ports": None, "container_ports_reason": why}
    ports = []
    for one in found:
        if not one["ports"]:
            why = "it sees no RDMA device" if one["ports"] == [] else "its file system could not be read"
            ports.append({"name": one["name"], "best_v2": None, "best_v2_reason": why, "finding": None, "finding_reason": why})
            continue
        settings = nccl_gid.in_force(one["settings"] or [])
        unread = [] if one["settings"] is not None else ["its environment"]
        for port in map(_full, one["ports"]):
            choice = _choice({**port, "name": f"{one['name']} {port['name']}"}, settings, one["nccl_version"], unread)
            ports.append({**choice, "best_v2": port["best_v2"], "best_v2_reason": port.get("best_v2_reason", "")})
    return {"container_ports": ports}


def _standing(port, pinned) -> str | None:
    if port["gids"] is None or (port["gids_left_out"] and _at(port["gids"], pinned) is None):
        return None
    return nccl_gid.finding(_at(port["gids"], pinned), pinned)


def _at(gids, index):
    return next((gid for gid in gids if gid["index"] == index), None)


def _version(run) -> tuple[str | None, str]:
    """The library's version as the version audit of this run read it on the node; containers bring their own."""
    name = "rccl" if run.context.get("vendor") == "amd" else "nccl"
    path = run.run_dir / "facts" / str(run.envelope.get("host")) / "version_audit.json"
    try:
        component = json.loads(path.read_bytes())["data"]["components"][name]
        version = component["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return None, "the version audit of this node is not in this run"
    if version in (None, "none"):
        return None, f"{name} is not installed on the node" if version == "none" else str(component.get("reason") or "not read")
    return version, ""
