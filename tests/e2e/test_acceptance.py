"""From one command to a verdict: exit codes, coverage, lost nodes, bad input, parallel runs."""

from __future__ import annotations

import json
import subprocess

import pytest
import yaml
from acceptance_runs import BIN, ROOT, environment, playbook, simulate


def test_healthy_replayed_nodes_are_a_demonstration_and_never_accepted(healthy, tmp_path):
    run = playbook(tmp_path, healthy / "hosts.yml")
    assert run.rc == 11, run.text
    assert run.card["decision"]["demonstration"] is True
    assert run.card["decision"]["verdict"] == "incomplete"
    assert run.card["coverage"]["rows"]["fail"] == 0
    nodes = {"delivered": 4, "listed": 4, "reachable": 4, "tested": 4, "passed": 4, "failed": 0, "waived": 0, "not_measured": 0}
    assert run.card["coverage"]["nodes"] == nodes
    assert "DEMONSTRATION" in run.text


def test_a_fault_rejects_and_a_lost_node_is_not_measured_while_the_others_finish(faulty, tmp_path):
    run = playbook(tmp_path, faulty / "hosts.yml")
    assert run.rc == 10, run.text
    assert "node-04: unreachable" in run.text
    assert run.card["coverage"]["nodes"]["reachable"] == 3
    failing = {row["nodes"] for check in run.card["checks"] for row in check["rows"] if row["verdict"] == "fail" and "pcie" in check["id"]}
    assert failing == {"node-02"}
    for name in ("report.html", "report.md", "junit.xml", "punch_list.csv", "plan.json", "run.json", "contract.yml"):
        assert (run.run_dir / name).stat().st_size > 0


def test_without_enforcement_the_verdict_is_printed_and_the_code_is_zero(faulty, tmp_path):
    run = playbook(tmp_path, faulty / "hosts.yml", accept_gate=False)
    assert run.rc == 0
    assert "rejected" in run.text
    assert "the code would be 10" in run.text


def test_a_limit_does_not_shrink_what_was_delivered(healthy, tmp_path):
    run = playbook(tmp_path, healthy / "hosts.yml", "--limit", "node-01")
    assert run.rc == 11, run.text
    assert run.card["coverage"]["nodes"]["delivered"] == 4
    assert run.card["coverage"]["nodes"]["tested"] == 1


def test_tags_that_choose_no_phase_reach_no_acceptance(healthy, tmp_path):
    run = playbook(tmp_path, healthy / "hosts.yml", "--tags", "drill")
    assert run.rc in (11, 13), run.text


def test_check_mode_plans_and_measures_nothing(healthy, tmp_path):
    run = playbook(tmp_path / "evidence", healthy / "hosts.yml", "--check")
    assert run.rc == 13, run.text
    assert "audit" in run.text
    assert not (tmp_path / "evidence").exists()


def test_a_second_invocation_fills_the_gap_of_the_same_run(healthy, tmp_path):
    first = playbook(tmp_path, healthy / "hosts.yml", "--limit", "node-01:node-02:node-03", accept_run_id="handover")
    second = playbook(tmp_path, healthy / "hosts.yml", "--limit", "node-04", accept_run_id="handover")
    assert first.card["coverage"]["nodes"]["tested"] == 3
    assert second.card["coverage"]["nodes"]["tested"] == 4
    assert second.run_dir.name == "handover"


def test_two_runs_at_once_have_two_folders(healthy, tmp_path):
    argv = [BIN / "ansible-playbook", "acceptance.yml", "-i", healthy / "hosts.yml", "-e", f"accept_evidence={tmp_path}"]
    started = [subprocess.Popen(argv, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(2)]
    outputs = [process.communicate(timeout=300)[0].decode() for process in started]
    assert [process.returncode for process in started] == [11, 11], outputs
    folders = [path.parent for path in tmp_path.glob("*/scorecard.json") if not path.parent.is_symlink()]
    assert len(folders) == 2


def test_a_scored_run_can_be_scored_and_reported_again_without_a_cluster(faulty, tmp_path):
    run = playbook(tmp_path, faulty / "hosts.yml")
    (run.run_dir / "report.html").unlink()
    again = playbook(tmp_path, "localhost,", play="playbooks/score.yml", accept_run_dir=str(run.run_dir))
    assert again.rc == 10, again.text
    assert again.card["coverage"] == run.card["coverage"]
    assert (run.run_dir / "report.html").exists()


def test_one_concern_alone(healthy, tmp_path):
    run = playbook(tmp_path, healthy / "hosts.yml", play="playbooks/boot.yml")
    assert run.rc == 11, run.text
    assert sorted(path.stem for path in (run.run_dir / "facts" / "node-01").glob("*.json")) == ["boot", "preflight"]


# Bad input: one line each, with file and key, and nothing is run.


def refused(run, *words):
    assert run.rc not in (0, 10, 11, 13), run.text
    errors = [line for line in run.text.splitlines() if line.startswith("ERROR ")]
    assert errors, run.text
    assert all(any(word in line for line in errors) for word in words), run.text
    assert "Traceback" not in run.text
    assert not run.run_dir.exists()


def changed(folder, tmp_path, **changes):
    contract = yaml.safe_load((folder / "contract.yml").read_text()) | changes
    path = tmp_path / "contract.yml"
    path.write_text(yaml.safe_dump(contract))
    return str(path)


@pytest.mark.parametrize(
    "play", ["acceptance.yml", "playbooks/score.yml", "playbooks/report.yml", "playbooks/review.yml", "playbooks/stop.yml"]
)
def test_no_inventory_at_all_is_no_success(play):
    done = subprocess.run([BIN / "ansible-playbook", play], cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 13
    assert "nothing was done: the inventory holds no hosts" in done.stdout + done.stderr


@pytest.mark.parametrize("options", [("--skip-tags", "always"), ("--start-at-task", "no such task")])
def test_a_run_without_beginning_and_verdict_is_no_success(healthy, tmp_path, options):
    run = playbook(tmp_path / "evidence", healthy / "hosts.yml", *options)
    assert run.rc == 13, run.text
    assert "nothing was done" in run.text


def test_a_concern_that_nobody_knows(healthy, tmp_path):
    run = playbook(tmp_path / "evidence", healthy / "hosts.yml", accept_concerns=["boot", "bout"])
    refused(run, "accept_concerns: 'bout' unknown")


def test_empty_inventory(healthy, tmp_path):
    empty = tmp_path / "empty.yml"
    empty.write_text("all: {children: {gpu_nodes: {hosts: {}}, other: {hosts: {bastion: {ansible_connection: local}}}}}\n")
    run = playbook(tmp_path / "evidence", empty, accept_contract=str(healthy / "contract.yml"))
    refused(run, "group gpu_nodes: no hosts")


def test_missing_contract(healthy, tmp_path):
    refused(
        playbook(tmp_path / "evidence", healthy / "hosts.yml", accept_contract=str(tmp_path / "none.yml")), "none.yml", "cannot be read"
    )


def test_all_errors_of_a_contract_are_named_at_once(healthy, tmp_path):
    contract = changed(healthy, tmp_path, tier="platinum", colour="blue")
    refused(playbook(tmp_path / "evidence", healthy / "hosts.yml", accept_contract=contract), "tier", "colour", "contract.yml")


def test_a_contract_that_is_no_yaml(healthy, tmp_path):
    (tmp_path / "contract.yml").write_text("a: [\n")
    refused(playbook(tmp_path / "evidence", healthy / "hosts.yml", accept_contract=str(tmp_path / "contract.yml")), "contract.yml")


def test_a_version_table_that_is_none(healthy, tmp_path):
    (tmp_path / "table.json").write_text("{}")
    run = playbook(tmp_path / "evidence", healthy / "hosts.yml", accept_version_table=str(tmp_path / "table.json"))
    refused(run, "table.json: schemaVersion")


def test_standards_that_are_none(healthy, tmp_path):
    (tmp_path / "standards").mkdir()
    refused(playbook(tmp_path / "evidence", healthy / "hosts.yml", accept_standards=str(tmp_path / "standards")), "standards")


def test_a_capture_that_is_not_there_is_an_error_of_its_host(tmp_path):
    folder = simulate(tmp_path / "cluster")
    (folder / "node-03" / "capture.json").unlink()
    run = playbook(tmp_path / "evidence", folder / "hosts.yml")
    assert "node-03" in run.text
    assert "no capture.json there" in run.text
    assert "CapturedErrorSummary" not in run.text
    assert run.rc == 11, run.text
    assert run.card["coverage"]["nodes"]["tested"] == 3


@pytest.mark.parametrize("tool", ["nvidia-smi", "dmesg", "lspci"])
def test_a_tool_that_prints_rubbish_is_a_reason_and_never_a_pass(tmp_path, tool):
    folder = simulate(tmp_path / "cluster", [{"fault": "rubbish_tool", "hosts": "node-01", "tool": tool}])
    run = playbook(tmp_path / "evidence", folder / "hosts.yml")
    assert run.rc in (10, 11), run.text
    assert "Traceback" not in run.text
    unmeasured = [
        row for check in run.card["checks"] for row in check["rows"] if row["verdict"] == "not_measured" and "node-01" in row["nodes"]
    ]
    assert unmeasured
    assert all(row["reason"] for row in unmeasured)


def test_a_full_disk_on_the_controller_says_so_and_keeps_earlier_evidence(healthy, tmp_path):
    run = playbook(tmp_path, healthy / "hosts.yml", accept_run_id="full")
    before = json.loads((run.run_dir / "facts/node-01/boot.json").read_text())
    (run.run_dir / "facts" / "node-02").rename(run.run_dir / "facts" / "node-02.kept")
    (run.run_dir / "facts" / "node-02").write_text("a file where a folder must be stands for a disk that refuses")
    again = playbook(tmp_path, healthy / "hosts.yml", accept_run_id="full")
    assert "node-02: evidence could not be saved" in again.text
    assert "Traceback" not in again.text
    assert json.loads((run.run_dir / "facts/node-01/boot.json").read_text())["data"] == before["data"]


def test_events_of_ansible_runner(faulty, tmp_path):
    """A run driven by ansible-runner: its events tell each node's facts, its return code is the gate's."""
    runner = pytest.importorskip("ansible_runner")
    (tmp_path / "runner").mkdir()
    result = runner.run(
        private_data_dir=str(tmp_path / "runner"),
        project_dir=str(ROOT),
        playbook="acceptance.yml",
        inventory=str(faulty / "hosts.yml"),
        extravars={"accept_evidence": str(tmp_path / "evidence")},
        envvars={"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": environment()["PATH"]},
        quiet=True,
    )
    assert result.rc == 10
    read = [e["event_data"] for e in result.events if e["event"] == "runner_on_ok" and e["event_data"].get("task_action") == "accept_facts"]
    assert {event["host"] for event in read} == {"node-01", "node-02", "node-03", "node-04"}
    assert all(event["res"]["accept_facts"] for event in read)
    gates = [e["event_data"]["res"] for e in result.events if "accept_gate_code" in str(e["event_data"].get("res", ""))]
    assert [gate["accept_gate_code"] for gate in gates] == [10]
