"""A simulated machine answers all that the version audit asks, and is found as it was built."""

from __future__ import annotations

import json

import jsonschema
import pytest
from accept_node.collectors import version_audit
from accept_node.envelope import collect
from accept_node.node import ReplayNode
from simulation import build, render

MACHINES = [
    ("b200_hgx", "ubuntu24.04", "slurm"),
    ("gb300_nvl72", "ubuntu24.04", "kubernetes"),
    ("gb200_nvl72", "rhel9", "slurm"),
    ("h200_hgx", "rhel9", "slurm"),
    ("h100_hgx", "ubuntu22.04", "slurm"),
    ("mi300x", "sles15", "kubernetes"),
]


def node_of(sku, system, scheduler, **versions):
    cluster = {"name": "c", "sku": sku, "nodes": 1, "transport": "infiniband", "scheduler": scheduler, "os": system, "versions": versions}
    return build.build({"clusters": [cluster]})[0]


def audit(node):
    return collect("version_audit", version_audit.collect, ReplayNode(render.capture(node, 1_790_000_000.0)))


@pytest.mark.parametrize(("sku", "system", "scheduler"), MACHINES)
def test_all_versions_come_back(root, sku, system, scheduler):
    node = node_of(sku, system, scheduler)
    envelope = audit(node)
    assert (envelope["status"], envelope["errors"]) == ("ok", [])
    schema = json.loads((root / "standards" / "schema" / "concerns" / "version_audit.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(envelope["data"])
    told = {name: entry["version"] for name, entry in envelope["data"]["components"].items()}
    for name, version in node.versions.items():
        if name in told:
            assert told[name].startswith(version), name
    assert {name for name, version in told.items() if version != "none"} <= set(node.versions)
    assert envelope["data"]["components"]["kernel"]["package_version"]
    assert len(json.dumps(envelope["data"])) < 16_000


@pytest.mark.parametrize("system", ["ubuntu24.04", "rhel9"])
def test_mlnx_ofed_instead_of_doca(system):
    data = audit(node_of("h100_hgx", system, "slurm", mlnx_ofed="24.10-3.2.5.0", doca_host=""))["data"]
    assert (data["components"]["mlnx_ofed"]["version"], data["components"]["doca_host"]["version"]) == ("24.10-3.2.5.0", "none")


def test_hanging_docker():
    node = node_of("h100_hgx", "ubuntu24.04", "slurm")
    node.hung_tools.add("docker")
    envelope = audit(node)
    assert envelope["status"] == "partial"
    assert (envelope["data"]["components"]["docker"]["version"], envelope["data"]["components"]["docker"]["running"]) == ("29.7.0", None)
