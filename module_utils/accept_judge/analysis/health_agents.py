"""The health agents of a node, put together from units, processes, containers, cron jobs, configurations and what the scheduler runs.

`agents(data, catalogue, program)` gives one dict for each:
  id title kind by[] state ("running" | "failed" | "off" | "not started" | None) wires[] event interval_s limit_s age_s never result
  (of the last run: "success" or what it ended with; None: not known) effect scripts[] configs[] flags returns needs starter
"""

from __future__ import annotations

from . import health_slurm

NEW = {
    **dict.fromkeys(("interval_s", "limit_s", "age_s", "result", "state", "starter"), None),
    **dict.fromkeys(("event", "never", "periodic", "returns"), False),
}
RUNNING = ("active", "activating", "reloading")
NOT_RUN_YET = "it has not run since the node booted"


def agents(data: dict, catalogue: dict, program) -> list:
    """Known agents first, then those of the provider's own making."""
    units = {unit["id"]: unit for unit in data.get("units") or []}
    claimed: set = set()
    found = [_known(entry, data, units, claimed, catalogue, program) for entry in catalogue["agents"]]
    found = [agent for agent in found if agent]
    found += _own(data, units, claimed)
    nhc = next((agent for agent in found if agent["id"] == "nhc"), None)
    if program.path and not (nhc and program.path.rsplit("/", 1)[-1].startswith("nhc")):
        found.append(_slurm_program(program, catalogue, data))
    return found + _of_jobs(data)


def readable(data: dict) -> bool:
    """Could it be seen what runs on the node?"""
    return data.get("units") is not None and data.get("processes") is not None


def _agent(entry_id, title, kind, **rest) -> dict:
    base = {
        "id": entry_id,
        "title": title,
        "kind": kind,
        "by": [],
        "wires": [],
        "effect": "none",
        "scripts": [],
        "configs": [],
        "flags": {},
    }
    return {**base, "needs": [], **NEW, **rest}


def _known(entry, data, units, claimed, catalogue, program):
    processes = [one for one in data.get("processes") or [] if one["name"] in entry.get("processes", ())]
    containers = [one for one in data.get("containers") or [] if _is_container(one, entry)]
    mine = [units[name] for name in entry.get("units", ()) if name in units]
    claimed.update(unit["id"] for unit in mine)
    configs = [config for config in data.get("configs") or [] if config["agent"] == entry["id"]]
    if not (processes or containers or mine or (entry["id"] == "nhc" and configs)):
        return None
    agent = _agent(entry["id"], entry["title"], entry["kind"], wires=list(entry.get("wires", ())), effect=entry["effect"])
    agent["by"] = [f"unit {unit['id']}" for unit in mine]
    agent["by"] += [f"process {one['name']}" for one in processes[:1]] + [f"container {one['name']}" for one in containers[:1]]
    agent["configs"], agent["event"] = configs, bool(entry.get("event"))
    agent["interval_s"], agent["limit_s"] = entry.get("interval_s"), entry.get("run_limit_s")
    agent["flags"], agent["spans_s"] = (processes[0]["flags"], processes[0]["spans_s"]) if processes else ({}, {})
    running = bool(processes) or any(one["state"] == "running" for one in containers) or any(u["active"] in RUNNING for u in mine)
    failed = any(unit["active"] == "failed" or unit["result"] not in (None, "success") for unit in mine)
    agent["state"] = "running" if running else "failed" if failed else "off"
    _settle_interval(agent, entry)
    if entry["id"] == "nhc":
        _nhc(agent, data, units, catalogue, program)
    elif entry["id"] == "node_problem_detector":
        _npd(agent)
    return agent


def _is_container(one, entry) -> bool:
    """Named as the agent; docker below Kubernetes puts pod and namespace round the name."""
    name = one["name"] or ""
    return any(name == known or f"_{known}_" in name for known in entry.get("containers", ()))


def _settle_interval(agent, entry):
    flag = entry.get("interval_flag")
    told = agent["spans_s"].get(flag)
    for config in agent["configs"]:
        for section in (config["data"] or {}).get("sections", ()):
            told = section["values"].get("PollIntervalSeconds", told)
            deadline = section["values"].get("ProbeDeadlineSeconds")
            agent["limit_s"] = deadline if isinstance(deadline, int | float) and deadline else agent["limit_s"]
    if isinstance(told, int | float) and told > 0:
        agent["interval_s"] = told


def _npd(agent):
    """Each monitor has a source of its own; a plugin runs a program at its interval."""
    wires, intervals = set(), []
    for config in agent["configs"]:
        monitor = config["data"]
        if not monitor:
            continue
        if monitor["plugin"] == "custom":
            limits = [rule["timeout_s"] or monitor["timeout_s"] for rule in monitor["rules"]]
            intervals.append((monitor["interval_s"], max((limit for limit in limits if limit), default=None)))
        else:
            wires.add({"kmsg": "kmsg", "journald": "journal", "filelog": "file"}[monitor["plugin"]])
    agent["wires"], agent["event"] = sorted(wires), bool(wires & {"kmsg", "journal", "file"})
    if not agent["event"] and intervals:
        agent["interval_s"], agent["limit_s"] = intervals[0]


def _nhc(agent, data, units, catalogue, program):
    """It runs when somebody starts it: Slurm, a timer, cron."""
    settings: dict = {}
    checks: list = []
    for config in agent["configs"]:
        settings.update((config["data"] or {}).get("settings", {}))
        checks += [check["check"] for check in (config["data"] or {}).get("checks", ())]
    known = [row for row in catalogue["nhc_checks"] if row["check"] in checks]
    agent["wires"] = sorted({wire for row in known for wire in row["wires"]})
    agent["effect"] = "report" if settings.get("MARK_OFFLINE") == "0" else "drain"
    limit = settings.get("TIMEOUT", "")
    agent["limit_s"] = int(limit) if limit.isdigit() and len(limit) < 6 and int(limit) else agent["limit_s"]
    agent["periodic"], agent["returns"] = True, agent["effect"] == "drain"
    timer = units.get("nhc.timer")
    jobs = [job for job in data.get("cron") or [] if "nhc" in job["command"]]
    if program.path and program.path.rsplit("/", 1)[-1].startswith("nhc"):
        agent["starter"], agent["interval_s"] = f"Slurm, in states {','.join(program.states) or 'ANY'}", program.interval_s
        agent["limit_s"] = min(agent["limit_s"], catalogue["slurm_health_limit_s"]["value"])
        agent["states"] = program.states or ("ANY",)
    elif timer and timer["active"] in RUNNING:
        agent["starter"], agent["interval_s"] = "nhc.timer", _interval(timer)
    elif jobs:
        agent["starter"], agent["interval_s"] = jobs[0]["file"], jobs[0]["interval_s"]
    known_not = data.get("units") is not None and data.get("cron") is not None and not program.reason
    agent["state"] = "running" if agent["starter"] else "not started" if known_not else None
    log = data.get("nhc_log")
    if log:
        agent["age_s"] = log["age_s"]
        agent["result"] = "success" if log["result"] == "ok" else f"failed: {log['message']}" if log["result"] == "failed" else None


def _slurm_program(program, catalogue, data) -> dict:
    scripts = health_slurm.scripts(data, "HealthCheckProgram", program.path)
    agent = _agent("slurm_health_program", f"Slurm HealthCheckProgram {program.path}", "detector", effect="drain")
    if any(script["data"] for script in scripts):
        agent = health_slurm.as_agent(_with_scripts(agent, scripts))
    limit = catalogue["slurm_health_limit_s"]["value"]
    return {
        **agent,
        "state": health_slurm.state(data, program.path),
        "scripts": scripts,
        "by": ["scontrol show config"],
        "interval_s": program.interval_s,
        "limit_s": limit,
        "states": program.states or ("ANY",),
    }


def _of_jobs(data) -> list:
    """Prolog and Epilog look at the node too, and only where a job comes or goes."""
    found = []
    for setting, when in health_slurm.WHEN.items():
        scripts = health_slurm.scripts(data, setting)
        if scripts:
            agent = _with_scripts(_agent(f"slurm_{setting.lower()}", f"Slurm {setting}", "job", state="running"), scripts)
            found.append({**health_slurm.as_agent(agent), "by": [script["path"] for script in scripts], "starter": when})
    return found


def _own(data, units, claimed) -> list:
    """Timers, services without one, and cron jobs of the provider's own making."""
    scripts: dict = {}
    for script in data.get("scripts") or ():
        scripts.setdefault(script["by"], []).append(script)
    timers = [unit for name, unit in units.items() if name.endswith(".timer") and name not in claimed]
    driven = {timer["triggers"] for timer in timers}
    found = [_timer(timer, units.get(timer["triggers"]), data, scripts) for timer in timers]
    for name, unit in units.items():
        if name.endswith(".service") and name not in claimed | driven:
            found.append(_service(name, unit, scripts))
    for job in data.get("cron") or ():
        if "nhc" not in job["command"]:
            agent = _agent("own:" + job["file"], job["command"].split()[0], "detector", state="running", periodic=True)
            agent.update(by=[f"cron {job['file']}"], interval_s=job["interval_s"])
            found.append(_with_scripts(agent, scripts.get(job["file"], [])))
    return found


def _timer(timer, service, data, scripts) -> dict:
    agent = _agent("own:" + timer["id"], timer["id"], "detector", by=[f"timer {timer['id']}"], interval_s=_interval(timer))
    agent["periodic"] = agent["interval_s"] is not None
    agent["state"] = "running" if timer["active"] in RUNNING else "off"
    uptime, last = data.get("uptime_s"), timer.get("last_trigger_boot_s")
    if service:
        agent["limit_s"] = min((limit for limit in (service["timeout_s"], service["runtime_max_s"]) if limit), default=None)
        if agent["limit_s"] is None and service["started_boot_s"] and service["exited_boot_s"]:
            took = service["exited_boot_s"] - service["started_boot_s"]
            agent["limit_s"] = took if took >= 0 else None
        last = last or service["started_boot_s"]
        if service["started_boot_s"]:
            failed = service["active"] == "failed" or service["result"] not in (None, "success")
            agent["result"] = f"{service['result'] or 'failed'}, exit status {service['exit_status']}" if failed else "success"
    agent["never"] = last is None
    if uptime is not None:
        agent["age_s"] = uptime if last is None else max(uptime - last, 0.0)
    return _with_scripts(agent, scripts.get(timer["triggers"], []))


def _service(name, unit, scripts) -> dict:
    agent = _agent("own:" + name, name, "detector", by=[f"unit {name}"])
    failed = unit["active"] == "failed" or unit["result"] not in (None, "success")
    agent["state"] = "running" if unit["active"] in RUNNING else "failed" if failed else "off"
    return _with_scripts(agent, scripts.get(name, []))


EFFECT = {"label": "label", "cordon": "drain", "drain": "drain", "reset": "reset", "reboot": "reboot"}
STRENGTH = ("none", "report", "label", "device", "drain", "reset", "reboot", "replace")


def _with_scripts(agent, scripts) -> dict:
    """What the texts say that it listens to and does. Nothing read: nothing is known of it."""
    agent["scripts"] = scripts
    texts = [text for script in scripts for text in (script["line"], script["data"]) if text]
    agent["wires"] = sorted({wire.partition(":")[0] for text in texts for wire in text["wires"]})
    effects = [EFFECT[action] for text in texts for action in text["actions"]]
    known = any(script["data"] for script in scripts) or bool(effects)
    agent["effect"] = max(effects, key=STRENGTH.index) if effects else "report" if known else None
    agent["returns"] = any(text["returns_node"] for text in texts)
    agent["needs"] = sorted({tool for text in texts for tool in text["needs_service"]})
    return agent


def _interval(timer):
    """The shortest of its schedules: each of them starts it."""
    return min((one["interval_s"] for one in timer.get("schedule") or () if one["interval_s"]), default=None)
