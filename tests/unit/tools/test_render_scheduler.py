"""A simulated scheduler answers what the collector asks, in the shape that its schema has; each fault is seen, and near misses are not."""

from __future__ import annotations

import json

import pytest
from accept_judge import documents
from accept_node.collectors import scheduler_audit
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode
from simulation import build, faults, render

KINDS = {
    "slurm": {"name": "s", "sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 4},
    "kubernetes": {"name": "k", "sku": "gb300_nvl72", "transport": "roce", "scheduler": "kubernetes", "nodes": 4, "racks": {"k-r1": 4}},
    "none": {"name": "n", "sku": "b200_hgx", "transport": "infiniband", "scheduler": "none", "nodes": 2},
}


def envelope_of(cluster, *seeded):
    """The head's envelope and the node that it was read from."""
    spec = {"schema": 1, "seed": 5, "clusters": [cluster], "faults": list(seeded)}
    nodes = build.build(spec)
    node = RecordingNode(ReplayNode(render.capture(nodes[0], build.recorded_at_s(spec))))
    return collect("scheduler_audit", scheduler_audit.collect, node, "cluster"), node


@pytest.mark.parametrize("kind", KINDS)
def test_a_healthy_scheduler_answers_all(kind, root):
    envelope, _ = envelope_of(KINDS[kind])
    assert (envelope["status"], envelope["errors"]) == ("ok", [])
    assert documents.validate(envelope["data"], root / "standards/schema/concerns/scheduler_audit.json", kind) == []
    assert envelope["data"]["scheduler"] == kind
    assert [node["schedulable"] for node in envelope["data"]["nodes"]] == [True] * (0 if kind == "none" else 4)


MODULE = faults.faults_scheduler
NAMES = sorted(name for name, function in faults.registry().items() if function.__module__ == MODULE.__name__)
KUBERNETES = set(
    "allocatable_below_capacity node_cordoned node_not_ready stale_heartbeat node_condition unexplained_taint "
    "device_plugin_missing device_plugin_blind agent_not_ready policy_not_ready no_rdma_resource "
    "imex_undocumented no_clique_label rbac_denied no_gpu_agent".split()
)
NOT_ON_HEAD = {"no_clique_label"}


@pytest.mark.parametrize("name", NAMES)
def test_each_fault_changes_what_the_head_says_and_keeps_its_shape(name, root):
    cluster = KINDS["kubernetes" if name in KUBERNETES else "slurm"]
    host = f"{cluster['name']}-02" if name in NOT_ON_HEAD else f"{cluster['name']}-01"
    healthy, _ = envelope_of(cluster)
    envelope, _ = envelope_of(cluster, {"fault": name, "hosts": host})
    assert envelope["data"] != healthy["data"], name
    assert documents.validate(envelope["data"], root / "standards/schema/concerns/scheduler_audit.json", name) == []


@pytest.mark.parametrize("name", [name for name in NAMES if faults.registry()[name].__doc__.startswith("Near miss")])
def test_near_misses_take_jobs(name):
    envelope, _ = envelope_of(KINDS["slurm"], {"fault": name, "hosts": "s-01"})
    assert {node["schedulable"] for node in envelope["data"]["nodes"]} == {True}


@pytest.mark.parametrize(("kind", "most"), [("slurm", 10), ("kubernetes", 10)])
def test_a_thousand_nodes_take_at_most_ten_calls(kind, most):
    cluster = {**KINDS[kind], "nodes": 1000, "racks": {"r1": 1000}}
    spec = {"schema": 1, "seed": 5, "clusters": [cluster]}
    nodes = build.build(spec)
    node = RecordingNode(ReplayNode(render.capture(nodes[0], build.recorded_at_s(spec))))
    envelope = collect("scheduler_audit", scheduler_audit.collect, node, "cluster")
    assert len(envelope["data"]["nodes"]) == 1000
    asked = [record["argv"] for record in node.capture["commands"] if record["reason"] != "missing"]
    assert len(asked) <= most, asked
    assert len(json.dumps(envelope["data"])) < 1_500_000


def test_nothing_of_others_is_kept():
    """Names of users, accounts, teams, owners: neither in the data nor in what is kept as raw evidence."""
    envelope, node = envelope_of(KINDS["kubernetes"])
    kept = json.dumps([envelope, node.capture])
    assert "team-blue" not in kept
    assert "registry.example/tool" not in kept
    assert envelope["data"]["kubernetes"]["other_daemonsets"] == 1


@pytest.mark.parametrize("kind", ["slurm", "kubernetes"])
def test_what_is_kept_replays_to_the_same_facts(kind):
    envelope, node = envelope_of(KINDS[kind])
    again = collect("scheduler_audit", scheduler_audit.collect, ReplayNode(json.loads(json.dumps(node.capture))), "cluster")
    assert again["data"] == envelope["data"]
