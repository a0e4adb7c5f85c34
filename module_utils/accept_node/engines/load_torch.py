"""Load of one GPU by PyTorch: products in bfloat16 with a checksum of each, collectives by NCCL or RCCL (gloo without a GPU)."""

from __future__ import annotations

import datetime
import json
import os
import sys
import time

from . import load

SEED = 20261201


class Gpu:
    def __init__(self, settings):
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # one way of splitting: the same bits every time
        os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        # a collective that hangs ends this process, which is then begun again without collectives
        os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "1"
        import torch

        self.torch, self.settings = torch, settings
        self.cuda = torch.cuda.is_available()
        self.device = torch.device("cuda", settings["device"]["index"]) if self.cuda else torch.device("cpu")
        if self.cuda:
            torch.cuda.set_device(self.device)
        else:
            torch.set_num_threads(1)
        self.size = settings.get("matrix") or (8192 if self.cuda else 256)
        draw = torch.Generator().manual_seed(SEED)
        self.inputs = [torch.randn(self.size, self.size, generator=draw).to(self.device, torch.bfloat16) for _ in range(2)]
        self.out = torch.empty_like(self.inputs[0])
        self.reference, self.count = None, 1

    def hello(self):
        torch = self.torch
        model = torch.cuda.get_device_name(self.device) if self.cuda else "cpu"
        runtime = torch.version.cuda or getattr(torch.version, "hip", None) or "no GPU"
        return {"model": model, "version": f"torch {torch.__version__}, {runtime}", "matrix": self.size, "checked": True}

    def _wait(self):
        if self.cuda:
            self.torch.cuda.current_stream().synchronize()  # this thread's stream; the collectives have their own

    def products(self, seconds):
        torch = self.torch
        sums = torch.empty(self.count, dtype=torch.int64, device=self.device)
        self._wait()
        start = time.monotonic()
        for place in range(self.count):
            torch.matmul(*self.inputs, out=self.out)
            sums[place] = self.out.view(torch.int16).sum(dtype=torch.int64)  # sums of integers do not depend on their order
        self._wait()
        took = time.monotonic() - start
        if self.reference is None:
            self.reference = sums[0].clone()
        told = {"n": self.count, "flop": 2.0 * self.size**3 * self.count, "s": round(took, 4)}
        told.update(bad=int((sums != self.reference).sum()), sum=f"{int(self.reference) & (2**64 - 1):016x}")
        self.count = max(1, min(1000000, int(self.count * seconds / max(took, 1e-4))))
        return told

    def join(self):
        return Ranks(self)


class Ranks:
    """The process group, from the exchange's thread alone."""

    def __init__(self, gpu):
        import torch.distributed as dist

        given, self.torch, self.dist, self.gpu = gpu.settings, gpu.torch, dist, gpu
        self.rank, self.size = given["rank"], given["ranks"]
        address, port = given["peers"][0]
        at = f"[{address}]" if ":" in address else address
        self.stream = self.torch.cuda.Stream() if gpu.cuda else None
        dist.init_process_group(
            "nccl" if gpu.cuda else "gloo", init_method=f"tcp://{at}:{port}", rank=self.rank, world_size=self.size,
            timeout=datetime.timedelta(seconds=max(given["join_s"], given["timeout_s"])),
        )  # fmt: skip
        self.buffers = {}

    def close(self):
        self.dist.destroy_process_group()

    def _in_stream(self, work):
        if self.stream is None:
            return work()
        with self.torch.cuda.stream(self.stream):
            result = work()
            self.stream.synchronize()
        return result

    def _tensor(self, name, make):
        if name not in self.buffers:
            self.buffers[name] = make().to(self.gpu.device, self.torch.int32)
        return self.buffers[name]

    def _blocks(self, name, words, values):
        """One block of each value, made once."""
        return self._tensor((name, words), lambda: self.torch.tensor(list(values)).repeat_interleave(words))

    def _of(self, call, out, into, expected):
        """1 where not all that arrived is what must arrive."""

        def work():
            into.fill_(-1)  # what did not arrive is not what arrived the last time
            call(into, out)
            return int((into != expected).any())

        return self._in_stream(work)

    def agree(self, flag, count):
        torch = self.torch

        def work():
            mine = torch.tensor([flag, count], dtype=torch.int64, device=self.gpu.device)
            every = [torch.empty_like(mine) for _ in range(self.size)]
            self.dist.all_gather(every, mine)
            return [note.tolist() for note in every]

        notes = self._in_stream(work)
        return any(note[0] for note in notes), notes[0][1]

    # `size` is the bytes of one rank's block; each returns 1 where something arrived wrong. gloo lacks some, and takes detours.

    def all_to_all(self, size):
        words, every = size // 4, range(self.size)
        out = self._blocks("to", words, [self.rank * self.size + to for to in every])
        expected = self._blocks("from", words, [source * self.size + self.rank for source in every])
        into = self._blocks("into", words, [-1] * self.size)
        call = self.dist.all_to_all_single if self.gpu.cuda else self._gloo_all_to_all
        return self._of(call, out, into, expected)

    def _gloo_all_to_all(self, into, out):
        every = [self.torch.empty_like(out) for _ in range(self.size)]
        self.dist.all_gather(every, out)
        into.copy_(self.torch.cat([block.chunk(self.size)[self.rank] for block in every]))

    def all_gather(self, size):
        words = size // 4
        out, expected = self._blocks("mine", words, [self.rank]), self._blocks("every", words, range(self.size))
        call = (
            self.dist.all_gather_into_tensor if self.gpu.cuda else lambda into, out: self.dist.all_gather(list(into.chunk(self.size)), out)
        )
        return self._of(call, out, self._blocks("into", words, [-1] * self.size), expected)

    def _gloo_all_gather(self, into, out):
        self.dist.all_gather(list(into.chunk(self.size)), out)

    def reduce_scatter(self, size):
        words = size // 4
        out = self._blocks("same", words, [self.rank] * self.size)
        expected = self._blocks("sum", words, [self.size * (self.size - 1) // 2])
        call = self.dist.reduce_scatter_tensor if self.gpu.cuda else self._gloo_reduce_scatter
        return self._of(call, out, self._blocks("one", words, [-1]), expected)

    def _gloo_reduce_scatter(self, into, out):
        whole = out.clone()
        self.dist.all_reduce(whole)
        into.copy_(whole.chunk(self.size)[self.rank])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as handle:
        given = json.load(handle)
    given.update(json.loads(sys.argv[2]))
    load.main(Gpu(given), given)
