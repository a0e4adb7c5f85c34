"""Named faults of the health agents. Each public function puts one into a node; `tools/simulate --faults` prints its docstring.

`rng` is seeded by spec, node and place in the spec: the same spec makes the same faults. Near misses, which must stay green, are here too.
"""

from __future__ import annotations

from .health_state import CHECK, FATAL, NHC_CONF, SCRIPT, container, npd_json, oneshot, service, state, timer

RECHECK = """#!/bin/bash
# Returns a drained node once a test on it passes.
NODE=$(hostname -s)
if srun --nodelist=$NODE --nodes=1 --gpus-per-node=8 --time=10 /opt/fleet/bin/gpu-selftest; then
  scontrol update nodename=$NODE state=resume
fi
"""
GUARD = """#!/usr/bin/env python3
import re, subprocess
FATAL_XIDS = {{{fatal}}}
for line in open("/dev/kmsg", errors="replace"):
    found = re.search(r"NVRM: Xid [(]PCI:[^)]*[)]: (\\d+),", line)
    if found and int(found[1]) in FATAL_XIDS:
        subprocess.run("{command}", shell=True)
"""
EPILOG_XID = """#!/bin/bash
FATAL_XIDS="{codes} 79"
for xid in $FATAL_XIDS; do
  dmesg --decode | grep -q "Xid (PCI:.*): $xid," && scontrol update nodename=$SLURMD_NODENAME state=drain reason="Xid $xid"
done
"""
EPILOG_CALM = """#!/bin/bash
# scontrol update nodename=x state=drain was for Xid 45 once
IGNORED_XIDS="13 31 43 45"
FATAL_XIDS="79 95"
for xid in $FATAL_XIDS; do
  dmesg --decode | grep -q "Xid (PCI:.*): $xid," && scontrol update nodename=$SLURMD_NODENAME state=drain reason="Xid $xid"
done
"""
SLOW = """#!/bin/bash
dcgmi diag -r 2 || scontrol update nodename=$(hostname -s) state=drain reason="dcgm diag"
"""
DRAIN = "kubectl drain $(hostname) --ignore-daemonsets --delete-emptydir-data"


def _without_slurm(health):
    """slurmd is told of no health program."""
    if "slurm" in health:
        health["slurm"]["conf"] = health["slurm"]["conf"].replace("HealthCheckProgram=/usr/sbin/nhc ", "")


def health_check_never_ran(node, rng):
    """A health check whose timer is on and has never started it"""
    units = state(node)["units"]
    units[CHECK + ".timer"] = timer(ago_s=None)
    units[CHECK + ".service"] = oneshot(SCRIPT, ago_s=None)


def health_check_stale(node, rng, *, hours=30.0):
    """A health check that ran last many hours ago"""
    units = state(node)["units"]
    units[CHECK + ".timer"] = timer(ago_s=hours * 3600)
    units[CHECK + ".service"] = oneshot(SCRIPT, ago_s=hours * 3600)


def health_check_fails(node, rng, *, status=2):
    """A health check whose last run ended badly"""
    failed = oneshot(SCRIPT, active="failed", sub="failed", result="exit-code", status=status)
    state(node)["units"].update({CHECK + ".timer": timer(), CHECK + ".service": failed})


def health_timer_off(node, rng):
    """A health check whose timer is switched off"""
    state(node)["units"][CHECK + ".timer"] = timer(ago_s=None, active="inactive", sub="dead", enabled="disabled")


def slow_health_check(node, rng, *, every="15min"):
    """Health checks so far apart that a fault stays unseen for long"""
    health = state(node)
    for name, unit in health["units"].items():
        if name.endswith(".timer"):
            unit["every"] = every
    health["files"].pop("/etc/nhc/nhc.conf", None)
    health.pop("cron", None)
    _without_slurm(health)


def deadlocked_recovery(node, rng):
    """A check that must see a job run on the node before it returns it to service"""
    health = state(node)
    path = "/opt/fleet/bin/node-recovery-check"
    health["scripts"][path] = RECHECK
    health["units"].update({"node-recovery-check.timer": timer("2min"), "node-recovery-check.service": oneshot(path, limit="15min")})


def drains_for_xids(node, rng, *, codes="45"):
    """An agent that drains the node for Xids of programs"""
    health, wanted = state(node), [int(code) for code in str(codes).split(",")]
    if CHECK + ".service" in health["units"]:
        health["scripts"][SCRIPT] = (
            health["scripts"][SCRIPT].replace("IGNORED_XIDS=", "OTHER=").replace('FATAL_XIDS="', f'FATAL_XIDS="{codes} ')
        )
        return
    path = "/opt/fleet/bin/gpu-xid-guard"
    health["scripts"][path] = GUARD.format(fatal=", ".join(map(str, sorted({*FATAL, *wanted}))), command=DRAIN)
    health["units"]["gpu-xid-guard.service"] = service(path, up_s=100.0)


def misses_xids(node, rng, *, codes="79,119"):
    """Health checks that do nothing for some Xids of the hardware"""
    health, gone = state(node), {int(code) for code in str(codes).split(",")}
    text = health["scripts"][SCRIPT]
    health["scripts"][SCRIPT] = text.replace(" ".join(map(str, FATAL)), " ".join(str(code) for code in FATAL if code not in gone))


def broken_agent_config(node, rng):
    """An agent whose configuration cannot be parsed"""
    files = state(node)["files"]
    monitors = [name for name in files if name.endswith("gpu-monitor.json")]
    for name in monitors:
        files[name] = files[name][:120]
    if not monitors:
        files["/etc/nhc/nhc.conf"] = "<<<<<<< HEAD\nthis was merged by hand\n"


def no_health_agent(node, rng):
    """A node without any health agent"""
    state(node).update(units={}, processes=[], containers=[], scripts={}, files={}, cron={}, engine=False)
    _without_slurm(state(node))


def only_dcgm(node, rng):
    """A node where nobody acts on what DCGM tells"""
    health = state(node)
    health.update(scripts={}, files={}, cron={}, containers=[])
    _without_slurm(health)
    health["units"] = {name: unit for name, unit in health["units"].items() if "dcgm" in name}
    health["processes"] = [one for one in health["processes"] if one[0] in ("nv-hostengine", "dcgm-exporter")]


def deaf_health_check(node, rng):
    """Health checks that only ask the driver: no injected record can reach them"""
    health = state(node)
    health["scripts"][SCRIPT] = (
        '#!/bin/bash\nnvidia-smi -L | wc -l | grep -qx 8 || scontrol update nodename=$(hostname) state=drain reason="GPU count"\n'
    )


def agent_failed(node, rng, *, unit="node-problem-detector.service"):
    """A health agent whose unit has failed"""
    failed = service("/usr/local/bin/" + unit.rsplit(".", 1)[0], active="failed", sub="failed", result="exit-code", status=1)
    health = state(node)
    health["units"][unit] = failed
    health["processes"] = [one for one in health["processes"] if one[0] != unit.rsplit(".", 1)[0]]
    health["containers"] = [one for one in health["containers"] if one[0] != unit.rsplit(".", 1)[0]]


def nhc_config_drift(node, rng):
    """NHC with other checks than on the other nodes"""
    state(node)["files"]["/etc/nhc/nhc.conf"] = NHC_CONF.format(gpus=len(node.gpus) - 1)


def dcgm_down(node, rng):
    """DCGM's host engine does not run, nor does what reads it"""
    health = state(node)
    health["engine"] = False
    health["units"] = {name: unit for name, unit in health["units"].items() if "dcgm" not in name}
    health["processes"] = [one for one in health["processes"] if one[0] not in ("nv-hostengine", "dcgm-exporter")]


def dcgm_watches_off(node, rng):
    """DCGM runs, and none of its health watches is on"""
    state(node)["watches"] = False


def dcgm_unhealthy(node, rng, *, overall="Failure"):
    """DCGM's own health watches report a failure"""
    state(node)["overall"] = overall


def dcgm_reset_policy(node, rng):
    """A DCGM policy that counts on an action which does nothing"""
    state(node).update(policy="Reset GPU", conditions=["Double-bit ECC errors", "XID error detected."])


def dcgm_sees_fewer(node, rng, *, gpus=4):
    """DCGM knows fewer GPUs than the node has"""
    state(node)["gpus"] = gpus


def slurm_program_open(node, rng, *, path="/etc/slurm/prolog.d/10-gpu", mode="777", uid=0):
    """A program that Slurm starts as root, and that others may change"""
    programs = state(node)["slurm"]["programs"]
    programs[path] = (int(str(mode), 8), uid, "user" if uid else "root", programs[path][3])


def slurm_program_missing(node, rng, *, path="/opt/fleet/bin/node-check"):
    """A health program of Slurm's that is not on the node"""
    slurm = state(node)["slurm"]
    slurm["conf"] = slurm["conf"].replace("/usr/sbin/nhc", path)


def slurm_epilog_drains(node, rng, *, codes="45"):
    """An epilog that drains the node for Xids of programs"""
    state(node)["slurm"]["programs"]["/etc/slurm/epilog.d/20-xid"] = (0o755, 0, "root", EPILOG_XID.format(codes=codes.replace(",", " ")))


def slurm_program_slow(node, rng):
    """A health program of Slurm's that takes longer than Slurm lets it"""
    slurm, path = state(node)["slurm"], "/opt/fleet/bin/node-check"
    slurm["conf"] = slurm["conf"].replace("/usr/sbin/nhc", path)
    slurm["programs"][path] = (0o755, 0, "root", SLOW)


def slurm_near_misses(node, rng):
    """Near miss: programs of Slurm's own user, in a sticky folder, an epilog that names Xids to ignore, a comment on a drain"""
    programs = state(node)["slurm"]["programs"]
    programs["/etc/slurm/epilog.d/20-xid"] = (0o750, 64030, "slurm", EPILOG_CALM)


def label_only_agent(node, rng):
    """Near miss: an agent that labels the node for every Xid, and leaves it in service, as its policy says"""
    health = state(node)
    health["files"]["node-problem-detector:/config/gpu-monitor.json"] = npd_json("GpuXid", "NVRM: Xid .*: \\\\d+,")
    if not any(name == "node-problem-detector" for name, _ in health["processes"]):
        health["processes"].append(("node-problem-detector", "/node-problem-detector --config.system-log-monitor=/config/gpu-monitor.json"))
        container(health, "node-problem-detector", "node-problem-detector", "kube-system")


def fresh_timer(node, rng, *, ago_s=61.0):
    """Near miss: a health check that ran a minute ago"""
    units = state(node)["units"]
    units[CHECK + ".timer"] = timer(ago_s=ago_s)
    units[CHECK + ".service"] = oneshot(SCRIPT, ago_s=ago_s)
