"""Published outputs of InfiniBand tools, as their list of key values says."""

from __future__ import annotations

import pytest
from accept_node.parsers import iblinkinfo, ibnetdiscover, ibswinfo, perfquery


@pytest.fixture
def text(corpus):
    return lambda name: (corpus / "e_fabric" / name).read_text(encoding="utf-8", errors="replace")


def test_links_occur_in_both_directions(text):
    ports = ibnetdiscover.parse_ports(text("ib_ibnetdiscover_test.txt"))["ports"]
    hosts = [port for port in ports if port["kind"] == "ca"]
    assert [(port["name"], port["width"], port["speed"]) for port in hosts] == [
        ("o0001 HCA-1", "4X", "EDR"),
        ("o0002 HCA-1", "4X", "EDR"),
        ("p0001 HCA-1", "4X", "EDR"),
    ]
    back = [port["peer"]["name"] for port in ports if port["kind"] == "switch" and port["peer"] and port["peer"]["kind"] == "ca"]
    assert sorted(back) == ["o0001 HCA-1", "o0002 HCA-1", "p0001 HCA-1"]
    alone = [(port["lid"], port["port"], port["speed"]) for port in ports if port["peer"] is None]
    assert alone == [(2052, 37, None), (1781, 80, "SDR")]


def test_ports_without_a_cable_are_not_slow_links(text):
    ports = ibnetdiscover.parse_ports(text("ib_ibnetdiscover_test2.txt"))["ports"]
    alone = [(port["lid"], port["port"], port["name"]) for port in ports if port["peer"] is None]
    assert alone[:2] == [(24, 1, "5FB0406-spine-IB01"), (25, 1, "5FB0406-spine-IB02")]
    assert [port["name"] for port in ports if port["kind"] == "ca"] == ["Mellanox Technologies Aggregation Node", "worker20 mlx5_3"]


def test_a_name_without_quotes(text):
    (port,) = ibnetdiscover.parse_ports(text("ib_ibnetdiscover_test3.txt"))["ports"]
    assert (port["lid"], port["port"], port["width"], port["speed"], port["peer"]) == (479, 22, "4X", "QDR", None)
    assert port["name"] == "Infiniscale-IV Mellanox Technologies"


def test_heads_with_and_without_a_rate(text):
    nodes = ibnetdiscover.parse(text("topograph_ibnetdiscover.txt"))["nodes"]
    spine, host, leaf = nodes
    assert (spine["kind"], spine["guid"], spine["lid"]) == ("switch", "0x08c0eb03008cc87c", 304)
    assert [(link["width"], link["speed"]) for link in spine["links"]] == [("4X", "HDR"), (None, None)]
    assert (host["kind"], host["name"], host["links"]) == ("ca", "gpuprd10-node3086 mlx5_3", [])
    assert [link["peer"]["port"] for link in leaf["links"]] == [39, 39, 39]


def test_mixed_speeds(text):
    ports = iblinkinfo.parse(text("nt71_iblinkinfo_mixed_speed.txt"))["ports"]
    assert all((port["state"], port["phys_state"]) == ("active", "linkup") for port in ports)
    speeds = {port["name"]: port["speed_gbps"] for port in ports if port["kind"] == "ca"}
    assert speeds.pop("Mellanox Technologies Aggregation Node") == 53.125
    assert set(speeds.values()) == {25.78125}
    seen = {port["peer"]["name"] for port in ports if port["kind"] == "switch"}  # the fourth host's own lines are cut away
    assert len(seen) == 4
    assert set(speeds) < seen


def test_extended_counters_of_two_ports(text):
    first, second = perfquery.parse(text("ib_perfquery_0x7cfe9003009ce5b0.txt"))["ports"]
    assert (first["lid"], first["port"], second["port"]) == (1719, 1, 2)
    assert first["counters"]["PortXmitData"] == 36298026860928
    assert first["counters"]["PortRcvData"] == 12279028775751


def test_details_of_receive_errors(text):
    (port,) = perfquery.parse(text("ib_perfquery-rcv-error_0x7cfe9003003b4b96-1.txt"))["ports"]
    assert (port["lid"], port["port"], set(port["counters"].values())) == (133, 1, {0})


def test_a_power_that_is_no_number(text):
    psus = ibswinfo.parse(text("ib_ibswinfo_test-err1.txt"))["psus"]
    assert [psu["power_w"] for psu in psus] == [None, 71]


def test_fields_that_are_missing(text):
    found = ibswinfo.parse(text("ib_ibswinfo_test1-missing.txt"))
    assert [psu["status"] for psu in found["psus"]] == ["OK", None]
    assert found["temperature_c"] is None
    assert found["fan_status"] is None
    assert found["fans_rpm"]["1"] is None
    assert found["fans_rpm"]["2"] == 7349
