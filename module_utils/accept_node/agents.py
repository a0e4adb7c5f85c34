"""What health agents are called on a node: the names that the collector asks for. standards/catalogs/agents.yml says what each of them is.

Only processes and containers of these names are looked at: what else runs on a node is its tenants' business. Units, timers and cron jobs
of a provider's own making are known by what their names speak of (`named_so`); nothing of them is ever run.
"""

from __future__ import annotations

import re

PROCESSES = (
    "nv-hostengine",
    "dcgm-exporter",
    "syslog-health-monitor",
    "gpu_health_monitor",
    "nic-health-monitor",
    "node-problem-detector",
    "gpud",
    "eks-node-monitoring-agent",
    "nvidia-device-plugin",
    "nvidia_gpu_device_plugin",
    "gpuagent",
    "sichek",
)
UNITS = (
    "nvidia-dcgm.service",
    "dcgm.service",
    "nvidia-dcgm-exporter.service",
    "dcgm-exporter.service",
    "node-problem-detector.service",
    "gpud.service",
    "healthagent.service",
    "nhc.service",
    "nhc.timer",
    "eks-node-monitoring-agent.service",
    "amd-metrics-exporter.service",
    "gpuagent.service",
    "sichek.service",
)
CONTAINERS = (
    "nvidia-dcgm-ctr",
    "nvidia-dcgm-exporter",
    "dcgm-exporter",
    "syslog-health-monitor",
    "gpu-health-monitor",
    "nic-health-monitor",
    "node-problem-detector",
    "gpud",
    "eks-node-monitoring-agent",
    "nvidia-device-plugin",
    "nvidia-gpu-device-plugin",
    "metrics-exporter-container",
    "autopilot",
)
COMM = 15  # the kernel keeps this much of a process name
_SUBJECT = r"(?:^|[^a-z])(?:gpus?|nvidia|xid|dcgm|nvlink|nvswitch|nodes?|hpc|cluster|hardware|hw|rdma|ib|infiniband|fabric)"
_VERB = r"(?:health|check|monitor|watch|guard|sentinel|remediat|heal|doctor|drain|probe|recover|repair|triage|diag)"
_NAMED_SO = re.compile(
    _SUBJECT + r".*" + _VERB + "|" + _VERB + r"[a-z]*[^a-z].*" + _SUBJECT[len(r"(?:^|[^a-z])") :] + r"|(?:^|[^a-z])health"
)
_OF_THE_SYSTEM = ("systemd-", "user@", "dbus-", "container-getty", "apt-", "fwupd", "snap.")


def named_so(name: str) -> bool:
    """Does a unit, timer or program call itself a health check, by its name?"""
    low = name.rsplit("/", 1)[-1].lower()
    return not low.startswith(_OF_THE_SYSTEM) and _NAMED_SO.search(low) is not None


def is_unit(name: str) -> bool:
    """Is this unit one to look at: an agent that is known, or one named so?"""
    return (
        name.endswith((".service", ".timer"))
        and not name.endswith(("@.service", "@.timer"))
        and (name in UNITS or named_so(name.rsplit(".", 1)[0]))
    )


def process_name(comm: str):
    """The full name of a process that the kernel has cut, or None where it is none of ours."""
    return next((name for name in PROCESSES if name[:COMM] == comm), None)


def flags(args: str) -> dict:
    """The options of a command line: `--name=value`, `--name value`, `-n value`, `--flag` (an empty value). Names without dashes."""
    found, words = {}, args.split()[1:]
    for here, after in zip(words, [*words[1:], "-"]):
        if here.startswith("-") and here.strip("-"):
            name, equals, value = here.lstrip("-").partition("=")
            found[name] = value if equals else "" if after.startswith("-") else after
    return found


def program(command: str):
    """The file that a command line runs, past interpreters and wrappers; None where the line holds the code itself, or names no path."""
    words = command.split()
    while words:
        word = words.pop(0)
        base = word.rsplit("/", 1)[-1]
        if word in ("-c", "-lc", "-ec"):
            return None
        if base in _WRAPPERS or base.startswith("python3.") or word.startswith("-") or "=" in word or word.rstrip("smh").isdigit():
            continue
        return word if word.startswith("/") else None
    return None


_WRAPPERS = {
    "bash",
    "sh",
    "dash",
    "env",
    "python",
    "python3",
    "perl",
    "timeout",
    "nice",
    "ionice",
    "flock",
    "chronic",
    "systemd-cat",
    "sudo",
}
