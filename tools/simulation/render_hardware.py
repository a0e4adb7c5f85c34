"""What lspci, lscpu, lsmem, nvme and sysfs say of a simulated node: the bus, CPU and memory, RDMA NICs, NVMe drives, IOMMU, ACS."""

from __future__ import annotations

import json

from .model import SimNode
from .records import command, file, listing, tree

LSPCI = ["lspci", "-D", "-nn"]
BRIDGES = ["lspci", "-D", "-vvv", "-d", "::0604"]
SPEEDS = {3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
CHIPS = {
    "h100_hgx": "NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)",
    "h200_hgx": "NVIDIA Corporation GH100 [H200 SXM 141GB] [10de:2335] (rev a1)",
    "b200_hgx": "NVIDIA Corporation GB100 [B200] [10de:2901] (rev a1)",
    "b300_hgx": "NVIDIA Corporation Device [10de:3182] (rev a1)",
    "gb200_nvl72": "NVIDIA Corporation GB100 [HGX GB200] [10de:2941] (rev a1)",
    "gb300_nvl72": "NVIDIA Corporation Device [10de:31c2] (rev a1)",
    "mi300x": "Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X] [1002:74a1]",
    "mi325x": "Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI325X] [1002:74a5]",
    "mi355x": "Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:75a3]",
}
ADAPTERS = {"ConnectX-7": "MT2910 Family [ConnectX-7] [15b3:1021]", "ConnectX-8": "CX8 Family [ConnectX-8] [15b3:1023]"}
HCA_TYPES = {"ConnectX-7": "MT4129", "ConnectX-8": "MT4131"}


def render(node: SimNode) -> dict:
    """The records of the inventory beside the GPU tools."""
    pcie = _paths(node)
    bus_files = {f"{pci}/iommu_group/type": ("identity" if _passthrough(node) else "DMA-FQ") + "\n" for pci in pcie}
    return {
        "commands": [
            command(LSPCI, _lspci(node), duration_s=0.03),
            command(BRIDGES, _bridges(node, pcie), duration_s=0.08),
            command(["lscpu", "-J"], _lscpu(node), duration_s=0.03),
            command(["lsmem", "--bytes", "--summary=only"], _lsmem(node), duration_s=0.01),
            *(command(["nvme", "smart-log", "/dev/" + drive.name, "-o", "json"], _smart(drive), duration_s=0.01) for drive in node.nvmes),
        ],
        "files": [
            file("/proc/meminfo", _meminfo(_usable_kib(node))),
            file("/proc/cmdline", node.kernel_cmdline + "\n"),
            file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            file(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                ("arch_sys_counter" if node.arch == "aarch64" else "tsc") + "\n",
            ),
        ],
        "trees": [
            tree(
                "/sys/bus/pci/devices",
                bus_files,
                {pci: "/sys/devices/pci" + path[0][:7] + "/" + "/".join(path) for pci, path in pcie.items()},
            ),
            tree("/sys/class/infiniband", *_rdma(node, pcie)),
            tree("/sys/class/net", {f"{nic.netdev}/{key}": value for nic in node.nics for key, value in _net(nic).items()}),
            tree("/sys/class/nvme", *_nvme(node)),
            tree("/sys/devices/system/node", _numa(node)),
            tree(
                "/sys/kernel/mm/hugepages",
                {"hugepages-1048576kB/nr_hugepages": f"{node.hugepages_1g}\n", "hugepages-2048kB/nr_hugepages": "0\n"},
            ),
        ],
        "listings": [listing("/sys/kernel/iommu_groups", [str(number) for number in range(96)])],
    }


def _passthrough(node) -> bool:
    return "iommu=pt" in node.kernel_cmdline or "iommu.passthrough=1" in node.kernel_cmdline


# --- the bus ------------------------------------------------------------------------------------------------------------------------


def _paths(node) -> dict:
    """PCI address -> the bridges above it and itself. On HGX a GPU and its NIC share a switch, on NVL72 each has its own root port."""
    racked, paths = "nvl72" in node.sku, {}
    for place, device in enumerate([*node.gpus, *node.nics]):
        group = device.index if place < len(node.gpus) else device.gpu
        if racked or group is None:
            paths[device.pci] = [device.pci[:5] + "00:00.0", device.pci]
            continue
        bus = 0x10 * (2 * group + 1)
        port = f"0000:{bus + 2:02x}:{0 if place < len(node.gpus) else 1:02x}.0"
        paths[device.pci] = [f"0000:{bus:02x}:01.0", f"0000:{bus + 1:02x}:00.0", port, device.pci]
    return paths


def _lspci(node) -> str:
    lines = {"0000:02:00.0": "VGA compatible controller [0300]: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000] (rev 52)"}
    for gpu in node.gpus:
        kind = "Processing accelerators [1200]" if node.vendor == "amd" else "3D controller [0302]"
        chip = CHIPS[node.sku]
        if not gpu.present:
            chip = chip.split(" (rev")[0] + " (rev ff)"
        lines[gpu.pci] = f"{kind}: {chip}"
    for nic in node.nics:
        kind = "Infiniband controller [0207]" if nic.link_layer == "InfiniBand" else "Ethernet controller [0200]"
        lines[nic.pci] = f"{kind}: Mellanox Technologies {ADAPTERS[nic.model]}"
    for number in range(len(node.nvmes)):
        lines[_nvme_pci(number)] = (
            "Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd NVMe SSD Controller PM1743 [144d:a826]"
        )
    return "".join(f"{pci} {text}\n" for pci, text in sorted(lines.items()))


def _bridges(node, paths) -> str:
    """The bridges above GPUs and NICs; root ports have ACS on, as BIOSes set it, switch ports only where it was left on."""
    blocks = []
    for pci in sorted({bridge for path in paths.values() for bridge in path[:-1]}):
        root = any(path[0] == pci for path in paths.values())
        signs = "+-++" if root or node.acs_redirect else "----"
        src, block, req, cmplt = signs
        maker = "Intel Corporation Device" if root else "Broadcom / LSI PEX890xx PCIe Gen 5 Switch"
        blocks.append(
            f"{pci} PCI bridge [0604]: {maker} (rev 04) (prog-if 00 [Normal decode])\n"
            "\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+\n"
            "\tCapabilities: [100 v1] Access Control Services\n"
            "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+\n"
            f"\t\tACSCtl:\tSrcValid{src} TransBlk{block} ReqRedir{req} CmpltRedir{cmplt} UpstreamFwd{cmplt} EgressCtrl- DirectTrans-\n"
            "\tKernel driver in use: pcieport\n"
        )
    return "\n".join(blocks)


# --- CPU and memory -----------------------------------------------------------------------------------------------------------------


def _lscpu(node) -> str:
    threads = 1 if node.arch == "aarch64" else 2
    vendor = "ARM" if node.arch == "aarch64" else "AuthenticAMD" if "EPYC" in node.cpu_model else "GenuineIntel"
    fields = {
        "Architecture": node.arch,
        "CPU(s)": node.sockets * node.cores_per_socket * threads,
        "Vendor ID": vendor,
        "Model name": node.cpu_model,
        "Thread(s) per core": threads,
        "Core(s) per socket": node.cores_per_socket,
        "Socket(s)": node.sockets,
        "NUMA node(s)": node.numa_nodes,
    }
    return json.dumps({"lscpu": [{"field": name + ":", "data": str(value)} for name, value in fields.items()]}, indent=3) + "\n"


def _usable_kib(node) -> int:
    """What the kernel leaves of the memory; a little less on each machine."""
    return int(node.memory_gib * 1024 * 1024 * 0.9841) - node.seed % 4096


def _lsmem(node) -> str:
    size = node.memory_gib * 1024**3
    return f"Memory block size:      2147483648\nTotal online memory:    {size}\nTotal offline memory:            0\n"


def _meminfo(kib) -> str:
    return f"MemTotal:       {kib} kB\nMemFree:        {kib - 41_000_000} kB\nMemAvailable:   {kib - 36_000_000} kB\n"


def _numa(node) -> dict:
    files, cores = {}, node.sockets * node.cores_per_socket // node.numa_nodes
    total = node.sockets * node.cores_per_socket
    for number in range(node.numa_nodes):
        first = f"{number * cores}-{(number + 1) * cores - 1}"
        second = "" if node.arch == "aarch64" else f",{total + number * cores}-{total + (number + 1) * cores - 1}"
        files[f"node{number}/cpulist"] = first + second + "\n"
        files[f"node{number}/meminfo"] = f"Node {number} MemTotal:       {_usable_kib(node) // node.numa_nodes} kB\n"
    return files


# --- NICs and drives ----------------------------------------------------------------------------------------------------------------

STATES = {"DOWN": 1, "INIT": 2, "ARMED": 3, "ACTIVE": 4}
PHYSICAL = {"Sleep": 1, "Polling": 2, "Disabled": 3, "Training": 4, "LinkUp": 5}
LANES = {800: "4X XDR", 400: "4X NDR", 200: "2X NDR", 100: "1X NDR"}


def _rdma(node, paths) -> tuple:
    files, links = {}, {}
    for nic in node.nics:
        links[f"{nic.name}/device"] = f"/sys/devices/pci{paths[nic.pci][0][:7]}/{'/'.join(paths[nic.pci])}"
        links[f"{nic.name}/device/net/{nic.netdev}"] = links[f"{nic.name}/device"] + "/net/" + nic.netdev
        up = nic.port_state == "ACTIVE"
        rate = (
            f"{nic.rate_gbps} Gb/sec ({LANES.get(nic.rate_gbps, '4X HDR')})"
            if up
            else "10 Gb/sec (4X SDR)"
            if nic.link_layer == "InfiniBand"
            else "40 Gb/sec (4X QDR)"
        )
        parts = {
            "fw_ver": nic.firmware,
            "board_id": nic.board_id,
            "hca_type": HCA_TYPES[nic.model],
            "device/numa_node": nic.numa,
            "device/current_link_speed": SPEEDS[nic.pcie_gen] + " GT/s PCIe",
            "device/max_link_speed": SPEEDS[nic.pcie_gen] + " GT/s PCIe",
            "device/current_link_width": nic.pcie_width,
            "device/max_link_width": 16,
            "ports/1/state": f"{STATES[nic.port_state]}: {nic.port_state}",
            "ports/1/phys_state": f"{PHYSICAL[nic.phys_state]}: {nic.phys_state}",
            "ports/1/rate": rate,
            "ports/1/link_layer": nic.link_layer,
        }
        files.update({f"{nic.name}/{name}": f"{value}\n" for name, value in parts.items()})
    return files, links


def _net(nic) -> dict:
    up = nic.port_state == "ACTIVE"
    mtu = 4092 if nic.link_layer == "InfiniBand" else 9000
    return {"mtu": f"{mtu}\n", "operstate": "up\n" if up else "down\n", **({"speed": f"{nic.rate_gbps * 1000}\n"} if up else {})}


def _nvme_pci(number) -> str:
    return f"0001:{number + 1:02x}:00.0"  # a domain of their own: nothing else is there


def _nvme(node) -> tuple:
    files, links = {}, {}
    for number, drive in enumerate(node.nvmes):
        links[f"{drive.name}/device"] = f"/sys/devices/pci0001:00/{_nvme_pci(number)}"
        parts = {
            "model": f"{drive.model:<40}",
            "serial": f"{drive.serial:<20}",
            "firmware_rev": drive.firmware,
            "state": "live",
            "transport": "pcie",
        }
        files.update({f"{drive.name}/{name}": value + "\n" for name, value in parts.items()})
        files[f"{drive.name}/{drive.name}n1/size"] = f"{drive.size_bytes // 512}\n"
    return files, links


def _smart(drive) -> str:
    log = {
        "critical_warning": drive.critical_warning,
        "temperature": drive.temperature_c + 273,
        "avail_spare": drive.available_spare_pct,
        "spare_thresh": 10,
        "percent_used": drive.percentage_used,
        "endurance_grp_critical_warning_summary": 0,
        "data_units_read": 91_202_114,
        "data_units_written": 60_114_870,
        "power_on_hours": 2904,
        "unsafe_shutdowns": 7,
        "media_errors": drive.media_errors,
        "num_err_log_entries": 0,
    }
    return json.dumps(log, indent=2) + "\n"
