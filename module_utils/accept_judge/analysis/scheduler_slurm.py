"""What Slurm's configuration amounts to. Null, with a `_reason`, where Slurm is not there or did not tell."""

from __future__ import annotations

import re

# key -> a part of the question that it is from
FROM = {
    "slurm_accounting": "sacctmgr -P show cluster",
    "slurm_other_versions": "show node",
}


def derive(data: dict, members: list | None) -> dict:
    """slurm_<what>: flat keys, for checks of Slurm.

    slurm_accounting: on | none | not registered · slurm_topology: tree | block | none
    slurm_health_program: "every 60 s" | never runs | none
    """
    slurm = data.get("slurm") or {}
    config = slurm.get("config")
    _placed(slurm, members)
    found = {
        "slurm_accounting": _accounting(slurm),
        "slurm_gpus_accounted": config and _gpus_accounted(config),
        "slurm_topology": _topology(slurm),
        "slurm_prolog_epilog": config and _scripts(config),
        "slurm_health_program": config and _health_program(config),
        "slurm_reboot_program": config and config.get("RebootProgram"),
        "slurm_return": config and _return(config),
        "slurm_controllers": slurm.get("controller_hosts"),
        "slurm_controllers_down": _down(slurm),
        "slurm_devices_constrained": config and _devices_constrained(config),
        "slurm_select": config and config.get("SelectType"),
        "slurm_other_versions": _other_versions(config, members),
    }
    return {**found, **{f"{key}_reason": why(data, "slurm", FROM.get(key, "")) for key, value in found.items() if value is None}}


def why(data, scheduler, question) -> str:
    """Why something is not known: the scheduler is not there, or the question that asks for it was not answered."""
    there = (data.get("found") or {}).get(scheduler) or {}
    failed = [one["answered_reason"] for one in data.get("questions") or () if one["answered_reason"] and question in one["what"]]
    return there.get("reason") or "; ".join(failed[:2]) or f"{scheduler} did not tell"


def _accounting(slurm):
    accounting = slurm.get("accounting")
    if not accounting or accounting["type"] is None:
        return None
    if accounting["type"] != "slurmdbd":
        return accounting["type"]
    return {True: "on", False: "not registered", None: None}[accounting["registered"]]


def _gpus_accounted(config):
    resources = config.get("AccountingStorageTRES")
    return None if resources is None else any(part.startswith("gres/gpu") for part in resources.split(","))


def _topology(slurm):
    """The plugin that is configured and, where it wants one, a topology that can be read. `flat` and `default` are none."""
    plugin = ((slurm.get("config") or {}).get("TopologyPlugin") or "").replace("topology/", "")
    if plugin in ("none", "default", "flat"):
        return "none"
    told = slurm.get("topology")
    if plugin in ("tree", "block") and told:
        return told["plugin"]
    return plugin or None


def _placed(slurm, members):
    """Adds to each member that Slurm knows: topology_named (true, false, "none" where none is configured) and in_widest_partition."""
    known = [member for member in members or () if member["known"]]
    told, none = slurm.get("topology"), _topology(slurm) == "none" or (slurm.get("topology") or {}).get("plugin") == "none"
    named = {host["name"] for host in told["hosts"]} if told else set()
    widest = _widest(slurm.get("partitions"), known)
    for member in known:
        member["topology_named"] = "none" if none else None if told is None else member["name"] in named
        member["in_widest_partition"] = None if widest is None or member["partitions"] is None else widest in member["partitions"]


def _widest(partitions, known):
    """The partition that is up and has most of the nodes; "" where none is up, None where they could not be had."""
    if partitions is None:
        return None
    up = [partition["name"] for partition in partitions if partition["state"] == "UP"]
    return max(up, key=lambda name: sum(name in (member["partitions"] or ()) for member in known), default="")


def _scripts(config):
    named = [key for key in ("Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld") if config.get(key, "none") != "none"]
    return " ".join(named) or "none"


def _health_program(config):
    program, interval = config.get("HealthCheckProgram"), config.get("HealthCheckInterval")
    if program in (None, "none") or interval is None:
        return program and "none"
    return f"every {interval} s" if interval else "never runs"


def _devices_constrained(config):
    """Only the task plugin of cgroups keeps devices from a job, whatever cgroup.conf says; without it Slurm does not print that file."""
    if "cgroup" not in config.get("TaskPlugin", "cgroup"):
        return False
    return {"yes": True, "no": False}.get(config.get("ConstrainDevices"))


def _return(config):
    """ReturnToService 2 takes back whatever registers; only a health program looks at it first."""
    value = config.get("ReturnToService")
    if not re.fullmatch("[0-2]", value or ""):
        return None
    return "unchecked" if value == "2" and not str(_health_program(config)).startswith("every") else "checked"


def _down(slurm):
    controllers = slurm.get("controllers")
    return None if not controllers else [f"{one['role']} {one['host']}" for one in controllers if not one["up"]]


def _other_versions(config, members):
    version = (config or {}).get("SLURM_VERSION")
    known = [member for member in members or () if member["known"]]
    if not version or not known or any(member["version"] is None for member in known):
        return None
    return [{"node": one["node"], "version": one["version"], "controller": version} for one in known if one["version"] != version]
