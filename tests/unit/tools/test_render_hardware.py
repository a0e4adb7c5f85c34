"""What the simulator prints is what the inventory reads: healthy nodes fit the schema, faults are seen where they were put."""

from __future__ import annotations

import json

import jsonschema
import pytest
from accept_node.collectors import inventory_audit
from accept_node.envelope import collect
from accept_node.node import ReplayNode
from simulation import build, faults, render

SKUS = ("h100_hgx", "h200_hgx", "b200_hgx", "b300_hgx", "gb200_nvl72", "gb300_nvl72", "mi300x", "mi325x", "mi355x")


def node_of(sku, *seeded):
    cluster = {"name": "sim", "sku": sku, "nodes": 1, "transport": "roce", "scheduler": "slurm"}
    return build.build({"schema": 1, "clusters": [cluster], "faults": [{"hosts": "sim-01", **fault} for fault in seeded]})[0]


def read(node):
    return collect("inventory_audit", inventory_audit.collect, ReplayNode(render.capture(node, 1.79e9)))


@pytest.fixture(scope="module")
def schema(root):
    return jsonschema.Draft202012Validator(json.loads((root / "standards/schema/concerns/inventory_audit.json").read_text()))


@pytest.mark.parametrize("sku", SKUS)
def test_a_healthy_node(sku, schema):
    node = node_of(sku)
    envelope = read(node)
    data = envelope["data"]
    assert (envelope["status"], envelope["errors"]) == ("ok", [])
    schema.validate(data)
    assert len(json.dumps(data)) < 64 * 1024
    assert (data["gpu_count"], data["pci_gpu_count"], data["gpus_lost"]) == (len(node.gpus), len(node.gpus), [])
    assert [gpu["pci"] for gpu in data["gpus"]] == [gpu.pci for gpu in node.gpus]
    assert (data["nic_count"], data["nvme_count"]) == (len(node.nics), len(node.nvmes))
    assert all(gpu["nics_on_numa"] for gpu in data["gpus"])


@pytest.mark.parametrize(
    ("sku", "fault", "seen"),
    [
        (
            "b200_hgx",
            {"fault": "gpu_fallen_off_bus", "gpu": 6},
            lambda d: d["gpu_count"] == 7 and d["gpus_lost"][0]["pci"] == "0000:d1:00.0",
        ),
        ("mi300x", {"fault": "gpu_fallen_off_bus", "gpu": 1}, lambda d: d["gpu_count"] == 7 and d["gpus_lost"][0]["pci"] == "0000:26:00.0"),
        ("b200_hgx", {"fault": "gpu_half_pcie_width", "gpu": 5}, lambda d: d["gpus"][5]["pcie"]["width_reduced"]),
        ("b200_hgx", {"fault": "pending_row_remap", "gpu": 2}, lambda d: d["gpus"][2]["remapped_rows"]["pending"]),
        ("b200_hgx", {"fault": "ecc_off"}, lambda d: d["gpus"][0]["ecc"]["current"] is False),
        ("b200_hgx", {"fault": "nvlink_down", "gpu": 3, "links": 2}, lambda d: d["gpus"][3]["nvlink"]["inactive"] == [0, 1]),
        ("b200_hgx", {"fault": "nvlink_down", "gpu": 3, "links": 18}, lambda d: d["gpus"][3]["nvlink"]["active"] == 0),
        ("b200_hgx", {"fault": "lowered_power_limit", "watts": 700}, lambda d: d["gpus"][7]["power_limit_lowered"]),
        ("b200_hgx", {"fault": "thermal_throttle"}, lambda d: d["gpus"][0]["event_reasons"]["hw_thermal_slowdown"]),
        ("mi300x", {"fault": "thermal_throttle"}, lambda d: d["gpus"][0]["throttle_status"] == "THROTTLED"),
        ("b200_hgx", {"fault": "persistence_off"}, lambda d: d["gpus"][0]["persistence"] is False),
        (
            "gb300_nvl72",
            {"fault": "mig_left_on"},
            lambda d: d["gpus"][0]["mig"]["current"] and d["gpus"][0]["remapped_rows"]["pending"] is None,
        ),
        ("gb300_nvl72", {"fault": "nvlink_domain_split"}, lambda d: d["nvlink_domain"].endswith("/2")),
        (
            "gb300_nvl72",
            {"fault": "fabric_not_ready"},
            lambda d: d["nvlink_domain"] is None and d["gpus"][0]["fabric"]["state"] == "In Progress",
        ),
        ("b200_hgx", {"fault": "missing_nic", "nic": 2}, lambda d: d["nic_count"] == 7 and d["gpus"][2]["nearest_nic_link"] == "NODE"),
        ("b200_hgx", {"fault": "half_rate_port", "nic": 3}, lambda d: d["nics"][3]["rate_gbps"] == 200.0),
        ("b200_hgx", {"fault": "port_down"}, lambda d: d["nics"][0]["state"] == "down"),
        ("b200_hgx", {"fault": "nic_half_pcie_width"}, lambda d: d["nics"][0]["pcie"]["width_reduced"]),
        ("b200_hgx", {"fault": "acs_redirect_on"}, lambda d: len(d["acs"]["enabled_between"]) == 24),
        ("b200_hgx", {"fault": "odd_kernel_cmdline"}, lambda d: d["iommu"]["mode"] == "translated"),
        ("b200_hgx", {"fault": "nvme_worn", "drive": 4}, lambda d: d["nvme"][4]["smart"]["percentage_used"] == 104),
        ("b200_hgx", {"fault": "nvme_missing"}, lambda d: d["nvme_count"] == 7),
        ("b200_hgx", {"fault": "less_memory", "gib": 64}, lambda d: d["memory"]["installed_mib"] == (2048 - 64) * 1024),
        ("b200_hgx", {"fault": "hung_tool"}, lambda d: d["gpus"] is None and d["gpus_lost"] is None),
        ("b200_hgx", {"fault": "rubbish_tool"}, lambda d: d["gpus"] is None and d["gpu_count"] is None),
    ],
    ids=lambda value: value["fault"] if isinstance(value, dict) else value if isinstance(value, str) else "",
)
def test_a_fault_is_seen(sku, fault, seen, schema):
    assert fault["fault"] in faults.registry()
    data = read(node_of(sku, fault))["data"]
    schema.validate(data)
    assert seen(data)
    assert not seen(read(node_of(sku))["data"])
