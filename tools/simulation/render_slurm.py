"""Slurm as its tools print it: 25.11 on simulated clusters."""

from __future__ import annotations

import time

from accept_node.schedulers import slurm
from ClusterShell.NodeSet import NodeSet

from .records import command, hung

OFFLINE = "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)\n"


def commands(control) -> list:
    """What is asked of Slurm on the head."""
    version = command(slurm.VERSION, "slurm " + _version(control) + "\n", duration_s=0.01)
    if control.slow:
        return [version, hung(slurm.CONFIG, timeout_s=slurm.TIMEOUT_S)]
    if control.down:
        return [version, command(slurm.CONFIG, rc=1, stderr=control.down + "\n", duration_s=0.2)]
    answers = [
        (slurm.CONFIG, config(control)),
        (slurm.NODES, "".join(_node(control, node) for node in control.nodes if node.place.known)),
        (slurm.PARTITIONS, "".join(_partitions(control))),
        (slurm.STATES, _states(control)),
        (slurm.LOAD, _sdiag(control)),
    ]
    found = [version, *(command(argv, text, duration_s=0.03) for argv, text in answers), _topology(control)]
    if control.accounting != "none":
        name = "elsewhere" if control.accounting == "unregistered" else control.cluster
        found.append(command(slurm.CLUSTERS, f"Cluster|ControlHost|ControlPort\n{name}|10.20.0.4|6817\n"))
        found.append(command(slurm.EVENTS, _events(control)))
    return found


def _version(control):
    return control.nodes[0].versions.get("slurm") or "25.11.1"


def config(control) -> str:
    """`scontrol show config`, as far as the audit reads it and a little more."""
    block = _plugin(control) == "block"
    values = {
        "AccountingStorageEnforce": "associations,limits,qos",
        "AccountingStorageTRES": "cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu",
        "AccountingStorageType": "(null)" if control.accounting == "none" else "accounting_storage/slurmdbd",
        "BOOT_TIME": _stamp(control.at_s - 864_000),
        "ClusterName": control.cluster,
        "Epilog[0]": "/etc/slurm/epilog.d/*",
        "GresTypes": "gpu",
        "HealthCheckInterval": "60 sec",
        "HealthCheckNodeState": "ANY",
        "HealthCheckProgram": "/usr/sbin/nhc",
        "PrivateData": "accounts,jobs,usage,users",
        "ProctrackType": "proctrack/cgroup",
        "Prolog[0]": "/etc/slurm/prolog.d/*",
        "PrologEpilogTimeout": "600 sec",
        "PrologFlags": "Alloc,Contain,X11",
        "RebootProgram": "/usr/sbin/reboot",
        "ReturnToService": "1",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CORE_MEMORY",
        "SlurmUser": "slurm(64030)",
        "SlurmctldHost[0]": "ctl01(10.20.0.4)",
        "SlurmctldHost[1]": "ctl02(10.20.0.5)",
        "SlurmctldTimeout": "120 sec",
        "SlurmdTimeout": "300 sec",
        "SLURM_CONF": "/etc/slurm/slurm.conf",
        "SLURM_VERSION": _version(control),
        "SwitchType": "switch/nvidia_imex" if block else "(null)",
        "TaskPlugin": "task/affinity,task/cgroup",
        "TopologyParam": "(null)",
        "TopologyPlugin": "topology/" + {"none": "flat"}.get(_plugin(control), _plugin(control)),
        "ConstrainDevices": "yes",
        **control.config,
    }
    if not control.backup:
        del values["SlurmctldHost[1]"]
    cgroup = values.pop("ConstrainDevices")
    lines = [f"{key:<23} = {value}" for key, value in sorted(values.items(), key=lambda pair: pair[0].lower())]
    roles = [("primary", "ctl01"), *([("backup", "ctl02")] if control.backup else [])]
    states = [f"Slurmctld({role}) at {host} is {'DOWN' if role in control.dead_controllers else 'UP'}" for role, host in roles]
    shown = ["", "Cgroup Support Configuration:", "CgroupPlugin            = autodetect", f"ConstrainDevices        = {cgroup}", ""]
    return "\n".join([f"Configuration data as of {_stamp(control.at_s)}", *lines, *shown, *states, ""])


def _stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def _plugin(control):
    racked = control.nodes[0].sku.endswith("_nvl72")
    return control.topology or ("block" if racked else "tree")


def _gpus(node):
    return len(node.gpus) if node.place.gpus is None else node.place.gpus


def _gres(node):
    kind = node.sku.split("_")[0]
    return f"gpu:{kind}:{_gpus(node)}(S:0-{node.sockets - 1})" if _gpus(node) else "(null)"


def _state(node):
    silent = "*" if "NOT_RESPONDING" in node.place.flags else ""
    return "+".join([node.place.base + silent, *(flag for flag in node.place.flags if flag != "NOT_RESPONDING")])


def _node(control, node) -> str:
    place, gpus = node.place, _gpus(node)
    cpus = node.sockets * node.cores_per_socket * (1 if node.arch == "aarch64" else 2)
    memory = node.memory_gib * 1024 - 40_000
    busy = place.base in ("MIXED", "ALLOCATED")
    words = [
        f"NodeName={node.name} Arch={node.arch} CoresPerSocket={node.cores_per_socket} ",
        f"CPUAlloc={cpus // 2 if busy else 0} CPUEfctv={cpus} CPUTot={cpus} CPULoad={41.20 if busy else 0.12}",
        f"AvailableFeatures={node.rack} ActiveFeatures={node.rack} Gres={_gres(node)}",
        f"NodeAddr={node.name} NodeHostName={node.name} Version={place.version or _version(control)}",
        f"OS=Linux {node.versions['kernel']} #137-Ubuntu SMP ",
        f"RealMemory={memory} AllocMem={memory // 2 if busy else 0} FreeMem={memory - 21_000} Sockets={node.sockets} Boards=1",
        f"State={_state(node)} ThreadsPerCore={cpus // node.sockets // node.cores_per_socket} TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A",
        f"Partitions={','.join(place.partitions)} " if place.partitions else "",
        f"BootTime={_stamp(control.at_s - node.uptime_s)} SlurmdStartTime={_stamp(control.at_s - node.uptime_s + 95)}",
        f"LastBusyTime={_stamp(control.at_s - 3600)} ResumeAfterTime=None",
        f"CfgTRES=cpu={cpus},mem={memory}M,billing={cpus}" + (f",gres/gpu={gpus}" if gpus else ""),
        "AllocTRES=" + (f"cpu={cpus // 2},mem={memory // 2}M,gres/gpu={gpus // 2}" if busy and gpus > 1 else ""),
        "CurrentWatts=0 AveWatts=0",
        f"Reason={place.reason} [{place.reason_by or 'root'}@{_stamp(control.at_s - 7200)}]" if place.reason else "",
    ]
    return " ".join(word for word in words if word).rstrip() + "\n"


def _partitions(control):
    names = list(dict.fromkeys(name for node in control.nodes for name in node.place.partitions))
    for name in names:
        members = [node for node in control.nodes if name in node.place.partitions and node.place.known]
        hosts = NodeSet.fromlist([node.name for node in members])
        cpus, default = 224 * len(members), "YES" if name == "gpu" else "NO"
        yield (
            f"PartitionName={name} AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default={default} QoS=N/A "
            "DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO ExclusiveTopo=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED "
            f"MaxTime=7-00:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=UNLIMITED Nodes={hosts} "
            "PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP "
            f"TotalCPUs={cpus} TotalNodes={len(members)} SelectTypeParameters=NONE JobDefaults=(null) DefMemPerNode=UNLIMITED "
            f"MaxMemPerNode=UNLIMITED TRES=cpu={cpus},node={len(members)},gres/gpu={sum(map(_gpus, members))}\n"
        )


def _topology(control):
    plugin, racks = _plugin(control), {}
    if plugin == "none":
        return command(slurm.TOPOLOGY, rc=1, stderr="No topology information available\n")
    for node in control.nodes:
        if node.place.known and node.place.in_topology:
            racks.setdefault(node.rack, []).append(node.name)
    if plugin == "block":
        lines = [
            f"BlockName={rack} BlockIndex={n} Nodes={NodeSet.fromlist(names)} BlockSize={len(names)}"
            for n, (rack, names) in enumerate(racks.items())
        ]
        return command(slurm.TOPOLOGY, "\n".join(lines) + "\n")
    everyone = NodeSet.fromlist([name for names in racks.values() for name in names])
    lines = [f"SwitchName=spine Level=1 LinkSpeed=1 Nodes={everyone} Switches={','.join('leaf-' + rack for rack in racks)}"]
    lines += [f"SwitchName=leaf-{rack} Level=0 LinkSpeed=1 Nodes={NodeSet.fromlist(names)}" for rack, names in racks.items()]
    return command(slurm.TOPOLOGY, "\n".join(lines) + "\n")


def _states(control):
    words = {"IDLE": "idle", "MIXED": "mixed", "ALLOCATED": "allocated", "DOWN": "down"}
    lines = ["NODELIST|STATE|GRES|PARTITION|USER|TIMESTAMP|REASON"]
    for node in control.nodes:
        place = node.place
        if not place.known:
            continue
        word = words.get(place.base, place.base.lower())
        if "DRAIN" in place.flags:
            word = "draining" if place.base in ("MIXED", "ALLOCATED") else "drained"
        sign = "*" if "NOT_RESPONDING" in place.flags else ""
        for partition in place.partitions:
            default = "*" if partition == "gpu" else ""
            lines.append(f"{node.name}|{word}{sign}|{_gres(node)}|{partition}{default}|Unknown|Unknown|{place.reason or 'none'}")
    return "\n".join(lines) + "\n"


def _sdiag(control):
    running = sum(node.place.base in ("MIXED", "ALLOCATED") for node in control.nodes)
    rule = "*" * 55
    return (
        f"{rule}\nsdiag output at {time.strftime('%a %b %d %H:%M:%S %Y', time.gmtime(control.at_s))} ({control.at_s:.0f})\n{rule}\n"
        "Server thread count:  1\nRPC queue enabled:    0\nAgent queue size:     0\nAgent count:          0\nAgent thread count:   0\n"
        f"DBD Agent queue size: 0\n\nJobs submitted: 41\nJobs started:   38\nJobs completed: 36\nJobs canceled:  2\nJobs failed:    0\n\n"
        f"Jobs pending:   0\nJobs running:   {running}\n\nMain schedule statistics (microseconds):\n\tLast cycle:   214\n"
        "\tMax cycle:    2270\n\tTotal cycles: 2810\n\tMean cycle:   166\n\nBackfilling stats\n\tLast cycle: 0\n\tMean cycle: 0\n"
    )


def _events(control):
    lines = [
        "NodeName|TimeStart|TimeEnd|State|Reason",
        f"|{_stamp(control.at_s - 2_000_000)}|{_stamp(control.at_s - 1_999_940)}|UP|Cluster Registered TRES",
    ]
    for node in control.nodes:
        if "DRAIN" in node.place.flags or node.place.base == "DOWN":
            lines.append(f"{node.name}|{_stamp(control.at_s - 7200)}|Unknown|DRAIN|{node.place.reason or 'Not responding'}")
    return "\n".join(lines) + "\n"
