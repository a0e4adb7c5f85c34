"""The programs that slurmd runs on a node: who could change them, whether the health program can do its work, what their texts do."""

from __future__ import annotations

from . import health_join

UNREAD = "which programs Slurm runs on the node could not be read"
ELSEWHERE = "Slurm runs the cluster, and the node has no slurm.conf where it is looked for and no scontrol that answers"
WHEN = {"Prolog": "when a job starts", "Epilog": "when a job has ended"}


def told(data: dict) -> dict:
    """What the node told; {} where there is no Slurm, or where it is not known."""
    found = data.get("slurm_programs")
    return found if isinstance(found, dict) else {}


def program(known: health_join.Program, data: dict, run) -> health_join.Program:
    """slurmd starts the program of its own configuration, as often and in the states that the controller is told."""
    here = told(data)
    if not here or run.context.get("scheduler") in ("kubernetes", "none"):
        return known
    own = next((one["path"] for one in here["programs"] if one["setting"] == "HealthCheckProgram"), None)
    if known.reason:
        states = tuple(here["states"].upper().replace(",", " ").split())
        return health_join.Program(own, here["interval_s"], states) if own and here["interval_s"] != 0 else health_join.Program()
    if known.path and not own:
        return health_join.Program(reason=f"the controller tells {known.path}, and the node's {here['conf']} names none")
    return known._replace(path=own) if known.path else known


def analyse(data: dict, program: health_join.Program, catalogue: dict, scheduler: str | None = None) -> dict:
    """slurm_scripts[] {what, runs, kept_by} · slurm_health[] {what, can_work}; None where they could not be had."""
    found = data.get("slurm_programs", "none")
    elsewhere = found == "none" and (scheduler or "").startswith("slurm")  # a slurmd with a file of its own place, or in a pod
    if found is None or elsewhere:
        why = ELSEWHERE if elsewhere else UNREAD
        return {"slurm_scripts": None, "slurm_scripts_reason": why, "slurm_health": None, "slurm_health_reason": why}
    programs = told(data).get("programs", [])
    return {"slurm_scripts": [_row(one) for one in programs], "slurm_health": _health(program, programs, catalogue)}


def scripts(data: dict, setting: str, path: str | None = None) -> list:
    """The texts of one setting, as those of units are kept: {"by", "path", "line", "data", "reason"}"""
    found = [one for one in told(data).get("programs", []) if one["setting"] == setting and path in (None, one["path"])]
    return [
        {"by": setting, "path": one["path"], "line": None, "data": one["data"], "reason": one["reason"]}
        for one in found
        if not one["path"].endswith("/")
    ]


def state(data: dict, path: str) -> str:
    """A program that is not there, or cannot be started, is an agent that has failed."""
    here = next((one for one in told(data).get("programs", []) if (one["setting"], one["path"]) == ("HealthCheckProgram", path)), None)
    return "failed" if here and here["state"] in ("missing", "not executable", "not a regular file") else "running"


def as_agent(agent: dict) -> dict:
    """What could not be opened may do more than the rest says; a prolog starts with a job, which a drained node gets none of."""
    unread = [script["reason"] for script in agent["scripts"] if script["data"] is None]
    if unread and agent["effect"] in ("none", "report", "label"):
        agent["effect"] = None
    if agent["id"] == "slurm_prolog" and agent["returns"]:
        agent["needs"] = [*agent["needs"], "the start of a job"]
    return {**agent, "unread": unread[0] if unread else ""}


def _row(one) -> dict:
    by = f" ({one['open_path']} may be changed by {one['writable_by']})" if one["open_path"] else ""
    group = (one["writable_by"] or "").startswith("group ")
    why = f"{one['open_path']}: {one['writable_by']} may change it, and who is in that group is not looked up" if group else one["reason"]
    told = {"what": f"{one['setting']} {one['path']}{by}", "kept_by": None if group else one["writable_by"], "kept_by_reason": why}
    return {**told, "runs": one["state"], "runs_reason": one["reason"]}


def _health(program, programs, catalogue) -> list:
    """Can the health program do its work as often, in such states and in such time as it has?"""
    if not program.path:
        return []
    known, limit = catalogue["slurm_health_states"], catalogue["slurm_health_limit_s"]["value"]
    here = next((one for one in programs if (one["setting"], one["path"]) == ("HealthCheckProgram", program.path)), None)
    states, steps = [state for state in program.states if state != "CYCLE"], (here or {}).get("steps")
    seconds = {int(level): span for level, span in catalogue["dcgm_diag_s"]["levels"].items()}
    takes = max(steps["sleep_s"], seconds.get(steps["diag_level"], 0)) if steps else None
    strange = [state for state in states if state not in known["known"]]
    why, can, reason = "", True, ""
    if states and set(states) <= {*known["once"], *strange}:
        why, can = f"in state {','.join(states)} no node is visited again: it runs at most when slurmd starts", False
    elif takes is not None and takes >= limit:
        why, can = f"its steps take {takes:g} s, and Slurm ends it after {limit} s", False
    elif takes is not None and program.interval_s and takes > program.interval_s:
        why, can = f"its steps take {takes:g} s, and it is started every {program.interval_s:g} s", False
    elif takes is None and not program.path.rsplit("/", 1)[-1].startswith("nhc"):
        can, reason = None, (here or {}).get("reason") or UNREAD
    return [{"what": f"{program.path}{': ' if why else ''}{why}", "can_work": can, "can_work_reason": reason}]
