"""Load without a GPU: one core, NumPy where this interpreter has it, else the standard library; collectives over TCP."""

from __future__ import annotations

import json
import os
import platform
import random
import sys
import time
import zlib

from . import load
from .mesh import Mesh

SEED = 20261201


class Core:
    def __init__(self, settings):
        self.settings, self.reference = settings, None
        cpu = settings["device"]["cpu"]
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {cpu})
        for name in ("OPENBLAS", "OMP", "MKL", "BLIS"):
            os.environ[name + "_NUM_THREADS"] = "1"
        try:
            import numpy
        except ImportError:
            numpy = None
        self.numpy, self.size = numpy, settings.get("matrix") or (256 if numpy else 48)
        self.inputs = self._inputs()

    def _inputs(self):
        if self.numpy:
            draw = self.numpy.random.RandomState(SEED)
            return [draw.standard_normal((self.size, self.size)) for _ in range(2)]
        draw = random.Random(SEED)
        return [[[draw.randrange(1000) for _ in range(self.size)] for _ in range(self.size)] for _ in range(2)]

    def hello(self):
        version = f"numpy {self.numpy.__version__}" if self.numpy else f"python {platform.python_version()}"
        return {"model": platform.machine(), "version": version, "matrix": self.size, "checked": True}

    def _product(self):
        """The checksum of one product."""
        if self.numpy:
            return zlib.crc32(self.numpy.matmul(*self.inputs).tobytes())
        left, columns = self.inputs[0], list(zip(*self.inputs[1]))
        return zlib.crc32(repr([[sum(a * b for a, b in zip(row, column)) for column in columns] for row in left]).encode())

    def products(self, seconds):
        start, count, bad = time.monotonic(), 0, 0
        while not count or time.monotonic() - start < seconds:
            found = self._product()
            if self.reference is None:
                self.reference = found
            bad += found != self.reference
            count += 1
        took = time.monotonic() - start
        return {"n": count, "flop": 2.0 * self.size**3 * count, "s": round(took, 4), "bad": bad, "sum": f"{self.reference:08x}"}

    def join(self):
        given = self.settings
        return Mesh(given["rank"], given["peers"], given["token"], given["join_s"], given["timeout_s"])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as handle:
        given = json.load(handle)
    given.update(json.loads(sys.argv[2]))
    load.main(Core(given), given)
