"""Closed machines of each form are closed, each fault opens what it names, near misses stay green, and the data keeps its shape."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from accept_judge import standards
from accept_judge.analysis import isolation_audit as judged
from accept_judge.analysis import tenancy_audit as judged_tenancy
from accept_node.collectors import isolation_audit, tenancy_audit, tenancy_probe
from accept_node.envelope import collect
from accept_node.node import ReplayNode
from simulation import build, faults_isolation, render

ROOT = Path(__file__).resolve().parents[3]
STANDARDS = standards.load(ROOT / "standards")
CLUSTERS = {
    "b200": {"sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 2},
    "gb300": {"sku": "gb300_nvl72", "transport": "roce", "scheduler": "kubernetes", "nodes": 2, "os": "rhel9"},
    "gb200": {"sku": "gb200_nvl72", "transport": "roce", "scheduler": "slurm", "nodes": 2},
    "mi300x": {"sku": "mi300x", "transport": "roce", "scheduler": "slurm", "nodes": 2},
}
COLLECTORS = {"isolation_audit": isolation_audit, "tenancy_audit": tenancy_audit}


def node(cluster="b200", place=0, *faults):
    spec = {"schema": 1, "seed": 5, "clusters": [{"name": cluster, **CLUSTERS[cluster]}]}
    built = build.build(spec)
    for name, given in faults:
        getattr(faults_isolation, name)(built[place], random.Random(1), **given)
    return built[place]


def read(machine, concern="isolation_audit"):
    envelope = collect(concern, COLLECTORS[concern].collect, ReplayNode(render.capture(machine, 1.8e9)))
    schema = json.loads((ROOT / f"standards/schema/concerns/{concern}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(envelope["data"])
    return envelope


def analysed(machine, access="user"):
    data = read(machine)["data"]
    return {**data, **judged.analyse(data, SimpleNamespace(context={"tenant_access": access}, standards=STANDARDS))}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_closed_machine_is_closed(cluster):
    machine = node(cluster, 1)
    envelope = read(machine)
    assert (envelope["status"], envelope["errors"]) == ("ok", [])
    found = analysed(machine, "pod" if cluster == "gb300" else "user")
    assert [found[key] for key in found if key.endswith("_exposed")] == [[]] * 6
    assert (found["open_services"], found["vfio_shared"], found["cpu_vulnerable"]) == ([], [], [])
    assert found["mac"]["active"] is True
    assert found["processes"] == {"hidden": "invisible", "of_others": 0}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_head_answers_without_errors(cluster):
    envelope = read(node(cluster), "tenancy_audit")
    assert (envelope["status"], envelope["errors"]) == ("ok", [])


@pytest.mark.parametrize(
    ("fault", "given", "field"),
    [
        ("ipmi_open", {}, "ipmi_exposed"),
        ("open_file", {"path": "/dev/rshim0", "mode": "755"}, "dpu_exposed"),
        ("open_file", {"path": "/dev/infiniband/umad0"}, "fabric_exposed"),
        ("open_file", {"path": "/run/docker.sock"}, "sockets_exposed"),
        ("open_file", {"path": "/sys/kernel/tracing", "mode": "755"}, "kernel_exposed"),
        ("open_file", {"path": "/dev/kvm"}, "kvm_exposed"),
        ("shared_device_group", {}, "vfio_shared"),
        ("exporter_open", {}, "open_services"),
    ],
)
def test_each_fault_opens_what_it_names(fault, given, field):
    found = analysed(node("b200", 1, (fault, given)))
    lists = [key for key in found if key.endswith("_exposed")] + ["vfio_shared", "open_services"]
    assert [key for key in lists if found[key]] == [field]


def test_near_misses_stay_green():
    assert analysed(node("b200", 1, ("exporter_on_loopback", {})))["open_services"] == []
    data = read(node("b200", 0, ("own_jobs_only", {"jobs": 3})), "tenancy_audit")["data"]["slurm"]
    assert (data["asked_as"], data["jobs_of_others"], data["records_of_others"]) == ("ourselves", 0, 0)


def test_jobs_of_others_are_counted():
    data = read(node("b200", 0, ("tenants_jobs_visible", {"jobs": 37})), "tenancy_audit")["data"]["slurm"]
    assert (data["private_data"], data["jobs_of_others"]) == ("none", 37)


def test_rights_of_a_head():
    faults = [("rights_in_kubernetes", {"resource": "secrets", "verbs": "get list"}), ("namespaces_visible", {"count": 23})]
    data = read(node("gb300", 0, *faults, ("privileged_pods", {})), "tenancy_audit")["data"]
    found = judged_tenancy.analyse(data, SimpleNamespace(context={}))
    assert [what for what in judged_tenancy.QUESTIONS if found["right_" + what]] == ["secrets"]
    assert (found["namespaces_visible_count"], found["pod_security_level"]) == (23, "privileged")


def test_a_probe_is_replayed():
    machine = node("b200", 0, ("neighbours_answer", {"open": 2, "exports": 1}))
    data = collect("tenancy_probe", tenancy_probe.collect, ReplayNode(render.capture(machine, 1.8e9)), "cluster")["data"]
    assert [row["open"] for row in data["ports"]] == [2, 2]
    assert data["exports"]["open_to_all"] == 1


def test_no_name_of_anybody_is_in_a_capture():
    """What was recorded of the tenancy's questions holds states, counts, phases and our own rights only."""
    recorded = render.capture(node("b200", 0, ("tenants_jobs_visible", {})), 1.8e9)["commands"]
    texts = {record["stdout"] for record in recorded if "squeue" in record["argv"] or "sacct" in record["argv"]}
    assert {word for text in texts for word in text.split()} <= {"RUNNING", "0:0"}
