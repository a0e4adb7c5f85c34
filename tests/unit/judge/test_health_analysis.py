"""What the judge makes of a node's health agents: who counts, who ran, who may drain for what, and which injection reaches whom."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from accept_judge import documents
from accept_judge.analysis import health_audit, health_join, health_xids
from accept_node.parsers import health_script, nhc_conf, npd_config, settings

ROOT = Path(__file__).resolve().parents[3]
NOTHING = {"uptime_s": 100_000.0, "units": [], "processes": [], "containers": [], "cron": [], "configs": [], "scripts": [], "nhc_log": None}
NO_DCGM = {"installed": False, "connected": None, "rc": None, "gpus_found": None, "gpus_named": None, "groups": None}
UNIT = {
    **dict.fromkeys(("load", "sub", "enabled", "type", "main_pid", "exit_status", "restarts", "timeout_s", "runtime_max_s")),
    **dict.fromkeys(("started_boot_s", "exited_boot_s", "active_boot_s")),
    "result": "success",
    "exec": [],
}


@pytest.fixture(scope="module")
def catalogs():
    folder = ROOT / "standards" / "catalogs"
    return {name: documents.read((folder / f"{name}.yml").read_bytes(), name) for name in ("xid", "agents")}


@pytest.fixture
def analyse(catalogs, tmp_path):
    def analyse(scheduler="kubernetes", run_dir=tmp_path, host="n1", sku="b200_hgx", **data):
        run = SimpleNamespace(
            standards=SimpleNamespace(catalogs=catalogs),
            context={"scheduler": scheduler, "sku": sku, "vendor": "nvidia"},
            envelope={"host": host},
            run_dir=run_dir,
            started_at=datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC),
        )
        return health_audit.analyse({**NOTHING, "dcgm": NO_DCGM, **data}, run)

    return analyse


def process(name, args="", **spans):
    from accept_node import agents

    return {"name": name, "pid": 7, "elapsed_s": 10, "args": args, "flags": agents.flags("x " + args), "spans_s": spans}


def timer(name="gpu-check.timer", active="active", last=99_000.0, interval=60.0):
    schedule = [{"on": "OnUnitActiveUSec", "text": "", "interval_s": interval}]
    told = {"triggers": name.replace(".timer", ".service"), "last_trigger": None, "last_trigger_boot_s": last, "schedule": schedule}
    return {**UNIT, "id": name, "active": active, **told}


def service(name="gpu-check.service", active="inactive", **rest):
    return {**UNIT, "id": name, "active": active, **rest}


def script(text, by="gpu-check.service", command="/opt/x"):
    return {
        "by": by,
        "command": command,
        "line": health_script.scan(command),
        "path": "/opt/x",
        "data": health_script.parse(text),
        "reason": "",
    }


def config(agent, kind, data, path="/etc/x", reason=""):
    return {"agent": agent, "path": path, "kind": kind, "data": data, "reason": reason}


def agent_of(facts, name):
    return next(agent for agent in facts["agents"] if agent["id"] == name)


# --- who counts


def test_nobody(analyse):
    facts = analyse()
    assert (facts["agents_count"], facts["trippable_by"], facts["xid_missed"]) == (0, [], None)
    assert facts["agents_running"] == "none"


def test_what_could_not_be_read_is_not_nobody(analyse):
    facts = analyse(units=None, processes=None)
    unread = ("agents", "periodic", "timers_off", "recoveries", "xid_false_drains", "xid_needless_drains", "xid_missed", "xid_unknown")
    assert [name for name in unread if facts[name] is not None] == []
    assert [name for name in unread if not facts[name + "_reason"]] == []
    assert (facts["agents_count"], facts["dcgm_engine"], facts["trippable_by"], facts["agents_running"]) == (None, None, None, None)


def test_dcgm_alone_tells_nobody(analyse):
    facts = analyse(processes=[process("nv-hostengine"), process("dcgm-exporter"), process("nvidia-device-plugin")])
    assert facts["agents_count"] is None
    assert "only DCGM" in facts["agents_count_reason"]


def test_a_failed_unit_does_not_count(analyse):
    facts = analyse(units=[service("gpud.service", active="failed", result="exit-code")])
    assert (facts["agents_count"], agent_of(facts, "gpud")["state"]) == (0, "failed")


def test_docker_below_kubernetes_wraps_names(analyse):
    one = {"name": "k8s_gpud_gpud-x_monitoring_0_0", "pod": None, "namespace": None, "image": None, "state": "running", "attempt": 0}
    assert analyse(containers=[one])["agents_count"] == 1


# --- when it ran


def test_a_timer_that_ran_a_minute_ago(analyse):
    facts = analyse(units=[timer(last=99_939.0), service(started_boot_s=99_939.0, exited_boot_s=99_947.0, timeout_s=45.0)])
    assert facts["periodic"][0]["age_intervals"] == pytest.approx(1.02)
    assert (facts["periodic"][0]["result"], facts["detection_worst_s"]) == ("success", 105.0)


def test_a_timer_that_never_ran_is_as_old_as_the_boot(analyse):
    facts = analyse(units=[timer(last=None), service()])
    assert facts["periodic"][0]["age_intervals"] == pytest.approx(1666.67)
    assert (facts["periodic"][0]["result"], "not run since" in facts["periodic"][0]["name"]) == (None, True)


def test_a_node_that_has_just_booted_is_not_late(analyse):
    assert analyse(uptime_s=50.0, units=[timer(last=None), service()])["periodic"][0]["age_intervals"] < 1


def test_a_timer_that_is_off_is_named_and_not_late(analyse):
    facts = analyse(units=[timer(active="inactive", last=None), service()])
    assert (facts["timers_off"], facts["periodic"], facts["agents_count"]) == (["gpu-check.timer"], [], 0)


def test_a_run_that_ended_badly(analyse):
    facts = analyse(units=[timer(), service(active="failed", result="exit-code", exit_status=2, started_boot_s=99_000.0)])
    assert facts["periodic"][0]["result"] == "exit-code, exit status 2"


def test_a_run_without_limit_has_no_longest(analyse):
    facts = analyse(units=[timer(), service()])
    assert (facts["detection_worst_s"], "as long as it likes" in facts["detection_worst_s_reason"]) == (None, True)


def test_cron_keeps_no_record(analyse):
    job = {"file": "/etc/cron.d/gpu-check", "schedule": "*/5 * * * *", "interval_s": 300.0, "user": "root", "command": "/opt/gpu-check"}
    assert (analyse(cron=[job])["periodic"][0]["age_intervals"], analyse(cron=[job])["agents_count"]) == (None, 1)


# --- NHC and Slurm


def heads(tmp_path, **told):
    hosts = [{"name": name, "cluster": "c"} for name in ("head", "n1")]
    (tmp_path / "run.json").write_text(json.dumps({"inventory": {"hosts": hosts}}))
    folder = tmp_path / "facts" / "head"
    folder.mkdir(parents=True)
    (folder / "scheduler_audit.json").write_text(json.dumps({"data": {"slurm": {"config": told}}}))


NHC = [config("nhc", "nhc", nhc_conf.parse("* || check_gpu_count 8\n* || check_gpu_xid\n* || export MARK_OFFLINE=1\n"))]


def nhc(analyse, tmp_path, states, program="/usr/sbin/nhc", interval=60):
    heads(tmp_path, HealthCheckProgram=program, HealthCheckInterval=interval, HealthCheckNodeState=states)
    log = {"age_s": 31.0, "last": None, "result": "ok", "message": None}
    return analyse(scheduler="slurm", configs=NHC, nhc_log=log)


@pytest.mark.parametrize(
    ("states", "can"), [("ANY", True), ("IDLE", True), ("CYCLE,ANY", True), ("NONDRAINED_IDLE", False), ("ALLOC,MIXED", False)]
)
def test_can_nhc_return_a_drained_node(analyse, tmp_path, states, can):
    facts = nhc(analyse, tmp_path, states)
    assert [one["can_recover"] for one in facts["recoveries"]] == [can]
    assert (facts["periodic"][0]["age_intervals"], facts["detection_worst_s"]) == (0.52, 90.0)


def test_nhc_that_nobody_starts(analyse, tmp_path):
    facts = nhc(analyse, tmp_path, "ANY", program="none")
    assert (agent_of(facts, "nhc")["state"], facts["agents_count"]) == ("not started", 0)


def test_an_interval_of_zero_is_never(analyse, tmp_path):
    assert agent_of(nhc(analyse, tmp_path, "ANY", interval=0), "nhc")["state"] == "not started"


def test_a_scheduler_that_did_not_tell_leaves_it_open(analyse):
    facts = analyse(scheduler="slurm", configs=NHC)
    assert (agent_of(facts, "nhc")["state"], facts["agents_count"], facts["recoveries"][0]["can_recover"]) == (None, None, None)


def test_another_health_program_of_slurm(analyse, tmp_path):
    facts = nhc(analyse, tmp_path, "ANY", program="/opt/site/health.sh")
    assert agent_of(facts, "slurm_health_program")["interval_s"] == 60


def test_nhc_drains_for_what_azures_check_lists(analyse, tmp_path):
    facts = nhc(analyse, tmp_path, "ANY")
    assert facts["xid_false_drains"][0].startswith("Xid 68-69")  # video exceptions are a program's
    assert "92" in facts["xid_needless_drains"][0]


def test_config_of_slurm():
    told = health_join.of_config({"HealthCheckProgram": "/x", "HealthCheckInterval": 300, "HealthCheckNodeState": "IDLE,CYCLE"})
    assert told == health_join.Program("/x", 300, ("IDLE", "CYCLE"))
    assert health_join.of_config({"HealthCheckProgram": "none", "HealthCheckInterval": 0}).path is None


# --- what it does for which Xid


def own(analyse, text, **data):
    return analyse(units=[timer(), service()], scripts=[script(text)], **data)


def test_a_drain_for_45(analyse):
    text = '#!/bin/bash\nFATAL_XIDS="45 79"\ndmesg | grep Xid\nscontrol update nodename=x state=drain\n'
    facts = own(analyse, text)
    assert facts["xid_false_drains"][0].startswith("Xid 45: gpu-check.timer does drain")
    assert "Xid 95" in " ".join(facts["xid_missed"])
    assert "Xid 79" not in " ".join(facts["xid_missed"])


def test_a_drain_for_a_contained_error_is_right_and_a_reset_is_not(analyse):
    drain = '#!/bin/bash\nFATAL_XIDS="63 94"\ndmesg\nscontrol update nodename=x state=drain\n'
    reset = '#!/bin/bash\nFATAL_XIDS="63 94"\ndmesg\nnvidia-smi --gpu-reset -i 0\n'
    assert own(analyse, drain)["xid_false_drains"] == []
    assert own(analyse, reset)["xid_false_drains"][0].startswith("Xid 63,94: gpu-check.timer does reset")


def test_a_drain_for_every_xid(analyse):
    facts = own(analyse, "#!/bin/bash\nif dmesg | grep -q 'NVRM: Xid'; then kubectl drain $NODE; fi\n")
    assert "13" in facts["xid_false_drains"][0]
    assert facts["xid_missed"] == []


def test_labels_for_every_xid_are_a_policy(analyse):
    text = '{"plugin": "kmsg", "rules": [{"type": "permanent", "condition": "X", "pattern": "NVRM: Xid .*: \\\\d+,"}]}'
    facts = analyse(processes=[process("node-problem-detector")], configs=[config("node_problem_detector", "npd", npd_config.parse(text))])
    assert [facts[name] for name in ("xid_false_drains", "xid_needless_drains", "xid_missed", "xid_unknown")] == [[], [], [], []]
    assert agent_of(facts, "node_problem_detector")["trips"]["kmsg_user"] is True


def test_npd_as_it_ships_misses_every_xid(analyse):
    text = '{"plugin": "kmsg", "rules": [{"type": "temporary", "reason": "TaskHung", "pattern": "task .* blocked"}]}'
    facts = analyse(processes=[process("node-problem-detector")], configs=[config("node_problem_detector", "npd", npd_config.parse(text))])
    assert any(line.startswith("Xid 79") for line in facts["xid_missed"])


def test_an_unread_configuration_leaves_missed_codes_open(analyse):
    broken = config("node_problem_detector", "npd", None, reason="/config/x.json: not JSON: cut")
    facts = analyse(processes=[process("node-problem-detector")], configs=[broken])
    assert (facts["xid_missed"], "not JSON" in facts["xid_missed_reason"]) == (None, True)
    assert facts["config_files"][0]["readable"] is False
    assert facts["configs_sha256"] is None


def test_a_table_of_the_nodes_own_goes_before_the_shipped_one(analyse):
    table = settings.parse_xid_csv("45,PREEMPTIVE,RESTART_VM,FATAL\n79,OFF_THE_BUS,RESTART_BM,FATAL\n13,GR,RESTART_APP,NONFATAL\n")
    facts = analyse(processes=[process("syslog-health-monitor")], configs=[config("nvsentinel_syslog", "xid_csv", table)])
    assert facts["xid_false_drains"][0].startswith("Xid 45: NVSentinel syslog health monitor does drain")


def test_nvsentinel_as_it_ships_drains_for_no_program(analyse):
    facts = analyse(processes=[process("syslog-health-monitor")])
    assert (facts["xid_false_drains"], facts["xid_needless_drains"], facts["xid_missed"]) == ([], [], [])


def test_store_only_acts_on_nothing(analyse):
    facts = analyse(
        processes=[
            process("syslog-health-monitor", "--processing-strategy STORE_ONLY --polling-interval 15s", **{"polling-interval": 15.0})
        ]
    )
    assert facts["xid_false_drains"] == []
    assert agent_of(facts, "nvsentinel_syslog")["interval_s"] == 15.0


def test_a_code_that_does_not_exist(analyse):
    facts = own(analyse, '#!/bin/bash\nFATAL_XIDS="250"\ndmesg\nscontrol update nodename=x state=drain\n')
    assert facts["xid_unknown"] == ["Xid 250 of gpu-check.timer: the catalogue has no such code"]


def test_codes_whose_purpose_is_not_told(analyse):
    facts = own(analyse, '#!/bin/bash\nXIDS="45 79"\ndmesg\nscontrol update nodename=x state=drain\n')
    assert (facts["xid_false_drains"], facts["xid_missed"]) == (None, None)
    assert "not what they are for" in facts["xid_false_drains_reason"]


def test_who_can_only_label_leaves_no_drain_open(analyse):
    facts = analyse(units=[service("sichek.service", active="active")])
    assert (facts["xid_false_drains"], facts["xid_missed"]) == ([], None)


def test_a_check_of_nhc_that_nobody_knows(analyse, tmp_path):
    heads(tmp_path, HealthCheckProgram="/usr/sbin/nhc", HealthCheckInterval=60, HealthCheckNodeState="ANY")
    strange = config("nhc", "nhc", nhc_conf.parse("* || check_site_gpu_errors\n"))
    facts = analyse(scheduler="slurm", configs=[strange])
    assert (facts["xid_false_drains"], "check_site_gpu_errors" in facts["xid_false_drains_reason"]) == (None, True)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x*)*y", "[", "(?P<", "a" * 3000])
def test_patterns_that_could_take_for_ever_or_cannot_be_read(pattern):
    codes, reason = health_xids.matched(pattern)
    assert codes == ()
    assert reason


# --- recovery


def test_a_recovery_that_needs_a_job_on_the_node(analyse):
    facts = own(analyse, "#!/bin/bash\nif srun -w $(hostname) true; then scontrol update nodename=$(hostname) state=resume; fi\n")
    assert [one["can_recover"] for one in facts["recoveries"]] == [False]
    assert "srun" in facts["recoveries"][0]["what"]


def test_a_job_that_returns_nothing_is_no_recovery(analyse):
    assert own(analyse, "#!/bin/bash\nsrun -w $(hostname) dcgmi diag -r 1\n")["recoveries"] == []


# --- injections


def trips_of(analyse, name, **data):
    return agent_of(analyse(**data), name)


def test_an_embedded_engine_and_the_kernels_facility(analyse):
    agent = trips_of(analyse, "azure_healthagent", units=[service("healthagent.service", active="active")])
    assert agent["trips"] == {"dcgm": False, "kmsg_user": False, "kmsg_kernel": True, "pcie": True}
    assert "embedded" in agent["trips_reason"]
    assert "facility" in agent["trips_reason"]


def test_a_listener_to_dcgm_without_an_engine(analyse):
    alone = trips_of(analyse, "nvsentinel_gpu", processes=[process("gpu_health_monitor")])
    both = trips_of(analyse, "nvsentinel_gpu", processes=[process("gpu_health_monitor"), process("nv-hostengine")])
    assert (alone["trips"]["dcgm"], both["trips"]["dcgm"]) == (False, True)


def test_a_file_behind_syslog_and_a_look_at_the_gpu(analyse):
    facts = own(analyse, "#!/bin/bash\ngrep Xid /var/log/syslog && nvidia-smi -L | wc -l\n")
    agent = agent_of(facts, "own:gpu-check.timer")
    assert (agent["trips"]["kmsg_user"], agent["trips"]["kmsg_kernel"]) == (None, True)
    assert "dismiss" in agent["trips_reason"]


def logs(*inputs, permit=False, path="/var/log/syslog", user=True, intricate=False, read_kmsg=True):
    files = [{"path": path, "kernel": True, "user": user}]
    found = {"inputs": list(inputs), "permit_non_kernel": permit, "files": files, "intricate": intricate}
    return {"rsyslog": found, "journald": {"read_kmsg": read_kmsg}}


@pytest.mark.parametrize(
    ("settings", "user", "kernel"),
    [
        (logs("imklog"), False, True),  # it drops what a program wrote
        (logs("imklog", permit=True), True, True),
        (logs("imklog", permit=True, user=False), False, True),
        (logs("imjournal"), True, True),
        (logs("imjournal", read_kmsg=False), False, False),
        (logs("imuxsock"), False, False),
        (logs("imklog", path="/var/log/messages"), False, False),  # nothing is written where it reads
        (logs("imklog", path="/var/log/messages", intricate=True), False, None),
        ({"rsyslog": "none", "journald": None}, None, None),
        ({"rsyslog": None, "journald": None}, None, True),
    ],
)
def test_what_comes_into_a_file_is_what_rsyslog_is_told(analyse, settings, user, kernel):
    facts = own(analyse, "#!/bin/bash\ngrep Xid /var/log/syslog\n", logs=settings)
    agent = agent_of(facts, "own:gpu-check.timer")
    assert (agent["trips"]["kmsg_user"], agent["trips"]["kmsg_kernel"]) == (user, kernel)


def test_another_wire_reaches_what_the_file_does_not(analyse):
    facts = own(analyse, "#!/bin/bash\ngrep Xid /var/log/syslog || dmesg | grep Xid\n", logs=logs("imuxsock"))
    assert agent_of(facts, "own:gpu-check.timer")["trips"]["kmsg_user"] is True


def test_a_journal_that_does_not_read_the_ring_buffer(analyse):
    facts = own(analyse, "#!/bin/bash\njournalctl -k | grep Xid\n", logs=logs("imklog", read_kmsg=False))
    assert agent_of(facts, "own:gpu-check.timer")["trips"]["kmsg_user"] is False


def test_who_listens_to_nothing_known(analyse):
    agent = trips_of(analyse, "sichek", units=[service("sichek.service", active="active")])
    assert set(agent["trips"].values()) == {None}


def test_who_does_not_run_is_not_tripped(analyse):
    agent = trips_of(analyse, "gpud", units=[service("gpud.service")])
    assert set(agent["trips"].values()) == {False}


# --- DCGM


def group(number, watches, overall="Healthy", action="None"):
    policy = {"conditions": [], "action": action, "validation": "None", "mixed": False}
    return {
        "id": number,
        "name": "g",
        "watches": watches,
        "health": {"overall": overall, "gpus": {}} if any(watches.values()) else None,
        "policy": policy,
    }


def dcgm(*groups):
    return {"installed": True, "connected": True, "rc": 0, "gpus_found": 8, "gpus_named": 8, "groups": list(groups)}


ALL = dict.fromkeys(("PCIe", "NVLINK", "Memory", "InfoROM", "Thermal", "Power"), True)


def test_a_watch_counts_in_whatever_group_it_is_on(analyse):
    facts = analyse(dcgm=dcgm(group(0, dict.fromkeys(ALL, False)), group(2, ALL, "Warning", "Reset GPU")))
    assert (facts["dcgm_watches_off"], facts["dcgm_health"], facts["dcgm_policy_action"]) == ([], "Warning", "Reset GPU")
    assert facts["dcgm_engine"] == "running"


def test_health_without_a_watch_is_no_health(analyse):
    facts = analyse(dcgm=dcgm(group(0, dict.fromkeys(ALL, False))))
    assert (facts["dcgm_health"], len(facts["dcgm_watches_off"])) == (None, 6)


def test_an_engine_in_a_container_is_not_asked(analyse):
    facts = analyse(processes=[process("nv-hostengine")])
    assert (facts["dcgm_engine"], facts["dcgm_watches_off"]) == ("running", None)
    assert "not installed" in facts["dcgm_watches_off_reason"]


# --- what Slurm runs on the node


def slurm(*programs, conf="/etc/slurm/slurm.conf", interval_s=60, states="ANY"):
    return {"conf": conf, "interval_s": interval_s, "states": states, "programs": list(programs)}


def slurm_program(text, setting="HealthCheckProgram", path="/opt/x/check", **rest):
    data = health_script.parse(text) if text else None
    told = {"state": "there", "writable_by": "root", "open_path": None, "data": data, "reason": "" if text else "a program, no script"}
    steps = health_script.parse_steps(text) if text else None
    return {"setting": setting, "path": path, **told, "steps": steps, **rest}


DRAINS = '#!/bin/bash\nFATAL_XIDS="45 79"\ndmesg | grep Xid\nscontrol update nodename=x state=drain\n'


def test_the_health_program_is_known_by_its_text(analyse):
    facts = analyse(scheduler="slurm", slurm_programs=slurm(slurm_program(DRAINS)))
    agent = agent_of(facts, "slurm_health_program")
    assert (facts["agents_count"], agent["effect"], agent["trips"]["kmsg_user"], agent["trips"]["dcgm"]) == (1, "drain", True, False)
    assert facts["xid_false_drains"][0].startswith("Xid 45: Slurm HealthCheckProgram /opt/x/check does drain")
    assert facts["slurm_health"] == [{"what": "/opt/x/check", "can_work": True, "can_work_reason": ""}]


def test_a_health_program_that_is_not_there_is_no_agent(analyse):
    gone = slurm_program("", state="missing", reason="there is no such file")
    facts = analyse(scheduler="slurm", slurm_programs=slurm(gone))
    assert (facts["agents_count"], agent_of(facts, "slurm_health_program")["state"]) == (0, "failed")


def test_a_program_that_could_not_be_read_leaves_it_open(analyse):
    facts = analyse(scheduler="slurm", slurm_programs=slurm(slurm_program("")))
    assert (facts["xid_false_drains"], facts["slurm_health"][0]["can_work"]) == (None, None)
    assert "no script" in facts["xid_false_drains_reason"]


@pytest.mark.parametrize(
    ("text", "interval_s", "states", "can"),
    [
        ("#!/bin/bash\ndcgmi diag -r 1\n", 60, "ANY", True),
        ("#!/bin/bash\ndcgmi diag -r 2\n", 3600, "ANY", False),  # ended before it has an answer
        ("#!/bin/bash\nsleep 30\n", 20, "ANY", False),
        ("#!/bin/bash\nsleep 5\n", 20, "IDLE,CYCLE", True),
        ("#!/bin/bash\nsleep 5\n", 20, "START_ONLY", False),
        ("#!/bin/bash\nsleep 5\n", 20, "DRAINED", False),  # no such state
    ],
)
def test_whether_the_health_program_can_work(analyse, text, interval_s, states, can):
    facts = analyse(scheduler="slurm", slurm_programs=slurm(slurm_program(text), interval_s=interval_s, states=states))
    assert [one["can_work"] for one in facts["slurm_health"]] == [can]


def test_what_the_controller_tells_goes_before_the_nodes_interval(analyse, tmp_path):
    heads(tmp_path, HealthCheckProgram="/opt/x/check", HealthCheckInterval=300, HealthCheckNodeState="IDLE")
    facts = analyse(scheduler="slurm", slurm_programs=slurm(slurm_program(DRAINS)))
    assert agent_of(facts, "slurm_health_program")["interval_s"] == 300
    facts = analyse(scheduler="slurm", slurm_programs=slurm())
    assert (facts["agents_count"], "names none" in facts["agents_count_reason"]) == (None, True)


def test_an_epilog_is_no_health_agent_and_its_drains_count(analyse):
    facts = analyse(scheduler="slurm", slurm_programs=slurm(slurm_program(DRAINS, "Epilog")))
    agent = agent_of(facts, "slurm_epilog")
    assert (facts["agents_count"], agent["kind"], agent["trips"]["kmsg_user"]) == (0, "job", True)
    assert "when a job has ended" in agent["trips_reason"]
    assert facts["xid_false_drains"][0].startswith("Xid 45: Slurm Epilog does drain")


def test_one_script_of_two_that_could_not_be_read(analyse):
    calm = "#!/bin/bash\nIGNORED_XIDS='45'\nexit 0\n"
    facts = analyse(scheduler="slurm", slurm_programs=slurm(slurm_program(calm, "Epilog"), slurm_program("", "Epilog", "/opt/x/other")))
    assert (facts["xid_false_drains"], "no script" in facts["xid_false_drains_reason"]) == (None, True)


def test_a_prolog_that_returns_a_drained_node_never_starts(analyse):
    text = "#!/bin/bash\nnvidia-smi -L && scontrol update nodename=x state=resume\n"
    assert [
        one["can_recover"] for one in analyse(scheduler="slurm", slurm_programs=slurm(slurm_program(text, "Prolog")))["recoveries"]
    ] == [False]
    assert [one["can_recover"] for one in analyse(scheduler="slurm", slurm_programs=slurm(slurm_program(text)))["recoveries"]] == [True]


@pytest.mark.parametrize(("who", "kept_by"), [("root", "root"), ("everyone", "everyone"), ("uid 1001", "uid 1001"), ("group 50", None)])
def test_who_could_change_it(analyse, who, kept_by):
    one = slurm_program(DRAINS, "Prolog", writable_by=who, open_path=None if who == "root" else "/opt/x")
    (row,) = analyse(scheduler="slurm", slurm_programs=slurm(one))["slurm_scripts"]
    assert (row["kept_by"], who == "root" or who in row["what"]) == (kept_by, True)


def test_no_slurm_and_slurm_that_could_not_be_read(analyse):
    assert [analyse(slurm_programs="none")[name] for name in ("slurm_scripts", "slurm_health")] == [[], []]
    assert "no slurm.conf" in analyse(scheduler="slurm", slurm_programs="none")["slurm_scripts_reason"]
    facts = analyse(slurm_programs=None)
    assert (facts["slurm_scripts"], facts["slurm_health"], facts["configs_sha256"]) == (None, None, None)


@pytest.mark.parametrize("unread", ["units", "processes"])
def test_codes_are_not_missed_where_an_agent_may_stand_unseen(analyse, unread):
    text = '{"plugin": "kmsg", "rules": [{"type": "temporary", "reason": "TaskHung", "pattern": "task .* blocked"}]}'
    seen = {"processes": [process("node-problem-detector")], "units": [service("node-problem-detector.service", active="active")]}
    facts = analyse(**{**seen, unread: None}, configs=[config("node_problem_detector", "npd", npd_config.parse(text))])
    assert facts["xid_missed"] is None
    assert facts["xid_missed_reason"]
