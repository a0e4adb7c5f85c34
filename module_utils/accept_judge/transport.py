"""Which transport carried a collective, held against the one that was meant; what happens across NVLink domains.

It comes before any bandwidth: what went over sockets, or over the network where NVLink across nodes was meant, says nothing of the fabric.
Logs are the summaries of accept_node/parsers/nccl_debug.py.
"""

from __future__ import annotations

from dataclasses import replace

from . import nccl_gid, recipe, transport_recipe
from .nodesets import fold

MEANT = {"infiniband": ("ib", "ib_or_roce"), "roce": ("roce", "gib", "ib_or_roce"), "efa": ("efa",)}
WORDS = {"ib": "InfiniBand", "roce": "RoCE", "infiniband": "InfiniBand", "efa": "EFA", "gib": "gIB", "ib_or_roce": "InfiniBand or RoCE"}
NOT_NEEDED = ("none", "", "libnccl-net.so")
SERIOUS = ("imex", "acs", "queue_pair", "completion", "p2p_disabled", "cuda", "topology_file", "plugin")
NO_LOG = "the library said nothing of its transport: no NCCL_DEBUG output was kept"
GOOD_ADDRESSES = ("ipv4", "global")


def surroundings(run) -> dict:
    """What `judge` needs beside the runs, from a View: context, NVLink domain of each node, GID predicted for each rail."""
    domains, predicted, known = {}, {}, set()
    for host in run.hosts:
        inventory, gids = run.fact(host, "inventory_audit").data, run.fact(host, "gid_check").data
        domain = (inventory or {}).get("nvlink_domain")
        domains[host] = domain if isinstance(domain, str) and domain != "none" else None
        known.update([host] if isinstance(domain, str) else [])
        predicted[host] = _predicted(gids, (run.fact(host, "version_audit").data or {}), run.context.get("vendor"))
    made = recipe.of_node(replace(run, envelope={"host": run.hosts[0]}, own={})) if run.hosts else None
    return {
        **run.context,
        "domains": domains,
        "domains_known": known,  # measured, if only that there is none
        "predicted": predicted,
        "gain_pct": run.wanted.key("nccl.recipe_gain_pct").value,
        "nothing_to_set": made is not None and not made["lines"],
    }


def _predicted(data, versions, vendor) -> dict:
    """`device:port` -> index that the library would choose by itself; where it cannot be told there is none."""
    settings = nccl_gid.in_force(((data or {}).get("settings") or {}).get("files") or [])
    component = ((versions.get("components") or {}).get("rccl" if vendor == "amd" else "nccl")) or {}
    found = {}
    for port in (data or {}).get("ports") or ():
        if port.get("traffic") and port.get("link_layer") == "Ethernet" and port.get("gids"):
            found[f"{port['device']}:{port['port']}"] = nccl_gid.choose(port["gids"], settings, component.get("version")).index
    return found


def judge(runs: list, context: dict) -> dict:
    """transports: [{name, mode, runs, nodes, meant, used, finding, finding_reason}], alike as one; `finding`: "none" or what is wrong
    transport_gpudirect: [{name, used}] of runs over the network: all, some, none
    transport_hcas: [{name, hcas, finding}]: HCAs a process sees, and whether all nodes see the same
    transport_versions: [{name, versions, finding}]
    transport_gids: [{name, index, address, finding, predicted, agrees}] of RoCE: the GID that the traffic used
    transport_warnings: [{name, kind, count, text}] of the kinds that cost bandwidth or jobs
    transport_domains: [{name, finding, finding_reason}]: launches made across NVLink domains on purpose
    transport_unjudged: {name of a run: why its bandwidth must not be judged}
    recipe_verdict, recipe_verdict_reason, recipe_needs, recipe_judged: transport_recipe.py
    """
    seen = [(run, _verdict(run, context)) for run in runs]
    decisive = {run["mode"] for run in runs if run["mode"] != "bare"}
    counted = [(run, verdict) for run, verdict in seen if run["mode"] != "bare" or not decisive & {"provider", "ours"}]
    logs = [run for run in runs if run.get("transport")]
    return {
        "transports": _alike(counted),
        "transport_gpudirect": _gpudirect(logs),
        "transport_hcas": _hcas([run for run in logs if not _searching(run)]),
        "transport_versions": _versions(logs),
        "transport_gids": _gids(logs, context) if context.get("transport") == "roce" else [],
        "transport_warnings": _warnings(logs) if logs else None,
        "transport_warnings_reason": "" if logs else "no launch left a log of its library",
        "transport_domains": [_across(run, verdict) for run, verdict in seen if run["mode"] == "cross_domain"],
        "transport_unjudged": {
            run["name"]: verdict["finding"] or verdict["reason"] for run, verdict in seen if verdict["finding"] != "none"
        },
        **transport_recipe.judge([(run, verdict) for run, verdict in seen if not _searching(run)], context),
    }


def _searching(run) -> bool:
    """A launch of the search for a bad node: it may have one rail only, on purpose."""
    return bool(run.get("round"))


def _verdict(run, context) -> dict:
    """{meant, used, finding, reason} of one run. `finding` None: the log does not say, `reason` tells why."""
    meant, log = _meant(run, context), run.get("transport")
    if not log:
        return {"meant": meant, "used": None, "finding": None, "reason": run.get("reason") or NO_LOG}
    used = _used(log)
    finding, reason = _inside(log) if meant == "within the node" else _between(run, log, meant, context)
    return {"meant": meant, "used": used, "finding": finding, "reason": reason}


def _meant(run, context) -> str:
    if len(run["nodes"]) < 2:
        return "within the node"
    domains = {(context.get("domains") or {}).get(node) for node in run["nodes"]}
    if context.get("form") == "nvl72" and run["mode"] not in ("scale_out", "cross_domain") and len(domains) == 1:
        return "NVLink across nodes"
    return WORDS.get(context.get("transport"), context.get("transport") or "the network")


def _used(log) -> str:
    kinds = [WORDS.get(entry["kind"], entry["kind"]) for entry in log["networks"]]
    words = ["NVLink across nodes"] if log["mnnvl"]["active"] is True else []
    return ", ".join(dict.fromkeys([*words, *kinds])) or "not said"


def _inside(log):
    if any(name.startswith("NET/") for name in log["channels"]):
        return "the network between GPUs of one node", ""
    if any(name.startswith("SHM") for name in log["channels"]) and not any(name.startswith("P2P") for name in log["channels"]):
        return "shared memory between GPUs of one node, not NVLink", ""
    return "none", ""


def _between(run, log, meant, context):
    broken = [entry for entry in log["warnings"] if entry["kind"] == "imex"]
    if broken:
        return f"NVLink across nodes is there and does not work{_on(broken[0]['hosts'])}: IMEX or a ComputeDomain is missing", ""
    sockets = [entry for entry in log["networks"] if entry["kind"] == "sockets"]
    if sockets:
        return f"sockets, {sockets[0]['ranks']} of {log['processes']} ranks{_on(sockets[0]['hosts'])}", ""
    absent = _plugin_absent(log)
    if absent:
        return absent, ""
    if meant == "NVLink across nodes":
        return _nvlink(log, "domains_known" not in context or set(run["nodes"]) <= set(context["domains_known"]))
    wanted = MEANT.get(context.get("transport"))
    wrong = [entry for entry in log["networks"] if wanted and entry["kind"] not in wanted]
    if wrong:
        return f"{WORDS.get(wrong[0]['kind'], wrong[0]['kind'])} where {meant} was meant{_on(wrong[0]['hosts'])}", ""
    if not log["networks"]:
        return None, "the log does not name the network (it ended before, or NCCL_DEBUG was not INFO)"
    return ("none", "") if wanted else (None, "the contract does not say which transport is meant")


def _nvlink(log, known):
    active, uuids = log["mnnvl"]["active"], {entry["uuid"] for entry in log["mnnvl"]["fabrics"]}
    if active is True:
        return "none", ""
    if active is None:
        return None, "the log does not say whether NVLink across nodes was used"
    used = WORDS.get(log["network"], log["network"] or "the network")
    if uuids == {"0.0"}:
        return f"{used} where NVLink across nodes was meant: the GPUs are in no NVLink domain (fabric UUID 0)", ""
    if not known:
        return None, f"{used} was used; whether NVLink joins these nodes was not measured in this run (inventory_audit)"
    return f"{used} where NVLink across nodes was meant", ""


def _plugin_absent(log) -> str:
    asked = next((value for value in log["env"].get("NCCL_NET_PLUGIN", {}) if value not in NOT_NEEDED), None)
    named = next((value for value in log["env"].get("NCCL_NET", {}) if value.lower() not in ("ib", "socket")), None)
    loaded = [plugin for plugin in log["plugins"] if plugin["kind"] == "net"]
    if asked and not loaded:
        return f"the network plugin {asked} was asked for and is not loaded"
    if named and not any(entry["name"].lower() == named.lower() for entry in log["networks"]) and log["networks"]:
        return f"the network {named} was asked for and {log['networks'][0]['name']} was used"
    return ""


def _on(hosts) -> str:
    return f" on {fold(hosts)}" if hosts else ""


def _label(run) -> str:
    count = len(run["nodes"])
    return f"{run['mode'].replace('_', ' ')}, {count} node{'s' if count > 1 else ''}"


def _alike(counted) -> list:
    """One item for runs of one mode and world with one result: sweeps have hundreds of runs."""
    groups = {}
    for run, verdict in counted:
        groups.setdefault((_label(run), run["mode"], verdict["meant"], verdict["used"], verdict["finding"], verdict["reason"]), []).append(
            run
        )
    return [
        {
            "name": label,
            "mode": mode,
            "runs": len(runs),
            "nodes": len(runs[0]["nodes"]),
            "meant": meant,
            "used": used,
            "finding": finding,
            "finding_reason": reason,
        }
        for (label, mode, meant, used, finding, reason), runs in groups.items()
    ]


def _over_network(log) -> bool:
    return any(name.startswith("NET/") for name in log["channels"]) or (bool(log["networks"]) and log["mnnvl"]["active"] is not True)


def _distinct(items) -> list:
    """The items without those said before; the first of each stays."""
    return list({repr(sorted(item.items(), key=str)): item for item in items}.values())


def _gpudirect(logs) -> list:
    words = {True: "all", "some": "some", False: "none"}
    return _distinct(
        {"name": _label(run), "used": words.get(run["transport"]["gpudirect"])}
        for run in logs
        if len(run["nodes"]) > 1 and _over_network(run["transport"])
    )


def _hcas(logs) -> list:
    items = []
    for run in logs:
        sets = run["transport"]["hca_sets"]
        for entry in sets:
            names = [hca.split("/")[0] for hca in entry["hcas"]]
            odd = entry is not sets[0]
            finding = f"{', '.join(names)}{_on(entry['hosts'])}, where others have {len(sets[0]['hcas'])}" if odd else "none"
            items.append({"name": _label(run) + (_on(entry["hosts"]) if odd else ""), "hcas": len(names), "finding": finding})
        if run["transport"]["hosts_without_devices"]:
            hosts = run["transport"]["hosts_without_devices"]
            items.append({"name": _label(run) + _on(hosts), "hcas": 0, "finding": f"no RDMA device was found{_on(hosts)}"})
    return _distinct(items)


def _versions(logs) -> list:
    items = []
    for run in logs:
        versions = run["transport"]["versions"]
        said = ", ".join(f"{version} on {count}" for version, count in versions.items())
        items.append(
            {"name": _label(run), "versions": sorted(versions), "finding": ("none" if len(versions) == 1 else said) if versions else None}
        )
    return _distinct(items)


def _gids(logs, context) -> list:
    predicted, items = context.get("predicted") or {}, []
    for run in logs:
        for entry in run["transport"]["gids"]:
            hosts = entry["hosts"] or run["nodes"]
            good = entry["address"] in GOOD_ADDRESSES
            foreseen = _pinned(run["transport"]) or sorted({predicted.get(host, {}).get(entry["hca"]) for host in hosts} - {None})
            items.append(
                {
                    "name": entry["hca"] + _on(entry["hosts"]),
                    "index": entry["index"],
                    "address": entry["address"],
                    "finding": "none" if good else f"index {entry['index']} is {entry['address'].replace('_', '-')}",
                    "predicted": foreseen,
                    "agrees": entry["index"] in foreseen if foreseen else None,
                }
            )
    return _distinct(items)


def _pinned(log) -> list:
    """The index that the run's own environment fixed: then it is no prediction from the node's settings."""
    values = [value for value in log["env"].get("NCCL_IB_GID_INDEX", {}) if value.isdecimal()]
    return [int(values[0])] if len(values) == 1 else []


def _warnings(logs) -> list:
    found = {}
    for run in logs:
        for entry in run["transport"]["warnings"]:
            if entry["kind"] in SERIOUS:
                item = found.setdefault(
                    (entry["kind"], entry["text"][:60]), {**entry, "name": entry["kind"] + _on(entry["hosts"]), "count": 0}
                )
                item["count"] += entry["count"]
    return [{key: item[key] for key in ("name", "kind", "count", "text")} for item in found.values()]


def _across(run, verdict) -> dict:
    """A launch across NVLink domains: did the job come through, and over what?"""
    name = f"{len(run['nodes'])} nodes, {run['collective']}"
    if run["status"] == "ok":
        return {"name": name, "finding": verdict["finding"], "finding_reason": verdict["reason"]}
    what = "hangs" if run["status"] == "hang" else f"ends with {run['status']}"
    return {"name": name, "finding": f"{what} across NVLink domains: {run.get('reason') or 'no reason was given'}", "finding_reason": ""}
