"""A quick look at every GPU: products in each precision, memory and copies by PyTorch (engines/gpu_compute.py), copies by nvbandwidth and
NVIDIA's own diagnostic where they are installed. Each is a job with a deadline. No thresholds.
"""

from __future__ import annotations

import inspect
import json

from ..engines import gpu_compute as engine
from ..parsers import ParseError, dcgmi_diag, gpu_compute, nvbandwidth

PRECISIONS = ["bf16", "fp16", "tf32", "fp32", "fp8", "mxfp8", "nvfp4"]
COPIES = {"h2d": "host_to_device_memcpy_ce", "d2h": "device_to_host_memcpy_ce"}
NVBANDWIDTH = ["nvbandwidth", "-j", "-t", *COPIES.values()]
DCGM_S = {1: 120, 2: 600, 3: 2700}  # limits of dcgmi diag by level
TORCH = ["gpu_compute", "torch"]  # how a capture names the engine
NOT_NAMED = "gpu_compute_python names no interpreter with PyTorch, and nothing is installed on nodes"


def collect(gather, work, settings, host) -> dict:
    """{"torch", "runtime", "gpus": [{index pci name results}] | None, "gpus_reason", "copies": {"h2d": [GB/s of each GPU] | None, ...},
    "copies_reason", "dcgm": {worst, tests} | None, "dcgm_reason", "dcgm_level"}
    """
    wrap = _wrap(settings, host)
    torch, torch_reason = _torch(gather, work, settings, wrap)
    copies, copies_reason = _copies(gather, work, wrap)
    dcgm, dcgm_reason = _dcgm(gather, work, settings.get("dcgm_level") or 0, wrap)
    return {
        "torch": torch and torch["torch"],
        "runtime": torch and torch["runtime"],
        "gpus": torch and torch["gpus"],
        "gpus_reason": torch_reason,
        "copies": copies,
        "copies_reason": copies_reason,
        "dcgm": dcgm,
        "dcgm_reason": dcgm_reason,
        "dcgm_level": settings.get("dcgm_level") or 0,
    }


def _wrap(settings, host):
    """As a step of the allocation where there is one."""
    if not settings.get("slurm_job"):
        return []
    step = ["srun", f"--jobid={settings['slurm_job']}", "--overlap", "--quiet", "-N1", "-n1", f"--nodelist={host.split('.')[0]}"]
    return [*step, "--job-name=accept-gpu-compute"]


def _ran(gather, work, what, argv, limit_s, recorded_as, parse, files=None, ok=(0,)):
    """(what a job printed, parsed; why there is nothing)"""
    work.start(what, argv, limit_s, files)
    result = work.result(what, limit_s + 10, recorded_as)
    tail = (result.stderr or result.stdout).strip().splitlines()
    said = f": {tail[-1][:160]}" if tail else ""
    if result.reason == "missing":
        return None, f"{recorded_as[0]} is not installed" if recorded_as[0] != "gpu_compute" else f"{argv[-3]} is not there"
    if result.reason:
        reason = f"{result.reason}{said}"
    elif ok is not None and result.rc not in ok:
        reason = f"exit status {result.rc}{said}"
    else:
        try:
            return parse(result.stdout), ""
        except ParseError as error:
            reason = str(error)
    gather.error(" ".join(recorded_as), result.reason or "failed", f"{' '.join(recorded_as)}: {reason}")
    return None, reason


def _torch(gather, work, settings, wrap):
    python = settings.get("python") or ""
    if not python:
        return None, NOT_NAMED
    given = {"matrix": settings["matrix"], "seconds": settings["seconds"], "bytes": settings["bytes"], "precisions": PRECISIONS}
    argv = [*wrap, python, "{folder}/gpu_compute.py", json.dumps(given)]
    sent = {"gpu_compute.py": inspect.getsource(engine)}
    return _ran(gather, work, "torch", argv, settings["limit_s"], TORCH, gpu_compute.parse, sent)


def _copies(gather, work, wrap):
    found, reason = _ran(gather, work, "nvbandwidth", [*wrap, *NVBANDWIDTH], 300, NVBANDWIDTH, nvbandwidth.parse, ok=None)
    if found is None:
        return dict.fromkeys(COPIES), reason
    tests = {test["name"]: test for test in found["tests"]}
    rows = {key: tests[name]["gbytes_s"][0] if name in tests and tests[name]["gbytes_s"] else None for key, name in COPIES.items()}
    bad = next((test for test in found["tests"] if test["status"] != "passed"), None)
    return rows, f"nvbandwidth: {bad['name']}: {bad['status']} {bad['reason']}".strip() if bad else ""


def _dcgm(gather, work, level, wrap):
    if not level:
        return None, "dcgmi diag was not run: it belongs to accept_depth standard and deeper"
    argv = ["dcgmi", "diag", "-r", str(level), "-j"]
    found, reason = _ran(gather, work, "dcgm", [*wrap, *argv], DCGM_S[level], argv, dcgmi_diag.parse, ok=None)
    if found is None:
        return None, reason
    bad = [
        f"{test['name']} GPU {result['entity']}: {result['status']} {result['text']}".strip()[:160]
        for test in found["tests"]
        for result in test["results"]
        if result["status"].lower() in ("fail", "warn")
    ]
    if found["runtime_error"]:
        return None, f"dcgmi diag: {found['runtime_error']}"
    return {"version": found["version"], "complete": found["complete"], "worst": found["worst"], "bad": bad[:20]}, ""
