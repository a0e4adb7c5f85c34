"""What a node's RDMA devices are that no audit expects: each gives a reason, and none of its rows a pass."""

from __future__ import annotations

import json

import pytest
import yaml
from accept_judge import scorecard
from accept_node.collectors import cabling, gid_check, ib_config, roce_config
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode
from fabric_run import ROOT, STANDARDS
from simulation import build, render

COLLECTORS = {
    "gid_check": gid_check.collect,
    "roce_config": roce_config.collect,
    "ib_config": ib_config.collect,
    "cabling": cabling.collect,
}
IB, AGAIN = "/sys/class/infiniband", "/sys/class/infiniband/."


@pytest.fixture(autouse=True)
def standards(monkeypatch):
    """Read once for all cases."""
    monkeypatch.setattr(scorecard.standards_of, "load", lambda folder: STANDARDS)


def captured(transport):
    cluster = {"name": "c", "sku": "b200_hgx", "transport": transport, "scheduler": "none", "nodes": 1}
    (node,) = build.build({"schema": 1, "seed": 3, "clusters": [cluster]})
    return node, render.capture(node, 1790000000.0)


def judged(folder, node, capture, transport) -> dict:
    """Check -> verdict of the node's only row, or the worst of its items."""
    hosts = [{"name": "n1", "cluster": "c", "rack": "r1", "groups": ["gpu_nodes"], "replay": False}]
    run = {
        "schema": 1,
        "run_id": "run",
        "started_at": "2026-11-30T12:00:00.000Z",
        "inventory": {"hosts": hosts},
        "concerns": list(COLLECTORS),
    }
    cluster = {"name": "c", "sku": "b200_hgx", "transport": transport, "scheduler": "none", "nodes": 1}
    head = {"schema": 1, "id": "k", "title": "k", "tier": "gold", "definition": "audit", "agreed_date": "2026-12-15", "clusters": [cluster]}
    (folder / "facts/n1").mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "contract.yml").write_text(yaml.safe_dump({**head, "walk_away_date": "2027-01-31"}))
    replay = RecordingNode(ReplayNode(capture))
    for concern, collector in COLLECTORS.items():
        envelope = {**collect(concern, collector, replay), "run_id": "run", "host": "n1", "mode": "live"}
        (folder / f"facts/n1/{concern}.json").write_text(json.dumps(envelope))
    card = scorecard.score(folder, ROOT / "standards", folder / "contract.yml")
    return {check["id"]: check["rows"] for check in card["checks"] if check["concern"] in COLLECTORS}


def files_of(capture, root):
    return next(tree for tree in capture["trees"] if tree["root"] == root)


def no_devices(capture):
    for tree in capture["trees"]:
        if tree["root"] in (IB, AGAIN):
            tree.update(files={}, links={}, errors={}, reason="missing")


def no_netdevs(capture):
    tree = files_of(capture, IB)
    tree["files"] = {name: text for name, text in tree["files"].items() if "/ndevs/" not in name}
    tree["links"] = {name: to for name, to in tree["links"].items() if "/device/net/" not in name}


def efa(capture):
    """Elastic Fabric Adapters: no link layer, no net device, no RoCE GIDs, counters of their own."""
    for root in (IB, AGAIN):
        tree = files_of(capture, root)
        kept = {name: text for name, text in tree["files"].items() if "/gid_attrs/" not in name and "/counters/" not in name}
        tree["files"] = {name: "Unspecified\n" if name.endswith("/link_layer") else text for name, text in kept.items()}
        tree["links"] = {name: to.replace("mlx5_core", "efa") for name, to in tree["links"].items() if "/device/net/" not in name}
        tree["errors"] = {}


def ports(state, phys):
    def change(capture):
        tree = files_of(capture, IB)
        for name in tree["files"]:
            if name.endswith("/state"):
                tree["files"][name] = state + "\n"
            elif name.endswith("/phys_state"):
                tree["files"][name] = phys + "\n"

    return change


def unreadable_counters(capture):
    for root in (IB, AGAIN):
        tree = files_of(capture, root)
        for name in [name for name in tree["files"] if "/counters/" in name]:
            tree["files"][name] = "N/A (no PMA)\n"


def saturated_counters(capture):
    for root in (IB, AGAIN):
        tree = files_of(capture, root)
        for name in tree["files"]:
            if name.endswith(("symbol_error", "port_rcv_errors", "port_xmit_discards")):
                tree["files"][name] = "65535\n"


def broken_ibstat(capture):
    """Sysfs may not be read, and ibstat breaks off."""
    for tree in capture["trees"]:
        if tree["root"] in (IB, AGAIN):
            tree.update(files={}, links={}, errors={}, reason="permission")
    text = "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Act"
    capture["commands"].append(
        {"argv": ["ibstat"], "rc": 255, "stdout": text, "stderr": "ibpanic: [41] main: stat of IB device 'mlx5_1' failed\n"}
    )


OF_PORTS = ("gid.", "roce.", "ib.port", "ib.lid", "ib.sm_seen", "partition.default", "partition.own")
CASES = {  # name -> change, checks (by their beginnings) of which none may pass, on which transports
    "no RDMA devices": (no_devices, ("gid.", "roce.", "ib.", "partition.", "cabling."), ("roce", "infiniband")),
    "devices without netdev": (no_netdevs, ("roce.trust", "roce.pfc", "roce.ecn", "roce.qos", "roce.mtu_same", "roce.switch"), ("roce",)),
    "EFA": (efa, ("gid.", "roce.", "ib.errors", "ib.discards", "ib.ber", "partition."), ("roce", "infiniband")),
    "ports down": (ports("1: DOWN", "3: Disabled"), ("ib.port_active", "ib.port_link_up", "ib.port_rate"), ("roce", "infiniband")),
    "ports polling": (ports("1: DOWN", "2: Polling"), ("ib.port_active", "ib.port_link_up", "ib.port_rate"), ("roce", "infiniband")),
    "counters unreadable": (unreadable_counters, ("ib.errors_growing", "ib.discards_growing"), ("infiniband",)),
    "counters saturated": (saturated_counters, ("ib.errors_growing", "ib.discards_growing", "ib.counters_saturated"), ("infiniband",)),
    "ibstat breaks off": (broken_ibstat, OF_PORTS, ("infiniband",)),
}


@pytest.mark.parametrize(("name", "transport"), [(name, transport) for name, case in CASES.items() for transport in case[2]])
def test_a_reason_and_no_pass(tmp_path, name, transport):
    change, begin, _ = CASES[name]
    node, capture = captured(transport)
    change(capture)
    rows = {check: found for check, found in judged(tmp_path, node, capture, transport).items() if check.startswith(begin)}
    assert rows
    assert [check for check, found in rows.items() if any(row["verdict"] == "pass" for row in found)] == []
    silent = [
        check for check, found in rows.items() for row in found if row["verdict"] == "not_measured" and not (row["reason"] or row["items"])
    ]
    assert silent == []


@pytest.mark.parametrize("transport", ["roce", "infiniband"])
def test_the_same_node_as_it_should_be_does_pass(tmp_path, transport):
    """So that a case above that sees nothing is no proof."""
    rows = judged(tmp_path, *captured(transport), transport)
    for begin in (
        "ib.port_active",
        "ib.errors_growing",
        "ib.counters_saturated",
        "gid.rocev2_routable" if transport == "roce" else "ib.lid_assigned",
    ):
        assert {row["verdict"] for row in rows[next(check for check in rows if check.startswith(begin))]} == {"pass"}
