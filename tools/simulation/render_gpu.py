"""What nvidia-smi prints on a simulated node, in the element order and spelling of driver 580; AMD's tools: render_amd.py."""

from __future__ import annotations

from . import render_amd
from .model import Gpu, SimNode
from .records import command, listing, missing, missing_tree

SMI = ["nvidia-smi", "-q", "-x"]
NVLINK = ["nvidia-smi", "nvlink", "-s"]
TOPO = ["nvidia-smi", "topo", "-m"]
REASONS = (
    *("gpu_idle", "applications_clocks_setting", "sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"),
    *("sync_boost", "sw_thermal_slowdown", "display_clocks_setting"),
)
COUNTERS = ("sw_power_cap", "sync_boost", "sw_therm_slowdown", "hw_therm_slowdown", "hw_power_brake")
LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def render(node: SimNode) -> dict:
    """The commands of the inventory's GPU part; the vendor's other tool is not installed."""
    gpus = [gpu for gpu in node.gpus if gpu.present]
    if node.vendor == "amd":
        return {"commands": [missing(SMI), *render_amd.commands(gpus)], "trees": [render_amd.bad_pages(gpus)]}
    slow = {"duration_s": 1.4}  # eight GPUs take their time
    return {
        "commands": [
            command(SMI, _xml(node, gpus), **slow) if gpus else command(SMI, "No devices were found\n", rc=6),
            command(NVLINK, "".join(map(_nvlink, gpus)), **slow),
            command(TOPO, _topo(node, gpus)),
            missing(render_amd.STATIC),
        ],
        "trees": [missing_tree("/sys/class/drm")],
        "listings": [listing("/proc/driver/nvidia/gpus", [gpu.pci for gpu in gpus])],
    }


def _bus_id(gpu) -> str:
    """0000:1b:00.0 as nvidia-smi writes it: 00000000:1B:00.0."""
    return "0000" + gpu.pci.upper()


# --- nvidia-smi -q -x -------------------------------------------------------------------------------------------------------------


def _element(name, content, depth=2) -> str:
    """<name>text</name>, or a group where the content is a dict; None is N/A."""
    tab = "\t" * depth
    if isinstance(content, dict):
        return f"{tab}<{name}>\n" + "".join(_element(key, value, depth + 1) for key, value in content.items()) + f"{tab}</{name}>\n"
    return f"{tab}<{name}>{'N/A' if content is None else content}</{name}>\n"


def _xml(node, gpus) -> str:
    driver, cuda = node.versions.get("nvidia_driver", ""), node.versions.get("cuda_driver", "13.0")
    head = {"timestamp": "Mon Nov 30 06:00:00 2026", "driver_version": driver, "cuda_version": cuda, "attached_gpus": len(gpus)}
    parts = ['<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">\n<nvidia_smi_log>\n']
    parts += [_element(name, value, 1) for name, value in head.items()]
    for gpu in gpus:
        parts.append(f'\t<gpu id="{_bus_id(gpu)}">\n')
        parts += [_element(name, value) for name, value in _fields(node, gpu, driver).items()]
        parts.append("\t</gpu>\n\n")
    return "".join(parts) + "</nvidia_smi_log>\n"


def _switch(on) -> str:
    return "Enabled" if on else "Disabled"


def _yes(on) -> str:
    return "Yes" if on else "No"


def _fields(node, gpu: Gpu, driver) -> dict:
    racked = "nvl72" in node.sku
    watts = {
        "current_power_limit": f"{gpu.power_limit_w:.2f} W",
        "requested_power_limit": f"{gpu.power_limit_w:.2f} W",
        "default_power_limit": f"{gpu.power_default_w:.2f} W",
        "min_power_limit": "200.00 W",
        "max_power_limit": f"{gpu.power_max_w:.2f} W",
    }
    top = {"graphics_clock": f"{gpu.max_clock_mhz} MHz", "mem_clock": "3996 MHz"}
    return {
        "product_name": gpu.name,
        "product_brand": "NVIDIA",
        "product_architecture": "Hopper" if node.sku.startswith("h") else "Blackwell",
        "display_mode": "Requested functionality has been deprecated",
        "display_attached": "Yes",
        "display_active": "Disabled",
        "persistence_mode": _switch(gpu.persistence),
        "addressing_mode": "ATS" if racked else "None",
        "mig_mode": {"current_mig": _switch(gpu.mig), "pending_mig": _switch(gpu.mig)},
        "mig_devices": "None",
        "accounting_mode": "Disabled",
        "accounting_mode_buffer_size": 4000,
        "serial": gpu.serial,
        "uuid": gpu.uuid,
        "minor_number": gpu.index,
        "vbios_version": gpu.vbios,
        "multigpu_board": "No",
        "platformInfo": {
            "chassis_serial_number": node.chassis_serial if racked else "",
            "slot_number": node.slot if racked else None,
            "tray_index": node.slot - 1 if racked else None,
            "host_id": 1,
            "peer_type": "Switch Connected",
            "module_id": gpu.module_id,
        },
        "c2c_mode": _switch(racked),
        "gpu_recovery_action": gpu.recovery_action,
        "gsp_firmware_version": driver,
        "pci": _pci(gpu),
        "fan_speed": None,
        "performance_state": "P0",
        "clocks_event_reasons": {
            f"clocks_event_reason_{name}": "Active" if name in gpu.event_reasons else "Not Active" for name in REASONS
        },
        "clocks_event_reasons_counters": {f"clocks_event_reasons_counters_{name}": "0 us" for name in COUNTERS},
        "fb_memory_usage": {
            "total": f"{gpu.memory_mib} MiB",
            "reserved": "728 MiB",
            "used": "0 MiB",
            "free": f"{gpu.memory_mib - 728} MiB",
        },
        "compute_mode": "Default",
        "utilization": {"gpu_util": "0 %" if "gpu_idle" in gpu.event_reasons else "100 %", "memory_util": "0 %"},
        "ecc_mode": {"current_ecc": _switch(gpu.ecc), "pending_ecc": _switch(gpu.ecc)},
        "ecc_errors": _ecc(gpu),
        "retired_pages": {
            "multiple_single_bit_retirement": {"retired_count": None, "retired_pagelist": None},
            "double_bit_retirement": {"retired_count": None, "retired_pagelist": None},
            "pending_blacklist": None,
            "pending_retirement": None,
        },
        # with MIG on, the tool says nothing of remapped rows
        "remapped_rows": None if gpu.mig else _rows(gpu),
        "temperature": {
            "gpu_temp": f"{gpu.temperature_c} C",
            "gpu_temp_tlimit": f"{88 - gpu.temperature_c} C",
            "gpu_target_temperature": None,
            "memory_temp": f"{gpu.temperature_c + 1} C",
        },
        "gpu_power_readings": {
            "power_state": "P0",
            "average_power_draw": f"{gpu.power_draw_w:.2f} W",
            "instant_power_draw": f"{gpu.power_draw_w:.2f} W",
            **watts,
        },
        "clocks": {"graphics_clock": f"{gpu.clock_mhz} MHz", "sm_clock": f"{gpu.clock_mhz} MHz", "mem_clock": "3996 MHz"},
        "max_clocks": {**top, "sm_clock": f"{gpu.max_clock_mhz} MHz"},
        "fabric": {
            "state": gpu.fabric_state,
            "status": gpu.fabric_status,
            "cliqueId": gpu.clique_id,
            "clusterUuid": gpu.cluster_uuid,
            "health": {"summary": "Healthy", "bandwidth": "Full" if racked else None},
        },
        "processes": "",
    }


def _pci(gpu) -> dict:
    domain, bus = _bus_id(gpu).split(":")[:2]
    gens = {
        "max_link_gen": gpu.pcie_gen_max,
        "current_link_gen": gpu.pcie_gen,
        "max_device_link_gen": gpu.pcie_gen_max,
        "max_host_link_gen": None,
    }
    widths = {"max_link_width": f"{gpu.pcie_width_max}x", "current_link_width": f"{gpu.pcie_width}x"}
    return {
        "pci_bus": bus,
        "pci_device": "00",
        "pci_domain": domain[-4:],
        "pci_bus_id": _bus_id(gpu),
        "pci_gpu_link_info": {"pcie_gen": gens, "link_widths": widths},
        "replay_counter": 0,
        "replay_rollover_counter": 0,
    }


def _ecc(gpu) -> dict:
    def errors(correctable, uncorrectable):
        if not gpu.ecc:
            return dict.fromkeys(
                ("sram_correctable", "sram_uncorrectable_parity", "sram_uncorrectable_secded", "dram_correctable", "dram_uncorrectable")
            )
        zero = dict.fromkeys(("sram_correctable", "sram_uncorrectable_parity", "sram_uncorrectable_secded"), 0)
        return {**zero, "dram_correctable": correctable, "dram_uncorrectable": uncorrectable}

    aggregate = errors(gpu.ecc_aggregate_correctable, gpu.ecc_aggregate_uncorrectable)
    return {
        "volatile": errors(0, gpu.ecc_volatile_uncorrectable),
        "aggregate": {**aggregate, "sram_threshold_exceeded": "No" if gpu.ecc else None},
        "channel_repair_pending": "No",
        "tpc_repair_pending": "No",
        "unrepairable_memory": "No",
    }


def _rows(gpu) -> dict:
    return {
        "remapped_row_corr": gpu.remapped_correctable,
        "remapped_row_unc": gpu.remapped_uncorrectable,
        "remapped_row_pending": _yes(gpu.remap_pending),
        "remapped_row_failure": _yes(gpu.remap_failed),
    }


# --- nvlink, topo -------------------------------------------------------------------------------------------------------------------


def _nvlink(gpu) -> str:
    head = f"GPU {gpu.index}: {gpu.name} (UUID: {gpu.uuid})\n"
    if gpu.nvlinks_gbytes_s and not any(gpu.nvlinks_gbytes_s):
        return head + "NVML: Unable to retrieve NVLink information as all links are inActive\n"
    rates = ((number, f"{rate} GB/s" if rate else "<inactive>") for number, rate in enumerate(gpu.nvlinks_gbytes_s))
    return head + "".join(f"\t Link {number}: {words}\n" for number, words in rates)


def _between(node, gpu, nic) -> str:
    """On HGX a GPU shares a PCIe switch with its NIC; on NVL72 both hang on one Grace."""
    if nic.gpu == gpu.index and "nvl72" not in node.sku:
        return "PXB"
    return "NODE" if nic.numa == gpu.numa else "SYS"


def _cpus(node, numa) -> str:
    cores = node.sockets * node.cores_per_socket // node.numa_nodes
    first = f"{numa * cores}-{(numa + 1) * cores - 1}"
    total = node.sockets * node.cores_per_socket
    return first if node.arch == "aarch64" else f"{first},{total + numa * cores}-{total + (numa + 1) * cores - 1}"


def _topo(node, gpus) -> str:
    names = [f"GPU{number}" for number in range(len(gpus))] + [f"NIC{number}" for number in range(len(node.nics))]
    lines = ["\t\033[4m" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]) + "\033[0m"]
    for row, gpu in enumerate(gpus):
        links = f"NV{sum(rate is not None for rate in gpu.nvlinks_gbytes_s)}"
        cells = [" X " if column == row else links for column in range(len(gpus))] + [_between(node, gpu, nic) for nic in node.nics]
        lines.append("\t".join([names[row], *cells, _cpus(node, gpu.numa), str(gpu.numa), "", "N/A"]))
    for row, nic in enumerate(node.nics):
        cells = [_between(node, gpu, nic) for gpu in gpus]
        cells += [" X " if other is nic else "NODE" if other.numa == nic.numa else "SYS" for other in node.nics]
        lines.append("\t".join([names[len(gpus) + row], *cells]))
    legend = "\nNIC Legend:\n\n" + "".join(f"  NIC{number}: {nic.name}\n" for number, nic in enumerate(node.nics)) + "\n"
    return "\n".join(lines) + "\n" + LEGEND + (legend if node.nics else "")
