"""What the health agents of a node amount to: do they run, did they run lately, could they see a fault in time, would they react rightly,
can a node that they took out come back, and which injection of a drill could trip which of them."""

from __future__ import annotations

import hashlib
import json

from . import health_agents, health_join, health_logs, health_slurm, health_xids

UNREAD = "what runs on the node could not be read"
SOURCES_ONLY = "only DCGM, its exporter or a device plugin run here: whether anything acts on what they tell is not to be seen on the node"


def analyse(data: dict, run) -> dict:
    """agents[] with `trips`, `trips_reason` · agents_count · periodic[] {name, age_intervals, result} · timers_off[]
    detection_worst_s, detection_by · recoveries[] {what, can_recover} · config_files[] {path, readable} · trippable_by[]
    xid_false_drains[] xid_needless_drains[] xid_missed[] xid_unknown[] · agents_running configs_sha256
    slurm_scripts[] {what, runs, kept_by} · slurm_health[] {what, can_work}
    dcgm_engine dcgm_exporter dcgm_watches_off[] dcgm_health dcgm_policy_action dcgm_gpus_found

    A value that is null has its reason beside it, `<name>_reason`.
    """
    catalogue, program = run.standards.catalogs["agents"], health_slurm.program(health_join.program(run), data, run)
    found = health_agents.agents(data, catalogue, program)
    engine = _engine(data, found)
    tables, unknown = _tables(found, catalogue)
    for agent in found:
        agent["trips"], agent["trips_reason"] = trips(agent, catalogue, engine, data.get("logs") or {})
    periodic = [_periodic(agent, program) for agent in found if agent["periodic"] and agent["state"] != "off"]
    off = [agent["title"] for agent in found if agent["id"].endswith(".timer") and agent["state"] == "off"]
    facts = {
        **_count(data, found, program),
        **_detection(data, found),
        **_xids(data, found, tables, unknown, run),
        "config_files": [_config(config) for config in data.get("configs") or []],
        **_trippable(data, found),
        **_dcgm(data, found, engine, catalogue),
        **_alike(data, found),
        **health_slurm.analyse(data, program, catalogue, run.context.get("scheduler")),
    }
    lists = {
        "agents": [_told(agent) for agent in found],
        "periodic": periodic,
        "timers_off": off,
        "recoveries": _recoveries(found, catalogue),
    }
    for name, items in lists.items():  # nothing seen where nothing could be read is not nothing
        facts[name] = items if items or health_agents.readable(data) else None
        facts[name + "_reason"] = UNREAD
    return facts


def _told(agent) -> dict:
    keys = ("id", "title", "kind", "by", "state", "wires", "event", "interval_s", "limit_s", "effect", "starter", "trips", "trips_reason")
    return {**{key: agent[key] for key in keys}, "state_reason": f"it is not known what starts {agent['title']}"}


def _of_use(agent) -> bool:
    return agent["kind"] == "detector" and agent["state"] == "running"


def _count(data, found, program) -> dict:
    count = sum(1 for agent in found if _of_use(agent))
    if count:
        return {"agents_count": count}
    unsure = [agent["title"] for agent in found if agent["kind"] == "detector" and agent["state"] is None]
    if not health_agents.readable(data):
        return {"agents_count": None, "agents_count_reason": UNREAD}
    if unsure or program.reason:
        return {
            "agents_count": None,
            "agents_count_reason": f"{', '.join(unsure) or 'no agent of its own'}: {program.reason or 'not known'}",
        }
    if any(agent["state"] == "running" and agent["kind"] != "job" for agent in found):
        return {"agents_count": None, "agents_count_reason": SOURCES_ONLY}
    return {"agents_count": 0}


# --- time --------------------------------------------------------------------------------------------------------------------------------


def _periodic(agent, program) -> dict:
    """How many of its intervals ago it ran last; where it never did, how many have passed since the node booted."""
    interval, age = agent["interval_s"], agent["age_s"]
    late = round(age / interval, 2) if interval and age is not None else None
    reason = "it keeps no record of its runs" if interval else f"its interval is not known: {program.reason or 'none is told'}"
    name = f"{agent['title']}: {health_agents.NOT_RUN_YET}" if agent["never"] else agent["title"]
    result = agent["result"]
    told = {"name": name, "interval_s": interval, "age_s": age, "age_intervals": late, "age_intervals_reason": reason}
    return {
        **told,
        "result": result,
        "result_reason": health_agents.NOT_RUN_YET if agent["never"] else "how its last run ended is not recorded",
    }


def _detection(data, found) -> dict:
    """The longest that a fault can stay unseen by the quickest agent: its interval and what a run may take."""
    times, unknown = {}, []
    for agent in found:
        if not _of_use(agent):
            continue
        if agent["event"]:
            times[agent["title"]] = 0.0
        elif agent["interval_s"] is None:
            unknown.append(f"{agent['title']}: its interval is not known")
        elif agent["limit_s"] is None and agent["periodic"]:
            unknown.append(f"{agent['title']}: a run may take as long as it likes")
        else:
            times[agent["title"]] = float(agent["interval_s"] + (agent["limit_s"] or 0))
    if times:
        best = min(times, key=times.__getitem__)
        return {"detection_worst_s": times[best], "detection_by": best}
    reason = "; ".join(unknown) or (UNREAD if not health_agents.readable(data) else "no health agent runs on the node")
    return {"detection_worst_s": None, "detection_worst_s_reason": reason, "detection_by": None}


# --- the way back ------------------------------------------------------------------------------------------------------------------------


def _recoveries(found, catalogue) -> list:
    """Whatever may return a node to service: can it run while the node is out of service?"""
    reach = set(catalogue["slurm_health_states"]["reach_drained"])
    items = []
    for agent in found:
        if not agent["returns"] or agent["state"] == "off":
            continue
        can, why, reason = True, "it runs on the node itself", ""
        if agent["needs"]:
            can, why = (
                False,
                f"it needs {', '.join(agent['needs'])}, and a node out of service takes no job: it has to be well before it may get well",
            )
        elif agent.get("states") and not reach & set(agent["states"]):
            can, why = False, f"Slurm starts it in states {','.join(agent['states'])} only, never on a drained node"
        elif agent["id"] == "nhc" and not agent["starter"]:
            can, why, reason = None, "nobody is known to start it", "it is not known what starts NHC"
        items.append({"what": f"{agent['title']}: {why}", "can_recover": can, "can_recover_reason": reason})
    return items


# --- Xids and injections -----------------------------------------------------------------------------------------------------------------


def _tables(found, catalogue):
    """(title -> table, title -> why there is none) of agents that run, sources aside."""
    tables, unknown = {}, {}
    for agent in found:
        if agent["kind"] not in ("detector", "device", "job") or agent["state"] in ("off", "failed", "not started"):
            continue
        codes, reason = health_xids.table(agent, catalogue)
        if codes is None:
            unknown[agent["title"]] = reason
        else:
            tables[agent["title"]] = codes
            if agent.get("unread"):
                unknown[agent["title"]] = agent["unread"]
    return tables, unknown


def _xids(data, found, tables, unknown, run) -> dict:
    """The four lists; an empty one counts only where every table was read of those who could take the node away."""
    facts = health_xids.compare(tables, unknown, run.standards.catalogs["xid"], run.context.get("sku"))
    able = {agent["title"] for agent in found if agent["effect"] in health_xids.ACTS or agent["effect"] is None}
    open_ones = "; ".join(f"{title}: {reason}" for title, reason in sorted(unknown.items()) if title in able)
    why = open_ones if health_agents.readable(data) else UNREAD
    for name in ("xid_false_drains", "xid_needless_drains", "xid_unknown"):
        if not facts[name] and why:
            facts[name], facts[name + "_reason"] = None, why[:300]
    if facts["xid_missed"] and not health_agents.readable(data):  # whoever was not seen may be the one that acts on it
        facts["xid_missed"], facts["xid_missed_reason"] = None, UNREAD
    return facts


def trips(agent, catalogue, engine, logs) -> tuple:
    """(injection -> true | false | null, why) of one agent: which record or value of a drill can reach it."""
    kinds, wires = catalogue["injections"], set(agent["wires"])
    if agent["kind"] not in ("detector", "device", "job"):
        return dict.fromkeys(kinds, False), "others read it"
    if agent["state"] != "running":
        return dict.fromkeys(kinds, None if agent["state"] is None else False), f"it is {agent['state'] or 'not known to run'}"
    if not wires:
        return dict.fromkeys(kinds, None), "what it listens to is not known"
    reached = {name: bool(wires & set(kind["reaches"])) for name, kind in kinds.items()}
    notes = []
    if "dcgm" in wires:
        codes = ", ".join(map(str, catalogue["dcgm_kmsg_codes"]["codes"]))
        notes.append(f"DCGM's own reader takes {codes} from the ring buffer")
        if engine != "running":
            reached["dcgm"] = False if engine == "none" else None
            notes.append("no stand-alone host engine is seen to run")
    if wires == {"dcgm_embedded"} or ("dcgm_embedded" in wires and "dcgm" not in wires):
        notes.append("its DCGM engine is embedded: dcgmi cannot inject there")
    if "kmsg_kernel" in wires and not wires & {"kmsg", "journal"}:
        notes.append("it takes records of the kernel's facility alone")
    if "file" in wires:
        of_file, note = health_logs.reached(logs, health_logs.paths_of(agent))
        others = wires - {"file"}
        for name, value in of_file.items():  # what another wire reaches is reached
            reached[name] = reached[name] if others & set(kinds[name]["reaches"]) else value
        notes.append(note)
    if "journal" in wires and (logs.get("journald") or {}).get("read_kmsg") is False:
        for name in ("kmsg_user", "kmsg_kernel"):
            reached[name] = bool((wires - {"journal"}) & set(kinds[name]["reaches"])) and reached[name]
        notes.append("journald is told not to read the ring buffer")
    if agent["kind"] == "job":
        notes.append(f"it looks only {agent['starter']}")
    if "nvidia_smi" in wires and wires & {"kmsg", "kmsg_kernel", "journal", "file"}:
        notes.append("it asks the GPU too, and may dismiss a record that the GPU does not bear out")
    return reached, "; ".join(notes)


def _trippable(data, found) -> dict:
    """Injections short of hardware that some agent would notice."""
    names = sorted({name for agent in found for name, yes in agent["trips"].items() if yes and name != "pcie"})
    unsure = [agent["title"] for agent in found if agent["kind"] == "detector" and None in agent["trips"].values()]
    if names or not (unsure or not health_agents.readable(data)):
        return {"trippable_by": names}
    return {"trippable_by": None, "trippable_by_reason": f"what they listen to is not known: {', '.join(unsure)}" if unsure else UNREAD}


# --- DCGM --------------------------------------------------------------------------------------------------------------------------------


def _engine(data, found):
    """running | none | None"""
    dcgm = data.get("dcgm") or {}
    if dcgm.get("connected") or any(agent["id"] == "dcgm_hostengine" and agent["state"] == "running" for agent in found):
        return "running"
    return "none" if health_agents.readable(data) else None


def _dcgm(data, found, engine, catalogue) -> dict:
    exporter = any(agent["id"] == "dcgm_exporter" and agent["state"] == "running" for agent in found)
    seen = health_agents.readable(data)
    facts = {"dcgm_engine": engine, "dcgm_engine_reason": UNREAD, "dcgm_exporter": exporter if exporter or seen else None}
    facts["dcgm_exporter_reason"] = UNREAD
    dcgm, why = data.get("dcgm"), ""
    if dcgm is None:
        why = "what dcgmi says could not be understood"
    elif not dcgm["installed"]:
        why = "dcgmi is not installed on the host: an engine in a container is not asked"
    elif not dcgm["connected"]:
        why = "no host engine answers dcgmi"
    groups = (dcgm or {}).get("groups") or []
    watches: dict = {}
    for group in groups:
        for name, on in (group["watches"] or {}).items():
            watches[name] = watches.get(name, False) or on
    health = [group["health"]["overall"] for group in groups if group["health"]]
    policies = [group["policy"]["action"] for group in groups if group["policy"] and group["policy"]["action"]]
    values = {
        "dcgm_watches_off": [name for name in catalogue["dcgm_watches"]["names"] if not watches.get(name)] if watches else None,
        "dcgm_health": max(health, key=("Healthy", "Warning", "Failure").index, default=None) if _all_known(health) else None,
        "dcgm_policy_action": next((action for action in policies if action != "None"), "none" if policies else None),
        "dcgm_gpus_found": (dcgm or {}).get("gpus_found"),
    }
    reasons = {"dcgm_health": "no health watch is on: DCGM has looked at nothing"}
    for name, value in values.items():
        facts[name] = value
        facts[name + "_reason"] = why or reasons.get(name, "dcgmi did not tell")
    return facts


def _all_known(health) -> bool:
    return all(value in ("Healthy", "Warning", "Failure") for value in health)


# --- the fleet ---------------------------------------------------------------------------------------------------------------------------


def _config(config) -> dict:
    """false where the agent itself cannot read it either; null where it is this audit that could not."""
    broken = config["kind"] == "npd" and "not JSON" in config["reason"]
    readable = True if config["data"] is not None else False if broken else None
    return {"path": f"{config['agent']}: {config['path']}", "readable": readable, "readable_reason": config["reason"]}


def _alike(data, found) -> dict:
    """What nodes of one cluster are compared by."""
    running = ", ".join(sorted(agent["id"] for agent in found if agent["state"] == "running"))
    facts = {"agents_running": (running or "none") if health_agents.readable(data) else None, "agents_running_reason": UNREAD}
    configs, scripts = data.get("configs"), data.get("scripts")
    programs = health_slurm.told(data).get("programs", [])
    unread = configs is None or any(config["data"] is None for config in configs) or data.get("slurm_programs", "none") is None
    kept = [[c["agent"], c["path"], c["data"]] for c in configs or []] + [[s["by"], s["path"], s["data"]] for s in scripts or []]
    kept += [[one["setting"], one["path"], one["state"], one["data"]] for one in programs]
    digest = hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]
    return {
        **facts,
        "configs_sha256": None if unread else digest if kept else "none",
        "configs_sha256_reason": "not all of them could be read",
    }
