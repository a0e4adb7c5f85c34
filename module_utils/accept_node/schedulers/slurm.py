"""Slurm, 20.11 to 25.11: a handful of calls for any number of nodes; as text, since the JSON changes its shape with each release."""

from __future__ import annotations

import re

from ..parsers import sacctmgr, scontrol, scontrol_config, sdiag, sinfo, squeue, tool_version
from . import DOWN, DRAINED, DRAINING, MAINTENANCE, REBOOTING, SILENT, node

VERSION = ["scontrol", "--version"]
CONFIG = ["scontrol", "show", "config"]
NODES = ["scontrol", "-a", "-o", "show", "node"]
PARTITIONS = ["scontrol", "-a", "-o", "show", "partition"]
TOPOLOGY = ["scontrol", "show", "topology"]
STATES = ["sinfo", "-a", "-N", "-o", sinfo.FORMAT]
LOAD = ["sdiag"]
JOBS = ["squeue", "-a", "-h", "-o", "%T"]
CLUSTERS = ["sacctmgr", "-P", "show", "cluster", "format=Cluster,ControlHost,ControlPort"]
EVENTS = ["sacctmgr", "-P", "show", "event", "start=now-30days", "format=NodeName,TimeStart,TimeEnd,State,Reason%120"]
TIMEOUT_S = 60
AGAIN_S = 15  # longer than the controller takes to speak to a node again
UNCONFIGURED = re.compile(
    r"Could not establish a configuration source|resolve_ctls_from_dns|no configuration file|Unable to process configuration", re.I
)
KEPT = (
    "ClusterName SLURM_VERSION AccountingStorageType AccountingStorageEnforce AccountingStorageTRES GresTypes SelectType "
    "SelectTypeParameters TopologyPlugin TopologyParam Prolog Epilog PrologSlurmctld EpilogSlurmctld PrologFlags PrologEpilogTimeout "
    "HealthCheckProgram HealthCheckInterval HealthCheckNodeState RebootProgram ResumeProgram ResumeTimeout ReturnToService "
    "SlurmdTimeout SlurmctldTimeout PrivateData ProctrackType TaskPlugin ConstrainDevices ConstrainCores ConstrainRAMSpace SwitchType "
    "SwitchParameters MpiDefault JobSubmitPlugins SlurmctldParameters UnkillableStepTimeout PreemptType MaxNodeCount"
).split()
CONTROLLER = re.compile(r"SlurmctldHost\[[0-9]+\]|ControlMachine|BackupController")
SECONDS = ("HealthCheckInterval", "PrologEpilogTimeout", "SlurmdTimeout", "ResumeTimeout", "UnkillableStepTimeout")


def detect(gather) -> dict:
    """Its tools without a configuration are no scheduler; a controller that does not answer is not known, and not absent."""
    version = gather.command(VERSION, tool_version.parse_slurm, timeout_s=20, optional=True)
    if gather.missing(" ".join(VERSION)):
        return {"present": False, "version": None, "reason": "scontrol is not installed"}
    config = version and _config(gather)
    if config:
        return {"present": True, "version": config["values"].get("SLURM_VERSION") or version["version"], "reason": ""}
    why = _why(gather, CONFIG if version else VERSION)  # up to 22.05 not even the version is told without a configuration
    absent = UNCONFIGURED.search(why)
    reason = "Slurm's tools are installed, and no cluster is configured for them" if absent else why
    return {"present": False if absent else None, "version": version and version["version"], "reason": reason}


def _config(gather):
    return gather.command(CONFIG, scontrol_config.parse, timeout_s=TIMEOUT_S)


def _why(gather, argv) -> str:
    what = " ".join(argv)
    return "; ".join(error["message"] for error in gather.errors if error["source"] == what) or f"{what}: no answer"


def nodes(gather):
    """All nodes, hidden partitions too. A node that seems not to respond is asked about once more: the sign comes and goes."""
    found = gather.command(NODES, scontrol.parse, timeout_s=TIMEOUT_S, strip=scontrol.strip)
    if found is None:
        return None
    silent = {record["name"] for record in found["nodes"] if "NOT_RESPONDING" in record["flags"] and record["base"] != "DOWN"}
    second = {}
    if silent:
        gather.node.sleep(AGAIN_S)
        second = {record["name"]: record for record in states(gather) or ()}
    return [
        normalise({**record, **_newer(second.get(record["name"]))} if record["name"] in silent else record) for record in found["nodes"]
    ]


def states(gather):
    """States of all nodes in one cheap call, for a watcher: [{name, state, base, flags, gpus, reason, reason_by, reason_at}]"""
    found = gather.command(STATES, sinfo.parse, timeout_s=TIMEOUT_S)
    return found and found["nodes"]


def _newer(record):
    return {key: record[key] for key in ("state", "base", "flags")} if record else {}


def one(gather, name):
    """One node, normalised."""
    found = gather.command(["scontrol", "-o", "show", "node", name], scontrol.parse, timeout_s=TIMEOUT_S, strip=scontrol.strip)
    return normalise(found["nodes"][0]) if found and found["nodes"] else None


def normalise(record) -> dict:
    """A node as scontrol or sinfo told it, in the shape of all schedulers."""
    schedulable, against = judged(record["base"], record["flags"])
    return node(
        record["name"],
        hostname=record.get("hostname"),
        state=record["state"],
        schedulable=schedulable,
        against=against,
        reason=record["reason"],
        set_by=record["reason_by"],
        set_at=record["reason_at"],
        gpus=record["gpus"],
        gpus_usable=record.get("gpus_tres"),
        gpus_used=record.get("gpus_used"),
        gpu_types=record["gpu_types"],
        cpus=record.get("cpus"),
        memory_mib=record.get("memory_mib"),
        partitions=record["partitions"],
        version=record.get("version"),
        boot_time=record.get("boot_time"),
        reservation=record.get("reservation"),
        in_pod=record.get("in_pod"),
    )


def judged(base, flags) -> tuple:
    """(schedulable, what stands against it). Planned, reserved, busy, asleep to save power, or to be rebooted once idle: it takes jobs."""
    flags, busy = set(flags), base in ("ALLOCATED", "MIXED") or "COMPLETING" in flags
    against = [
        word
        for word, holds in (
            (DOWN, base in ("DOWN", "ERROR", "FUTURE")),
            ("registered with less than is configured", "INVALID_REG" in flags),
            (DRAINING if busy else DRAINED, bool(flags & {"DRAIN", "POWER_DRAIN"})),
            ("failing", "FAIL" in flags),
            (SILENT, "NOT_RESPONDING" in flags),
            (MAINTENANCE, "MAINTENANCE" in flags),
            (REBOOTING, "REBOOT_ISSUED" in flags),
        )
        if holds
    ]
    if against:
        return False, against
    known = base in ("IDLE", "ALLOCATED", "MIXED") or bool(
        flags & {"RESERVED", "BLOCKED", "POWERED_DOWN", "POWERING_UP", "REBOOT_REQUESTED"}
    )
    return (True if known else None), []


def survey(gather) -> dict:
    """{config, controllers, partitions, topology, accounting, events, load, jobs}; each None where it could not be had."""
    config = _config(gather)
    values = config["values"] if config else {}
    partitions = gather.command(PARTITIONS, scontrol.parse_partition, timeout_s=TIMEOUT_S, strip=scontrol.strip)
    topology = gather.command(TOPOLOGY, scontrol_config.parse_topology, timeout_s=TIMEOUT_S, streams="both", ok=None)
    load = gather.command(LOAD, sdiag.parse, timeout_s=TIMEOUT_S)
    jobs = load and {"pending": load["jobs_pending"], "running": load["jobs_running"]}
    if not jobs or None in jobs.values():  # 20.02 and older; a count of states, and no job's name
        counted = gather.command(JOBS, squeue.parse, timeout_s=TIMEOUT_S)
        jobs = counted and {key: counted["states"].get(key.upper(), 0) for key in ("pending", "running")}
    return {
        "config": config and _kept(values),
        "controllers": config and config["controllers"],
        "controller_hosts": config and sum(1 for key, value in values.items() if CONTROLLER.fullmatch(key) and value != "none"),
        "partitions": partitions and [_partition(one) for one in partitions["partitions"]],
        "topology": topology and _topology(topology),
        "accounting": _accounting(gather, values) if config else None,
        "events": _events(gather) if values.get("AccountingStorageType") == "accounting_storage/slurmdbd" else None,
        "load": load,
        "jobs": jobs,
    }


def _kept(values):
    """The settings that checks are about. Newer releases number those that may stand several times: `Prolog[0]`."""
    found = {}
    for key, value in values.items():
        name = key.split("[")[0]
        if name in KEPT and found.get(name, "none") == "none":
            found[name] = scontrol_config.seconds(value) if name in SECONDS else value
    return found


def _partition(partition):
    hosts = partition.pop("hosts")
    return {**partition, "hosts": None if hosts is None else len(hosts)}


def _topology(topology):
    """Each node once, with the switch or block that it hangs on: spines list all nodes below them again."""
    leaves = [switch for switch in topology["switches"] if not switch["switches"]]
    where = {host: part["name"] for part in (*leaves, *topology["blocks"]) for host in part["hosts"]}
    shape = {"plugin": topology["plugin"], "block_sizes": topology["block_sizes"], "switches": len(topology["switches"])}
    return {**shape, "blocks": len(topology["blocks"]), "hosts": [{"name": name, "at": at} for name, at in where.items()]}


def _accounting(gather, values):
    """{type, answers, registered}: `registered`: the database knows this cluster. None: not told."""
    kind = (values.get("AccountingStorageType") or "").replace("accounting_storage/", "") or None
    if kind != "slurmdbd":
        return {"type": kind, "answers": None, "registered": None}
    known = gather.command(CLUSTERS, sacctmgr.parse, timeout_s=TIMEOUT_S)
    names = None if known is None else [one["name"] for one in known["clusters"]]
    return {"type": kind, "answers": True if known else None, "registered": None if names is None else values.get("ClusterName") in names}


def _events(gather):
    """Counts of 30 days and what is still open; a ledger of its own is the availability's."""
    found = gather.command(EVENTS, sacctmgr.parse_event, timeout_s=TIMEOUT_S)
    if found is None:
        return None
    of_nodes = [event for event in found["events"] if event["node"]]
    by_node = {}
    for event in of_nodes:
        by_node[event["node"]] = by_node.get(event["node"], 0) + 1
    return {
        "count": len(of_nodes),
        "by_node": [{"node": name, "count": count} for name, count in sorted(by_node.items())],
        "open": [event for event in of_nodes if event["end"] is None][:200],
        "bad_rows": found["bad_rows"],
    }


def capabilities(found) -> dict:
    """What a drill may use."""
    config, accounting = found.get("config"), found.get("accounting")
    return {
        "drain": True,
        "reason": True,
        "reboot": config and config.get("RebootProgram", "none") != "none",
        "history": accounting
        and (True if accounting["registered"] else False if accounting["type"] != "slurmdbd" else accounting["registered"]),
        "health_program": config and config.get("HealthCheckProgram", "none") != "none" and (config.get("HealthCheckInterval") or 0) > 0,
    }
