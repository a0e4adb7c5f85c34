"""GID tables inside containers: only of pods that are declared, read from the node, and nothing else of them."""

from __future__ import annotations

import json

import pytest
from accept_node.collectors import gid_check, gid_containers
from accept_node.envelope import Gather
from accept_node.node import ReplayNode
from accept_node.parsers import sysfs_gids

LISTED = ["crictl", "pods", "--state", "ready", "--output", "json", "--label", "accept-audit=gid"]
POD, CONTAINER = "ab" * 32, "cd" * 32
RUNNING = ["crictl", "ps", "--pod", POD, "--state", "running", "--output", "json"]
INSPECT = ["crictl", "inspect", "--output", "go-template", "--template", "{{.info.pid}}", CONTAINER]
ENVIRON = [*gid_containers.ENVIRON, "/proc/77/environ"]
BASE = "/proc/77/root"
LOCAL, MAPPED = "fe80:0000:0000:0000:9e63:c0ff:fea1:b200", "0000:0000:0000:0000:0000:ffff:0a64:0001"


def machine(table, environ="", **changes):
    """A node with one declared pod; `table`: [(GID, type or None)] that it sees."""
    pods = {"items": [{"id": POD, "metadata": {"name": "probe", "namespace": "qa"}}]}
    answers = {
        "pods": (LISTED, json.dumps(pods), 0),
        "ps": (RUNNING, json.dumps({"containers": [{"id": CONTAINER, "metadata": {"name": "main"}}]}), 0),
        "inspect": (INSPECT, "77\n", 0),
        "environ": (ENVIRON, environ, 0 if environ else 1),
        "find": (["find", BASE + "/usr", BASE + "/opt", *gid_containers.LIBRARY], BASE + "/usr/lib/libnccl.so.2.27.3\n", 0),
    }
    commands = [{"argv": argv, "stdout": text, "rc": rc} for name, (argv, text, rc) in answers.items() if name not in changes]
    commands += [{"argv": answers[name][0], **change} for name, change in changes.items() if name in answers]
    files = {"mlx5_0/ports/1/link_layer": "Ethernet\n", "mlx5_0/ports/1/state": "4: ACTIVE\n"}
    for slot, (gid, kind) in enumerate(table):
        files[f"mlx5_0/ports/1/gids/{slot}"] = gid + "\n"
        if kind:
            files.update({f"mlx5_0/ports/1/gid_attrs/types/{slot}": kind + "\n", f"mlx5_0/ports/1/gid_attrs/ndevs/{slot}": "net1\n"})
    trees = [{"root": BASE + "/sys/class/infiniband", "files": files, "reason": changes.get("tree", "")}]
    trees.append({"root": BASE + "/sys/class/net", "files": {"net1/operstate": "up\n"}})
    missing = [{"path": BASE + path, "text": None, "reason": "missing"} for path in gid_containers.CONFS]
    return Gather(ReplayNode({"commands": commands, "trees": trees, "files": missing}))


def inside(*given, **changes):
    gather = machine(*given, **changes)
    return gid_containers.collect(gather, gid_check._tables, gid_check._gids), gather


def test_what_a_pod_sees():
    found, gather = inside([(LOCAL, "IB/RoCE v1"), (LOCAL, "RoCE v2"), (MAPPED, "RoCE v2")], "NCCL_IB_GID_INDEX=3\0")
    (one,) = found
    (port,) = one["ports"]
    assert (one["name"], one["nccl_version"]) == ("qa/probe", "2.27.3")
    assert one["settings"] == [{"from": "environment", "values": {"NCCL_IB_GID_INDEX": "3"}}]
    assert (port["rocev2_index"], port["best_v2"], port["gids"][2]) == (2, "ipv4", [2, "10.100.0.1", "v2", "net1", "up"])
    assert gather.errors == []


def test_slots_of_the_node_s_network_are_none_of_the_pod_s():
    """The device's table is the node's; of slots whose net device is elsewhere the kernel tells no type."""
    (port,) = inside([(LOCAL, "RoCE v2"), (MAPPED, None)])[0][0]["ports"]
    assert (port["best_v2"], port["rocev2_index"]) == ("link_local", "none")


def test_a_table_without_any_type_is_not_known():
    (port,) = inside([(LOCAL, None), (MAPPED, None)])[0][0]["ports"]
    assert (port["best_v2"], port["rocev2_index"]) == (None, None)


def test_nothing_but_declared_pods_is_asked_for():
    _, gather = inside([])
    asked = [source["what"] for source in gather.sources if source["kind"] == "command"]
    assert [one for one in asked if "crictl pods" in one or "crictl ps" in one] == [" ".join(LISTED), " ".join(RUNNING)]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"pods": {"rc": None, "reason": "missing"}}, None),
        ({"pods": {"rc": 1, "stderr": "level=fatal msg=denied"}}, None),
        ({"pods": {"rc": 0, "stdout": '{"items": []}'}}, []),
        ({"ps": {"rc": 0, "stdout": '{"containers": []}'}}, []),
        ({"inspect": {"rc": 1, "stderr": "gone"}}, [None]),
        ({"tree": "permission"}, [None]),
        ({"tree": "missing"}, [[]]),
    ],
)
def test_what_cannot_be_had_is_null_and_never_a_healthy_table(changes, found):
    told = inside([(MAPPED, "RoCE v2")], **changes)[0]
    assert (told if told is None else [one["ports"] for one in told]) == found


def test_short_rows_lose_nothing():
    addresses = [LOCAL, MAPPED, "0000:0000:0000:0000:0000:ffff:a9fe:0101", "fd02:0000:0000:0000:0000:0000:0000:0004", "no address"]
    addresses += [
        "0000:0000:0000:0000:0000:0000:0000:0001",
        "ff02:0000:0000:0000:0000:0000:0000:0001",
        "0000:0000:0000:0000:0000:ffff:7f00:0001",
    ]
    known = {"type": "v2", "netdev": "rail0", "netdev_state": "up"}
    gids = [{"index": at, "gid": gid, "kind": sysfs_gids.kind_of(gid), **known} for at, gid in enumerate(addresses)]
    assert sysfs_gids.full(json.loads(json.dumps(sysfs_gids.short(gids)))) == gids
    assert sysfs_gids.full(gids) == gids
