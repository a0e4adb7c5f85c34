"""What a simulated node's burn-in has left: its series of eight hours in steps of eight minutes, as engines/burn_in.py writes it.

Faults are in `node.burn`, by the names that faults_burn.py gives them.
"""

from __future__ import annotations

import json
from zlib import crc32

from accept_node.collectors import burn_in
from accept_node.engines import sampler

from .model import SimNode
from .records import command, file, missing, missing_tree, tree

PYTHON = "/opt/torch/bin/python"
STEP_S, HOURS, WARM_UP_S, SOAK_S = 480.0, 8, 600.0, 1200.0
# TFLOPS of a product in bfloat16 beside an all-to-all, and watts and degrees under it: made up, in the size of public figures
LIKE = {
    "h100_hgx": (690, 690, 68),
    "h200_hgx": (700, 690, 66),
    "b200_hgx": (1500, 990, 62),
    "b300_hgx": (1530, 1090, 58),
    "gb200_nvl72": (1580, 1190, 54),
    "gb300_nvl72": (1600, 1290, 55),
}
USUAL = (620, 730, 64)
GBYTES_S = 41.0
MATRIX, SUM, WRONG = 8192, "00000000004d11a6", "00000000004d11b6"


def render(node: SimNode) -> dict:
    """What accept_burn_in_bench asks of a node."""
    gpus = [gpu for gpu in sorted(node.gpus, key=lambda gpu: gpu.pci) if gpu.present]
    rows = "".join(f"{gpu.index}, {_bus(gpu)}, {gpu.name}, {gpu.power_limit_w:.2f} W\n" for gpu in gpus)
    nvidia = node.vendor == "nvidia"
    told = {"state": "ended", "rc": 0, "reason": "", "message": "", "stderr": "", "started_at_s": 0.0, "ended_at_s": HOURS * 3600.0}
    return {
        "commands": [
            command(burn_in.SMI, rows, duration_s=0.4) if nvidia else missing(burn_in.SMI),
            command([PYTHON, "-c", burn_in.TORCH], f"2.9.1 {len(gpus)}\n", duration_s=4.2),
            command(burn_in.STATUS, json.dumps(told)),
            command(burn_in.SERIES, "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in _series(node, gpus))),
        ],
        "files": [file(burn_in.ONLINE, f"0-{node.sockets * node.cores_per_socket - 1}\n")],
        "trees": [missing_tree(burn_in.DRM) if nvidia else _cards(gpus)],
    }


def _bus(gpu):
    return f"0000{gpu.pci.upper()}"


def _cards(gpus):
    files = {f"card{place}/device/vendor": "0x1002\n" for place, _ in enumerate(gpus, 1)}
    return tree(
        burn_in.DRM, files, {f"card{place}/device": f"/sys/devices/pci{gpu.pci[:7]}/{gpu.pci}" for place, gpu in enumerate(gpus, 1)}
    )


def _series(node, gpus):
    devices = [{"name": f"gpu{place}", "slot": place, "index": place, "pci": gpu.pci, "model": gpu.name} for place, gpu in enumerate(gpus)]
    end = HOURS * 3600.0
    settings = {
        "engine": "torch",
        "python": PYTHON,
        "devices": devices,
        "offset_s": 0.0,
        "warm_up_s": WARM_UP_S,
        "gemm_end_s": end,
        "exchange_end_s": end,
        "soak": ["all_to_all", "all_gather", "reduce_scatter"],
        "soak_s": SOAK_S,
        "resolution_s": STEP_S,
        "exchange": True,
    }
    names = [f"{nic.name}/1" for nic in node.nics]
    sources = {"gpu": "nvidia-smi", "kernel_log": "permission" if node.uid else "", "ports": names, "order": [gpu.pci for gpu in gpus]}
    columns = list(sampler.GPU_COLUMNS)
    yield {
        "schema": 1,
        "kind": "burn_in",
        "started_at_s": 0.0,
        "columns": columns,
        "sources": sources,
        "settings": settings,
        "ranks": 8 * len(gpus),
    }
    for device in devices:
        yield {"t": 20.0, "device": {**device, "version": "torch 2.9.1, 13.0", "matrix": MATRIX, "checked": True}}
    steps, ends_s = int(end / STEP_S), node.burn.get("ends_s", end)
    since = 0
    for step in range(1, steps + 1):
        at = step * STEP_S
        if at > ends_s:
            return
        if not (node.burn.get("blind") and steps // 3 < step < steps // 2):
            yield _tick(node, gpus, devices, step, steps, at - since)
            since = at
    for place, operation in enumerate(settings["soak"]):
        yield from _soak(node, devices, operation, end + (place + 1) * SOAK_S)
    for at, text in node.burn.get("events", ()):
        yield {"t": at, "event": {"what": "exchange", "text": text}}
    yield {"t": end + 3 * SOAK_S, "end": "done"}


def _tick(node, gpus, devices, step, steps, seconds):
    tflops, _, _ = LIKE.get(node.sku, USUAL)
    at = step * STEP_S
    rows, loads = [], {}
    for gpu, device in zip(gpus, devices):
        own, name = node.burn.get(device["slot"], {}), device["name"]
        share, row = _gpu(node, gpu, own, step, steps)
        rows.append(row)
        idle = own.get("dip") and steps // 2 <= step < steps // 2 + 4
        rate = tflops * share * (1 - crc32(f"{node.name} {name}".encode()) % 100 / 20000) * (0.3 if idle else 1)
        took, wrong = seconds if step > 1 else seconds - 25, own.get("wrong", 0) if step == steps // 2 else 0
        products = int(rate * took / (2 * MATRIX**3 / 1e12))
        loads[name] = [products, round(rate * took, 1), took, wrong, WRONG if own.get("odd") else SUM]
    line = {"t": at, "gpu": rows, "load": loads}
    if at <= node.burn.get("exchange_ends_s", at):
        rate = (
            GBYTES_S
            * (1 - node.burn.get("exchange_drop_pct", 0) / 100 * step / steps)
            * (1 - crc32(f"{node.cluster} {step}".encode()) % 100 / 8000)
        )
        wrong = node.burn.get("exchange_wrong", 0) if step == steps // 2 else 0
        ms = 1000 * 2**30 / (rate * 1e9)
        line["net"] = {devices[0]["name"]: [_collective("burn", "all_to_all", seconds, ms, rate, wrong)]} if devices else {}
    line["nvlink"] = [node.burn.get(device["slot"], {}).get("nvlink", 0) if step > steps // 2 else 0 for device in devices]
    if node.vendor != "nvidia":
        del line["nvlink"]
    if step == steps // 2:
        line.update({key: node.burn[key] for key in ("port", "link", "log") if key in node.burn})
    return line


def _collective(phase, operation, seconds, ms, rate, wrong):
    return [
        phase,
        operation,
        int(0.96 * 1000 * seconds / ms),
        2**30,
        round(ms, 4),
        round(ms * 0.94, 4),
        round(ms * 1.3, 4),
        round(rate, 3),
        wrong,
    ]


def _gpu(node, gpu, own, step, steps):
    """(share of the usual FLOPS, the row of nvidia-smi)"""
    _, watts, heat = LIKE.get(node.sku, USUAL)
    warm = 1 - 0.5 ** min(step, 4)
    drift = own.get("clock_drop_pct", 0) / 100 * step / steps
    share = (1 - own.get("slow_pct", 0) / 100) * (1 - drift) * (0.88 if own.get("throttled") and step > steps // 2 else 1)
    hot = own.get("throttled") and step > steps // 2
    reasons = None if node.vendor != "nvidia" else 0x64 if hot else 0x4
    limit = gpu.power_limit_w if step < steps // 2 else own.get("lowered_w", gpu.power_limit_w)
    jitter = crc32(f"{gpu.uuid} {step}".encode()) % 5 - 2
    # air goes from the first slots to the last ones, which are warmer
    celsius = 34 + warm * (heat - 34) + (gpu.index % 4) * 2 + jitter * 0.5 + own.get("hotter_c", 0)
    clock = round(gpu.max_clock_mhz * 0.86 * share + jitter)
    grown = step > steps // 2
    values = [
        round(celsius), round(celsius + 9), round(min(watts, limit) + jitter * 1.5, 1), limit, clock, 3996, reasons, 100.0,
        own.get("corrected", 0) if grown else 0, own.get("uncorrected", 0) if grown else 0, gpu.pcie_gen, gpu.pcie_width,
    ]  # fmt: skip
    return share, values


def _soak(node, devices, operation, at):
    dip = node.burn.get("soak_dip_pct", 0)
    for part in range(4):
        rate = GBYTES_S * (1.02 if operation == "all_to_all" else 9.1) * (1 - (dip / 100 if part == 2 else 0))
        wrong = node.burn.get("soak_wrong", 0) if part == 1 else 0
        row = _collective("soak", operation, SOAK_S / 4, 1000 * 2**30 / (rate * 1e9), rate, wrong)
        yield {"t": at - SOAK_S + (part + 1) * SOAK_S / 4, "gpu": None, "net": {devices[0]["name"]: [row]} if devices else {}}
