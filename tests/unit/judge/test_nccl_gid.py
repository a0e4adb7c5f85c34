"""Which GID NCCL would take, by version and settings; and that a prediction is never a pass."""

from __future__ import annotations

import datetime
import json
import types

import pytest
from accept_judge import nccl_gid
from accept_judge.analysis import View, gid_check, ib_config, roce_config
from accept_node.parsers.sysfs_gids import kind_of

LOCAL = "fe80:0000:0000:0000:9e63:c0ff:fea1:b200"
FOUR, OTHER = "0000:0000:0000:0000:0000:ffff:0a64:0004", "0000:0000:0000:0000:0000:ffff:0a09:0004"
UNIQUE = "fd02:0000:0000:0000:0000:0000:0000:0004"


def table(*gids):
    entries = []
    for index, (gid, kind) in enumerate(gids):
        if gid:
            entry = {"index": index, "gid": gid, "kind": kind_of(gid), "type": kind, "netdev": "rail0", "netdev_state": "up"}
            entries.append(entry)
    return entries


USUAL = table((LOCAL, "v1"), (LOCAL, "v2"), (FOUR, "v1"), (FOUR, "v2"))
SHIFTED = table((LOCAL, "v1"), (LOCAL, "v2"), (LOCAL, "v1"), (LOCAL, "v2"), (FOUR, "v1"), (FOUR, "v2"))


def settings(**values):
    return nccl_gid.in_force([{"from": "/etc/nccl.conf", "values": values}])


@pytest.mark.parametrize(
    ("gids", "given", "version", "index"),
    [
        (USUAL, {}, "2.27.3-1+cuda12.9", 3),
        (SHIFTED, {}, "2.27.3", 5),
        (table((LOCAL, "v2"), (FOUR, "v2")), {}, "2.27.3", 1),  # soft-RoCE has no v1
        (USUAL, {}, "2.20.5", 0),
        (USUAL, {"NCCL_IB_GID_INDEX": "1"}, None, 1),
        (USUAL, {"NCCL_IB_GID_INDEX": "-1"}, "2.21.5", 3),
        (USUAL, {"NCCL_IB_ROCE_VERSION_NUM": "1"}, "2.27.3", 2),
        (USUAL[:2], {}, "2.27.3", 0),  # nothing of the family: index 0 stays
        (table((LOCAL, "v1"), (LOCAL, "v2"), (UNIQUE, "v1"), (UNIQUE, "v2")), {}, "2.27.3", 0),
        (table((LOCAL, "v1"), (LOCAL, "v2"), (UNIQUE, "v1"), (UNIQUE, "v2")), {"NCCL_IB_ADDR_FAMILY": "AF_INET6"}, "2.27.3", 3),
        ([*USUAL, *[{**g, "index": g["index"] + 4} for g in table((None, ""), (None, ""), (OTHER, "v1"), (OTHER, "v2"))]], {}, "2.27.3", 3),
        (
            [*USUAL, *[{**g, "index": g["index"] + 4} for g in table((OTHER, "v1"), (OTHER, "v2"))]],
            {"NCCL_IB_ADDR_RANGE": "10.9.0.0/16"},
            "2.27.3",
            5,
        ),
    ],
)
def test_choice(gids, given, version, index):
    assert nccl_gid.choose(gids, settings(**given), version).index == index


def test_without_a_version_nothing_is_said():
    choice = nccl_gid.choose(USUAL, {}, None)
    assert choice.index is None
    assert "version" in choice.reason


def test_a_range_that_is_none():
    assert "is no prefix" in nccl_gid.choose(USUAL, settings(NCCL_IB_ADDR_RANGE="x"), "2.27.3").reason


@pytest.mark.parametrize(
    ("text", "used"),
    [("mlx5", True), ("mlx5_1", False), ("=mlx5_0,mlx5_1", True), ("=mlx5", False), ("^mlx5_0", False), ("^=mlx5_1:1", True), ("", True)],
)
def test_devices_that_the_library_uses(text, used):
    assert nccl_gid.uses("mlx5_0", nccl_gid.Setting(text, "/etc/nccl.conf")) is used


@pytest.mark.parametrize(
    ("gid", "finding"),
    [
        (USUAL[3], "none"),
        (USUAL[2], "index 2 is 10.100.0.4: RoCE v1"),
        (USUAL[1], "index 1 is fe80::9e63:c0ff:fea1:b200: link-local, v2"),
        ({**USUAL[3], "netdev_state": "down"}, "index 3 is 10.100.0.4 on rail0, which is down"),
        ({**USUAL[3], "type": None}, "index 3 is 10.100.0.4: its type cannot be read"),
        (None, "index 3 is empty"),
    ],
)
def test_finding(gid, finding):
    assert nccl_gid.finding(gid, gid["index"] if gid else 3) == finding


# --- the analysis steps -------------------------------------------------------------------------------------------------------------------


def view(folder, version="2.27.3", **catalogs):
    if version:
        path = folder / "facts" / "n1" / "version_audit.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"data": {"components": {"nccl": {"version": version}}}}))
    wanted = types.SimpleNamespace(key=lambda name: types.SimpleNamespace(value=None))
    standards = types.SimpleNamespace(catalogs=catalogs)
    return View(standards, {"vendor": "nvidia"}, {"host": "n1"}, wanted, datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC), folder)


def data(gids=USUAL, unread=(), **values):
    port = {"name": "mlx5_0/1", "device": "mlx5_0", "link_layer": "Ethernet", "traffic": True, "gids": gids, "gids_left_out": 0}
    return {"ports": [port], "settings": {"files": [{"from": "/etc/nccl.conf", "values": values}], "unread": list(unread)}}


def test_a_good_prediction_is_not_measured(tmp_path):
    found = gid_check.analyse(data(), view(tmp_path))
    assert found["nccl_choices"][0]["finding"] is None
    assert "no proof" in found["nccl_choices"][0]["finding_reason"]
    assert found["nccl_pinned"] == []


def test_a_bad_prediction_is_a_finding(tmp_path):
    found = gid_check.analyse(data(USUAL[:2]), view(tmp_path))
    assert "link-local" in found["nccl_choices"][0]["finding"]


def test_a_stale_pinned_index_is_a_finding_whatever_the_version(tmp_path):
    found = gid_check.analyse(data(SHIFTED, NCCL_IB_GID_INDEX="3"), view(tmp_path, version=None))
    assert found["nccl_pinned"] == [{"name": "mlx5_0/1", "finding": "index 3 is fe80::9e63:c0ff:fea1:b200: link-local, v2"}]
    assert found["nccl"]["version"] is None


def pod(gids=USUAL, version="2.27.3", **changes):
    port = {"name": "mlx5_0/1", "device": "mlx5_0", "link_layer": "Ethernet", "gids": gids, "gids_left_out": 0, "best_v2": "ipv4"}
    one = {"name": "qa/probe", "ports": [port], "settings": [], "nccl_version": version}
    return {**data(), "containers": [{**one, **changes}]}


def test_inside_a_pod_its_own_library_and_settings_count(tmp_path):
    found = gid_check.analyse(pod(), view(tmp_path))["container_ports"]
    assert [(one["name"], one["best_v2"], one["finding"]) for one in found] == [("qa/probe mlx5_0/1", "ipv4", None)]
    assert "no proof" in found[0]["finding_reason"]
    old = gid_check.analyse(pod(version="2.18.1"), view(tmp_path))["container_ports"][0]
    assert "link-local" in old["finding"]
    pinned = pod(settings=[{"from": "environment", "values": {"NCCL_IB_GID_INDEX": "1"}}], version=None)
    assert "index 1" in gid_check.analyse(pinned, view(tmp_path))["container_ports"][0]["finding"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ports": None}, "file system could not be read"),
        ({"ports": []}, "sees no RDMA device"),
        ({"settings": None}, "its environment could not be read"),
        ({"nccl_version": None}, "version of the library is not known"),
    ],
)
def test_what_is_not_known_of_a_pod_is_a_reason(tmp_path, changes, reason):
    (one,) = gid_check.analyse(pod(**changes), view(tmp_path))["container_ports"]
    assert one["finding"] is None
    assert reason in one["finding_reason"]


@pytest.mark.parametrize(("containers", "reason"), [(None, "crictl"), ([], "accept-audit=gid")])
def test_without_a_pod_it_is_said_how_to_have_one(tmp_path, containers, reason):
    found = gid_check.analyse({**data(), "containers": containers}, view(tmp_path))
    assert found["container_ports"] is None
    assert reason in found["container_ports_reason"]


def test_settings_that_could_not_be_read_leave_the_choice_open(tmp_path):
    found = gid_check.analyse(data(unread=["/root/.nccl.conf"]), view(tmp_path))
    assert (found["nccl_choices"][0]["finding"], found["nccl_pinned"]) == (None, None)


BER = {
    "min_uptime_min": {"value": 125},
    "fec": {"standard": {"effective": {"warning": 5e-15, "error": 1e-14}, "symbol": {"warning": 5e-15, "error": 1e-14}}},
}


def link(**changes):
    ber = {"raw": 1e-9, "effective": 1.5e-254, "symbol": 1.5e-254}
    return {"tool": "mlxlink", "fec": "x", "fec_kind": "standard", "uptime_min": 900.0, "ber": ber, "module": None, **changes}


def rail(one_link, **changes):
    port = {"name": "mlx5_0/1", "device": "mlx5_0", "pci": "0000:18:00.0", "link_layer": "InfiniBand", "rail": True, "link": one_link}
    return {"ports": [{**port, "pkeys": [], "neighbour": None, **changes}], "sources": {}}


@pytest.mark.parametrize(
    ("one", "ber", "reason"),
    [
        (link(), "normal", None),
        (link(ber={"raw": None, "effective": 6e-15, "symbol": None}), "warning", None),
        (link(ber={"raw": None, "effective": 0.0, "symbol": 1e-14}), "error", None),
        (link(uptime_min=44.1), None, "counted for 44.1 minutes; the rule asks for 125"),
        (link(fec_kind="other", fec="new"), None, "no published limits for FEC new"),
        (None, None, "bit error rates need mlxlink (MFT) or mstlink, run as root"),
    ],
)
def test_bit_error_rates(tmp_path, one, ber, reason):
    found = ib_config.analyse(rail(one), view(tmp_path, ber=BER))["rails"][0]
    assert (found["ber"], found.get("ber_reason")) == (ber, reason)


@pytest.mark.parametrize(
    ("keys", "default", "own"),
    [
        (["0x8012", "0x7fff"], "limited", ["0x0012"]),
        (["0xffff", "0x8012"], "full", ["0x0012"]),
        (["0x7fff"], "limited", []),
        (["0x0012"], "none", []),
        (["0x7fff", "0xffff"], "full", []),
    ],
)
def test_partitions(tmp_path, keys, default, own):
    table = [{"index": i, "key": key, "member": "full" if int(key, 16) & 0x8000 else "limited"} for i, key in enumerate(keys)]
    found = ib_config.analyse(rail(None, pkeys=table), view(tmp_path))["rails"][0]
    assert (found["default_partition"], found["own_keys"]) == (default, own)


def test_planes(tmp_path):
    def two(*switches):
        ports = [
            {**rail(None)["ports"][0], "pci": f"0000:03:00.{n}", "link_layer": "Ethernet", "neighbour": switch and {"switch": switch}}
            for n, switch in enumerate(switches)
        ]
        return ib_config.analyse({"ports": ports, "sources": {"neighbours": "lldpctl"}}, view(tmp_path))["plane_faults"]

    assert two("leaf1", "leaf2") == []
    assert two("leaf1", "leaf1") == ["0000:03:00: leaf1, leaf1"]
    assert two("leaf1", None) is None
    assert ib_config.analyse(rail(None), view(tmp_path))["plane_faults"] == "none"


QOS = {
    "netdev": "rail0",
    "rail": True,
    "trust": "dscp",
    "pfc": [3],
    "dscp_priority": {"0": "0-7", "3": "24-31"},
    "ecn_np": [3],
    "ecn_rp": [3],
    "cnp_dscp": 48,
}


@pytest.mark.parametrize(
    ("changes", "lossless", "no_ecn"),
    [
        ({"traffic_class": 106}, True, []),
        ({"traffic_class": 0}, False, []),
        ({"traffic_class": "none"}, None, []),
        ({"traffic_class": 106, "pfc": []}, None, []),
        ({"traffic_class": 106, "ecn_rp": [0]}, True, [3]),
        ({"traffic_class": 106, "ecn_np": None}, True, None),
    ],
)
def test_priorities(tmp_path, changes, lossless, no_ecn):
    found = roce_config.analyse({"ports": [{**QOS, **changes}]}, view(tmp_path))["rails"][0]
    assert (found["traffic_lossless"], found["ecn_on_lossless"]) == (lossless, no_ecn)


def test_the_class_that_nccl_sets_counts_where_the_driver_forces_none(tmp_path):
    path = tmp_path / "facts" / "n1" / "gid_check.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"data": data(NCCL_IB_TC="96")}))
    found = roce_config.analyse({"ports": [{**QOS, "traffic_class": "none"}]}, view(tmp_path))["rails"][0]
    assert (found["traffic_priority"], found["traffic_lossless"]) == (3, True)
