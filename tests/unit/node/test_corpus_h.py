"""Published outputs of Slurm and Kubernetes give the values that their index lists."""

from __future__ import annotations

import json
import re

import pytest
from accept_node.parsers import (
    kubectl_text,
    kubernetes_nodes,
    scontrol,
    scontrol_config,
    sdiag,
    sinfo,
    slurm_gres,
    slurm_state,
    slurm_table,
)
from accept_node.schedulers import kubernetes, slurm


@pytest.fixture(scope="module")
def slurm_text(corpus):
    return lambda name: (corpus / "h_slurm" / name).read_text(encoding="utf-8", errors="replace")


@pytest.fixture(scope="module")
def kube_text(corpus):
    return lambda name: (corpus / "h_k8s" / name).read_text(encoding="utf-8")


def test_idle_drain_with_fewer_gpus(slurm_text):
    (node,) = scontrol.parse(slurm_text("aws195_node_idle_drain_gres.txt"))["nodes"]
    assert (node["base"], node["flags"], node["gpus"], node["gpus_tres"], node["memory_mib"]) == ("IDLE", ["DRAIN"], 1, 1, 1)
    assert node["reason"] == "gres/gpu count reported lower than configured (0 < 1)"
    assert (node["reason_by"], node["reason_at"]) == ("slurm", "2024-12-19T11:03:34")
    assert slurm.normalise(node)["against"] == ["drained"]


def test_a_healthy_node_behind_a_shell_prompt(slurm_text):
    (node,) = scontrol.parse(slurm_text("azure_scontrol_show_node.txt"))["nodes"]
    assert (node["name"], node["cpus"], node["gpus"], node["version"]) == ("gp06un-8038", 60, 0, "19.05.5")
    assert slurm.normalise(node)["schedulable"] is True


@pytest.mark.parametrize("name", ["pcluster_nodes_1050.txt", "pcluster_nodes_1110.txt"])
def test_three_nodes_two_of_them_rebooting(slurm_text, name):
    nodes = scontrol.parse(slurm_text(name))["nodes"]
    assert [(node["base"], node["flags"]) for node in nodes] == [
        ("DOWN", ["CLOUD", "REBOOT_ISSUED"]),
        ("DOWN", ["CLOUD", "REBOOT_ISSUED"]),
        ("IDLE", ["CLOUD", "MAINTENANCE", "RESERVED"]),
    ]
    assert nodes[0]["reason"] == "Reboot ASAP : reboot issued"
    assert nodes[0]["reason_by"] == "slurm"
    assert nodes[2]["reservation"] == "root_5"
    assert [slurm.normalise(node)["schedulable"] for node in nodes] == [False, False, False]


def test_states_of_cloud_nodes(slurm_text):
    first, second = scontrol.parse(slurm_text("pcluster_nodes_132.txt"))["nodes"]
    assert (first["base"], first["flags"]) == ("IDLE", ["CLOUD", "MAINTENANCE", "RESERVED"])
    assert (second["base"], second["flags"]) == ("DOWN", ["CLOUD", "MAINTENANCE", "POWERED_DOWN", "RESERVED"])
    assert (second["reason"], second["reason_by"], second["started_time"]) == ("test", "slurm", None)
    mixed, asleep = scontrol.parse(slurm_text("pcluster_nodes_97.txt"))["nodes"]
    assert (mixed["base"], mixed["flags"]) == ("MIXED", ["CLOUD"])
    assert slurm_state.parse(asleep["state"]) == {"base": "IDLE", "flags": ["CLOUD", "POWERED_DOWN"]}
    assert slurm.normalise(asleep)["schedulable"] is True


def test_a_comment_with_json(slurm_text):
    (node,) = scontrol.parse(slurm_text("slinky45_dynamic_norm_comment_json.txt"))["nodes"]
    assert (node["base"], node["flags"], node["gpus"], node["gpu_types"]) == ("IDLE", ["DYNAMIC_NORM"], 1, {"a40": 1})
    assert node["in_pod"] is True
    assert slurm_gres.parse("gpu:a40:1(S:0,2,4,6,8,10)")["sockets"] == "0,2,4,6,8,10"


def test_partitions(slurm_text):
    found = scontrol.parse_partition(slurm_text("gcm_scontrol_partitions_oneline.txt"))["partitions"]
    assert [len(partition["hosts"]) for partition in found] == [one["total_nodes"] for one in found] == [3140, 1469, 3140]
    assert (len(found), found[0]["gpus"], found[0]["default"], found[2]["gpus"]) == (3, 22384, True, 22384)
    assert found[0]["hosts"][0] == "node0201"
    (mine,) = scontrol.parse_partition(slurm_text("topograph_scontrol_partition.txt"))["partitions"]
    assert (mine["name"], mine["max_nodes"], mine["hosts"], mine["total_nodes"], mine["gpus"]) == ("my_partition", "UNLIMITED", None, 2, 16)


def test_config(slurm_text):
    found = scontrol_config.parse(slurm_text("gcm_scontrol_show_config.txt"))
    values = found["values"]
    assert (values["SLURM_VERSION"], values["GresTypes"], values["SelectType"]) == ("23.02.2", "gpu", "select/cons_tres")
    assert (values["HealthCheckProgram"], scontrol_config.seconds(values["HealthCheckInterval"])) == ("none", 0)
    assert values["ConstrainDevices"] == "yes"
    assert [(one["role"], one["up"]) for one in found["controllers"]] == [("primary", True), ("backup", True)]


def test_topologies(slurm_text):
    tree = scontrol_config.parse_topology(slurm_text("topograph_topology_tree.txt"))
    leaf = next(one for one in tree["switches"] if one["name"] == "S-2c5eab0300b87a80")
    # the index counts twelve; 01-04, 07, 10-12, 14, 16, 18 are eleven
    assert (tree["plugin"], len(leaf["hosts"]), leaf["hosts"][-1]) == ("tree", 11, "a06-p1-dgx-02-c18")
    assert len(tree["switches"]) == 5
    block = scontrol_config.parse_topology(slurm_text("topograph_topology_block.txt"))
    assert (block["plugin"], len(block["blocks"]), block["block_sizes"]) == ("block", 12, [8, 16, 32])
    assert {len(one["hosts"]) for one in block["blocks"]} == {8}


def test_sinfo_with_names_of_columns(slurm_text):
    table = slurm_table.parse(slurm_text("gcm_sinfo.txt"))
    assert {"PARTITION", "PARTITION#2", "STATE#2", "USER#2"} <= set(table["columns"])
    assert (len(table["rows"]), table["bad_rows"]) == (4, 0)
    nodes = {node["name"]: node for node in sinfo.parse(slurm_text("gcm_sinfo.txt"))["nodes"]}
    assert (nodes["node0201"]["flags"], nodes["node0201"]["gpus"]) == (["DRAIN", "NOT_RESPONDING"], 8)
    assert (nodes["node1537"]["base"], nodes["node1537"]["gpus"]) == ("ALLOCATED", 8)
    assert nodes["node4180"]["gpus"] == 2


def test_sinfo_with_wide_columns(slurm_text):
    rows = slurm_table.parse_rows(slurm_text("gcm_sinfo_gpu_gres.txt"))["rows"]
    assert len(rows) == 10
    first = next(row for row in rows if row[0] == "node1074")
    assert (slurm_gres.parse(first[1])["gpus"], slurm_gres.parse(first[2])["gpus"]) == (8, 0)
    busy = next(row for row in rows if row[0] == "node1221")
    assert (slurm_gres.parse(busy[2])["gpus"], slurm_gres.parse(busy[2])["index"]) == (8, "0-7")
    assert slurm_state.parse(next(row for row in rows if row[0] == "node2654")[5]) == {"base": "IDLE", "flags": ["DRAIN", "MAINTENANCE"]}


def test_gres_with_the_index_of_what_is_used(slurm_text):
    rows = {line.split()[0]: line.split() for line in slurm_text("vpenso83_sinfo_N_gres_idx.txt").splitlines()}
    used = slurm_gres.parse(rows["gpu-04"][6])
    assert (slurm_gres.parse(rows["gpu-04"][5])["gpus"], used["gpus"], used["index"]) == (4, 3, "0,2-3")
    assert (slurm_gres.parse(rows["cpu-01"][5])["gpus"], slurm_gres.parse(rows["cpu-01"][6])["gpus"]) == (0, 0)


def test_list_of_reasons(slurm_text):
    line = slurm_text("citc11_sinfo_list_reasons.txt").splitlines()[1]
    assert re.split(r"\s{2,}", line.strip()) == ["Low RealMemory", "compute[001-003]"]


def test_bytes_that_are_no_text(slurm_text):
    text = slurm_text("gcm_sacct_invalid_utf8.txt")
    assert "\ufffd" in text
    table = slurm_table.parse(text)
    assert table["rows"]
    assert table["bad_rows"] == 0
    assert "JobID" in table["columns"]


def test_json_of_old_and_new_releases(slurm_text):
    old = sinfo.parse_json(slurm_text("rivos_sinfo_2108.json"))
    assert old["release"] == "21.08.5"
    node = old["nodes"][0]
    assert (node["name"], node["base"], node["version"], node["gpus"]) == ("cs2.example.company.com", "MIXED", "21.08.5", 0)
    new = sdiag.parse_json(slurm_text("rivos_sdiag_2405.json"))
    assert (new["release"], new["req_time_s"], new["server_thread_count"]) == ("24.05.5", 1739832148, 2)


def test_custom_columns(kube_text):
    nodes = kubectl_text.parse_gpus(kube_text("custom_columns_none.txt"))["nodes"]
    of_gpus = [node for node in nodes if node["capacity"]]
    assert (len(of_gpus), sum(node["allocatable"] for node in of_gpus)) == (3, 24)
    assert nodes[3] == {"name": "xyz01-ab02-ccpu-001", "capacity": 0, "allocatable": 0}


def test_conditions_for_people(kube_text):
    conditions = {one["type"]: one for one in kubectl_text.parse(kube_text("dra46_describe_conditions.txt"))["conditions"]}
    assert conditions["Ready"]["status"] == "True"
    assert {conditions[kind]["status"] for kind in ("MemoryPressure", "DiskPressure", "PIDPressure")} == {"False"}
    assert conditions["Ready"]["message"].startswith("kubelet is posting ready status")
    assert len(conditions) == 5


def test_a_node_without_conditions(kube_text):
    yaml = pytest.importorskip("yaml")
    item = yaml.safe_load(kube_text("kwok_gpu_node_template.yaml"))
    (node,) = kubernetes_nodes.parse(json.dumps({"kind": "NodeList", "items": [item]}))["nodes"]
    assert (node["gpus_capacity"], node["gpus_allocatable"]) == ({"nvidia.com/gpu": 8}, {"nvidia.com/gpu": 8})
    assert (node["conditions"], node["memory_mib"]) == ([], 1024 * 1024)
    assert kubernetes.normalise(node)["schedulable"] is None, "nothing says that it is ready"


def test_nodes_without_metadata(kube_text):
    nodes = kubernetes_nodes.parse(kube_text("nodes_min_two_ready.json"))["nodes"]
    assert [kubernetes.normalise(node)["gpus_usable"] for node in nodes] == [8, 8]
    assert [node["name"] for node in nodes] == [None, None]


def test_a_condition_that_names_several_xids(kube_text):
    text = kube_text("nvs1270_condition_syslogsxiderror.txt")
    assert kubernetes_nodes.codes(text) == [119, 94]
    assert kubernetes.positive("SysLogsXIDError") is False
