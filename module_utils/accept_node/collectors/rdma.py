"""What the RDMA concerns share: the ports of a node with their net devices, and which of them are the rails. No concern of its own."""

from __future__ import annotations

from collections import Counter

from ..parsers import ibdev2netdev, ibstat, sysfs_infiniband
from ..parsers.sysfs_gids import natural
from ..values import integer

ROOT = "/sys/class/infiniband"
FILES = [
    *["*/" + name for name in ("fw_ver", "board_id", "hca_type", "parent")],
    *["*/device", "*/device/net/*", "*/device/physfn", "*/device/driver", "*/device/numa_node", "*/tc/*/traffic_class"],
    *["*/ports/*/" + name for name in ("state", "phys_state", "rate", "link_layer", "lid", "sm_lid", "pkeys/*", "gid_attrs/ndevs/0")],
]
NET = "/sys/class/net"
NET_FILES = ["*/mtu", "*/operstate", "*/dev_port", "*/master"]
IBSTAT = ["ibstat"]
IBDEV2NETDEV = ["ibdev2netdev"]
UP = ("up", "unknown")  # a virtual device often does not know


def read(gather) -> dict:
    """{"source": "sysfs" | "ibstat" | "none", "ports": [...] | None, "tree": TreeResult | None, "states": {netdev: operstate}}.

    No RDMA device is [] and measured. Where sysfs may not be read, ibstat has to do; it knows no PCI address and no GID.
    """
    tree = gather.tree(ROOT, FILES, optional=True)
    net = gather.tree(NET, NET_FILES, optional=True)
    states = {path.split("/")[0]: text.strip() for path, text in net.files.items() if path.endswith("/operstate")} if net else {}
    if tree is not None:
        ports, source = _from_sysfs(tree, net), "sysfs"
    elif gather.missing(ROOT):
        ports, source = [], "sysfs"
    else:
        ports, source = _from_ibstat(gather), "ibstat"
    elect(ports or [])
    for port in ports or []:
        port["netdev_state"] = states.get(port["netdev"])
    return {"source": source if ports is not None else "none", "ports": ports, "tree": tree, "states": states}


def _from_sysfs(tree, net):
    ports, devices = [], sysfs_infiniband.read(tree.files)["devices"]
    # A device without a place on the bus (soft-RoCE) is nobody's function.
    by_pci = {tree.links[name + "/device"].rsplit("/", 1)[-1]: name for name in devices if tree.links.get(name + "/device")}
    for name in sorted(devices, key=natural):
        device, link = devices[name], tree.links.get(name + "/device", "")
        physical = tree.links.get(name + "/device/physfn")
        for number in sorted(device["ports"], key=natural):
            found = device["ports"][number]
            netdev = _netdev(name, number, tree, net)
            ports.append(
                {
                    "name": f"{name}/{number}",
                    "device": name,
                    "port": integer(number),
                    "pci": link.rsplit("/", 1)[-1] or None,
                    "numa": device["numa"],
                    "driver": tree.links.get(name + "/device/driver", "").rsplit("/", 1)[-1] or None,
                    **{key: device[key] for key in ("firmware", "board_id", "hca_type")},
                    **{key: found[key] for key in ("link_layer", "state", "phys_state", "rate_gbps")},
                    "lanes": found["speed"],
                    "netdev": netdev,
                    "mtu_netdev": integer(net.files.get(f"{netdev}/mtu")) if net and netdev else None,
                    "vrf": net.links.get(f"{netdev}/master", "").rsplit("/", 1)[-1] or "none" if net and netdev else None,
                    "vf": physical is not None,
                    "pf": by_pci.get(physical.rsplit("/", 1)[-1]) if physical else None,
                }
            )
    return ports


def _netdev(device, number, tree, net):
    """The port's net device: that of its first GID (a bond's is there), of its PCI function, or its parent (soft-RoCE)."""
    first = tree.files.get(f"{device}/ports/{number}/gid_attrs/ndevs/0", "").strip()
    if first:
        return first
    named = sorted(path.split("/")[3] for path in tree.links if path.startswith(device + "/device/net/"))
    if len(named) > 1 and net:
        ours = [name for name in named if integer(net.files.get(f"{name}/dev_port")) == int(number) - 1]
        named = ours or named
    return named[0] if named else tree.files.get(device + "/parent", "").strip() or None


def _from_ibstat(gather):
    said = gather.command(IBSTAT, ibstat.parse, ok=None, streams="both")
    if said is None:
        return None
    names = gather.command(IBDEV2NETDEV, ibdev2netdev.parse, optional=True)
    netdevs = {(row["device"], row["port"]): row["netdev"] for row in names["ports"]} if names else {}
    unknown = dict.fromkeys(("pci", "numa", "driver", "board_id", "lanes", "mtu_netdev", "vrf", "pf", "vf"))
    return [
        {
            "name": f"{name}/{number}",
            "device": name,
            "port": int(number),
            **unknown,
            "firmware": device["firmware"],
            "hca_type": device["type"],
            **{key: port[key] for key in ("link_layer", "state", "phys_state", "rate_gbps")},
            "netdev": netdevs.get((name, int(number))),
        }
        for name, device in said["devices"].items()
        for number, port in device["ports"].items()
    ]


def elect(ports) -> None:
    """Mark the rails as the inventory does: the largest group of one board and link layer, virtual functions aside; of two the faster."""

    def board(port):
        return (port["board_id"] or port["hca_type"] or "", port["link_layer"] or "")

    counts = Counter(board(port) for port in ports if not port["vf"])
    fastest = {name: max(port["rate_gbps"] or 0 for port in ports if board(port) == name) for name in counts}
    rails = max(counts, key=lambda name: (counts[name], fastest[name], name)) if counts else None
    for port in ports:
        port["rail"] = not port["vf"] and board(port) == rails


def devinfo_mtu(answer, port):
    """The active MTU of a port in what ibv_devinfo said, or None."""
    device = (answer or {"devices": {}})["devices"].get(port["device"]) or {"ports": {}}
    return (device["ports"].get(str(port["port"])) or {"mtu": None})["mtu"]
