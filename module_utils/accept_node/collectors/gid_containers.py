"""The GID tables and NCCL settings that containers of declared pods see (containers.py). No concern of its own.

A container has the node's devices and its own network: slots of the table whose net device is elsewhere tell no type there. What is read
lies below /proc/<pid>/root; of the environment only NCCL's names leave the node.
"""

from __future__ import annotations

from ..parsers import nccl_conf, nccl_library, sysfs_gids
from . import containers, rdma

LAYERS = ["*/ports/*/link_layer", "*/ports/*/state"]
ENVIRON = ["grep", "-zoaE", "^(NCCL|RCCL)_[A-Z0-9_]+=.*"]
LIBRARY = ["-xdev", "-maxdepth", "8", "-name", "libnccl.so.2.*"]
KEPT = ("name", "gids", "gids_left_out", "rocev2_index", "rocev2_index_reason", "best_v2", "best_v2_reason")
CONFS = ("/root/.nccl.conf", "/etc/nccl.conf")


def collect(gather, tables, keep) -> list:
    """[{"name", "ports", "settings", "nccl_version"}]; None where the runtime cannot be asked.

    `tables(gather, base)`: sysfs_gids of a tree below base; `keep(entry, table, states)`: a port's GIDs in the shape of the concern.
    """
    found = containers.declared(gather)
    if found is None:
        return None
    return [_one(gather, one, tables, keep) for one in found]


def _one(gather, one, tables, keep):
    unknown = {"name": one["name"], "ports": None, "settings": None, "nccl_version": None}
    if one["pid"] is None:
        return unknown
    base = "/proc/%d/root" % one["pid"]
    tree = gather.tree(base + rdma.ROOT, LAYERS, optional=True)
    found = tables(gather, base)
    net = gather.tree(base + rdma.NET, ["*/operstate"], optional=True)
    if tree is None or found is None:
        return {**unknown, "ports": [] if gather.missing(base + rdma.ROOT) else None, "settings": _settings(gather, one["pid"], base)}
    states = {path.split("/")[0]: text.strip() for path, text in net.files.items()} if net else {}
    ports = []
    for name in sorted(found, key=sysfs_gids.natural):
        device, number = name.split("/")
        layer = tree.files.get("%s/ports/%s/link_layer" % (device, number), "").strip()
        if layer == "Ethernet":
            # where the kernel tells some types, the slots without one belong to other networks: a container cannot use them
            own = [gid for gid in found[name]["gids"] if gid["type"] is not None] or found[name]["gids"]
            known = keep({"name": name}, {"table": found[name]["table"], "gids": own}, states)
            ports.append({key: known[key] for key in KEPT if key in known})
    return {"name": one["name"], "ports": ports, "settings": _settings(gather, one["pid"], base), "nccl_version": _version(gather, base)}


def _settings(gather, pid, base):
    """In order of precedence, as of a node; None where the environment could not be read."""
    environ = gather.command([*ENVIRON, "/proc/%d/environ" % pid], nccl_conf.parse_environ, ok=(0, 1))
    if environ is None:
        return None
    files = [{"from": "environment", "values": environ["values"]}] if environ["values"] else []
    for path in CONFS:
        conf = gather.file(base + path, nccl_conf.parse, optional=True)
        if conf and conf["values"]:
            files.append({"from": path, "values": conf["values"]})
    return files


def _version(gather, base):
    """By the names of the library's files; None where there is not one version."""
    listed = gather.command(["find", base + "/usr", base + "/opt", *LIBRARY], nccl_library.parse, ok=(0, 1), timeout_s=20.0)
    return listed["versions"][0] if listed and len(listed["versions"]) == 1 else None
