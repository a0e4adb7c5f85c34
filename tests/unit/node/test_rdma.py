"""The RDMA collectors on recorded ports: real soft-RoCE states, counters, P_Keys, virtual functions, tools that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from accept_node.collectors import gid_check, ib_config, rdma, roce_config
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode

STATES = json.loads((Path(__file__).resolve().parents[2] / "fixtures" / "soft_roce.json").read_text(encoding="utf-8"))
ZERO = "0000:0000:0000:0000:0000:0000:0000:0000\n"
IPV4 = "0000:0000:0000:0000:0000:ffff:0a64:00{:02x}\n"
LOCAL = "fe80:0000:0000:0000:9e63:c0ff:fea1:b2{:02x}\n"


def command(argv, stdout="", rc=0, stderr="", reason=""):
    return {"argv": argv, "rc": rc, "stdout": stdout, "stderr": stderr, "reason": reason}


def read(module, capture):
    return collect(module.__name__.rsplit(".", 1)[1], module.collect, RecordingNode(ReplayNode(capture)))


def ports(number=2, link="InfiniBand", **more):
    """A class folder of ConnectX-7 ports; `more`: path below the class -> text (None takes it away)."""
    files = {}
    for index in range(number):
        base = f"mlx5_{index}/ports/1/"
        files.update({f"mlx5_{index}/board_id": "MT_0000000838\n", f"mlx5_{index}/fw_ver": "28.46.3008\n"})
        files.update({base + "state": "4: ACTIVE\n", base + "phys_state": "5: LinkUp\n", base + "rate": "400 Gb/sec (4X NDR)\n"})
        files.update({base + "link_layer": link + "\n", base + "lid": "0x51\n", base + "sm_lid": "0x1\n", base + "pkeys/0": "0x8012\n"})
    files.update(more)
    return {path: text for path, text in files.items() if text is not None}


def capture(files, again=None, errors=None, links=None, net=None, commands=()):
    trees = [{"root": rdma.ROOT, "files": files, "errors": errors or {}, "links": links or {}}]
    trees.append({"root": rdma.ROOT + ib_config.AGAIN, "files": again if again is not None else files, "errors": errors or {}})
    trees += [{"root": rdma.NET, "files": net or {}}, {"root": rdma.NET + ib_config.AGAIN, "files": net or {}}]
    return {"trees": trees, "commands": list(commands), "files": []}


# --- real GID tables: soft-RoCE in a virtual machine --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "index", "best", "carries"),
    [
        ("01-linklocal-only", "none", "link_local", True),
        ("02-ipv4", 1, "ipv4", True),
        ("03-vlan", 1, "ipv4", True),
        ("04a-ipv4-removed", 3, "ipv4", True),  # what is left is the VLAN's address
        ("04b-ipv4-readded", 1, "ipv4", True),
        ("04c-vlan-deleted", 1, "ipv4", True),
        ("07-eth1-down", "none", "none", False),  # the addresses stay in the table of the device that is down
        ("08-carrier-off-eth1", "none", "none", False),
    ],
)
def test_real_tables(state, index, best, carries):
    data = read(gid_check, STATES[state])["data"]
    port = data["ports"][0]
    assert (port["rocev2_index"], port["best_v2"], port["traffic"]) == (index, best, carries)
    assert (port["netdev"], port["pci"], port["pf"]) == ("eth1", None, None)  # no place on the bus: nobody's function
    assert len(json.dumps(data)) < 8192


def test_two_real_rails_without_a_common_index():
    assert read(gid_check, STATES["02-ipv4"])["data"]["rocev2_common"] == [1]
    assert read(gid_check, STATES["01-linklocal-only"])["data"]["rocev2_common"] == []


def test_no_device_is_measured_and_no_pass():
    for state in ("00-no-rdma-link", "09-rxe-module-removed"):
        envelope = read(gid_check, STATES[state])
        assert envelope["data"]["ports"] == []
        assert envelope["data"]["rocev2_common"] is None
        assert read(ib_config, STATES[state])["data"]["rdma_ports"] == 0


def test_real_links():
    down, polling = (read(ib_config, STATES[state])["data"]["ports"][0] for state in ("07-eth1-down", "08-carrier-off-eth1"))
    assert (down["state"], down["phys_state"]) == ("down", "disabled")
    assert (polling["state"], polling["phys_state"]) == ("down", "polling")
    assert read(ib_config, STATES["06-speed100g-400g"])["data"]["ports"][0]["rate_gbps"] == 100
    # soft-RoCE has no such counters: that is no zero
    assert down["errors_growing"] is None
    assert "no such counters" in down["errors_growing_reason"]
    assert (down["counters_saturated"], down["counters_saturated_reason"]) == (None, "no counter of this port could be read")


# --- GIDs ---------------------------------------------------------------------------------------------------------------------------------


def table(device, *gids, netdev="rail0"):
    files = {}
    for index, (gid, kind) in enumerate(gids):
        files[f"{device}/ports/1/gids/{index}"] = gid
        if kind:
            files[f"{device}/ports/1/gid_attrs/types/{index}"], files[f"{device}/ports/1/gid_attrs/ndevs/{index}"] = (
                kind + "\n",
                netdev + "\n",
            )
    return files


V1, V2 = "IB/RoCE v1", "RoCE v2"


def test_a_type_that_the_kernel_will_not_tell_is_unknown():
    gids = table("mlx5_0", (LOCAL.format(0), None), (IPV4.format(1), None))
    port = read(gid_check, capture(ports(1, "Ethernet", **gids)))["data"]["ports"][0]
    assert port["rocev2_index"] is None
    assert "does not tell the type" in port["rocev2_index_reason"]


def test_a_virtual_function_carries_the_rail_of_a_port_without_address():
    files = ports(2, "Ethernet", **table("mlx5_0", (LOCAL.format(0), V2)), **table("mlx5_1", (IPV4.format(1), V2), netdev="rail0v0"))
    links = {
        "mlx5_0/device": "/sys/devices/pci0000:10/0000:18:00.0",
        "mlx5_1/device": "/sys/devices/pci0000:10/0000:18:00.2",
        "mlx5_1/device/physfn": "/sys/devices/pci0000:10/0000:18:00.0",
    }
    found = {port["device"]: port for port in read(gid_check, capture(files, links=links))["data"]["ports"]}
    assert (found["mlx5_0"]["rail"], found["mlx5_0"]["traffic"]) == (True, False)
    assert (found["mlx5_1"]["vf"], found["mlx5_1"]["pf"], found["mlx5_1"]["traffic"]) == (True, "mlx5_0", True)


def test_more_gids_than_are_kept_are_counted():
    gids = table("mlx5_0", *[(IPV4.format(index), V2) for index in range(100)])
    data = read(gid_check, capture(ports(1, "Ethernet", **gids)))["data"]
    assert (len(data["ports"][0]["gids"]), data["ports"][0]["gids_left_out"]) == (64, 36)
    assert len(json.dumps(data)) < 65536


def test_settings_come_in_the_order_of_the_library_and_hold_nothing_else():
    shell = "/etc/environment:NCCL_IB_TC=106\n"
    machine = capture(ports(1), commands=[command(gid_check.SETTINGS, shell, rc=2)])
    machine["files"] = [
        {"path": "/root/.nccl.conf", "text": None, "reason": "permission"},
        {"path": "/etc/nccl.conf", "text": "NCCL_IB_GID_INDEX=3\nTOKEN=x\n", "reason": ""},
    ]
    settings = read(gid_check, machine)["data"]["settings"]
    assert settings["files"] == [
        {"from": "/etc/environment", "values": {"NCCL_IB_TC": "106"}},
        {"from": "/etc/nccl.conf", "values": {"NCCL_IB_GID_INDEX": "3"}},
    ]
    assert settings["unread"] == ["/root/.nccl.conf"]


# --- ports --------------------------------------------------------------------------------------------------------------------------------

SYMBOL, DOWNED, VL15 = ("mlx5_0/ports/1/counters/" + name for name in ("symbol_error", "link_downed", "VL15_dropped"))


@pytest.mark.parametrize(
    ("before", "after", "growing", "reason"),
    [
        ({SYMBOL: "7\n"}, {SYMBOL: "7\n"}, [], ""),
        ({SYMBOL: "7\n"}, {SYMBOL: "9\n"}, ["symbol_error +2"], ""),
        ({SYMBOL: "9\n"}, {SYMBOL: "2\n"}, None, "symbol_error went back from 9 to 2"),
        ({SYMBOL: "0\n", DOWNED: "255\n"}, {SYMBOL: "0\n", DOWNED: "255\n"}, None, "link_downed stands at its ceiling, 255"),
        ({SYMBOL: "N/A (no PMA)\n"}, {SYMBOL: "N/A (no PMA)\n"}, None, "symbol_error cannot be read (N/A (no PMA))"),
    ],
)
def test_errors_are_growth_and_what_cannot_be_told_is_unknown(before, after, growing, reason):
    port = read(ib_config, capture(ports(1, **before), again=ports(1, **after)))["data"]["ports"][0]
    assert port["errors_growing"] == growing
    assert port.get("errors_growing_reason", "") == reason


def test_one_unreadable_counter_hides_no_other():
    """Some ConnectX-7 firmware refuses to read VL15_dropped (EINVAL)."""
    machine = capture(ports(1, **{SYMBOL: "0\n"}), errors={VL15: "EINVAL"})
    port = read(ib_config, machine)["data"]["ports"][0]
    assert port["errors_growing"] == []
    assert port["counters_unreadable"] == ["VL15_dropped: EINVAL"]


def test_time_passes_between_the_readings():
    node = ReplayNode(capture(ports(1)))
    data = collect("ib_config", ib_config.collect, node)["data"]
    assert data["window_s"] >= ib_config.WINDOW_S
    assert node.elapsed >= ib_config.WINDOW_S


def test_partition_keys_are_sparse_and_say_their_membership():
    keys = {f"mlx5_0/ports/1/pkeys/{index}": key + "\n" for index, key in enumerate(["0x8012", "0x7fff", "0x0000", "0xffff"])}
    assert read(ib_config, capture(ports(1, **keys)))["data"]["ports"][0]["pkeys"] == [
        {"index": 0, "key": "0x8012", "member": "full"},
        {"index": 1, "key": "0x7fff", "member": "limited"},
        {"index": 3, "key": "0xffff", "member": "full"},
    ]
    ethernet = read(ib_config, capture(ports(1, "Ethernet", **keys)))["data"]["ports"][0]
    assert ethernet["pkeys"] is None


def test_sysfs_alone_is_enough_and_says_so():
    envelope = read(ib_config, capture(ports(2)))
    assert envelope["data"]["sources"] == {"ports": "sysfs", "mtu": "none", "links": "none", "neighbours": "none"}
    assert [port["rail"] for port in envelope["data"]["ports"]] == [True, True]


def test_ibstat_stands_in_where_sysfs_may_not_be_read():
    text = (Path(__file__).resolve().parents[2] / "fixtures/ibstat/connectx7/two_ports_one_down.txt").read_text(encoding="utf-8")
    trees = [{"root": rdma.ROOT, "files": {}, "reason": "permission"}, {"root": rdma.NET, "files": {}}]
    machine = {"trees": trees, "commands": [command(rdma.IBSTAT, text), command(rdma.IBDEV2NETDEV, "mlx5_0 port 1 ==> ib0 (Down)\n")]}
    data = read(ib_config, machine)["data"]
    assert data["sources"]["ports"] == "ibstat"
    assert [(port["name"], port["state"], port["netdev"]) for port in data["ports"]] == [
        ("mlx5_0/1", "active", "ib0"),
        ("mlx5_1/1", "down", None),
    ]
    assert data["ports"][0]["errors_growing"] is None


@pytest.mark.parametrize("link", ["Unspecified", "Ethernet"])
def test_an_efa_device_has_no_gid_table_of_roce(link):
    files = {"rdmap0s6/ports/1/" + name: text for name, text in {"state": "4: ACTIVE\n", "link_layer": link + "\n"}.items()}
    data = read(gid_check, capture({**files, "rdmap0s6/ports/1/gids/0": LOCAL.format(1)}))["data"]
    assert data["ports"][0]["rocev2_index"] in ("none", None)
    assert read(roce_config, capture(files))["data"]["persistence"] is None


# --- RoCE ---------------------------------------------------------------------------------------------------------------------------------

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def fixture(name):
    return (FIXTURES / name).read_text(encoding="utf-8")


def vendor(driver, *commands):
    links = {"mlx5_0/device": "/sys/devices/pci0000:20/0000:22:00.0", "mlx5_0/device/driver": "/sys/bus/pci/drivers/" + driver}
    links["mlx5_0/device/net/rail0"] = links["mlx5_0/device"] + "/net/rail0"
    machine = capture(ports(1, "Ethernet"), links=links, commands=[*commands, command(roce_config.PERSISTENCE, rc=1)])
    return read(roce_config, machine)["data"]["ports"][0]


def test_each_vendor_by_its_own_tool():
    mellanox = vendor("mlx5_core", command(["mlnx_qos", "-i", "rail0"], fixture("mlnx_qos/connectx8/dscp_pfc_3.txt")))
    assert (mellanox["tool"], mellanox["trust"], mellanox["pfc"], mellanox["dscp_priority"]["3"]) == ("mlnx_qos", "dscp", [3], "24-31")
    argv = ["niccli", "--dev", "1", "qos", "--ets", "--show"]
    listed = command(roce_config.NICCLI, fixture("niccli/thor2/list_devices.txt"))
    broadcom = vendor("bnxt_en", listed, command(argv, fixture("niccli/thor2/qos@pfc_3.txt")))
    assert (broadcom["tool"], broadcom["pfc"], broadcom["dscp_priority"]) == ("niccli", [3], {"3": "26"})
    cards = command(roce_config.NICCTL_CARD, fixture("nicctl/pollara/card.txt").replace("0000:44:00.0", "0000:22:00.0"))
    amd = vendor("ionic", cards, command(roce_config.NICCTL_QOS, fixture("nicctl/pollara/qos@one_card.txt")))
    assert (amd["tool"], amd["trust"], amd["pfc"], amd["dscp_priority"]["3"]) == ("nicctl", "dscp", [3], "26")


def test_a_tool_that_is_not_there_is_a_reason():
    port = vendor("mlx5_core", command(["mlnx_qos", "-i", "rail0"], rc=None, reason="missing"))
    assert (port["pfc"], port["pfc_reason"]) == (None, "mlnx_qos is not installed")


@pytest.mark.parametrize(("text", "value"), [("Global tclass=106\n", 106), ("", "none"), ("\n", "none"), ("106\n", 106), ("busy", None)])
def test_traffic_class(text, value):
    files = ports(1, "Ethernet", **{"mlx5_0/tc/1/traffic_class": text})
    machine = capture(files, commands=[command(roce_config.PERSISTENCE, rc=1)])
    data = read(roce_config, machine)["data"]
    assert data["ports"][0]["traffic_class"] == value
    assert data["persistence"] == []
