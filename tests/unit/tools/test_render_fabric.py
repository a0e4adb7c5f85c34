"""Simulated fabrics answer the collectors in the shape that the schemas hold, at every size, and never twice under one GUID."""

from __future__ import annotations

import json

import pytest
from accept_judge import documents
from accept_node.collectors import cabling, ib_fabric, ib_links
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode
from simulation import build, faults_cabling, model_fabric, render

FAULTS = ["", *(name for name, one in vars(faults_cabling).items() if getattr(one, "__module__", "") == faults_cabling.__name__)]


def nodes_of(count=2, faults=(), transport="infiniband"):
    cluster = {"name": "c", "sku": "b200_hgx", "transport": transport, "scheduler": "none", "nodes": count}
    return build.build({"schema": 1, "seed": 3, "clusters": [cluster], "faults": list(faults)})


def sweep(nodes):
    return collect("ib_fabric", ib_fabric.collect, RecordingNode(ReplayNode(render.capture(nodes[0], 0.0))))


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_read_has_the_shape_of_the_schema(root, fault):
    nodes = nodes_of(faults=[{"fault": fault, "hosts": "c-02"}] if fault else [])
    envelope = sweep(nodes)
    assert documents.validate(envelope["data"], root / "standards/schema/concerns/ib_fabric.json", "c-01") == []
    assert envelope["errors"] == [] or fault == "no_manager"
    ports = collect("cabling", cabling.collect, ReplayNode(render.capture(nodes[1], 0.0)))
    assert documents.validate(ports["data"], root / "standards/schema/concerns/cabling.json", "c-02") == []
    assert ports["status"] == "ok"


def test_roce_ports_have_the_shape_of_the_schema(root):
    ports = collect("cabling", cabling.collect, ReplayNode(render.capture(nodes_of(transport="roce")[0], 0.0)))
    assert documents.validate(ports["data"], root / "standards/schema/concerns/cabling.json", "c-01") == []
    assert ports["data"]["neighbours_by"] == "lldpctl"


def test_a_larger_cluster_has_more_leaves_and_no_guid_twice():
    envelope = sweep(nodes_of(40))
    assert len(json.dumps(envelope["data"])) < 40_000
    subnet = ib_links.unpack(envelope["data"]["subnets"][0])
    assert len({link["guid"] for link in subnet["host_links"]}) == 40 * 8
    assert len(subnet["switches"]) == 2 * 8 + model_fabric.SPINES
    assert {one["open"] > 0 for one in subnet["switches"] if "leaf" in one["name"]} == {True}  # spare ports


def test_only_the_head_is_asked():
    second = render.capture(nodes_of()[1], 0.0)
    assert not [record for record in second["commands"] if record["argv"][0] in ("iblinkinfo", "saquery", "ibqueryerrors")]


def test_the_demo_has_the_tables_of_its_simulation(root):
    nodes = build.build(build.load_spec(root / "inventories/demo/simulation.yml"))
    assert (root / "inventories/demo/rail_map.csv").read_text() == model_fabric.rail_map(nodes)
    assert (root / "inventories/demo/switch_ports.csv").read_text() == model_fabric.switch_ports(nodes)
