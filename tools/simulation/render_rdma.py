"""What sysfs and the RDMA tools say of a simulated node's ports: addresses, keys, counters, GIDs, priorities, transceivers, neighbours."""

from __future__ import annotations

import json
from zlib import crc32

from . import render_recipe
from .model import SimNode
from .model_fabric import end, switch_port
from .records import command, file, missing_file, missing_tree, tree

ROOT, NET, CONFIGFS = "/sys/class/infiniband", "/sys/class/net", "/sys/kernel/config/rdma_cm"
PLACES = "/etc/systemd/system /etc/udev/rules.d /etc/networkd-dispatcher /etc/NetworkManager/dispatcher.d /etc/network"
PLACES += " /etc/rc.local /etc/rc.d /etc/cron.d /etc/modprobe.d /usr/local/sbin /usr/local/bin /opt/roce"
SETTERS = r"mlnx_qos|cma_roce_(tos|mode)|roce_(np|rp)/|/traffic_class|niccli .*(qos|pfc)|nicctl update|bnxt_setupcc"
PERSISTENCE = ["grep", "-rlsIE", SETTERS, *PLACES.split()]
SHELLS = "/etc/environment /etc/profile /etc/bash.bashrc /etc/bashrc /etc/profile.d"
SETTINGS = ["grep", "-rHsIE", "^[[:space:]]*(export[[:space:]]+)?(NCCL|RCCL)_[A-Z0-9_]+=", *SHELLS.split()]
ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
SLOTS = 8  # a real table is longer; the rest is empty all the same
ERRORS = ("symbol_error", "link_error_recovery", "link_downed", "local_link_integrity_errors", "port_rcv_errors", "VL15_dropped")
ERRORS += ("port_rcv_remote_physical_errors", "excessive_buffer_overrun_errors", "port_xmit_discards", "port_rcv_switch_relay_errors")
STATISTICS = ("statistics/rx_crc_errors", "statistics/rx_frame_errors", "statistics/tx_carrier_errors")
SPEEDS = {800: "XDR", 400: "NDR", 200: "NDR", 100: "NDR"}
TRAFFIC_CLASS = 106


def render(node: SimNode) -> dict:
    """The records of ib_config, roce_config and gid_check beside what the hardware's renderer gives."""
    roce = [nic for nic in node.nics if nic.link_layer == "Ethernet"]
    links = {f"{nic.name}/device/driver": "/sys/bus/pci/drivers/mlx5_core" for nic in node.nics}
    files = {path: text for nic in node.nics for path, text in _port(node, nic).items()}
    counters = {path: text for nic in node.nics for path, text in _counters(nic).items()}
    empty = {
        f"{nic.name}/ports/1/gid_attrs/{kind}/{slot}": "EINVAL"
        for nic in roce
        for slot in range(len(gids(node, nic)), SLOTS)
        for kind in ("types", "ndevs")
    }
    net = {path: text for nic in roce for path, text in _net(nic).items()}
    return {
        "commands": [
            command(["ibv_devinfo"], "".join(devinfo(node, nic) for nic in node.nics), duration_s=0.02),
            command(SETTINGS, render_recipe.library_lines(node), rc=2, duration_s=0.01),
            *(command(["mlxlink", "-d", nic.pci, "-m", "-c", "--json"], _mlxlink(node, nic), duration_s=0.35) for nic in node.nics),
            *(command(["mlnx_qos", "-i", nic.netdev], _qos(), duration_s=0.08) for nic in roce),
            *([command(["lldpctl", "-f", "json"], _lldp(node, roce), duration_s=0.01)] if roce else []),
            *([command(PERSISTENCE, "/etc/systemd/system/roce-qos.service\n", rc=2, duration_s=0.02)] if roce else []),
        ],
        "files": [
            missing_file("/root/.nccl.conf"),
            file("/etc/nccl.conf", f"NCCL_IB_TC={TRAFFIC_CLASS}\n") if roce else missing_file("/etc/nccl.conf"),
        ],
        "trees": [
            tree(ROOT, {**files, **counters}, links, empty),
            tree(ROOT + "/.", counters),
            *([tree(NET, net), tree(NET + "/.", {path: text for path, text in net.items() if "/ecn/" not in path})] if roce else []),
            tree("/sys/bus/pci/devices", {f"{gpu.pci}/numa_node": f"{gpu.numa}\n" for gpu in node.gpus}),
            *([missing_tree(CONFIGFS)] if roce else []),
        ],
    }


def _number(text) -> int:
    """7 of gb300-07 or of mlx5_7."""
    return int("".join(sign if sign.isdigit() else " " for sign in text).split()[-1])


def _mac(node, nic) -> str:
    """No two NICs of a cluster share one."""
    return f"9c63c0{crc32(node.cluster.encode()) & 0xFF:02x}{_number(node.name) & 0xFFF:03x}{_number(nic.name) & 0xF:x}"


def guid(node, nic) -> str:
    """Of the device and its one port."""
    mac = _mac(node, nic)
    return f"{mac[:4]}:{mac[4:6]}03:00{mac[6:8]}:{mac[8:]}"


def address(node, nic) -> str:
    """The rail's IPv4 address."""
    host = _number(node.name)
    return f"10.{100 + _number(nic.name)}.{host // 250}.{host % 250 + 1}"


def gids(node, nic) -> list:
    """(GID, type) by index, as a ConnectX port fills its table: link-local, then IPv4, each as v1 and v2."""
    if nic.gids is not None:
        return nic.gids
    if nic.link_layer == "InfiniBand":
        return [(f"fe80:0000:0000:0000:{guid(node, nic)}", "IB/RoCE v1")]
    mac = _mac(node, nic)
    local = f"fe80:0000:0000:0000:{int(mac[:2], 16) ^ 2:02x}{mac[2:4]}:{mac[4:6]}ff:fe{mac[6:8]}:{mac[8:]}"
    one, two, three, four = (int(part) for part in address(node, nic).split("."))
    mapped = f"0000:0000:0000:0000:0000:ffff:{one:02x}{two:02x}:{three:02x}{four:02x}"
    return [(gid, kind) for gid in (local, mapped) for kind in ("IB/RoCE v1", "RoCE v2")]


def _port(node, nic) -> dict:
    base, table = f"{nic.name}/ports/1/", gids(node, nic)
    files = {}
    for slot in range(SLOTS if nic.link_layer == "Ethernet" else 1):
        gid, kind = table[slot] if slot < len(table) else (ZERO, None)
        files[f"{base}gids/{slot}"] = gid + "\n"
        if kind:
            files[f"{base}gid_attrs/types/{slot}"], files[f"{base}gid_attrs/ndevs/{slot}"] = kind + "\n", nic.netdev + "\n"
    if nic.link_layer == "InfiniBand":
        up = nic.port_state == "ACTIVE"
        keys = ["0x8012", "0x7fff"] + ["0x0000"] * 6
        files.update({f"{base}lid": f"{lid(node, nic) if up else 0:#x}\n", f"{base}sm_lid": f"{1 if up else 0:#x}\n"})
    else:
        keys = ["0xffff"]
        files.update(
            {f"{base}lid": "0x0\n", f"{base}sm_lid": "0x0\n", f"{nic.name}/tc/1/traffic_class": f"Global tclass={TRAFFIC_CLASS}\n"}
        )
    return {**files, **{f"{base}pkeys/{index}": key + "\n" for index, key in enumerate(keys)}}


def lid(node, nic) -> int:
    """The LID that the subnet manager gave the port."""
    return 0x40 + 16 * _number(node.name) + _number(nic.name)


def _counters(nic) -> dict:
    base = f"{nic.name}/ports/1/counters/"
    return {**{base + name: "0\n" for name in ERRORS}, base + "port_xmit_wait": "884\n"}


def _net(nic) -> dict:
    files = {f"{nic.netdev}/{name}": "0\n" for name in STATISTICS}
    files.update({f"{nic.netdev}/carrier_down_count": "1\n", f"{nic.netdev}/dev_port": "0\n"})
    for point in ("np", "rp"):
        files.update({f"{nic.netdev}/ecn/roce_{point}/enable/{priority}": "1\n" for priority in range(8)})
    return {**files, f"{nic.netdev}/ecn/roce_np/cnp_dscp": "48\n", f"{nic.netdev}/ecn/roce_np/cnp_802p_prio": "6\n"}


# --- tools ------------------------------------------------------------------------------------------------------------------------------


def devinfo(node, nic) -> str:
    """The block of one device."""
    own_guid, active = guid(node, nic), nic.port_state == "ACTIVE"
    roce = nic.link_layer == "Ethernet"
    rows = [
        ("state", "PORT_ACTIVE (4)" if active else "PORT_DOWN (1)"),
        ("max_mtu", "4096 (5)"),
        ("active_mtu", "4096 (5)"),
        ("sm_lid", "0" if roce or not active else "1"),
        ("port_lid", "0" if roce or not active else str(lid(node, nic))),
        ("port_lmc", "0x00"),
        ("link_layer", nic.link_layer),
    ]
    head = [
        ("transport", "InfiniBand (0)"),
        ("fw_ver", nic.firmware),
        ("node_guid", own_guid),
        ("sys_image_guid", own_guid),
        ("vendor_id", "0x02c9"),
        ("vendor_part_id", "4129" if nic.model == "ConnectX-7" else "4131"),
        ("hw_ver", "0x0"),
        ("board_id", nic.board_id),
        ("phys_port_cnt", "1"),
    ]
    lines = [f"hca_id:\t{nic.name}", *(f"\t{name + ':':<32}{value}" for name, value in head), "\t\tport:\t1"]
    return "\n".join([*lines, *(f"\t\t\t{name + ':':<24}{value}" for name, value in rows)]) + "\n\n"


def _mlxlink(node, nic) -> str:
    up, infiniband = nic.port_state == "ACTIVE", nic.link_layer == "InfiniBand"
    width = 2 if infiniband and nic.rate_gbps == 200 else 4
    speed = f"IB-{SPEEDS.get(nic.rate_gbps, 'NDR')}" if infiniband else f"{nic.rate_gbps}G"
    celsius = 48 + node.seed % 7 + _number(nic.name) % 3
    counters = {
        "Time Since Last Clear [Min]": f"{node.uptime_s / 60 - 4:.1f}",
        **({"Symbol Errors": "0", "Symbol BER": "15E-255"} if infiniband else {}),
        "Effective Physical Errors": "0",
        "Effective Physical BER": "15E-255",
        "Raw Physical Errors Per Lane": {"values": [str(1200 + 17 * lane) for lane in range(width)]},
        "Link Down Counter": "1",
        "Link Error Recovery Counter": "0",
        "Raw Physical BER": "4E-10",
    }
    output = {
        "Operational Info": {
            "State": "Active" if up else "Polling",
            "Physical state": "LinkUp" if up else "N/A",
            "Speed": speed if up else "N/A",
            "Width": f"{width}x" if up else "N/A",
            "FEC": "Standard_RS-FEC - (544,514)" if up else "N/A",
            "Loopback Mode": "No Loopback",
            "Auto Negotiation": "ON",
        },
        "Troubleshooting Info": {
            "Status Opcode": "0" if up else "2",
            "Group Opcode": "N/A",
            "Recommendation": "No issue was observed" if up else "Negotiation failure",
        },
        "Module Info": {
            "Identifier": "OSFP",
            "Cable Type": "Optical Module (separated)",
            "Vendor Name": "NVIDIA",
            "Vendor Part Number": "MMA4Z00-NS400",
            "Vendor Serial Number": f"MT2530FT{node.seed % 900 + 100}{_number(nic.name):02d}",
            "FW Version": "46.122.0",
            "Temperature [C]": f"{celsius} [-5..75]",
        },
        "Physical Counters and BER Info": counters if up else dict.fromkeys(counters, "N/A"),
    }
    return json.dumps({"status": {"code": 0, "message": "success"}, "result": {"output": output}}, indent=4) + "\n"


def _qos() -> str:
    lines = ["DCBX mode: OS controlled", "Priority trust state: dscp", "dscp2prio mapping:"]
    for priority in range(8):
        lines.append(f"\tprio:{priority} dscp:" + "".join(f"{8 * priority + step:02d}," for step in range(7, -1, -1)))
    lines += [
        "default priority:",
        "Receive buffer size (bytes): 20016,156096,0,0,0,0,0,0,max_buffer_size=262016",
        "Cable len: 7",
        "PFC configuration:",
        "\tpriority    0   1   2   3   4   5   6   7",
        "\tenabled     0   0   0   1   0   0   0   0   ",
        "\tbuffer      0   0   0   1   0   0   0   0   ",
    ]
    for tc, priority in enumerate((1, 0, 2, 3, 4, 5, 6, 7)):
        lines += [f"tc: {tc} ratelimit: unlimited, tsa: vendor", f"\t priority:  {priority}"]
    return "\n".join(lines) + "\n"


def _lldp(node, nics) -> str:
    """One leaf for each rail; two ports of one card are on two of them."""
    entries = []
    for nic in nics:
        leaf, place = end(node, nic.name)
        rail = _number(leaf) - 1
        chassis = {leaf: {"id": {"type": "mac", "value": f"9c:05:91:00:{rail:02x}:01"}, "descr": "Cumulus Linux"}}
        port = {"id": {"type": "ifname", "value": f"swp{place}"}, "descr": f"{node.name} {nic.netdev}", "ttl": "120"}
        seen = {"via": "LLDP", "rid": str(rail + 1), "age": "14 days, 02:11:09", "chassis": chassis, "port": port}
        entries.append({nic.netdev: {**seen, **_dcbx(switch_port(node, nic.name))}})
    return json.dumps({"lldp": {"interface": entries}}, indent=2) + "\n"


def _dcbx(told) -> dict:
    """ETS configuration and PFC, as lldpd shows what it does not know."""
    if told["silent"]:
        return {}
    bits = sum(1 << priority for priority in told["pfc"])
    pfc = {"oui": "00,80,C2", "subtype": "11", "len": "2", "value": f"08,{bits:02X}"}
    ets = {"oui": "00,80,C2", "subtype": "9", "len": "21", "value": ",".join(["08", "00", "03"] + ["00"] * 18)}
    return {"unknown-tlvs": {"unknown-tlv": [ets, pfc]}}
