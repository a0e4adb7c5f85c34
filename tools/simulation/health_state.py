"""The health agents of a simulated node, as data: `of(node)` is what it has, `state(node)` the same to be changed by faults."""

from __future__ import annotations

# Xids for which a node is drained: what the catalogue calls hardware, and contained errors that wait for a reset.
FATAL = (
    46, 48, 54, 62, 63, 64, 74, 79, 94, 95, 109, 110, 119, 120, 136, 140, 142, 143, 144, 145, 146, 147, 148, 149, 150,
    151, 155, 156, 158, 163, 164, 165, 166, 168, 169, 170, 171, 172,
)  # fmt: skip
CHECK, SCRIPT = "gpu-healthcheck", "/opt/fleet/bin/gpu-healthcheck"
NHC_CONF = """# NHC: one check a line
* || export MARK_OFFLINE=1
* || export TIMEOUT=30
* || check_fs_mount_rw -f /
* || check_fs_free / 5%
* || check_ps_service -u root sshd
* || check_gpu_count {gpus}
"""
BASH = """#!/bin/bash
# Drains this node for errors of its GPUs, and returns what it drained when they are gone.
FATAL_XIDS="{fatal}"
IGNORED_XIDS="13 31 43 45"
LOG=$(dmesg --decode | tail -n 5000)
for xid in $FATAL_XIDS; do
  if grep -q "Xid (PCI:.*): $xid," <<< "$LOG"; then
    scontrol update nodename=$(hostname -s) state=drain reason="GPU: Xid $xid"
    exit 1
  fi
done
scontrol update nodename=$(hostname -s) state=resume
"""
BASH_AMD = """#!/bin/bash
# Drains this node for errors of its GPUs.
if dmesg --decode | grep -q "amdgpu.*uncorrectable hardware errors detected"; then
  scontrol update nodename=$(hostname -s) state=drain reason="GPU: uncorrectable error"
fi
"""

# What slurmd of a healthy node is told, and what lies there: path -> (mode, uid, owner, text).
SLURM_CONF = """# sent to every node
ClusterName=sim
SlurmUser=slurm
JobCompPass=not-for-evidence
HealthCheckProgram=/usr/sbin/nhc HealthCheckInterval=60
HealthCheckNodeState=ANY
Prolog=/etc/slurm/prolog.d/*
Epilog=/etc/slurm/epilog.d/*
RebootProgram=/usr/sbin/reboot
"""
PROLOG = """#!/bin/bash
# A job that finds a GPU missing would fail for hours.
[ "$(nvidia-smi -L | wc -l)" = {gpus} ] || exit 1
"""
EPILOG = """#!/bin/bash
# What a job leaves behind is not the next one's.
find /dev/shm -user "$SLURM_JOB_USER" -delete
"""


def slurm_programs(node) -> dict:
    prolog = PROLOG.format(gpus=len(node.gpus)) if node.vendor == "nvidia" else EPILOG
    return {
        "/usr/sbin/nhc": (0o755, 0, "root", ""),
        "/usr/sbin/reboot": (0o755, 0, "root", ""),
        "/etc/slurm/prolog.d/10-gpu": (0o755, 0, "root", prolog),
        "/etc/slurm/epilog.d/10-clean": (0o755, 0, "root", EPILOG),
    }


def of(node) -> dict:
    """units, scripts, processes [(name, args)], containers [(name, pod, namespace)], files, and DCGM's own."""
    return node.health or _healthy(node)


def state(node) -> dict:
    """The node's own copy, made from what a healthy node of its kind has."""
    node.health = of(node)
    return node.health


def service(exec_start, **rest) -> dict:
    """A daemon that runs."""
    return {"exec": exec_start, "active": "active", "sub": "running", "enabled": "enabled", "type": "simple", "result": "success", **rest}


def timer(every="1min", ago_s=41.0, **rest) -> dict:
    """A timer that ran a while ago; ago_s None: never."""
    return {"every": every, "ago_s": ago_s, "active": "active", "sub": "waiting", "enabled": "enabled", **rest}


def oneshot(exec_start, ago_s=41.0, took_s=8.2, limit="45s", **rest) -> dict:
    """What a timer starts."""
    base = {"exec": exec_start, "active": "inactive", "sub": "dead", "enabled": "static", "type": "oneshot", "result": "success"}
    return {**base, "ago_s": ago_s, "took_s": took_s, "limit": limit, **rest}


def container(health, name, pod, namespace="gpu-operator") -> None:
    health["containers"].append((name, pod, namespace))


def _healthy(node) -> dict:
    health = {"units": {}, "scripts": {}, "processes": [], "containers": [], "files": {}, "nhc_log_ago_s": 32.0}
    health.update(engine=True, watches=True, overall="Healthy", policy="None", conditions=[], gpus=None)
    if node.vendor == "amd":
        health["engine"] = False
        health["units"]["gpuagent.service"] = service("/usr/local/bin/gpuagent")
        health["processes"].append(("gpuagent", "/usr/local/bin/gpuagent"))
    else:
        _dcgm(health)
    if node.scheduler == "kubernetes":
        _kubernetes(health)
    else:
        _own_check(health, node)
    if node.scheduler == "slurm":  # whoever asks Slurm first sees it start there
        health["slurm"] = {"conf": SLURM_CONF, "programs": slurm_programs(node)}
        health["files"]["/etc/nhc/nhc.conf"] = NHC_CONF.format(gpus=len(node.gpus))
        health["cron"] = {"nhc": "* * * * * root /usr/sbin/nhc\n"}
    return health


def _dcgm(health):
    engine, exporter = "/usr/bin/nv-hostengine -n --service-account nvidia-dcgm", "/usr/bin/dcgm-exporter -r localhost:5555"
    health["units"]["nvidia-dcgm.service"] = service(engine)
    health["units"]["dcgm-exporter.service"] = service(exporter)
    health["processes"] += [("nv-hostengine", engine), ("dcgm-exporter", exporter)]


def _own_check(health, node):
    """The provider's own: a timer, a script."""
    text = BASH_AMD if node.vendor == "amd" else BASH.format(fatal=" ".join(map(str, FATAL)))
    health["scripts"][SCRIPT] = text
    health["units"][CHECK + ".timer"] = timer()
    health["units"][CHECK + ".service"] = oneshot(SCRIPT)


def _kubernetes(health):
    syslog = "/app/syslog-health-monitor --polling-interval 15s --checks SysLogsXIDError,SysLogsSXIDError"
    gpu = "/usr/bin/python3 /usr/local/bin/gpu_health_monitor --config-file /etc/dcgmhealth/config.ini --dcgm-addr localhost:5555"
    npd = "/node-problem-detector --logtostderr --config.system-log-monitor=/config/kernel-monitor.json,/config/gpu-monitor.json"
    health["processes"] += [
        ("syslog-health-monitor", syslog),
        ("gpu_health_monitor", gpu),
        ("node-problem-detector", npd),
        ("nvidia-device-plugin", "nvidia-device-plugin"),
    ]
    for name, pod, namespace in (
        ("syslog-health-monitor", "syslog-health-monitor-regular", "nvsentinel"),
        ("gpu-health-monitor", "gpu-health-monitor-dcgm-4.x", "nvsentinel"),
        ("node-problem-detector", "node-problem-detector", "kube-system"),
        ("nvidia-device-plugin", "nvidia-device-plugin-daemonset", "gpu-operator"),
    ):
        container(health, name, pod, namespace)
    health["files"]["gpu_health_monitor:/etc/dcgmhealth/config.ini"] = (
        "[dcgm]\nPollIntervalSeconds = 15\nProbeDeadlineSeconds = 45\nProbeStoreOnly = false\n"
    )
    health["files"]["node-problem-detector:/config/kernel-monitor.json"] = npd_json(
        "KernelDeadlock", "task docker:\\\\w+ blocked for more than \\\\w+ seconds\\\\."
    )
    health["files"]["node-problem-detector:/config/gpu-monitor.json"] = npd_json("GpuXid", "NVRM: Xid .*: (48|63|64|74|79|94|95|119|120),")


def npd_json(condition, pattern) -> str:
    """A system log monitor with one condition."""
    return (
        '{\n  "plugin": "kmsg",\n  "logPath": "/dev/kmsg",\n  "lookback": "5m",\n  "bufferSize": 10,\n  "source": "kernel-monitor",\n'
        f'  "conditions": [{{"type": "{condition}", "reason": "No{condition}", "message": "nothing of the kind"}}],\n'
        f'  "rules": [{{"type": "permanent", "condition": "{condition}", "reason": "{condition}", "pattern": "{pattern}"}}]\n}}\n'
    )
