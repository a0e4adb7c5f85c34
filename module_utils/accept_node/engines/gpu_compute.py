"""A quick look at every GPU by PyTorch, one after the other: products in each precision, memory, copies. Prints one JSON object.

    {"torch", "runtime", "gpus": [{"index", "pci", "name", "results": {test: {"value": float | null, "unit", "reason"}}}]}

Tests: gemm_<precision> and grouped_gemm_bf16 in TFLOPS; gemv_bf16, hbm_copy (read and written), h2d, d2h in GB/s of 10^9 bytes. What this
chip or this PyTorch has not is null with a reason. It stands alone: sent to a node as a file.
"""

from __future__ import annotations

import json
import os
import sys
import time

SCALED = {"fp8": "float8_e4m3fn", "mxfp8": "float8_e4m3fn", "nvfp4": "float4_e2m1fn_x2"}


class Look:
    def __init__(self, torch, index, settings):
        self.torch, self.settings = torch, settings
        self.device = torch.device("cuda", index) if torch.cuda.is_available() else torch.device("cpu")
        self.cuda = self.device.type == "cuda"
        self.size = settings["matrix"]

    def wait(self):
        if self.cuda:
            self.torch.cuda.synchronize(self.device)

    def rate(self, work):
        """How many times a second, when nothing else is waited for: the best of three stretches."""
        for _ in range(3):
            work()
        self.wait()
        start = time.monotonic()
        work()
        self.wait()
        count = max(2, min(10000, int(self.settings["seconds"] / 3 / max(time.monotonic() - start, 1e-6))))
        best = 0.0
        for _ in range(3):
            start = time.monotonic()
            for _ in range(count):
                work()
            self.wait()
            best = max(best, count / (time.monotonic() - start))
        return best

    def random(self, *shape, dtype):
        return self.torch.randn(*shape, device=self.device).to(dtype)

    def gemm(self, precision):
        torch, size = self.torch, self.size
        kinds = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32}
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        if precision == "tf32" and not self.cuda:
            raise RuntimeError("there is no such precision without a GPU")
        flop = 2.0 * size**3 / 1e12
        if precision in kinds:
            left, right = (self.random(size, size, dtype=kinds[precision]) for _ in range(2))
            out = torch.empty(size, size, dtype=kinds[precision], device=self.device)
            return flop * self.rate(lambda: torch.matmul(left, right, out=out))
        return flop * self.rate(self.scaled(precision))

    def scaled(self, precision):
        """Products of 8 or 4 bits: one scale, or one for each block of 32 (MX) or 16 (NVFP4)."""
        torch, size = self.torch, self.size
        if not hasattr(torch, SCALED[precision]):
            raise RuntimeError(f"this PyTorch has no {SCALED[precision]}")
        kind = getattr(torch, SCALED[precision])
        if precision == "nvfp4":
            left, right = (torch.randint(0, 255, (size, size // 2), dtype=torch.uint8, device=self.device).view(kind) for _ in range(2))
            scales = [torch.ones(size * size // 16, device=self.device).to(torch.float8_e4m3fn) for _ in range(2)]
        else:
            left, right = (self.random(size, size, dtype=torch.float32).to(kind) for _ in range(2))
            if precision == "mxfp8":
                scales = [torch.ones(size * size // 32, device=self.device).to(torch.float8_e8m0fnu) for _ in range(2)]
            else:
                scales = [torch.ones((), device=self.device) for _ in range(2)]
        return lambda: torch._scaled_mm(left, right.t(), scale_a=scales[0], scale_b=scales[1], out_dtype=torch.bfloat16)

    def grouped(self):
        torch, groups = self.torch, 8
        if not hasattr(torch, "_grouped_mm"):
            raise RuntimeError("this PyTorch has no grouped products")
        rows, size = self.size // 2, self.size // 2
        left = self.random(groups * rows, size, dtype=torch.bfloat16)
        right = self.random(groups, size, size, dtype=torch.bfloat16)
        ends = torch.arange(rows, groups * rows + 1, rows, device=self.device, dtype=torch.int32)
        return 2.0 * groups * rows * size * size / 1e12 * self.rate(lambda: torch._grouped_mm(left, right, offs=ends))

    def gemv(self):
        size = 2 * self.size
        matrix, vector = self.random(size, size, dtype=self.torch.bfloat16), self.random(size, dtype=self.torch.bfloat16)
        return 2.0 * size * size / 1e9 * self.rate(lambda: self.torch.mv(matrix, vector))

    def buffer(self, device, pinned=False):
        return self.torch.empty(self.settings["bytes"], dtype=self.torch.uint8, device=device, pin_memory=pinned and self.cuda)

    def copy(self, source, target, passes=1):
        gb = passes * self.settings["bytes"] / 1e9
        return gb * self.rate(lambda: target.copy_(source, non_blocking=True))

    def results(self):
        tests = {f"gemm_{one}": ("tflops", lambda one=one: self.gemm(one)) for one in self.settings["precisions"]}
        tests["grouped_gemm_bf16"] = ("tflops", self.grouped)
        tests["gemv_bf16"] = ("gbytes_s", self.gemv)
        tests["hbm_copy"] = ("gbytes_s", lambda: self.copy(self.buffer(self.device), self.buffer(self.device), 2))
        tests["h2d"] = ("gbytes_s", lambda: self.copy(self.buffer("cpu", True), self.buffer(self.device)))
        tests["d2h"] = ("gbytes_s", lambda: self.copy(self.buffer(self.device), self.buffer("cpu", True)))
        return {name: self.result(unit, test) for name, (unit, test) in tests.items()}

    def result(self, unit, test):
        try:
            value, reason = round(test(), 4), ""
        except Exception as error:  # one precision that this chip has not must not lose the others
            value, reason = None, " ".join(f"{type(error).__name__}: {error}".split())[:160]
        if self.cuda:
            self.torch.cuda.empty_cache()
        return {"value": value, "unit": unit, "reason": reason}


def address(torch, index):
    """The GPU's PCI address, as far as this PyTorch tells it."""
    found = torch.cuda.get_device_properties(index)
    if not hasattr(found, "pci_bus_id"):
        return None
    return f"{getattr(found, 'pci_domain_id', 0):04x}:{found.pci_bus_id:02x}:{getattr(found, 'pci_device_id', 0):02x}.0"


def main(settings):
    os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    import torch

    cuda = torch.cuda.is_available()
    gpus = []
    for index in range(torch.cuda.device_count() if cuda else int(settings.get("cpus", 0))):
        name, pci = (torch.cuda.get_device_name(index), address(torch, index)) if cuda else ("cpu", None)
        gpus.append({"index": index, "pci": pci, "name": name, "results": Look(torch, index, settings).results()})
    runtime = torch.version.cuda or getattr(torch.version, "hip", None)
    print(json.dumps({"torch": torch.__version__, "runtime": runtime, "gpus": gpus}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
