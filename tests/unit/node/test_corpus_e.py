"""Published outputs of the RDMA tools and NICs give the values that their index lists."""

from __future__ import annotations

import pytest
from accept_node.parsers import (
    ParseError,
    ethtool,
    ibdev2netdev,
    ibstat,
    ibstatus,
    ibv_devinfo,
    ip_link,
    mlxlink,
    niccli,
    nicctl,
    rdma_link,
    show_gids,
    sysfs_infiniband,
)


@pytest.fixture
def read(corpus):
    return lambda name: (corpus / "e_fabric" / name).read_text(encoding="utf-8")


def test_ethtool_counters_of_an_amd_nic(read):
    counters = ethtool.parse_stats(read("amdnic_ethtool_S_enp68s0.txt"))["counters"]
    assert (counters["tx_packets"], counters["rx_packets"], len(counters)) == (25, 3115860, 607)


def test_ip_link(read):
    link = ip_link.parse(read("amdnic_ip_link_show_enp68s0.txt"))["links"]["enp68s0"]
    assert (link["state"], link["mtu"], link["vfs"]) == ("up", 1500, 1)
    assert link["address"] == "04:90:81:e2:94:3d"  # not the zeros of the virtual function
    ipoib = ip_link.parse(read("ip_link_ib.json"))["links"]
    assert len(ipoib) >= 7
    assert {(link["state"], link["mtu"], link["type"]) for link in ipoib.values()} == {("up", 2044, "infiniband")}
    assert all(link["address"].count(":") == 19 for link in ipoib.values())


def test_nicctl(read):
    card = nicctl.parse(read("amdnic_nicctl_show_card_j.txt"))["cards"][0]
    assert (card["asic"], card["product"]) == ("salina", "POLLARA 1x400G QSFP112")
    assert (card["pci"], card["netdev_pci"]) == ("0000:41:00.0", "0000:44:00.0")
    port = nicctl.parse_port(read("amdnic_nicctl_show_port_card1_j.txt"))["ports"][0]
    assert (port["name"], port["speed_gbps"], port["up"], port["link_downs"]) == ("eth1/1", 100, True, 11)


def test_rdma_statistic(read):
    assert rdma_link.parse_statistic(read("amdnic_rdma_statistic_j.txt"))["counters"]["rocep132s0/1"]["tx_rdma_ucast_bytes"] == 0
    counters = rdma_link.parse_statistic(read("rdma_statistic_amd.json"))["counters"]
    assert set(list(counters["ionic_0/1"].values())[:5]) == {0}
    assert len(counters) >= 2


def test_rdma_link(read):
    first = rdma_link.parse(read("rdma_link_amd.json"))["links"][0]
    assert first == {"device": "ionic_0", "port": 1, "state": "active", "phys_state": "link_up", "netdev": "benic8p1"}
    for name, netns in (("gke_rdma_link_state.txt", None), ("gke_rdma_system_link.txt", "shared")):
        said = rdma_link.parse(read(name))
        assert said["netns"] == netns
        assert len(said["links"]) == 8
        assert {link["device"]: link["netdev"] for link in said["links"] if link["netdev"] != "none"} == {"mlx5_3": "gpu3rdma0"}
        assert {(link["state"], link["phys_state"]) for link in said["links"]} == {("active", "link_up")}


def test_broadcom(read):
    qos = niccli.parse_qos(read("bcm_getqos_ets.txt"))
    assert (qos["priority_tc"]["3"], qos["priority_tc"]["7"], qos["tsa"]["2"]) == ("1", "2", "strict")
    assert (qos["pfc"], qos["tc_bandwidth_pct"]) == ([3], [50, 50, 0])
    assert qos["dscp_priority"] == {"48": 7, "26": 3}
    device = niccli.parse(read("bcm_niccli_list.txt"))["devices"][0]
    assert "BCM57608 1x400G" in device["model"]
    assert (device["number"], device["netdev"], device["pci"]) == (1, "abcd1p1", "0000:22:00.0")


def test_ibv_devinfo(read):
    bond = ibv_devinfo.parse(read("deepep137_ibv_devinfo_bond.txt"))["devices"]["mlx5_bond_0"]
    assert (bond["firmware"], bond["part"], bond["board_id"]) == ("28.39.1002", 4129, "MT_0000000834")
    assert (bond["ports"]["1"]["state"], bond["ports"]["1"]["link_layer"]) == ("active", "Ethernet")
    mixed = ibv_devinfo.parse(read("deepep38_ibv_devinfo_mixed_mtu.txt"))["devices"]
    assert (mixed["?"]["part"], mixed["?"]["ports"]["1"]["mtu"]) == (4119, 1024)
    assert (mixed["mlx5_7"]["firmware"], mixed["mlx5_7"]["board_id"]) == ("28.39.2048", "MT_0000000838")
    assert mixed["mlx5_7"]["ports"]["1"]["mtu"] is None  # cut
    oem = ibv_devinfo.parse(read("ucx3787_ibv_devinfo_oem_board.txt"))["devices"]["mlx5_0"]
    assert (oem["firmware"], oem["board_id"], oem["ports"]["1"]["lid"]) == ("12.24.1000", "MT_2190110032", 1)
    assert ibv_devinfo.parse_list(read("gcm_ibv_devices_hcas.txt"))["count"] == 4
    assert ibv_devinfo.parse_list(read("gcm_ibv_devinfo_one.txt")) == {"count": 1, "devices": ["mlx5_0"]}


def test_ibstat(read):
    polling = ibstat.parse(read("gpud482_ibstat_polling.txt"))["devices"]["mlx5_10"]["ports"]["1"]
    assert (polling["state"], polling["phys_state"], polling["rate_gbps"]) == ("down", "polling", 10)
    for name, guid in (("l2fwd6_ibstat_roce_100.txt", "0x0e42a1fffe788da2"), ("msccl431_ibstat_roce_zero_guid.txt", "0x0000000000000000")):
        devices = ibstat.parse(read(name))["devices"]
        port = devices["mlx5_0"]["ports"]["1"]
        assert (port["phys_state"], devices["mlx5_0"]["type"]) == ("linkup", "MT4125")
        assert (port["state"], port["rate_gbps"], port["lid"], port["link_layer"]) == ("active", 100, 0, "Ethernet")
        assert port["guid"] == guid
    assert set(devices) == {"mlx5_0", "mlx5_1"}  # the first of the two files holds one device only
    assert len({device["system_guid"] for device in devices.values()}) == 1
    guids = ibstat.parse_guids(read("sb_ibstat_multinode.txt"))["guids"]
    assert guids[0] == "0x0ff08c4321664e96"
    assert all(len(guid) == 18 for guid in guids)


def test_ibstatus(read):
    ports = ibstatus.parse(read("nccl1866_ibstatus_roce.txt"))["ports"]
    assert [(p["state"], p["phys_state"], p["rate_gbps"], p["lanes"]) for p in ports[:2]] == [("active", "linkup", 100, "4X EDR")] * 2
    assert (ports[2]["device"], ports[2]["state"], ports[2]["rate_gbps"]) == ("mlx5_2", None, None)
    with pytest.raises(ParseError, match="Fatal error"):
        ibstatus.parse(read("trinity219_ibstatus_fatal.txt"))


def test_ibdev2netdev(read):
    ports = ibdev2netdev.parse(read("imbue4_ibdev2netdev_column.txt"))["ports"]
    assert len(ports) == 12
    ethernet = [port for port in ports if port["netdev"].startswith("en")]
    assert (len(ethernet), sum(port["up"] for port in ethernet)) == (4, 2)
    virtual = ibdev2netdev.parse(read("sriov635_ibdev2netdev_vfs.txt"))["ports"]
    assert {port["device"] for port in virtual if port["up"]} == {"mlx5_2", "mlx5_4", "mlx5_6"}


def test_show_gids(read):
    assert show_gids.parse(read("k8srdma30_show_gids_none.txt")) == {"gids": [], "count": 0}
    indented = show_gids.parse(read("nccl1131_show_gids_indented.txt"))["gids"]
    assert [(g["device"], g["index"], g["netdev"]) for g in indented if g["type"] == "v2" and g["ipv4"] != "none"] == [
        ("mlx5_0", 3, "ens3np0"),
        ("mlx5_1", 3, "ens2np0"),
    ]
    shifted = show_gids.parse(read("ss4_show_gids_index5.txt"))
    assert [g["index"] for g in shifted["gids"] if g["type"] == "v2" and g["ipv4"] != "none"] == [5]
    assert shifted["count"] == len(shifted["gids"]) == 6


def test_mlxlink_cut(read):
    said = mlxlink.parse(read("lshca11_mlxlink_json.json"))
    assert (said["state"], said["speed"], said["width"], said["phys_state"]) == ("active", "IB-EDR", 4, "linkup")
    assert said["module"] is None


def test_counters(read):
    efa = sysfs_infiniband.parse_counters(read("efa_hw_counters_v0.txt"))["counters"]
    assert (efa["rx_drops"], efa["completed_cmds"], len(efa)) == (0, 105, 24)
    saturated = sysfs_infiniband.parse_counters(read("gpud943_sysfs_counters_saturated.txt"))["saturated"]
    assert saturated == ["excessive_buffer_overrun_errors", "link_downed", "port_xmit_discards", "port_xmit_wait"]


def test_a_counter_that_is_a_text_is_absent_not_zero(read):
    text = read("ne966_no_pma.txt")
    files = {"mlx5_0/ports/1/counters/symbol_error": text, "mlx5_0/ports/1/state": "4: ACTIVE\n", "mlx5_1/ports/1/state": "4: ACTIVE\n"}
    devices = sysfs_infiniband.read(files)["devices"]
    assert devices["mlx5_0"]["ports"]["1"]["counters"] == {"symbol_error": None}
    assert devices["mlx5_1"]["ports"]["1"]["state"] == "active"


def test_omni_path_and_old_adapters(read):
    devices = sysfs_infiniband.parse(read("procfs_sysfs_ib_opa_mlx4_mlx5.txt"))["devices"]
    assert devices["hfi1_0"]["ports"]["1"]["rate_gbps"] == 100
    assert [port["rate_gbps"] for port in devices["mlx4_0"]["ports"].values()] == [40, 40]
    h100 = sysfs_infiniband.parse(read("sysfs_ib_h100.txt"))["devices"]
    assert len(h100) == 4
    assert h100["mlx5_bond_0"]["ports"]["1"]["link_layer"] == "Ethernet"
