"""`scontrol show node`, one line each (-o) or many, Slurm 20.11 to 25.11. Keys: man scontrol; formats differ by a few keys a release."""

from __future__ import annotations

import re

from . import ParseError, slurm_gres, slurm_hostlist, slurm_state

# Values may hold blanks and `=`: a value ends where one of these keys begins. A key not known here stays part of the value before it.
KEYS = (
    "NodeName Arch CoresPerSocket CPUAlloc CPUEfctv CPUErr CPUTot CPULoad AvailableFeatures ActiveFeatures Gres GresDrain GresUsed "
    "NodeAddr NodeHostName Port Version OS RealMemory AllocMem FreeMem Sockets Boards MemSpecLimit CoreSpecCount CPUSpecList State "
    "ThreadsPerCore TmpDisk Weight Owner MCS_label NextState Partitions BootTime SlurmdStartTime LastBusyTime ResumeAfterTime CfgTRES "
    "AllocTRES CapWatts CurrentWatts LowestJoules ConsumedJoules AveWatts ExtSensorsJoules ExtSensorsWatts ExtSensorsTemp Reason "
    "Comment Extra InstanceId InstanceType ReservationName Parameters Topology GPUSpec BcastAddr CertFlags"
).split()
PARTITION_KEYS = (
    "PartitionName AllowGroups DenyGroups AllowAccounts DenyAccounts AllowQos DenyQos AllocNodes Default QoS DefaultTime "
    "DisableRootJobs ExclusiveUser ExclusiveTopo GraceTime Hidden MaxNodes MaxTime MinNodes LLN MaxCPUsPerNode MaxCPUsPerSocket "
    "NodeSets Nodes Alternate PriorityJobFactor PriorityTier RootOnly ReqResv OverSubscribe OverTimeLimit PreemptMode State TotalCPUs "
    "TotalNodes SelectTypeParameters JobDefaults DefMemPerNode DefMemPerCPU MaxMemPerNode MaxMemPerCPU ResumeTimeout SuspendTimeout "
    "SuspendTime TRES TRESBillingWeights CpuBind Topology PowerDownOnIdle"
).split()
ABSENT = ("", "(null)", "None", "Unknown", "N/A", "n/a", "n/s")
TAIL = ("Comment", "Extra", "InstanceId", "InstanceType", "ReservationName")  # what may follow a reason
REASON_END = re.compile(r"\[[^\[\]@\s]*@(?:\d{4}-\d\d-\d\dT[\d:]+|Unknown|None)\](?=\s|#|$)")
DAMAGED = re.compile(r"^\s*(?:[^\s=]*\ufffd[^\s=]*=|(?:NodeName|PartitionName)=\S*\ufffd)\S*", re.MULTILINE)
STAMP = re.compile(r"(.*?)\s*\[([^\[\]@\s]*)@([^\[\]\s]*)\]\s*$", re.DOTALL)
TRES_GPUS = re.compile(r"(?:^|,)gres/gpu=([0-9]{1,9})(?:,|$)")


def parse(text: str) -> dict:
    """{"nodes": [{name, hostname, address, state, base, flags, gpus, gpu_types, gpus_used, gpus_tres, cpus, sockets, memory_mib,
    partitions, features, version, boot_time, started_time, reason, reason_by, reason_at, next_state, reservation, in_pod}]}

    `state` is as printed, `base` and `flags` as slurm_state has them. `gpus` is of Gres, `gpus_tres` of CfgTRES; None where cut, not
    printed, or no TRES. Times are Slurm's own local ones. `in_pod`: the comment names a pod.
    """
    if re.match(r"\s*No nodes in the system", text):
        return {"nodes": []}
    nodes = [_node(record) for record in _records(text, "NodeName", KEYS)]
    if not nodes:
        raise ParseError("no node in what scontrol said: %r" % text.strip()[:60])
    return {"nodes": nodes}


def parse_partition(text: str) -> dict:
    """{"partitions": [{name, state, default, hidden, hosts, total_nodes, max_time, max_nodes, restricted, gpus}]} of `show partition`.

    `hosts`: names, [] for none, None where the node list is not printed. `restricted`: not open to all accounts and groups. `gpus`: TRES.
    """
    if re.match(r"\s*No partitions? (?:in|found)", text):
        return {"partitions": []}
    partitions = [_partition(record) for record in _records(text, "PartitionName", PARTITION_KEYS)]
    if not partitions:
        raise ParseError("no partition in what scontrol said: %r" % text.strip()[:60])
    return {"partitions": partitions}


def strip(text: str) -> str:
    """The text without what names users, groups and accounts; what is parsed from it stays."""
    text = re.sub(r"\b((?:Allow|Deny)(?:Groups|Accounts|Qos))=(?!ALL\b)\S+", r"\1=[kept-back]", text)
    return re.sub(r"\b(Owner|MCS_label|QoS)=(?!N/A\b)\S+", r"\1=[kept-back]", text)


def _records(text, first, keys):
    """Key -> value of each record. People's own words, which may look like keys, stand in Reason and behind it: they are cut off first."""
    damaged = DAMAGED.search(text)
    if damaged:  # a record whose beginning is lost would be a node that the scheduler does not have
        raise ParseError("bytes that are no text where a record begins: %r" % damaged.group().strip()[:60])
    split = re.compile(r"(?:^|(?<=\s))(%s)=" % "|".join(sorted(keys, key=len, reverse=True)), re.MULTILINE)
    tail = re.compile(r"(?:^|(?<=\s))(%s)=" % "|".join(TAIL), re.MULTILINE)
    for block in re.split(r"^(?=%s=)" % first, text, flags=re.MULTILINE):
        if not block.startswith(first + "="):
            continue
        head, said, rest = block.partition(" Reason=") if " Reason=" in block else block.partition("\nReason=")
        stamp = REASON_END.search(rest)
        told, rest = (rest[: stamp.end()], rest[stamp.end() :]) if stamp else (tail.split(rest)[0], rest[len(tail.split(rest)[0]) :])
        record = {"Reason": told.strip().rstrip("#").strip()} if said else {}
        for pattern, part in ((split, head), (tail, rest)):
            parts = pattern.split(part)
            for key, value in zip(parts[1::2], parts[2::2]):
                record.setdefault(key, value.strip().rstrip("#").strip())
        yield record


def _word(record, key):
    value = record.get(key)
    return None if value is None or value in ABSENT else value


def _count(record, key):
    match = re.match(r"[0-9]{1,12}(?![0-9.])", record.get(key) or "")
    return int(match.group()) if match else None


def _tres_gpus(record, key):
    """None where GPUs are no TRES: only those that AccountingStorageTRES names are printed."""
    match = TRES_GPUS.search(record.get(key, ""))
    return int(match.group(1)) if match else None


def _used(record):
    """GPUs of AllocTRES: none of them there is 0 where CfgTRES counts them."""
    used = _tres_gpus(record, "AllocTRES")
    return 0 if used is None and "AllocTRES" in record and _tres_gpus(record, "CfgTRES") is not None else used


def _node(record) -> dict:
    state = slurm_state.parse(record["State"]) if record.get("State") else {"base": None, "flags": []}
    gres = slurm_gres.parse(record["Gres"]) if "Gres" in record else None
    used = slurm_gres.parse(record["GresUsed"]) if "GresUsed" in record else None
    reason, by, at = split_reason(_word(record, "Reason"))
    comment = record.get("Comment", "")
    return {
        "name": _name(record, "NodeName"),
        "hostname": _word(record, "NodeHostName"),
        "address": _word(record, "NodeAddr"),
        "state": record.get("State") or None,
        "base": state["base"],
        "flags": state["flags"],
        "gpus": gres and gres["gpus"],
        "gpu_types": gres and gres["types"],
        "gpus_used": used["gpus"] if used else _used(record),
        "gpus_tres": _tres_gpus(record, "CfgTRES"),
        "cpus": _count(record, "CPUTot"),
        "sockets": _count(record, "Sockets"),
        "memory_mib": _count(record, "RealMemory"),
        "partitions": _list(record, "Partitions"),
        "features": _list(record, "ActiveFeatures"),
        "version": _word(record, "Version"),
        "boot_time": _word(record, "BootTime"),
        "started_time": _word(record, "SlurmdStartTime"),
        "reason": reason,
        "reason_by": by,
        "reason_at": at,
        "next_state": _word(record, "NextState"),
        "reservation": _word(record, "ReservationName"),
        "in_pod": '"podName"' in comment,
    }


def split_reason(reason) -> tuple:
    """`text [user@time]` -> (text, user, time). A text may hold brackets of its own: the last one counts."""
    match = STAMP.match(reason or "")
    if not match:
        return reason or None, None, None
    text, by, at = match.groups()
    return " ".join(text.split()) or None, by or None, at if at not in ABSENT else None


def _list(record, key):
    value = record.get(key)
    if value is None:
        return None
    return [] if value in ABSENT else [part for part in value.split(",") if part]


def _name(record, key):
    name = record.get(key, "").split("\n")[0].strip()
    if not name or re.search(r"\s", name):
        raise ParseError("a record without a name: %r" % str(record)[:60])
    return name


def _partition(record) -> dict:
    hosts = None
    if "Nodes" in record:
        hosts = slurm_hostlist.parse(record["Nodes"])["hosts"] if record["Nodes"] not in ("", "(null)") else []
    limits = [record.get(key) for key in ("AllowGroups", "AllowAccounts", "AllowQos")]
    flags = {"YES": True, "NO": False}
    return {
        "name": _name(record, "PartitionName"),
        "state": _word(record, "State"),
        "default": flags.get(record.get("Default")),
        "hidden": flags.get(record.get("Hidden")),
        "hosts": hosts,
        "total_nodes": _count(record, "TotalNodes"),
        "max_time": _word(record, "MaxTime"),
        "max_nodes": _word(record, "MaxNodes"),
        "restricted": None if None in limits else limits != ["ALL"] * 3 or any(key in record for key in ("DenyAccounts", "DenyQos")),
        "gpus": _tres_gpus(record, "TRES"),
    }
