"""The health collector on a node that answers well, badly or not at all: facts with reasons, nobody else's processes, no secrets."""

from __future__ import annotations

import json

from accept_node import agents
from accept_node.collectors import health_audit, health_configs, health_dcgm, health_slurm
from accept_node.envelope import collect
from accept_node.node import ReplayNode

SHOWN = """Type=oneshot
TimeoutStartUSec=45s
Result=success
ExecMainStartTimestampMonotonic=1000000000
ExecStart={ path=/opt/x/gpu-check ; argv[]=/opt/x/gpu-check --token=abcdef0123456789 ; ignore_errors=no ; start_time=[n/a] }
Id=gpu-check.service
LoadState=loaded
ActiveState=inactive
"""
SCRIPT = "#!/bin/bash\nFATAL_XIDS='79'\ndmesg | grep Xid && scontrol update nodename=x state=drain\n"
DISCOVERY = "8 GPUs found (Active).\n+--------+\n| GPU ID | Device Information |\n| 0      | Name: NVIDIA H100 80GB HBM3 |\n"


def said(argv, stdout="", rc=0, stderr="", reason=""):
    return {"argv": argv, "stdout": stdout, "rc": None if reason else rc, "stderr": stderr, "reason": reason, "duration_s": 0.01}


ABSENT = ("/etc/nhc", "/etc/cron.d", "/var/spool/cron", "/var/spool/cron/crontabs", "/etc/rsyslog.d", "/etc/systemd/journald.conf.d")


def read(commands=(), files=(), trees=(), systemd_runs=True):
    """The envelope; what is not given is not installed, or not there."""
    rules = [{"path": health_audit.SYSTEMD, "names": [], "reason": "" if systemd_runs else "missing"}]
    given = {tuple(record["argv"]) for record in commands}
    asked = [health_audit.CRICTL, health_audit.DOCKER, health_dcgm.DISCOVERY, health_audit.UNIT_FILES, health_audit.PS, health_slurm.ASK]
    commands = [*commands, *(said(argv, reason="missing") for argv in asked if tuple(argv) not in given)]
    no_conf = "".join(f"grep: {path}: No such file or directory\n" for path in health_slurm.CONFS)
    commands.append(said([*health_slurm.GREP, *health_slurm.CONFS], rc=2, stderr=no_conf))
    paths = {path for path, _ in files}
    absent = ["/etc/crontab", "/etc/healthagent/config.yaml", "/etc/sysconfig/nhc", "/etc/default/nhc"]
    absent += ["/etc/rsyslog.conf", "/etc/systemd/journald.conf"]
    files = [{"path": path, "text": text, "reason": ""} for path, text in (*files, ("/proc/uptime", "5000.00 400.00\n"))]
    files += [{"path": path, "text": None, "reason": "missing"} for path in absent if path not in paths]
    roots = {tree["root"] for tree in trees}
    none = {"files": {}, "links": {}, "errors": {}, "reason": "missing"}
    trees = [
        *trees,
        *({**none, "root": root} for root in ABSENT if root not in roots),
    ]
    capture = {"recorded_at_s": 1_790_000_000.0, "commands": list(commands), "files": files, "trees": list(trees), "listings": rules}
    return collect("health_audit", health_audit.collect, ReplayNode(capture))


def tree(root, **files):
    return {"root": root, "files": files, "links": {}, "errors": {}, "reason": ""}


def systemd(shown=SHOWN, name="gpu-check.service"):
    listed = f"{name} static -\ncron.service enabled enabled\ngetty@.service enabled enabled\ngpu-old.service masked enabled\n"
    return [said(health_audit.UNIT_FILES, listed), said([*health_audit.SHOW, name], shown)]


def test_a_bare_node_has_none_and_says_so():
    envelope = read([said(health_audit.UNIT_FILES, "cron.service enabled enabled\n"), said(health_audit.PS, rc=1)])
    assert envelope["errors"] == []
    data = envelope["data"]
    assert (data["units"], data["processes"], data["containers"], data["cron"], data["configs"]) == ([], [], [], [], [])
    assert (data["dcgm"]["installed"], data["slurm_programs"]) == (False, "none")


def test_where_systemd_does_not_run_there_are_no_units_and_it_is_not_asked():
    envelope = read([said(health_audit.PS, rc=1)], systemd_runs=False)
    assert (envelope["status"], envelope["data"]["units"]) == ("ok", [])
    assert not any("systemctl" in source["what"] for source in envelope["sources"])


def test_what_cannot_be_asked_is_not_none():
    envelope = read(
        [said(health_audit.UNIT_FILES, rc=1, stderr="Failed to connect to bus: Host is down"), said(health_audit.PS, reason="timeout")]
    )
    assert (envelope["status"], envelope["data"]["units"], envelope["data"]["processes"]) == ("partial", None, None)
    assert "Host is down" in envelope["errors"][0]["message"]


def test_a_ps_that_knows_no_names_is_no_node_without_agents():
    envelope = read([said(health_audit.PS, rc=1, stderr="ps: unrecognized option: C\nUsage: ps [-o COL1,COL2=HEADER]\n")])
    assert envelope["data"]["processes"] is None


def test_secrets_of_command_lines_are_taken_out():
    line = "   7   100 gpud            /usr/bin/gpud run --token abcdef0123456789 --endpoint https://u:pw@x.example\n"
    job = "*/5 * * * * root /opt/x/gpu-check --password=hunter22 >/dev/null\n"
    envelope = read(
        [*systemd(), said([*health_configs.HEAD, "/opt/x/gpu-check"], SCRIPT), said(health_audit.PS, line)],
        trees=[tree("/etc/cron.d", gpu=job)],
    )
    text = json.dumps(envelope["data"])
    assert envelope["data"]["processes"][0]["name"] == "gpud"
    assert not [secret for secret in ("abcdef0123456789", "hunter22", "u:pw") if secret in text]


def test_a_script_is_read_as_text():
    envelope = read([*systemd(), said([*health_configs.HEAD, "/opt/x/gpu-check"], SCRIPT)])
    (script,) = envelope["data"]["scripts"]
    assert (script["by"], script["path"], script["data"]["xids"]["acts"], script["data"]["actions"]) == (
        "gpu-check.service",
        "/opt/x/gpu-check",
        [79],
        ["drain"],
    )


def test_a_program_is_a_reason():
    envelope = read([*systemd(), said([*health_configs.HEAD, "/opt/x/gpu-check"], "\x7fELF\x02\x01\x00\x00")])
    assert envelope["data"]["scripts"][0]["data"] is None
    assert "not a script" in envelope["data"]["scripts"][0]["reason"]


def test_configurations_through_the_root_of_the_process():
    line = "   77   100 node-problem-de /npd --config.system-log-monitor=/config/a.json,/config/b.json\n"
    good = '{"plugin": "kmsg", "rules": []}'
    envelope = read(
        [said(health_audit.PS, line)], files=[("/proc/77/root/config/a.json", good), ("/proc/77/root/config/b.json", good[:20])]
    )
    first, second = envelope["data"]["configs"]
    assert (first["path"], first["data"]["plugin"], first["reason"]) == ("/config/a.json", "kmsg", "")
    assert (second["data"], "not JSON" in second["reason"]) == (None, True)
    assert envelope["status"] == "partial"


def test_nhc_and_its_log():
    log = "20261130 05:59:28 [slurm] /usr/libexec/nhc/node-mark-online n1\n"
    commands = [said(health_configs.LOG_TIME, "1789999970\n"), said(health_configs.LOG_TAIL, log)]
    envelope = read(commands, trees=[tree("/etc/nhc", **{"nhc.conf": "* || check_gpu_count 8\n"})])
    assert envelope["data"]["configs"][0]["data"]["checks"][0]["check"] == "check_gpu_count"
    assert (round(envelope["data"]["nhc_log"]["age_s"]), envelope["data"]["nhc_log"]["result"]) == (30, "ok")


def test_nhc_that_may_not_be_read():
    denied = {"root": "/etc/nhc", "files": {}, "links": {}, "errors": {"nhc.conf": "permission"}, "reason": ""}
    (config,) = read(trees=[denied])["data"]["configs"]
    assert (config["path"], config["data"], "permission" in config["reason"]) == ("/etc/nhc/nhc.conf", None, True)


def test_exit_status_223_of_dcgmi_is_usable_and_kept():
    commands = [
        said(health_dcgm.DISCOVERY, DISCOVERY, rc=223),
        said(health_dcgm.GROUPS, "No groups found. \n"),
        said(health_dcgm.watches(0), "Health monitor systems report\n| PCIe | Off |\n| Memory | Off |\n"),
        said(health_dcgm.policy(0), "Error: Cannot get group info from remote node. Return: The Group is not found\n", rc=1),
    ]
    envelope = read(commands)
    dcgm = envelope["data"]["dcgm"]
    assert (dcgm["connected"], dcgm["rc"], dcgm["gpus_found"], dcgm["gpus_named"]) == (True, 223, 8, 1)
    assert dcgm["groups"][0]["watches"] == {"PCIe": False, "Memory": False}
    assert (dcgm["groups"][0]["health"], dcgm["groups"][0]["policy"]) == (None, None)  # no watch: nothing is asked of health


def test_dcgmi_without_an_engine_and_dcgmi_that_prints_rubbish():
    lost = read([said(health_dcgm.DISCOVERY, "Error: Unable to connect to host engine.\n", rc=21)])["data"]["dcgm"]
    assert (lost["installed"], lost["connected"], lost["groups"]) == (True, False, None)
    assert read([said(health_dcgm.DISCOVERY, "Segmentation fault\n", rc=139)])["data"]["dcgm"] is None


def test_only_agents_are_asked_for():
    assert set(health_audit.PS[-1].split(",")) == {name[: agents.COMM] for name in agents.PROCESSES}
    assert "--name" in health_audit.CRICTL
    assert any(word.startswith("name=") for word in health_audit.DOCKER)


def test_nothing_that_is_asked_changes_a_thing():
    asked = [
        health_audit.UNIT_FILES,
        health_audit.SHOW,
        health_audit.CRICTL,
        health_audit.DOCKER,
        health_dcgm.DISCOVERY,
        health_dcgm.GROUPS,
    ]
    asked += [health_dcgm.watches(0), health_dcgm.health(0), health_dcgm.policy(0)]
    words = {word for argv in asked for word in argv}
    assert not words & {"start", "stop", "restart", "enable", "disable", "set", "-s", "--set", "--clear", "--inject", "--reg", "rm", "exec"}


def test_settings_of_the_logs_are_read_in_the_order_of_their_files():
    files = [("/etc/rsyslog.conf", 'module(load="imklog")\n'), ("/etc/systemd/journald.conf", "[Journal]\nReadKMsg=no\n")]
    beside = [tree("/etc/rsyslog.d", **{"50-default.conf": "kern.*  -/var/log/kern.log\n"})]
    beside += [tree("/etc/systemd/journald.conf.d", **{"10-own.conf": "[Journal]\nReadKMsg=yes\nRateLimitBurst=50\n"})]
    logs = read([said(health_audit.PS, rc=1)], files=files, trees=beside, systemd_runs=False)["data"]["logs"]
    assert logs["rsyslog"]["files"] == [{"path": "/var/log/kern.log", "kernel": True, "user": False}]
    assert (logs["journald"]["read_kmsg"], logs["journald"]["rate_limit_burst"]) == (True, 50)


def test_without_rsyslog_there_is_none_and_journald_is_as_shipped():
    logs = read([said(health_audit.PS, rc=1)], systemd_runs=False)["data"]["logs"]
    assert (logs["rsyslog"], logs["journald"]["read_kmsg"]) == ("none", True)


def test_settings_that_may_not_be_read_are_not_none():
    denied = {"root": "/etc/rsyslog.d", "files": {}, "links": {}, "errors": {"a.conf": "permission"}, "reason": ""}
    found = read([said(health_audit.PS, rc=1)], trees=[denied], systemd_runs=False)
    assert found["data"]["logs"]["rsyslog"] is None
    assert "could not be read" in found["errors"][0]["message"]
