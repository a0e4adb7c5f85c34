"""The GID tables of a node, sparse, and the NCCL settings that choose from them.

A GID is routable RoCE v2 where its type is v2, its address is IPv4 or global IPv6, and its net device is not down. Addresses stay in
the table while their device is down. Index numbers are never assumed: they follow the order in which addresses came.
"""

from __future__ import annotations

from ..parsers import nccl_conf, sysfs_gids
from . import gid_containers, rdma

GIDS = ["*/ports/*/gids/*"]
FEW = 16  # up to so many used slots their attributes are asked one by one: an empty slot's attributes are an error each
KEPT = 64  # GIDs of one port in the data; a port with more says how many were left out
ROUTABLE = ("ipv4", "global")
CONFS = ("/root/.nccl.conf", "/etc/nccl.conf")  # first writer wins, as in the library
SHELLS = ["/etc/environment", "/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/profile.d"]
# Only lines of these names leave the node: such files hold other people's secrets.
SETTINGS = ["grep", "-rHsIE", r"^[[:space:]]*(export[[:space:]]+)?(NCCL|RCCL)_[A-Z0-9_]+=", *SHELLS]


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/gid_check.json is its shape."""
    found = rdma.read(gather)
    settings = _settings(gather)
    if not found["ports"]:
        return {"ports": found["ports"], "rocev2_common": None, "settings": settings, "source": found["source"], "containers": None}
    tables = _tables(gather)
    ethernet = any(port["link_layer"] == "Ethernet" for port in found["ports"])
    inside = gid_containers.collect(gather, _tables, _gids) if ethernet else None
    ports = [_port(port, (tables or {}).get(port["name"]), found["states"]) for port in found["ports"]]
    for port in ports:
        carries = not _carried_by_vf(port, ports) if port["rail"] else bool(port["vf"]) and _carries(port, ports)
        port["traffic"] = carries and port["state"] in ("active", None)  # what is down is another concern's finding
    carrying = [port for port in ports if port["traffic"] and port["link_layer"] == "Ethernet"]
    return {
        "ports": ports,
        "rocev2_common": _common(carrying),
        "settings": settings,
        "source": "sysfs" if tables else "none",
        "containers": inside,
    }


def _tables(gather, base=""):
    """Port -> {"table", "gids"}: all GIDs first, then the attributes of the slots in use. `base`: of a container's file system."""
    root = base + rdma.ROOT
    tree = gather.tree(root, GIDS, optional=True)
    if tree is None:
        return None
    used = sorted({path.rsplit("/", 1)[1] for path, text in tree.files.items() if text.strip() != sysfs_gids.ZERO})
    names = used if len(used) <= FEW else ["*"]
    asked = [f"*/ports/*/gid_attrs/{kind}/{name}" for name in names for kind in ("types", "ndevs")]
    attributes = gather.tree(root, asked, optional=True) if asked else None
    return sysfs_gids.read({**tree.files, **(attributes.files if attributes else {})})["ports"]


def _port(port, table, states) -> dict:
    entry = {
        key: port[key] for key in ("name", "device", "port", "pci", "link_layer", "state", "netdev", "netdev_state", "rail", "vf", "pf")
    }
    if table is None:
        unread = "the GID table could not be read"
        return {
            **entry,
            **dict.fromkeys(("table", "gids", "gids_left_out", "routable_v2", "rocev2_index", "best_v2")),
            "rocev2_index_reason": unread,
        }
    return _gids(entry, table, states)


def _gids(entry, table, states) -> dict:
    """A port with what its table amounts to."""
    gids = table["gids"]
    for gid in gids:
        gid["netdev_state"] = states.get(gid["netdev"])
    v2 = [gid for gid in gids if gid["type"] == "v2" and gid["netdev_state"] in (*rdma.UP, None)]
    routable = [gid["index"] for gid in v2 if gid["kind"] in ROUTABLE]
    unknown = [gid["index"] for gid in gids if gid["type"] is None and gid["kind"] in ROUTABLE]
    kept = sysfs_gids.short(gids[:KEPT])
    entry.update(table=table["table"], gids=kept, gids_left_out=max(0, len(gids) - KEPT), routable_v2=routable[:KEPT])
    entry["rocev2_index"] = routable[0] if routable else None if unknown else "none"
    entry["best_v2"] = next((kind for kind in (*ROUTABLE, "ipv4_link_local", "link_local") if any(g["kind"] == kind for g in v2)), "none")
    if unknown and not routable:
        entry["best_v2"] = None
        entry["rocev2_index_reason"] = entry["best_v2_reason"] = (
            f"the kernel does not tell the type of index {unknown[0]} here (a container?)"
        )
    return entry


def _carried_by_vf(port, ports) -> bool:
    """On multi-plane NICs a physical function may have no address of its own: its virtual function carries the traffic."""
    return port["rocev2_index"] == "none" and any(vf["vf"] and vf["pf"] == port["device"] and _has(vf) for vf in ports)


def _carries(vf, ports) -> bool:
    return _has(vf) and any(port["device"] == vf["pf"] and port["rail"] and port["rocev2_index"] == "none" for port in ports)


def _has(port) -> bool:
    return isinstance(port["rocev2_index"], int)


def _common(ports):
    """Indexes at which every rail has a routable RoCE v2 GID; None where a table is not known."""
    if not ports or any(port["rocev2_index"] is None for port in ports):
        return None
    return sorted(set.intersection(*(set(port["routable_v2"]) for port in ports)))


def _settings(gather) -> dict:
    """{"files": [{"from", "values"}] in order of precedence, "unread": [path], "ignored": [line]}."""
    shells = gather.command(SETTINGS, nccl_conf.parse_grep, ok=(0, 1, 2), timeout_s=20.0)
    files = [{"from": path, "values": values} for path, values in (shells or {"files": {}})["files"].items()]
    unread, ignored = [] if shells else ["shell files"], []
    named = next((f["values"]["NCCL_CONF_FILE"] for f in files if f["values"].get("NCCL_CONF_FILE", "").startswith("/")), None)
    for path in ((named or CONFS[0]), CONFS[1]):
        conf = gather.file(path, nccl_conf.parse, optional=True)
        if conf:
            files.append({"from": path, "values": conf["values"]})
            ignored += [f"{path}: {line}" for line in conf["ignored"]]
        elif not gather.missing(path):
            unread.append(path)
    return {"files": files, "unread": unread, "ignored": ignored}
