"""What a quick look at a simulated node's GPUs prints: PyTorch's engine, nvbandwidth, dcgmi diag.

`node.compute` has, by place of the GPU, the share of the usual rate that a test reaches, None where the test fails.
"""

from __future__ import annotations

import json
from zlib import crc32

from accept_node.collectors import gpu_compute
from accept_node.work import ANY

from .model import SimNode
from .records import command, missing

# TFLOPS of products and GB/s of memory: made up, in the size of public figures
BF16 = {
    "h100_hgx": 775,
    "h200_hgx": 780,
    "b200_hgx": 1690,
    "b300_hgx": 1710,
    "gb200_nvl72": 1760,
    "gb300_nvl72": 1840,
    "mi300x": 640,
    "mi325x": 750,
}
HBM = {"h100_hgx": 3350, "h200_hgx": 4800, "mi300x": 5300, "mi325x": 6000}
TIMES = {"bf16": 1.0, "fp16": 1.01, "tf32": 0.48, "fp32": 0.034, "fp8": 1.93, "mxfp8": 1.88, "nvfp4": 3.4}
BLACKWELL = ("mxfp8", "nvfp4")
DIAG = ["dcgmi", "diag", "-r", "2", "-j"]


def render(node: SimNode) -> dict:
    """The records of accept_gpu_bench, as jobs of a capture."""
    gpus = [gpu for gpu in sorted(node.gpus, key=lambda gpu: gpu.pci) if gpu.present]
    told = {"torch": "2.9.1", "runtime": "13.0", "gpus": [_gpu(node, place, gpu) for place, gpu in enumerate(gpus)]}
    commands = [command([*gpu_compute.TORCH, ANY], json.dumps(told) + "\n", duration_s=70.0)]
    if node.vendor == "nvidia":
        commands += [
            command([*gpu_compute.NVBANDWIDTH, ANY], json.dumps(_copies(node, gpus)), duration_s=9.0),
            command([*DIAG, ANY], json.dumps(_diag(node, gpus)), duration_s=110.0),
        ]
    else:
        commands += [missing([*argv, ANY]) for argv in (gpu_compute.NVBANDWIDTH, DIAG)]
    return {"commands": commands}


def _rate(node, place, test, usual):
    """The usual rate, as far as this GPU reaches it; some per mille of its own."""
    share = node.compute.get(place, {}).get(test, 1.0)
    return None if share is None else round(usual * share * (1 - crc32(f"{node.name} {place} {test}".encode()) % 100 / 10000), 3)


def _gpu(node, place, gpu):
    results = {}
    for precision, times in TIMES.items():
        usual = BF16.get(node.sku, 1500) * times
        has = precision not in BLACKWELL or (node.vendor == "nvidia" and not node.sku.startswith("h"))
        results[f"gemm_{precision}"] = _result(node, place, f"gemm_{precision}", usual if has else None, "tflops")
    hbm = HBM.get(node.sku, 8000)
    results["grouped_gemm_bf16"] = _result(node, place, "grouped_gemm_bf16", 0.8 * BF16.get(node.sku, 1500), "tflops")
    for test, usual in (("gemv_bf16", 0.7 * hbm), ("hbm_copy", 0.88 * hbm), ("h2d", 55.0), ("d2h", 54.5)):
        results[test] = _result(node, place, test, usual, "gbytes_s")
    return {"index": place, "pci": gpu.pci, "name": gpu.name, "results": results}


def _result(node, place, test, usual, unit):
    value = None if usual is None else _rate(node, place, test, usual)
    reason = (
        ""
        if value is not None
        else "RuntimeError: not supported on this device"
        if usual is None
        else "RuntimeError: CUDA error: an illegal access"
    )
    return {"value": value, "unit": unit, "reason": reason}


def _copies(node, gpus):
    tests = []
    for key, name in gpu_compute.COPIES.items():
        row = [str(_rate(node, place, key, 55.4)) for place, _ in enumerate(gpus)]
        tests.append(
            {"name": name, "status": "Passed", "bandwidth_description": "memcpy CE CPU and GPU bandwidth (GB/s)", "bandwidth_matrix": [row]}
        )
    return {"nvbandwidth": {"CUDA Runtime Version": 13000, "Driver Version": "580.105.08", "git_version": "v0.8", "testcases": tests}}


def _diag(node, gpus):
    bad = node.compute.get("dcgm")
    results = []
    for place, _ in enumerate(gpus):
        failed = {"status": "Fail", "warnings": [{"error_id": 52, "warning": "Detected 1.9 GB/s, expected at least 45 GB/s"}]}
        results.append(
            {"entity_group": "GPU", "entity_group_id": 1, "entity_id": place, **(failed if place == bad else {"status": "Pass"})}
        )
    test = {"name": "pcie", "results": results, "test_summary": {"status": "Fail" if bad is not None else "Pass"}}
    metadata = {"version": "4.4.1", "Driver Version Detected": "580.105.08"}
    return {"DCGM Diagnostic": {"test_categories": [{"category": "Integration", "tests": [test]}]}, "metadata": metadata}
