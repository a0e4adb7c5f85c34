"""Named faults that a quick look at GPUs shows. Each public function puts one into a node; `tools/simulate --faults` prints its
docstring.
"""

from __future__ import annotations


def _own(node, gpu):
    node.gpus[gpu]  # there is such a GPU
    return node.compute.setdefault(gpu, {})


def slow_gemm(node, rng, *, gpu=0, pct=15.0):
    """A GPU whose products are slower than those of its peers, in every precision"""
    for precision in ("bf16", "fp16", "tf32", "fp32", "fp8", "mxfp8", "nvfp4"):
        _own(node, gpu)[f"gemm_{precision}"] = 1 - pct / 100


def slow_precision(node, rng, *, gpu=0, precision="fp8", pct=40.0):
    """A GPU that is slow in one precision only"""
    _own(node, gpu)[f"gemm_{precision}"] = 1 - pct / 100


def slow_hbm(node, rng, *, gpu=0, pct=35.0):
    """A GPU whose memory is slow"""
    _own(node, gpu).update(hbm_copy=1 - pct / 100, gemv_bf16=1 - pct / 100)


def slow_host_copy(node, rng, *, gpu=0, pct=55.0):
    """A GPU whose copies from and to the host are slow, as on half of its lanes"""
    _own(node, gpu).update(h2d=1 - pct / 100, d2h=1 - pct / 100)


def gpu_does_not_compute(node, rng, *, gpu=0):
    """A GPU on which every test fails"""
    tests = [f"gemm_{precision}" for precision in ("bf16", "fp16", "tf32", "fp32", "fp8", "mxfp8", "nvfp4")]
    _own(node, gpu).update(dict.fromkeys([*tests, "grouped_gemm_bf16", "gemv_bf16", "hbm_copy", "h2d", "d2h"]))


def dcgm_diag_fails(node, rng, *, gpu=0):
    """A GPU that fails DCGM's diagnostic"""
    node.gpus[gpu]  # there is such a GPU
    node.compute["dcgm"] = gpu
