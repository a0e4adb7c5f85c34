"""The RDMA ports of a node: link, addresses, P_Keys, errors that grow, bit error rates, transceivers, neighbours, nearest GPUs.

Sysfs alone is enough; `sources` says what else answered. Errors are the growth between two readings: totals since boot say little. It
reads only, and resets no counter.
"""

from __future__ import annotations

import re

from ..parsers import ethtool, ibv_devinfo, lldpctl, lspci, mlxlink, sysfs, sysfs_infiniband
from ..values import integer
from . import rdma

WINDOW_S = 3.0  # at least so long between the readings; tools run meanwhile
AGAIN = "/."  # the second reading goes by another name of the same folder, so that a capture keeps both apart
DEVINFO = ["ibv_devinfo"]
LLDPCTL = ["lldpctl", "-f", "json"]
LSPCI = ["lspci", "-D", "-nn"]  # word for word what the inventory asks
COUNTERS = ["*/ports/*/counters/*"]
STATISTICS = ["*/statistics/" + name for name in ("rx_crc_errors", "rx_frame_errors", "tx_carrier_errors")] + ["*/carrier_down_count"]
LINK_ERRORS = (
    *("symbol_error", "link_error_recovery", "link_downed", "local_link_integrity_errors", "port_rcv_errors"),
    *("port_rcv_remote_physical_errors", "excessive_buffer_overrun_errors"),
    *("rx_crc_errors", "rx_frame_errors", "tx_carrier_errors", "carrier_down_count"),
)
DISCARDS = ("port_xmit_discards",)
PORT_KEYS = (
    *("name", "device", "port", "pci", "numa", "driver", "firmware", "board_id", "hca_type", "link_layer", "state", "phys_state"),
    *("rate_gbps", "lanes", "netdev", "netdev_state", "vrf", "vf", "pf", "rail"),
)


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/ib_config.json is its shape."""
    found = rdma.read(gather)
    ports, tree = found["ports"], found["tree"]
    if not ports:
        return {"ports": ports, "rdma_ports": None if ports is None else 0, "window_s": None, "sources": {"ports": found["source"]}}
    before, began = _counters(gather, ports, ""), gather.node.now()
    info = gather.command(DEVINFO, ibv_devinfo.parse, optional=True)
    seen = gather.command(LLDPCTL, lldpctl.parse, optional=True) if any(p["link_layer"] == "Ethernet" for p in ports) else None
    near = _gpus(gather, ports)
    entries = []
    for port in ports:
        entry = {key: port[key] for key in PORT_KEYS}
        entry["mtu"] = rdma.devinfo_mtu(info, port)
        entry.update(_addresses(tree, port))
        entry.update(near.get(port["name"], {"gpus": None, "gpu_link": None}))
        entry["link"] = _link(gather, port)
        neighbours = (seen or {"neighbours": {}})["neighbours"].get(port["netdev"]) or []
        entry["neighbour"] = None if seen is None else neighbours[0] if neighbours else "none"
        entries.append(entry)
    gather.node.sleep(max(0.0, WINDOW_S - (gather.node.now() - began)))
    window_s = round(gather.node.now() - began, 3)
    after = _counters(gather, ports, AGAIN)
    for entry in entries:
        entry.update(_growth(before.get(entry["name"], {}), after.get(entry["name"], {})))
    tools = sorted({entry["link"]["tool"] for entry in entries if entry["link"]})
    used = {"ports": found["source"], "mtu": "ibv_devinfo" if info else "none", "links": ", ".join(tools) or "none"}
    used["neighbours"] = "none" if seen is None else "lldpctl"
    return {"ports": entries, "rdma_ports": len(entries), "window_s": window_s, "sources": used}


# --- addresses and keys -----------------------------------------------------------------------------------------------------------------


def _addresses(tree, port):
    """LIDs and P_Keys; those of an Ethernet port mean nothing and are left out."""
    if tree is None or port["link_layer"] != "InfiniBand":
        return {"lid": None, "sm_lid": None, "pkeys": None}
    base = f"{port['device']}/ports/{port['port']}/"
    lids = {name: tree.files.get(base + name, "").strip() for name in ("lid", "sm_lid")}
    keys = {name: text.strip().lower() for name, text in tree.files.items() if name.startswith(base + "pkeys/")}
    unread = [name for name in tree.errors if name.startswith(base + "pkeys/")]
    table = [
        {"index": int(name.rsplit("/", 1)[1]), "key": text, "member": "full" if int(text, 16) & 0x8000 else "limited"}
        for name, text in keys.items()
        if re.fullmatch("0x[0-9a-f]{4}", text) and int(text, 16)
    ]
    return {
        **{name: int(text, 16) if re.fullmatch("0x[0-9a-fA-F]{1,4}", text) else None for name, text in lids.items()},
        "pkeys": None if unread or not keys else sorted(table, key=lambda entry: entry["index"]),
    }


# --- errors -----------------------------------------------------------------------------------------------------------------------------


def _counters(gather, ports, again) -> dict:
    """Port -> counter -> value; None with a reason as text where the kernel gives no number."""
    found = {}
    tree = gather.tree(rdma.ROOT + again, COUNTERS, optional=True)
    if tree:
        for path, text in [*tree.files.items(), *((path, None) for path in tree.errors)]:
            device, _, number, _, counter = path.split("/")
            found.setdefault(f"{device}/{number}", {})[counter] = _number(text, tree.errors.get(path, ""))
    netdevs = {port["netdev"]: port["name"] for port in ports if port["netdev"] and port["link_layer"] == "Ethernet"}
    net = gather.tree(rdma.NET + again, STATISTICS, optional=True) if netdevs else None
    for path, text in net.files.items() if net else ():
        name = netdevs.get(path.split("/")[0])
        if name:
            found.setdefault(name, {})[path.rsplit("/", 1)[1]] = _number(text, "")
    return found


def _number(text, reason):
    text = (text or "").strip()
    return int(text) if re.fullmatch("[0-9]{1,20}", text) else text[:40] or reason or "empty"


def _growth(before, after) -> dict:
    """What grew; unknown where a counter cannot be read or stands at its ceiling, unless another one grew."""
    numbers = {name: value for name, value in after.items() if isinstance(value, int)}
    ceiling = sysfs_infiniband.saturated(numbers)
    unread = {name: value for name, value in after.items() if not isinstance(value, int)}
    entry = {"counters_saturated": ceiling, "counters_unreadable": sorted(f"{name}: {why}" for name, why in unread.items())}
    if not numbers:
        entry.update(counters_saturated=None, counters_saturated_reason="no counter of this port could be read")
    entry["error_totals"] = {name: numbers[name] for name in (*LINK_ERRORS, *DISCARDS) if numbers.get(name)}
    for key, names in (("errors_growing", LINK_ERRORS), ("discards_growing", DISCARDS)):
        there = [name for name in names if name in after]
        grown, unknown = [], []
        for name in there:
            first, last = before.get(name), after[name]
            if not isinstance(first, int) or not isinstance(last, int):
                unknown.append(f"{name} cannot be read ({last})")
            elif last < first:
                unknown.append(f"{name} went back from {first} to {last}")
            elif last > first:
                grown.append(f"{name} +{last - first}")
            elif name in ceiling:
                unknown.append(f"{name} stands at its ceiling, {last}")
        entry[key] = grown or (None if unknown or not there else [])
        if entry[key] is None:
            entry[key + "_reason"] = "; ".join(unknown[:4]) or "the kernel has no such counters for this port"
    return entry


# --- the cable and what is around -------------------------------------------------------------------------------------------------------


def _link(gather, port):
    """What mlxlink says of a rail of ours; of other Ethernet rails what ethtool says of the module."""
    if not port["rail"]:
        return None
    if port["driver"] in ("mlx5_core", None) and port["pci"] and port["device"].startswith(("mlx5", "ib", "roce")):
        argv = ["mlxlink", "-d", port["pci"], "-m", "-c", "--json"]
        said = gather.command(argv, mlxlink.parse, timeout_s=20.0, optional=True)
        if said:
            return {"tool": "mlxlink", **{key: said[key] for key in LINK_KEYS}}
    if port["link_layer"] == "Ethernet" and port["netdev"]:
        module = gather.command(["ethtool", "-m", port["netdev"]], ethtool.parse_module, optional=True, ok=None, streams="both")
        return {"tool": "ethtool", **dict.fromkeys(LINK_KEYS), "module": module} if module else None
    return None


LINK_KEYS = ("speed", "width", "fec", "fec_kind", "advice", "uptime_min", "ber", "link_downs", "module")


def _gpus(gather, ports) -> dict:
    """Port -> the GPUs that share most bridges with it, else those of its NUMA node."""
    bus = gather.command(LSPCI, lspci.parse, optional=True)
    gpus = [device["pci"] for device in bus["devices"] if device["kind"] == "gpu"] if bus else None
    addresses = sorted({port["pci"] for port in ports if port["pci"]})
    if gpus is None or not addresses:
        return {}
    wanted = [part for pci in sorted({*gpus, *addresses}) for part in (pci, pci + "/numa_node")]
    tree = gather.tree("/sys/bus/pci/devices", wanted)
    if tree is None:
        return {}
    above = {pci: sysfs.bridges(tree.links.get(pci, ""))[:-1] for pci in {*gpus, *addresses}}
    numa = {pci: integer(tree.files.get(pci + "/numa_node")) for pci in gpus}
    return {port["name"]: _near(above.get(port["pci"]), port["numa"], gpus, above, numa) for port in ports}


def _near(path, numa, gpus, above, numa_of):
    shared = {gpu: sum(1 for a, b in zip(path or [], above[gpu]) if a == b) for gpu in gpus}
    most = max(shared.values(), default=0)
    if most:
        return {"gpus": [gpu for gpu in gpus if shared[gpu] == most], "gpu_link": "bridge"}
    same = [gpu for gpu in gpus if numa is not None and numa_of[gpu] == numa]
    return {"gpus": same, "gpu_link": "numa" if same else "none"}
