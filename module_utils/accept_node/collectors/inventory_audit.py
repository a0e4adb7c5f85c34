"""What hardware a node has: GPUs, NICs, CPU, memory, NVMe drives, and how they are joined. It reads, and changes nothing."""

from __future__ import annotations

from ..parsers import lspci
from . import inventory_gpus, inventory_host

LSPCI = ["lspci", "-D", "-nn"]


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/inventory_audit.json is its shape."""
    found = inventory_gpus.collect(gather, _bus(gather))
    found.update(inventory_host.nics(gather))
    found.update(inventory_host.host(gather))
    gpus, rails = found["gpus"], _rails(found["nics"])
    cpu = found["cpu"]
    guest = None if cpu is None else cpu["hypervisor"] != "none"
    found["topology"] = {"complete": None}
    if gpus and found["vendor"] == "nvidia":
        found["topology"] = inventory_gpus.topology(gather, gpus, None if rails is None else [nic["name"] for nic in rails])
    for gpu in gpus or []:
        gpu["nics_on_numa"] = _on_numa(gpu, rails)
    found.update(inventory_host.peer_paths(gather, gpus, rails, guest))
    found.update(inventory_host.nvme(gather))
    return {**found, **_summaries(gpus, rails)}


def _bus(gather):
    """What is on the bus. Without lspci the kernel's list has to do: it does not tell a device that stopped answering."""
    bus = gather.command(LSPCI, lspci.parse, optional=True)
    if bus is None and gather.missing(" ".join(LSPCI)):
        tree = gather.tree("/sys/bus/pci/devices", ["*/vendor", "*/class"])
        return lspci.from_sysfs(tree.files)["devices"] if tree else None
    return bus["devices"] if bus else None


def _rails(nics):
    return None if nics is None else [nic for nic in nics if nic["fabric"]]


def _on_numa(gpu, rails):
    """Rails on the GPU's NUMA node; None where a place is not known."""
    numa = gpu.get("numa")
    if numa is None or rails is None or any(nic["numa"] is None for nic in rails):
        return None
    return [nic["name"] for nic in rails if nic["numa"] == numa]


def _summaries(gpus, rails) -> dict:
    """What nodes are compared by: the different values that occur, sorted; None where one is not known."""

    def values(items, read):
        found = None if items is None else [read(item) for item in items]
        return None if found is None or None in found else sorted(set(found))

    return {
        "gpu_names": values(gpus, lambda gpu: gpu["name"]),
        "gpu_vbioses": values(gpus, lambda gpu: gpu["vbios"]),
        "gpu_identities": values(gpus, lambda gpu: gpu["uuid"] or gpu["serial"]),
        "gpu_memories_mib": values(gpus, lambda gpu: gpu["memory_mib"]),
        "gpu_power_limits_w": values(gpus, lambda gpu: gpu["power_limit_w"]),
        "gpu_max_clocks_mhz": values(gpus, lambda gpu: gpu.get("clocks_mhz", {}).get("max_graphics")),
        "nvlink_domain": _domain(gpus),
        "nic_firmwares": values(rails, lambda nic: nic["firmware"]),
        "nic_boards": values(rails, lambda nic: nic["board_id"] or nic["hca_type"]),
    }


def _domain(gpus):
    """Cluster UUID and clique that the GPUs share, as `uuid/clique`; several are joined; `none` is no domain beyond the node."""
    if not gpus or "fabric" not in gpus[0]:
        return None
    fabrics = [(gpu["fabric"]["cluster_uuid"], gpu["fabric"]["clique_id"]) for gpu in gpus]
    if any(uuid is None or (uuid != "none" and clique is None) for uuid, clique in fabrics):
        return None
    return ", ".join(sorted({"none" if uuid == "none" else "%s/%d" % (uuid, clique) for uuid, clique in fabrics}))
