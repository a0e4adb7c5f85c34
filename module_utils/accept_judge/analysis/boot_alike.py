"""What nodes are compared by: command line, mounts and modules without what is rightly each node's own."""

from __future__ import annotations

OWN_WORDS = ("root BOOT_IMAGE initrd resume ip ifname BOOTIF hostname nfsroot netroot console ds cloud-config-url crashkernel").split()
OWN_PREFIXES = ("rd.", "systemd.", "iscsi_", "ostree")
OWN_OPTIONS = ("addr=", "clientaddr=", "mountaddr=", "size=", "nr_inodes=", "uid=", "gid=", "fd=", "pgrp=", "context=")
NETWORK = ("nfs", "lustre", "ceph", "beegfs", "gpfs", "wekafs", "cifs", "fuse.", "virtiofs", "9p")
MODULES = "nvidia gdrdrv amdgpu mlx5 ib_ rdma nvme lustre lnet ko2iblnd efa irdma bnxt ionic knem xpmem"


def alike(data: dict) -> dict:
    """{cmdline_common, network_mounts, local_mounts, fabric_modules}: texts; "none" for an empty list, null for what was not read."""
    cmdline, mounts, modules = data.get("cmdline"), data.get("mounts"), data.get("modules")
    network = local = None
    if mounts is not None:
        lines = [(mount["type"].startswith(NETWORK), _mount(mount)) for mount in mounts]
        network, local = (sorted(line for of_network, line in lines if of_network is kind) or ["none"] for kind in (True, False))
    return {
        "cmdline_common": cmdline and (" ".join(sorted(_words(cmdline["parameters"]))) or "none"),
        "network_mounts": network and "; ".join(network),
        "local_mounts": local and "; ".join(local),
        "fabric_modules": None
        if modules is None
        else " ".join(name for name in modules if name.startswith(tuple(MODULES.split()))) or "none",
    }


def _words(parameters):
    for name, value in parameters.items():
        if name not in OWN_WORDS and not name.startswith(OWN_PREFIXES):
            for one in value if isinstance(value, list) else [value]:
                yield name if one is True else f"{name}={one}"


def _mount(mount):
    options = ",".join(sorted(option for option in mount["options"] if not option.startswith(OWN_OPTIONS)))
    device = f"{mount['device']} on " if mount["type"].startswith(NETWORK) else ""
    return f"{device}{mount['mount_point']} {mount['type']} {options}"
