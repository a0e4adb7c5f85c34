"""How RoCE ports sort, pause and mark traffic: trust, DSCP, PFC, ECN, CNP, buffers, traffic class, MTU, and what would restore it at boot.

ConnectX by mlnx_qos and sysfs, Broadcom by niccli, AMD by nicctl; the switch port by what it says over
LLDP. It reads only: cma_roce_tos is not run, since it makes folders in
configfs to read.
"""

from __future__ import annotations

import re

from ..parsers import ibv_devinfo, lldpctl, mlnx_qos, niccli, nicctl
from ..values import integer
from . import rdma
from .ib_config import LLDPCTL

ECN = ["*/ecn/roce_np/enable/*", "*/ecn/roce_rp/enable/*", "*/ecn/roce_np/cnp_dscp", "*/ecn/roce_np/cnp_802p_prio"]
CONFIGFS = "/sys/kernel/config/rdma_cm"
NICCLI = ["niccli", "--list_devices"]
NICCTL_QOS = ["nicctl", "show", "qos"]
NICCTL_CARD = ["nicctl", "show", "card", "-j"]
PLACES = ("/etc/systemd/system", "/etc/udev/rules.d", "/etc/networkd-dispatcher", "/etc/NetworkManager/dispatcher.d", "/etc/network")
PLACES += ("/etc/rc.local", "/etc/rc.d", "/etc/cron.d", "/etc/modprobe.d", "/usr/local/sbin", "/usr/local/bin", "/opt/roce")
SETTERS = r"mlnx_qos|cma_roce_(tos|mode)|roce_(np|rp)/|/traffic_class|niccli .*(qos|pfc)|nicctl update|bnxt_setupcc"
PERSISTENCE = ["grep", "-rlsIE", SETTERS, *PLACES]
UNKNOWN = dict.fromkeys(("tool", "trust", "pfc", "dscp_priority", "priority_buffer", "buffer_bytes", "dcbx"))


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/roce_config.json is its shape."""
    found = rdma.read(gather)
    if not found["ports"]:
        return {"ports": found["ports"], "persistence": None}
    ports = [port for port in found["ports"] if port["link_layer"] == "Ethernet" and not port["vf"]]
    if not ports:
        return {"ports": [], "persistence": None}
    info = gather.command(["ibv_devinfo"], ibv_devinfo.parse, optional=True)
    ecn = gather.tree(rdma.NET, ECN, optional=True)
    tos = gather.tree(CONFIGFS, ["*/ports/*/default_roce_tos"], optional=True)
    heard = gather.command(LLDPCTL, lldpctl.parse_pfc, optional=True)
    vendors = _Vendors(gather)
    entries = []
    for port in ports:
        entry = {key: port[key] for key in ("name", "device", "netdev", "netdev_state", "driver", "rail", "vrf", "mtu_netdev")}
        entry.update({**UNKNOWN, **vendors.qos(port)})
        entry.update(_ecn(ecn, port["netdev"]))
        entry["mtu"] = rdma.devinfo_mtu(info, port)
        entry["traffic_class"] = _traffic_class(found["tree"], port)
        entry.update(_tos(tos, port))
        entry["peer"] = None if heard is None else heard["pfc"].get(port["netdev"]) or "none"
        entries.append(entry)
    # grep's status 2 speaks of a folder that is not there
    files = gather.command(PERSISTENCE, ok=(0, 1, 2), timeout_s=20.0)
    return {"ports": entries, "persistence": None if files is None else sorted(filter(None, files.splitlines()))[:20]}


class _Vendors:
    """Asks the tool of a port's vendor; tools that speak of all ports at once are asked once."""

    def __init__(self, gather):
        self.gather, self.lists = gather, {}

    def _once(self, argv, parse):
        key = " ".join(argv)
        if key not in self.lists:
            self.lists[key] = self.gather.command(argv, parse, optional=True)
        return self.lists[key]

    def qos(self, port) -> dict:
        driver = port["driver"] or ""
        if driver.startswith("bnxt"):
            return self._broadcom(port)
        if driver.startswith("ionic"):
            return self._amd(port)
        if not port["netdev"]:
            return {"trust_reason": "the port has no net device here"}
        argv = ["mlnx_qos", "-i", port["netdev"]]
        said = self.gather.command(argv, mlnx_qos.parse, optional=True)
        if said is None:
            return _reasons("mlnx_qos is not installed" if self.gather.missing(" ".join(argv)) else "mlnx_qos could not be read")
        keys = ("trust", "pfc", "priority_buffer", "buffer_bytes", "dcbx")
        return {"tool": "mlnx_qos", **{key: said[key] for key in keys}, "dscp_priority": ranges(said["dscp_priority"])}

    def _broadcom(self, port):
        listed = self._once(NICCLI, niccli.parse)
        number = next((d["number"] for d in listed["devices"] if d["pci"] == port["pci"]), None) if listed else None
        if number is None:
            return _reasons("niccli does not list this port" if listed else "niccli is not installed, or could not be read")
        said = self.gather.command(["niccli", "--dev", str(number), "qos", "--ets", "--show"], niccli.parse_qos)
        if said is None:
            return _reasons("niccli could not be read")
        trust = "dscp" if said["dscp_priority"] else None
        return {"tool": "niccli", "trust": trust, "pfc": said["pfc"], "dscp_priority": ranges(said["dscp_priority"])}

    def _amd(self, port):
        said, cards = self._once(NICCTL_QOS, nicctl.parse_qos), self._once(NICCTL_CARD, nicctl.parse)
        card = next((c["id"] for c in cards["cards"] if c["netdev_pci"] == port["pci"]), None) if cards else None
        ours = [entry for entry in said["cards"] if entry["card"] in (card, None)] if said else []
        if len(ours) != 1:
            return _reasons("nicctl does not tell this port's card" if said else "nicctl is not installed, or could not be read")
        return {
            "tool": "nicctl",
            "trust": ours[0]["classification"],
            "pfc": ours[0]["pfc"],
            "dscp_priority": ranges(ours[0]["dscp_priority"]),
        }


def _reasons(why):
    return {"tool": "none", "trust_reason": why, "pfc_reason": why}


def ranges(table) -> dict:
    """DSCP -> priority the other way round and short: {"3": "24-31"}; None where no table was printed."""
    if not table:
        return None
    by_priority = {}
    for dscp in sorted(map(int, table)):
        runs = by_priority.setdefault(str(table[str(dscp)]), [])
        if runs and runs[-1][1] == dscp - 1:
            runs[-1][1] = dscp
        else:
            runs.append([dscp, dscp])
    return {key: ",".join(f"{a}-{b}" if a != b else str(a) for a, b in runs) for key, runs in sorted(by_priority.items())}


def _ecn(tree, netdev) -> dict:
    """Priorities for which ECN is on, as notification point (np: sends CNPs) and reaction point (rp: slows down)."""
    empty = {"ecn_np": None, "ecn_rp": None, "cnp_dscp": None, "cnp_priority": None}
    if tree is None or not netdev:
        return empty
    base = netdev + "/ecn/roce_"
    flags = {path[len(base) :]: text.strip() for path, text in tree.files.items() if path.startswith(base)}
    for point in ("np", "rp"):
        rows = {path.rsplit("/", 1)[1]: value for path, value in flags.items() if path.startswith(point + "/enable/")}
        if rows and set(rows.values()) <= {"0", "1"}:
            empty["ecn_" + point] = sorted(int(priority) for priority, value in rows.items() if value == "1" and priority.isdigit())
    return {**empty, "cnp_dscp": integer(flags.get("np/cnp_dscp")), "cnp_priority": integer(flags.get("np/cnp_802p_prio"))}


def _traffic_class(tree, port):
    """The class that the driver forces on all traffic of a port; "none" where it forces none."""
    text = tree.files.get(f"{port['device']}/tc/{port['port']}/traffic_class") if tree else None
    if text is None:
        return None
    match = re.search(r"tclass=([0-9]{1,3})\s*$|^([0-9]{1,3})\s*$", text.strip())
    return int(match.group(1) or match.group(2)) if match else "none" if not text.strip() else None


def _tos(tree, port):
    text = tree.files.get(f"{port['device']}/ports/{port['port']}/default_roce_tos") if tree else None
    return {"cma_tos": integer(text)}  # only where configfs shows the device already: making it do so would be a change
