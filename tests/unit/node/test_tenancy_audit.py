"""The tenancy collector: counted, never named; as nobody where the head is root's; each denial a reason; one question to a dead server."""

from __future__ import annotations

import json

from accept_node.collectors import tenancy_audit as tenancy
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode

CONFIG = "Configuration data as of 2026-11-30T06:00:00\nClusterName             = c1\nPrivateData             = accounts,jobs\n"
RIGHTS = "Resources   Non-Resource URLs   Resource Names   Verbs\nnodes/proxy   []   []   [get]\n"
WHO = json.dumps({"status": {"userInfo": {"username": "tenant-7", "groups": ["tenants"]}}})


def command(argv, stdout="", rc=0, stderr="", reason=""):
    return {"argv": list(argv), "rc": rc, "stdout": stdout, "stderr": stderr, "reason": reason}


def read(*commands, uid=0):
    known = [record["argv"] for record in commands]
    missing = [command(argv, rc=None, reason="missing") for argv in (tenancy.CONFIG, tenancy.RIGHTS) if argv not in known]
    node = RecordingNode(ReplayNode({"recorded_at_s": 1.0, "identity": {"uid": uid}, "commands": [*commands, *missing]}))
    return collect("tenancy_audit", tenancy.collect, node, "cluster")


def slurm(jobs, records="", private=CONFIG):
    as_nobody = tenancy.AS_NOBODY
    return [command(tenancy.CONFIG, private), command([*as_nobody, *tenancy.JOBS], jobs), command([*as_nobody, *tenancy.RECORDS], records)]


def test_no_scheduler():
    envelope = read()
    assert envelope["data"] == {"slurm": "none", "kubernetes": "none"}
    assert (envelope["status"], envelope["owner"]) == ("ok", "cluster")


def test_root_asks_as_nobody_and_counts():
    data = read(*slurm("RUNNING\nPENDING\n", "0:0\n0:0\n1:0\n"))["data"]["slurm"]
    assert data == {"asked_as": "nobody", "private_data": ["accounts", "jobs"], "jobs_of_others": 2, "records_of_others": 3}


def test_an_account_leaves_its_own_out():
    commands = [
        command(tenancy.CONFIG, CONFIG.replace("accounts,jobs", "none")),
        command(tenancy.JOBS, "RUNNING\nRUNNING\nPENDING\n"),
        command(tenancy.OWN_JOBS, "RUNNING\nRUNNING\nPENDING\n"),
        command(tenancy.RECORDS, "0:0\n0:0\n"),
        command(tenancy.OWN_RECORDS, "0:0\n"),
    ]
    data = read(*commands, uid=1001)["data"]["slurm"]
    assert data == {"asked_as": "ourselves", "private_data": "none", "jobs_of_others": 0, "records_of_others": 1}


def test_a_question_that_fails_is_no_zero():
    down = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"
    records = "Slurm accounting storage is disabled\n"
    envelope = read(
        command(tenancy.CONFIG, CONFIG),
        command([*tenancy.AS_NOBODY, *tenancy.JOBS], rc=1, stderr=down),
        command([*tenancy.AS_NOBODY, *tenancy.RECORDS], rc=1, stderr=records),
    )
    assert envelope["data"]["slurm"]["jobs_of_others"] is None
    assert envelope["data"]["slurm"]["records_of_others"] is None
    assert envelope["status"] == "partial"


def test_a_controller_that_is_down_is_asked_once():
    envelope = read(command(tenancy.CONFIG, rc=1, stderr="Unable to contact slurm controller\n"))
    assert envelope["data"]["slurm"]["jobs_of_others"] is None
    assert not [source for source in envelope["sources"] if "squeue" in source["what"]]


def test_rights_and_namespaces():
    envelope = read(
        command(tenancy.RIGHTS, RIGHTS),
        command(tenancy.WHOAMI, WHO),
        command(tenancy.NAMESPACES, "Active\nActive\n"),
        command(tenancy.OWN_NAMESPACE, "training"),
        command(tenancy.labels_of("training"), '{"pod-security.kubernetes.io/enforce":"baseline"}'),
    )
    data = envelope["data"]["kubernetes"]
    assert (data["groups"], data["namespaces_visible"], data["pod_security"]) == (["tenants"], 2, "baseline")
    assert data["rules"] == [{"resources": "nodes/proxy", "urls": [], "names": [], "verbs": ["get"]}]
    assert "tenant-7" not in str(envelope["data"])


def test_each_denial_stands_for_itself():
    denied = 'Error from server (Forbidden): namespaces is forbidden: User "t" cannot list resource "namespaces"\n'
    envelope = read(
        command(tenancy.RIGHTS, RIGHTS),
        command(tenancy.WHOAMI, rc=1, stderr='error: unknown command "whoami"\n'),
        command(tenancy.NAMESPACES, rc=1, stderr=denied),
        command(tenancy.OWN_NAMESPACE, ""),
        command(tenancy.labels_of("default"), rc=1, stderr=denied),
    )
    data = envelope["data"]["kubernetes"]
    assert (data["groups"], data["namespaces_visible"], data["pod_security"]) == (None, 0, None)
    assert len(envelope["errors"]) == 2


def test_an_api_server_that_does_not_answer_is_asked_once():
    envelope = read(command(tenancy.RIGHTS, rc=1, stderr="Unable to connect to the server: i/o timeout\n"))
    assert envelope["data"]["kubernetes"] is None
    assert len([source for source in envelope["sources"] if source["what"].startswith("kubectl")]) == 1


def test_no_question_asks_for_a_name():
    """What would print names of jobs, users, accounts, pods or namespaces is not among the questions."""
    assert tenancy.JOBS[-1] == "%T"
    assert tenancy.RECORDS[-1] == "ExitCode"
    assert tenancy.NAMESPACES[-2] == "custom-columns=:.status.phase"
