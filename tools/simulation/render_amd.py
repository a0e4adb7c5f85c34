"""What amd-smi of ROCm 7 and the kernel say of the GPUs of a simulated node."""

from __future__ import annotations

import json
import random

from .records import command, tree

STATIC = ["amd-smi", "static", "--json"]
METRIC = ["amd-smi", "metric", "--json"]


def _value(value, unit) -> dict:
    return {"value": value, "unit": unit}


def commands(gpus) -> list:
    """static and metric."""
    static, metric = [], []
    for gpu in gpus:
        serial = f"0x{random.Random(gpu.uuid).getrandbits(64):016X}"
        speed = {3: 8, 4: 16, 5: 32, 6: 64}
        static.append(
            {
                "gpu": gpu.index,
                "asic": {
                    "market_name": gpu.name,
                    "vendor_id": "0x1002",
                    "vendor_name": "Advanced Micro Devices Inc. [AMD/ATI]",
                    "asic_serial": serial,
                    "oam_id": gpu.module_id,
                },
                "bus": {
                    "bdf": gpu.pci,
                    "max_pcie_width": gpu.pcie_width_max,
                    "max_pcie_speed": _value(speed[gpu.pcie_gen_max], "GT/s"),
                    "slot_type": "OAM",
                },
                "vbios": {
                    "name": "AMD " + gpu.name.split()[-1],
                    "build_date": "2025/01/21 10:37",
                    "part_number": gpu.vbios,
                    "version": "022.040.003.043.000001",
                },
                "limit": {
                    "max_power": _value(int(gpu.power_max_w), "W"),
                    "min_power": _value(0, "W"),
                    "socket_power": _value(int(gpu.power_limit_w), "W"),
                },
                "driver": {"name": "amdgpu", "version": "6.16.13"},
                "board": {"model_number": "102-G30213-0C", "product_serial": gpu.serial, "manufacturer_name": "AMD"},
                "ras": {
                    "bad_page_threshold": 64,
                    "ecc_block_state": {"UMC": "ENABLED" if gpu.ecc else "DISABLED", "GFX": "ENABLED", "XGMI_WAFL": "ENABLED"},
                },
                "partition": {"accelerator_partition": "SPX", "memory_partition": "NPS1", "partition_id": 0},
                "numa": {"node": gpu.numa, "affinity": gpu.numa},
                "vram": {"type": "HBM3", "vendor": "N/A", "size": _value(gpu.memory_mib, "MB"), "bit_width": 8192},
            }
        )
        throttled = bool(gpu.event_reasons - {"gpu_idle", "sw_power_cap"})
        metric.append(
            {
                "gpu": gpu.index,
                "usage": {
                    "gfx_activity": _value(0 if "gpu_idle" in gpu.event_reasons else 100, "%"),
                    "vcn_activity": [_value(0, "%"), "N/A"],
                },
                "power": {
                    "socket_power": _value(int(gpu.power_draw_w), "W"),
                    "throttle_status": "THROTTLED" if throttled else "UNTHROTTLED",
                },
                "temperature": {"edge": "N/A", "hotspot": _value(gpu.temperature_c, "C"), "mem": _value(gpu.temperature_c - 4, "C")},
                "pcie": {"width": gpu.pcie_width, "speed": _value(speed[gpu.pcie_gen], "GT/s"), "bandwidth": "N/A", "replay_count": 0},
                "ecc": {
                    "total_correctable_count": 0,
                    "total_uncorrectable_count": gpu.ecc_volatile_uncorrectable,
                    "total_deferred_count": 0,
                },
                "mem_usage": {"total_vram": _value(gpu.memory_mib, "MB"), "used_vram": _value(283, "MB")},
            }
        )
    slow = {"duration_s": 0.9}
    return [command(argv, json.dumps({"gpu_data": data}, indent=4) + "\n", **slow) for argv, data in ((STATIC, static), (METRIC, metric))]


def bad_pages(gpus) -> dict:
    """The bad-page list of each card in sysfs."""
    files, links = {}, {}
    for number, gpu in enumerate(gpus, 1):
        links[f"card{number}/device"] = f"/sys/devices/pci{gpu.pci[:7]}/{gpu.pci}"
        pages = [
            f"0x{0x3F8A0 + page:08x} : 0x00001000 : {'P' if gpu.remap_pending else 'F' if gpu.remap_failed else 'R'}"
            for page in range(gpu.remapped_uncorrectable)
        ]
        files[f"card{number}/device/ras/gpu_vram_bad_pages"] = "".join(line + "\n" for line in pages)
    return tree("/sys/class/drm", files, links)
