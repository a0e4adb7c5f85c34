"""The rest of the machine for the inventory: CPU, NUMA, memory, huge pages, IOMMU, ACS, RDMA NICs, NVMe drives."""

from __future__ import annotations

from collections import Counter

from ..parsers import lscpu, lspci, meminfo, nvme_smart, sysfs, sysfs_infiniband
from ..values import integer

BRIDGES = ["lspci", "-D", "-vvv", "-d", "::0604"]  # bridges only: of a whole machine it would be a megabyte
LSMEM = ["lsmem", "--bytes", "--summary=only"]
RDMA = "/sys/class/infiniband"
RDMA_FILES = [
    *["*/" + name for name in ("fw_ver", "board_id", "hca_type", "device", "device/net/*", "device/physfn", "device/numa_node")],
    *["*/device/%s_link_%s" % (which, what) for which in ("current", "max") for what in ("speed", "width")],
    *["*/ports/*/" + name for name in ("state", "phys_state", "rate", "link_layer")],
]
NVME = "/sys/class/nvme"
NVME_NAMES = {"model": "model", "serial": "serial", "firmware_rev": "firmware", "state": "state", "transport": "transport"}
NVME_FILES = [*["nvme*/" + name for name in NVME_NAMES], "nvme*/nvme*n*/size", "nvme*/device"]
SECTOR_BYTES = 512  # /sys/.../size counts these, whatever the drive's own block is


def host(gather) -> dict:
    """CPU, memory and the kernel's settings that hardware depends on."""
    memory = gather.file("/proc/meminfo", meminfo.parse)
    installed = gather.command(LSMEM, meminfo.parse_lsmem, optional=True)
    huge = gather.tree("/sys/kernel/mm/hugepages", ["*/nr_hugepages"], optional=True)
    thp = gather.file("/sys/kernel/mm/transparent_hugepage/enabled", sysfs.parse, optional=True)
    clock = gather.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", optional=True)
    pages = None if huge is None else {path.split("-")[1].split("/")[0]: integer(text) for path, text in sorted(huge.files.items())}
    return {
        "cpu": gather.command(["lscpu", "-J"], lscpu.parse),
        "numa": _numa(gather),
        "memory": {
            "total_mib": memory["total_mib"] if memory else None,
            "installed_mib": installed["installed_mib"] if installed else None,
        },
        "hugepages": {"pages": pages, "transparent": thp["chosen"] if thp else None},
        "clocksource": clock.strip() or None if clock else None,
    }


def _numa(gather):
    tree = gather.tree("/sys/devices/system/node", ["node*/cpulist", "node*/meminfo"], optional=True)
    if tree is None:
        return None
    nodes = []
    for path in sorted(tree.files, key=lambda path: (len(path), path)):
        name, what = path.split("/")
        if what == "cpulist":
            total = meminfo.parse(tree.files[name + "/meminfo"]) if "MemTotal" in tree.files.get(name + "/meminfo", "") else {}
            nodes.append({"node": integer(name[4:]), "cpus": tree.files[path].strip() or "none", "memory_mib": total.get("total_mib")})
    return {"nodes": nodes, "cpu_nodes": sum(node["cpus"] != "none" for node in nodes)}


def nics(gather) -> dict:
    """Every port of every RDMA device; `fabric` marks the largest group of one board: the rails."""
    tree = gather.tree(RDMA, RDMA_FILES, optional=True)
    if tree is None:
        return {"nics": [] if gather.missing(RDMA) else None, "nic_count": 0 if gather.missing(RDMA) else None}
    devices = sysfs_infiniband.read(tree.files)["devices"]
    net = gather.tree("/sys/class/net", ["*/mtu", "*/speed", "*/operstate"], optional=True)
    ports = []
    for name, device in devices.items():
        netdev = next((path.split("/")[3] for path in sorted(tree.links) if path.startswith(name + "/device/net/")), None)
        pcie = device["pcie"]
        for short, full in (("width", "width_max"), ("gen", "gen_max")):
            pcie[short + "_reduced"] = None if None in (pcie[short], pcie[full]) else pcie[short] < pcie[full]
        for number, port in device.pop("ports").items():
            port.pop("counters")
            port["mtu"] = integer(net.files.get("%s/mtu" % netdev)) if net and netdev else None
            entry = {"name": name, "port": integer(number), "pci": tree.links.get(name + "/device", "").rsplit("/", 1)[-1] or None}
            ports.append({**entry, "netdev": netdev, "vf": name + "/device/physfn" in tree.links, **device, **port})
    # of two groups of one size the faster one, and of the rest any, but always the same
    boards = Counter(_board(port) for port in ports if not port["vf"])
    fastest = {board: max(port["rate_gbps"] or 0 for port in ports if _board(port) == board) for board in boards}
    rails = max(boards, key=lambda board: (boards[board], fastest[board], board)) if boards else None
    for port in ports:
        port["fabric"] = not port["vf"] and _board(port) == rails
    return {"nics": ports, "nic_count": sum(port["fabric"] for port in ports)}


def _board(port):
    return (port["board_id"] or port["hca_type"] or "", port["link_layer"] or "")


def nvme(gather) -> dict:
    """Local drives with their health; `data` marks the largest group of one model."""
    tree = gather.tree(NVME, NVME_FILES, optional=True)
    if tree is None:
        return {"nvme": [] if gather.missing(NVME) else None, "nvme_count": 0 if gather.missing(NVME) else None}
    drives = []
    for name in sorted({path.split("/")[0] for path in tree.files}, key=lambda name: (len(name), name)):
        drive = {ours: tree.files.get("%s/%s" % (name, theirs), "").strip() or None for theirs, ours in NVME_NAMES.items()}
        sizes = [integer(text) for path, text in tree.files.items() if path.startswith(name + "/nvme") and path.endswith("/size")]
        drive["size_bytes"] = max(size or 0 for size in sizes) * SECTOR_BYTES if sizes else None
        if drive["transport"] in (None, "pcie"):
            drives.append({"name": name, **drive, "pci": tree.links.get(name + "/device", "").rsplit("/", 1)[-1] or None})
    models = Counter(drive["model"] for drive in drives)
    largest = {model: max(drive["size_bytes"] or 0 for drive in drives if drive["model"] == model) for model in models}
    data = max(models, key=lambda model: (models[model], largest[model], model or "")) if models else None
    for drive in drives:
        drive["data"] = drive["model"] == data
        drive["smart"] = _smart(gather, "/dev/" + drive["name"])
    return {"nvme": drives, "nvme_count": sum(drive["data"] for drive in drives)}


def _smart(gather, device):
    log, smartctl = ["nvme", "smart-log", device, "-o", "json"], ["smartctl", "-j", "-a", device]
    smart = gather.command(log, nvme_smart.parse, timeout_s=20.0, optional=True)
    if smart is None and gather.missing(" ".join(log)):
        # its exit status is a set of bits that speak of the drive's health too: the JSON has it
        smart = gather.command(smartctl, nvme_smart.parse_smartctl, timeout_s=20.0, ok=None)
    return smart


def peer_paths(gather, gpus, rdma, guest) -> dict:
    """IOMMU and ACS, where GPU and NIC meet. `guest`: in a virtual machine bridges cannot be seen."""
    cmdline = gather.file("/proc/cmdline", sysfs.parse_cmdline)
    words = cmdline["words"] if cmdline else {}
    addresses = [[device["pci"] for device in devices or [] if device["pci"]] for devices in (gpus, rdma)]
    every = sorted(set(addresses[0] + addresses[1]))
    tree = gather.tree("/sys/bus/pci/devices", [path for pci in every for path in (pci, pci + "/iommu_group/type")]) if every else None
    types = sorted({text.strip() for text in tree.files.values()}) if tree else None
    groups = gather.names("/sys/kernel/iommu_groups")
    said = {name: value for name, value in words.items() if "iommu" in name}
    paths = [[sysfs.bridges(tree.links[pci]) for pci in group if pci in tree.links] if tree else [] for group in addresses]
    return {"iommu": {"mode": _iommu(groups, types, said), "types": types, "cmdline": said}, "acs": _acs(gather, *paths, guest)}


def _iommu(groups, types, said):
    """off, passthrough or translated, for GPUs and NICs; None where the kernel does not say."""
    if groups == []:
        return "off"
    if types:
        return "passthrough" if types == ["identity"] else "translated"
    asked = said.get("iommu") == "pt" or said.get("iommu.passthrough") == "1"
    return "passthrough" if groups and asked else None


def _acs(gather, gpu_paths, nic_paths, guest) -> dict:
    """Bridges with ACS on, all and those between a GPU and a NIC below one root port; the root port itself does not matter."""
    unknown = {"bridges": None, "enabled": None, "enabled_between": None, "pairs": None}
    if guest or guest is None:
        gather.error(" ".join(BRIDGES), "virtual", "a virtual machine does not see the bridges above its devices: ACS cannot be told")
        return unknown
    read = gather.command(BRIDGES, lspci.parse_acs)
    if read is None:
        return unknown
    if read["denied"]:
        gather.error(" ".join(BRIDGES), "permission", "lspci -vvv: capabilities of bridges may be read by root only")
        return {**unknown, "bridges": read["bridges"]}
    pairs = [(gpu, nic) for gpu in gpu_paths for nic in nic_paths if len(gpu) > 1 and len(nic) > 1 and gpu[0] == nic[0]]
    between = {bridge for pair in pairs for path in pair for bridge in path[1:-1]}
    return {
        "bridges": read["bridges"],
        "enabled": read["enabled"],
        "enabled_between": sorted(between & set(read["enabled"])),
        "pairs": len(pairs),
    }
