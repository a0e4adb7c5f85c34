"""Simulated RDMA ports fit the schema of the facts; each fault shows in them, and near misses do not."""

from __future__ import annotations

import pytest
from accept_judge import documents
from accept_node.collectors import gid_check, ib_config, roce_config
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode
from simulation import build, faults, faults_rdma, render

MODULES = {"gid_check": gid_check, "roce_config": roce_config, "ib_config": ib_config}
INFINIBAND = {"small_ib_mtu", "no_subnet_manager", "other_subnet_manager", "default_partition_full", "no_partition"}
EXPORTED = {"switch_ecn_off", "switch_small_mtu"}  # no node sees them
FAULTS = sorted(
    name for name, function in faults.registry().items() if function.__module__ == faults_rdma.__name__ and name not in EXPORTED
)


def node(transport="roce", fault=None, **parameters):
    sku = "gb300_nvl72" if transport == "roce" else "b200_hgx"
    cluster = {"name": "c", "sku": sku, "transport": transport, "scheduler": "kubernetes", "nodes": 1}
    spec = {"schema": 1, "seed": 3, "clusters": [cluster], "faults": [{"fault": fault, "hosts": "c-01", **parameters}] if fault else []}
    return build.build(spec)[0]


def facts(one):
    replay = RecordingNode(ReplayNode(render.capture(one, 1796000000.0)))
    return {name: collect(name, module.collect, replay) for name, module in MODULES.items()}


@pytest.mark.parametrize("transport", ["infiniband", "roce"])
def test_healthy_nodes_fit_the_schema_and_tell_no_error(root, transport):
    for name, envelope in facts(node(transport)).items():
        assert (envelope["status"], envelope["errors"]) == ("ok", []), name
        assert documents.validate(envelope["data"], root / f"standards/schema/concerns/{name}.json", name) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_shows_and_fits_the_schema(root, fault):
    transport = "infiniband" if fault in INFINIBAND else "roce"
    before, after = facts(node(transport)), facts(node(transport, fault))
    assert any(before[name]["data"] != after[name]["data"] for name in MODULES)
    for name, envelope in after.items():
        assert documents.validate(envelope["data"], root / f"standards/schema/concerns/{name}.json", name) == []


def test_near_misses():
    port = facts(node("roce", "second_address"))["gid_check"]["data"]["ports"][0]
    assert (port["rocev2_index"], port["routable_v2"]) == (3, [3, 5])
    port = facts(node("infiniband", "old_errors"))["ib_config"]["data"]["ports"][0]
    assert (port["errors_growing"], port["error_totals"]) == ([], {"symbol_error": 41})


def test_what_a_declared_pod_sees():
    (pod,) = facts(node("roce"))["gid_check"]["data"]["containers"]
    assert (pod["name"], pod["nccl_version"], len(pod["ports"])) == ("acceptance/accept-gid", "2.27.3", 8)
    assert {port["best_v2"] for port in pod["ports"]} == {"ipv4"}
    (pod,) = facts(node("roce", "pod_link_local_gid"))["gid_check"]["data"]["containers"]
    assert {port["best_v2"] for port in pod["ports"]} == {"link_local"}
    assert facts(node("infiniband"))["gid_check"]["data"]["containers"] is None


def test_the_neighbourhood():
    port = facts(node("infiniband"))["ib_config"]["data"]["ports"][3]
    assert (port["gpus"], port["gpu_link"]) == (["0000:61:00.0"], "bridge")
    port = facts(node("roce"))["ib_config"]["data"]["ports"][0]
    assert (port["gpu_link"], len(port["gpus"]), port["neighbour"]["switch"]) == ("numa", 2, "c-leaf01")
