"""What systemctl, ps, crictl, cron, NHC's log and dcgmi say of a simulated node's health agents (health_state.py has them as data)."""

from __future__ import annotations

import json

from accept_node import agents
from accept_node.collectors import health_audit, health_configs, health_dcgm, health_logs

from . import render_slurm_programs
from .health_state import of
from .model import SimNode
from .records import command, file, listing, missing, missing_file, missing_tree, tree

WATCHES = ("PCIe", "NVLINK", "Memory", "SM", "InfoROM", "Thermal", "Power", "Driver", "NvSwitch NF", "NvSwitch F")
# What Ubuntu and RHEL ship: the former takes the kernel's own records alone, the latter whatever the journal has.
KLOG = 'module(load="imuxsock")\nmodule(load="imklog" permitnonkernelfacility="off")\n'
JOURNAL = 'module(load="imuxsock" SysSock.Use="off")\nmodule(load="imjournal" StateFile="imjournal.state")\n'
RULES = "*.*;auth,authpriv.none\t\t-/var/log/syslog\nkern.*\t\t-/var/log/kern.log\n"
LINE = "+" + "-" * 20 + "+" + "-" * 52 + "+"
# Units of every such machine: among them names that could be taken for a health check of GPUs.
OF_THE_SYSTEM = (
    "cron",
    "dbus",
    "fwupd-refresh",
    "mdcheck_start",
    "mdmonitor",
    "nvidia-persistenced",
    "smartmontools",
    "ssh",
    "systemd-journald",
)


def render(node: SimNode, at_s: float) -> dict:
    """The records of the health concern, as of at_s (seconds since the epoch)."""
    health = of(node)
    pids = {name: 2100 + 37 * place for place, (name, _) in enumerate(health["processes"])}
    commands = [*_systemd(node, health), _ps(node, health, pids), *_containers(node, health), *_scripts(health), *_dcgm(node, health)]
    return {
        "commands": [*commands, *_nhc_log(node, health, at_s), *render_slurm_programs.commands(health)],
        "files": [*_files(health, pids), *_logs(node)],
        "trees": [*_trees(health), tree("/etc/rsyslog.d", {"50-default.conf": RULES}), missing_tree("/etc/systemd/journald.conf.d")],
        "listings": [listing(health_audit.SYSTEMD, []), *render_slurm_programs.listings(health)],
    }


# --- systemd --------------------------------------------------------------------------------------------------------------------------


def _systemd(node, health):
    units = health["units"]
    states = {**{name + ".service": "enabled" for name in OF_THE_SYSTEM}, **{name: unit["enabled"] for name, unit in units.items()}}
    listed = "".join(f"{name:<40} {enabled:<15} enabled\n" for name, enabled in sorted(states.items()))
    shown = sorted(name for name in states if agents.is_unit(name))
    yield command(health_audit.UNIT_FILES, listed, duration_s=0.09)
    if shown:
        yield command([*health_audit.SHOW, *shown], "\n".join(_unit(node, name, units[name], units) for name in shown), duration_s=0.04)


def _unit(node, name, unit, units) -> str:
    """The properties in systemd's own order; times since boot in microseconds, spans in words."""
    since = {
        "ExecMainStartTimestampMonotonic": _micro(node, unit.get("ago_s"), unit.get("up_s")),
        "ExecMainExitTimestampMonotonic": _micro(node, unit["ago_s"] - unit["took_s"] if unit.get("ago_s") and "took_s" in unit else None),
        "ActiveEnterTimestampMonotonic": _micro(node, None, unit.get("up_s")),
    }
    if name.endswith(".timer"):
        target, ago = name[: -len("timer")] + "service", unit["ago_s"]
        boot = _span(node.uptime_s - ago) if ago is not None else "0"
        words = f"Unit={target}\nTimersMonotonic={{ OnUnitActiveUSec={unit['every']} ; next_elapse=2w 1d 3h 11min 7.203944s }}\n"
        words += (
            f"LastTriggerUSec={'Mon 2026-11-30 05:59:19 UTC' if ago is not None else ''}\nLastTriggerUSecMonotonic={boot}\nResult=success\n"
        )
    else:
        path = unit["exec"].split()[0]
        pid = unit.get("pid", 0)
        words = f"Type={unit['type']}\nTimeoutStartUSec={unit.get('limit', '1min 30s')}\nRuntimeMaxUSec=infinity\n"
        words += f"MainPID={pid}\nResult={unit['result']}\n"
        words += f"NRestarts=0\nExecMainStartTimestampMonotonic={since['ExecMainStartTimestampMonotonic']}\n"
        words += f"ExecMainExitTimestampMonotonic={since['ExecMainExitTimestampMonotonic']}\nExecMainStatus={unit.get('status', 0)}\n"
        words += f"ExecStart={{ path={path} ; argv[]={unit['exec']} ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a]"
        words += f" ; pid={pid} ; code=(null) ; status=0/0 }}\n"
    active = f"LoadState=loaded\nActiveState={unit['active']}\nSubState={unit['sub']}\nUnitFileState={unit['enabled']}\n"
    return f"{words}Id={name}\n{active}ActiveEnterTimestampMonotonic={since['ActiveEnterTimestampMonotonic']}\n"


def _micro(node, ago_s, up_s=None):
    if ago_s is None:
        return 0 if up_s is None else int((node.uptime_s - up_s) * 1e6)
    return int((node.uptime_s - ago_s) * 1e6)


def _span(seconds) -> str:
    parts, rest = [], seconds
    for name, size in (("w", 604_800), ("d", 86_400), ("h", 3600), ("min", 60)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{int(count)}{name}")
    return " ".join([*parts, f"{rest:.6f}s"])


# --- processes, containers, files -------------------------------------------------------------------------------------------------------


def _ps(node, health, pids):
    lines = [f"{pids[name]:>7} {int(node.uptime_s - 95):>10} {name[: agents.COMM]:<15} {args}\n" for name, args in health["processes"]]
    return command(health_audit.PS, "".join(lines), rc=0 if lines else 1, duration_s=0.02)


def _containers(node, health):
    if node.scheduler != "kubernetes":
        return [missing(health_audit.CRICTL), missing(health_audit.DOCKER)]
    listed = [
        {
            "id": f"{place:064x}",
            "metadata": {"name": name, "attempt": 0},
            "image": {"image": f"registry.example/{name}:v1"},
            "state": "CONTAINER_RUNNING",
            "labels": {
                "io.kubernetes.container.name": name,
                "io.kubernetes.pod.name": f"{pod}-x7k2p",
                "io.kubernetes.pod.namespace": namespace,
            },
        }
        for place, (name, pod, namespace) in enumerate(health["containers"], 1)
    ]
    return [
        command(health_audit.CRICTL, json.dumps({"containers": listed}, indent=2) + "\n", duration_s=0.03),
        missing(health_audit.DOCKER),
    ]


def _files(health, pids):
    cron = health.get("crontab", "SHELL=/bin/sh\n17 * * * * root cd / && run-parts --report /etc/cron.hourly\n")
    yield file("/etc/crontab", cron)
    paths = ("/etc/sysconfig/nhc", "/etc/default/nhc") if "/etc/nhc/nhc.conf" in health["files"] else ()
    for path in (*paths, "/etc/healthagent/config.yaml"):
        yield file(path, health["files"][path]) if path in health["files"] else missing_file(path)
    for name, text in health["files"].items():
        process, colon, path = name.partition(":")
        if colon and process in pids:
            yield file(f"/proc/{pids[process]}/root{path}", text)


def _trees(health):
    nhc = {path.rsplit("/", 1)[-1]: text for path, text in health["files"].items() if path.startswith("/etc/nhc/")}
    yield tree("/etc/nhc", nhc) if nhc else missing_tree("/etc/nhc")
    yield tree(
        "/etc/cron.d", {"e2scrub_all": "30 3 * * 0 root test -e /run/systemd/system || /sbin/e2scrub_all -A -r\n", **health.get("cron", {})}
    )
    yield tree("/var/spool/cron", {})
    yield tree("/var/spool/cron/crontabs", {})


def _scripts(health):
    return [command([*health_configs.HEAD, path], text, duration_s=0.002) for path, text in health["scripts"].items()]


def _nhc_log(node, health, at_s):
    if "/etc/nhc/nhc.conf" not in health["files"]:
        return
    if health["nhc_log_ago_s"] is None:
        yield command(health_configs.LOG_TIME, rc=1, stderr="stat: cannot statx '/var/log/nhc.log': No such file or directory\n")
        return
    line = f"20261130 05:59:28 [slurm] /usr/libexec/nhc/node-mark-online {node.name}\n"
    said = health.get("nhc_says", f"{line}/usr/libexec/nhc/node-mark-online:  Node {node.name} is already online.\n")
    yield command(health_configs.LOG_TIME, f"{int(at_s - health['nhc_log_ago_s'])}\n")
    yield command(health_configs.LOG_TAIL, said)


# --- DCGM -------------------------------------------------------------------------------------------------------------------------------


def _dcgm(node, health):
    if not node.versions.get("dcgm"):
        yield missing(health_dcgm.DISCOVERY)
        return
    if not health["engine"]:
        lost = "Error: unable to establish a connection to the specified host: localhost\nError: Unable to connect to host engine. "
        yield command(health_dcgm.DISCOVERY, lost + "Host engine connection invalid/disconnected.\n", rc=21)
        return
    yield command(health_dcgm.DISCOVERY, _discovery(node, health), duration_s=0.05)
    yield command(health_dcgm.GROUPS, "No groups found. \n")
    on = health["watches"]
    text = "Health monitor systems report\n" + _table([(name, "On" if on and name != "SM" else "Off") for name in WATCHES])
    yield command(health_dcgm.watches(0), text)
    if on:
        report = {"body": {"Overall Health": {"value": health["overall"]}}, "header": ["Health Monitor Report"]}
        if health["overall"] != "Healthy":
            said = {"Memory system": {"value": health["overall"], "overflow": ["Detected 1 volatile double-bit ECC error(s) in GPU 0."]}}
            report["body"]["GPU"] = {"children": {"0": {"value": health["overall"], "children": {"Errors": {"children": said}}}}}
        yield command(health_dcgm.health(0), json.dumps(report, indent=2) + "\n")
    yield command(health_dcgm.policy(0), _policy(health))


def _discovery(node, health) -> str:
    gpus = [gpu for gpu in node.gpus if gpu.present][: health["gpus"]]
    rule = "+--------+" + "-" * 70 + "+"
    lines = [f"{len(gpus)} GPUs found.", rule, f"| GPU ID | {'Device Information':<69}|", rule]
    for gpu in gpus:
        told = (f"Name: {gpu.name}", f"PCI Bus ID: 0000{gpu.pci.upper()}", f"Device UUID: {gpu.uuid}")
        lines += [f"| {gpu.index if first else '':<7}| {text:<69}|" for first, text in zip((True, False, False), told)]
        lines.append(rule)
    return "\n".join(lines) + "\n0 NvSwitches found.\n0 ConnectX found.\n"


def _table(rows) -> str:
    return "\n".join([LINE, *(f"| {name:<19}| {value:<51}|" for name, value in rows), LINE]) + "\n"


def _policy(health) -> str:
    conditions = health["conditions"] or ["None"]
    rows = [("Violation conditions", conditions[0]), *(("", text) for text in conditions[1:]), ("Isolation mode", "Manual")]
    rows += [("Action on violation", health["policy"]), ("Validation after action", "None"), ("Validation failure action", "None")]
    body = "\n".join(f"| {name:<31}| {value:<45}|" for name, value in rows)
    rule = "+" + "-" * 32 + "+" + "-" * 46 + "+"
    head = f"| {'Policy Information':<78}|\n| {'DCGM_ALL_SUPPORTED_GPUS':<78}|"
    note = "**** Non-homogenous settings across group. Use with –v flag to see details.\n"
    return f"Policy information\n{rule}\n{head}\n{rule.replace('-', '=')}\n{body}\n{rule}\n{note}"


def _logs(node):
    yield file(health_logs.RSYSLOG, KLOG if node.os.startswith("ubuntu") else JOURNAL)
    yield file(health_logs.JOURNALD, "[Journal]\n#Storage=auto\n#ReadKMsg=yes\n")
