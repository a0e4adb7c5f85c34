"""What the head says of nodes beside what the nodes say of themselves, and whom a finding blames."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import fleet
import pytest
from accept_judge import analysis, runs
from accept_judge import standards as standards_of
from accept_judge.analysis import scheduler_audit, scheduler_kubernetes, scheduler_slurm
from accept_judge.wanted import Lookup

ROOT = Path(__file__).resolve().parents[3]
STANDARDS = standards_of.load(ROOT / "standards")
STARTED = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
NODE = dict.fromkeys(
    "hostname state schedulable against reason set_by set_at gpus gpus_usable gpus_used gpu_types cpus memory_mib partitions version "
    "boot_id boot_time reservation in_pod".split()
)


def node(name, **fields):
    return {"name": name, **NODE, "schedulable": True, "against": [], "gpus": 8, "gpus_usable": 8, "partitions": ["gpu"], **fields}


def data(nodes=(), **fields):
    there = {
        "slurm": {"present": True, "version": "25.11.1", "reason": ""},
        "kubernetes": {"present": False, "version": None, "reason": "no"},
    }
    base = {
        "scheduler": "slurm",
        "scheduler_reason": "",
        "found": there,
        "nodes": None if nodes is None else list(nodes),
        "nodes_reason": "",
        "slurm": {},
        "kubernetes": None,
    }
    return {**base, "questions": [], **fields}


@pytest.fixture
def view(tmp_path):
    """view(hosts={name: {concern: data}}, **context) -> View of the head."""

    def make(hosts, **context):
        run_dir = fleet.write_run(tmp_path / "run", {name: facts or {"preflight": {}} for name, facts in hosts.items()})
        run = json.loads((run_dir / "run.json").read_text())
        lookup = Lookup(STANDARDS, None, "c", "b200_hgx", "", STARTED)
        context = {"scheduler": "slurm", "form": "hgx", **context}
        return analysis.View(STANDARDS, context, {"run_id": "20261130T080000Z-aaaa"}, lookup, STARTED, run_dir, run, tuple(hosts))

    return make


def members(found):
    return {member["node"]: member for member in found["members"]}


def test_a_gpu_that_is_gone_and_still_handed_out(view):
    hosts = {"n1": {"inventory_audit": {"gpus": [{}] * 7}}, "n2": {"inventory_audit": {"gpus": [{}] * 8}}, "n3": None}
    found = members(scheduler_audit.analyse(data([node("n1"), node("n2"), node("n3")]), view(hosts)))
    assert found["n1"]["gpus_fit_hardware"] == "scheduler 8, node 7"
    assert found["n2"]["gpus_fit_hardware"] == "same"
    assert found["n3"]["gpus_fit_hardware"] is None
    assert found["n3"]["gpus_fit_hardware_reason"]


def test_a_node_goes_by_its_name_its_short_name_or_its_boot(view):
    nodes = [node("n1.dc1.example"), node("other", boot_id="b-2"), node("n4.a"), node("n4.b")]
    found = members(scheduler_audit.analyse(data(nodes), view({"n1": None, "n2": {"boot": {"boot_id": "b-2"}}, "n3": None, "n4": None})))
    assert (found["n1"]["name"], found["n2"]["name"], found["n3"]["known"]) == ("n1.dc1.example", "other", False)
    assert found["n4"]["known"] is False, "two nodes have that short name: it is nobody's"


def test_part_of_a_list_proves_no_absence(view):
    found = members(scheduler_audit.analyse(data([], kubernetes={"complete": False}), view({"n1": None})))
    assert (found["n1"]["known"], found["n1"]["known_reason"]) == (None, "only a part of the list of nodes came")


def test_our_own_drain_is_no_finding_and_that_of_another_run_is(view):
    out = {"schedulable": False, "against": ["drained"], "set_by": "root"}
    nodes = [
        node("n1", reason="acceptance 20261130T080000Z-aaaa", **out),
        node("n2", reason="acceptance 20250101T000000Z-bbbb", **out),
        node("n3", **out),
    ]
    found = members(scheduler_audit.analyse(data(nodes), view({"n1": None, "n2": None, "n3": None})))
    assert found["n1"]["placeable"] == "by this run"
    assert found["n2"]["placeable"].startswith("drained: acceptance 20250101")
    assert (found["n2"]["said_why"], found["n3"]["said_why"]) == (True, False)


@pytest.mark.parametrize(
    ("wanted", "scheduler", "slurm", "kubernetes", "said"),
    [
        ("slurm", "slurm", True, False, "as contracted"),
        ("slurm", "slurm_on_kubernetes", True, True, "as contracted"),
        ("kubernetes", "slurm and kubernetes", True, True, "as contracted"),
        ("slurm", "kubernetes", False, True, "kubernetes"),
        ("slurm", "none", False, False, "none"),
        ("slurm", "kubernetes", None, True, None),
        ("slurm", None, None, False, None),
        ("slurm", None, False, None, "none"),
        (None, "slurm", True, False, None),
    ],
)
def test_the_contracted_scheduler(wanted, scheduler, slurm, kubernetes, said, view):
    there = {
        name: {"present": present, "version": None, "reason": f"{name}: why"}
        for name, present in (("slurm", slurm), ("kubernetes", kubernetes))
    }
    found = scheduler_audit.analyse(data(scheduler=scheduler, found=there, nodes=None), view({"n1": None}, scheduler=wanted))
    assert found["as_contracted"] == said
    if said is None and wanted:
        assert found["as_contracted_reason"] == "slurm: why"


def test_what_two_schedulers_place(view):
    nodes = [node("n1"), node("n2"), node("n1"), node("n2", schedulable=False)]
    assert scheduler_audit.analyse(data(nodes, scheduler="slurm and kubernetes"), view({}))["placed_twice"] == ["n1"]
    assert scheduler_audit.analyse(data(nodes), view({}))["placed_twice"] == []
    assert scheduler_audit.analyse(data(scheduler=None, nodes=None), view({}))["placed_twice"] is None


@pytest.mark.parametrize(
    ("slurm", "kubernetes", "said"),
    [
        ("25.11.1", None, "supported"),
        ("24.11.5", None, "24.11 ended on 2026-05-31"),
        ("20.11.9", None, "20.11 ended before 2024-11-30"),
        ("26.05.0", None, None),
        (None, "1.36.2", "supported"),
        (None, "1.29.1", "1.29 is older than 1.35"),
        (None, "1.40.0", None),
        (None, None, None),
    ],
)
def test_releases(slurm, kubernetes, said, view):
    there = {
        "slurm": {"present": bool(slurm), "version": slurm, "reason": ""},
        "kubernetes": {"present": bool(kubernetes), "version": kubernetes, "reason": ""},
    }
    assert scheduler_audit.analyse(data(found=there), view({}))["release_support"] == said


CONFIG = {"AccountingStorageType": "accounting_storage/slurmdbd", "TopologyPlugin": "topology/tree", "HealthCheckInterval": 60}


@pytest.mark.parametrize(
    ("config", "key", "said"),
    [
        ({"HealthCheckProgram": "/x"}, "slurm_health_program", "every 60 s"),
        ({"HealthCheckProgram": "/x", "HealthCheckInterval": 0}, "slurm_health_program", "never runs"),
        ({"HealthCheckProgram": "none"}, "slurm_health_program", "none"),
        ({}, "slurm_health_program", None),
        ({"ReturnToService": "2", "HealthCheckProgram": "none"}, "slurm_return", "unchecked"),
        ({"ReturnToService": "2", "HealthCheckProgram": "/x"}, "slurm_return", "checked"),
        ({"ReturnToService": "1"}, "slurm_return", "checked"),
        ({}, "slurm_return", None),
        ({"ConstrainDevices": "yes"}, "slurm_devices_constrained", True),
        ({}, "slurm_devices_constrained", None),
        ({"TaskPlugin": "task/none", "ConstrainDevices": "yes"}, "slurm_devices_constrained", False),
        ({"TaskPlugin": "task/affinity,task/cgroup", "ConstrainDevices": "yes"}, "slurm_devices_constrained", True),
        ({"TaskPlugin": "task/cgroup"}, "slurm_devices_constrained", None),
        ({"AccountingStorageTRES": "cpu,gres/gpu:h100"}, "slurm_gpus_accounted", True),
        ({"AccountingStorageTRES": "cpu,mem"}, "slurm_gpus_accounted", False),
        ({"TopologyPlugin": "topology/flat"}, "slurm_topology", "none"),
        ({"TopologyPlugin": "topology/default"}, "slurm_topology", "none"),
        ({"TopologyPlugin": "topology/3d_torus"}, "slurm_topology", "3d_torus"),
    ],
)
def test_what_a_configuration_amounts_to(config, key, said):
    found = scheduler_slurm.derive(data(slurm={"config": {**CONFIG, **config}}), [])
    assert found[key] == said
    assert said is not None or found[f"{key}_reason"]


def test_a_widest_partition_that_is_down_does_not_count():
    known = [
        {"node": f"n{n}", "name": f"n{n}", "known": True, "partitions": ["all", "gpu"] if n < 3 else ["all"], "version": None}
        for n in range(4)
    ]
    slurm = {"config": CONFIG, "partitions": [{"name": "all", "state": "DOWN"}, {"name": "gpu", "state": "UP"}]}
    scheduler_slurm.derive(data(slurm=slurm), known)
    assert [member["in_widest_partition"] for member in known] == [True, True, True, False]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"type": "GpuMemWatch", "status": "True", "good": False, "codes": [94], "reason": "Bad"}, "GpuMemWatch is True: Bad, Xid 94"),
        (
            {"type": "NetworkingReady", "status": "Unknown", "good": True, "codes": [], "reason": None},
            "NetworkingReady is Unknown: no reason",
        ),
        ({"type": "Ready", "status": "False", "good": True, "codes": [], "reason": "x"}, ""),
        ({"type": "OfTheProvider", "status": "True", "good": None, "codes": [], "reason": "x"}, ""),
    ],
)
def test_conditions(condition, said):
    assert scheduler_kubernetes._bad({"message": "", **condition}) == said


def test_a_cluster_s_finding_blames_the_nodes_that_it_names(judge):
    checks = [fleet.check("thing.each", scope="cluster", each="members", label="node", value="ok", op="eq", want=True)]
    facts = {
        "n1": {
            "thing": fleet.envelope("n1", "thing", {"members": [{"node": "n1", "ok": True}, {"node": "n2", "ok": False}]}, owner="cluster")
        },
        "n2": {},
    }
    card = judge(checks, facts, fleet.contract())
    (row,) = card["checks"][0]["rows"]
    assert (row["verdict"], row["nodes"]) == ("fail", "n2")


def test_items_that_are_no_nodes_blame_all(judge):
    checks = [fleet.check("thing.each", scope="cluster", each="parts", label="name", value="ok", op="eq", want=True)]
    facts = {"n1": {"thing": fleet.envelope("n1", "thing", {"parts": [{"name": "plugin", "ok": False}]}, owner="cluster")}, "n2": {}}
    (row,) = judge(checks, facts, fleet.contract())["checks"][0]["rows"]
    assert row["nodes"] == "n[1-2]"


PHASE = {"name": "audit", "status": "planned", "concerns": ["thing", "other"], "cluster_concerns": ["thing"]}


@pytest.mark.parametrize(("groups", "said"), [(["gpu_nodes"], "nobody to ask"), (["gpu_nodes", "head"], "came back from the head")])
def test_a_head_that_is_missing_or_silent_is_the_reason(groups, said, judge):
    checks = [fleet.check("thing.count", scope="cluster"), fleet.check("other.count")]
    hosts = [{"name": "n1", "cluster": "c", "rack": "r1", "groups": groups, "replay": False}]
    run = {"hosts": hosts, "phases": [PHASE], "concerns": ["thing", "other"]}
    card = judge(checks, {"n1": {"other": {"count": 8}}}, fleet.contract(), run)
    (row,) = fleet.rows_of(card, "thing.count")
    assert row["verdict"] == "not_measured"
    assert said in row["reason"]


PHASES = """
phases:
  - {name: audit, title: Audit, risk: read, concerns: [boot], base_s: 1, host_s: 0,
     cluster_concerns: {scheduler_audit: scheduler != 'none'}}
"""


def asked_of(tmp_path, *clusters):
    (tmp_path / "phases.yml").write_text(PHASES)
    hosts = [
        {"name": f"{c['name']}{n}", "cluster": c["name"], "groups": ["gpu_nodes"] + ["head"] * (n == 1)} for c in clusters for n in (1, 2)
    ]
    plan = runs.make_plan(tmp_path, len(hosts), 20, "read", ["all"], [], [], clusters)
    return plan["phases"][0], runs.asked(tmp_path, plan, hosts, clusters)["audit"]


def test_only_heads_whose_cluster_has_a_scheduler_are_asked(tmp_path):
    phase, asked = asked_of(tmp_path, {"name": "a", "scheduler": "slurm"}, {"name": "b", "scheduler": "none"})
    assert asked == {"nodes": ["boot"], "heads": {"a1": ["scheduler_audit"]}}
    assert phase["concerns"] == ["boot", "scheduler_audit"]


def test_a_machine_without_a_scheduler_plans_no_second_play(tmp_path):
    phase, asked = asked_of(tmp_path, {"name": "a", "scheduler": "none"})
    assert (phase["concerns"], phase["cluster_concerns"], asked["heads"]) == (["boot"], [], {})
