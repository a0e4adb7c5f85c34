"""Collectives by torch.distributed: NCCL or RCCL where there is a GPU, gloo where there is none.

A program of its own: `python3 -c <this text> --collective all_reduce --min 8 --max 16777216 --master n1 --port 29511`, started on every
rank by srun or mpirun, whose variables say which rank it is; or once per node with `--local 8`, which starts the ranks itself. Rank 0
prints the lines that parsers/collective_lines.py reads. Sizes are those of nccl-tests; what arrives is checked at every size.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import socket
import subprocess
import sys
import time

WORLD = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
LOCAL = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
MEASURE_S = 0.4  # of one size, whatever the number of iterations
TILE = 8


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--collective", required=True)
    for name, default in (("min", 8), ("max", 16777216), ("factor", 2), ("iterations", 20), ("warmup", 2), ("port", 29511)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--master", default="127.0.0.1")
    parser.add_argument("--timeout", type=float, default=600)
    for name in ("local", "nodes"):
        parser.add_argument("--" + name, type=int, default=0 if name == "local" else 1)
    return parser.parse_args()


def number(names, default):
    return next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit()), default)


def spawn(asked) -> int:
    """Start this node's ranks, each with the variables of one; the first that fails ends the others."""
    node = number(("JOB_COMPLETION_INDEX", "NODE_RANK", "SLURM_NODEID"), 0)
    argv = [sys.executable, *sys.orig_argv[1:]] if hasattr(sys, "orig_argv") else None
    if argv is None:
        raise RuntimeError("--local wants Python 3.10 or newer")
    children = []
    for place in range(asked.local):
        own = {"WORLD_SIZE": asked.local * asked.nodes, "RANK": node * asked.local + place, "LOCAL_RANK": place, "ACCEPT_CHILD": 1}
        children.append(subprocess.Popen(argv, env={**os.environ, **{key: str(value) for key, value in own.items()}}))
    while any(child.poll() is None for child in children):
        if any(child.poll() for child in children):
            for child in children:
                child.kill()
        time.sleep(0.05)
    return max(abs(child.returncode) for child in children)


class Collective:
    """One collective at one size. `bytes` is what is really moved."""

    def __init__(self, torch, device, kind, size, rank, ranks):
        self.torch, self.dist, self.kind, self.rank, self.ranks = torch, torch.distributed, kind, rank, ranks
        whole = 4 * (1 if kind in ("all_reduce", "broadcast", "sendrecv") else ranks)
        self.bytes = size // whole * whole
        self.count = self.bytes // 4
        self.chunk = self.count // ranks if kind in ("all_gather", "reduce_scatter", "alltoall") else self.count
        tile = torch.arange(1, TILE + 1, dtype=torch.float32, device=device)
        self.tile = tile.repeat(self.count // TILE + 1)[: self.count]
        given = self.chunk if kind == "all_gather" else self.count
        self.out = self.tile[:given] * (rank + 1)
        self.into = torch.zeros(self.chunk if kind == "reduce_scatter" else self.count, device=device)
        if kind in ("all_reduce", "broadcast"):
            self.into = self.out.clone()  # these work in place

    def run(self):
        dist, kind = self.dist, self.kind
        if kind == "all_reduce":
            dist.all_reduce(self.into)
        elif kind == "broadcast":
            dist.broadcast(self.into, 0)
        elif kind == "all_gather":
            dist.all_gather(list(self.into.chunk(self.ranks)) if self.chunk else [self.into] * self.ranks, self.out)
        elif kind == "reduce_scatter":
            dist.reduce_scatter(self.into, list(self.out.chunk(self.ranks)) if self.chunk else [self.out] * self.ranks)
        elif kind == "alltoall":
            dist.all_to_all_single(self.into, self.out)
        else:
            to, source = (self.rank + 1) % self.ranks, (self.rank - 1) % self.ranks
            work = dist.batch_isend_irecv([dist.P2POp(dist.isend, self.out, to), dist.P2POp(dist.irecv, self.into, source)])
            for one in work:
                one.wait()

    def wrong(self) -> int:
        """Elements that are not what they must be, after one run."""
        torch, rank, ranks, chunk, tile = self.torch, self.rank, self.ranks, self.chunk, self.tile
        total = ranks * (ranks + 1) // 2
        if self.kind == "all_reduce":
            wanted = tile * total
        elif self.kind == "broadcast":
            wanted = tile
        elif self.kind == "reduce_scatter":
            wanted = tile[rank * chunk : (rank + 1) * chunk] * total
        elif self.kind == "all_gather":
            wanted = torch.cat([tile[:chunk] * (source + 1) for source in range(ranks)])
        elif self.kind == "alltoall":
            wanted = torch.cat([tile[rank * chunk : (rank + 1) * chunk] * (source + 1) for source in range(ranks)])
        else:
            wanted = tile * ((rank - 1) % ranks + 1)
        return int((self.into != wanted).sum())


class Clock:
    def __init__(self, torch, device, ranks):
        self.torch, self.device, self.ranks = torch, device, ranks

    def wait(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)

    def sum_of(self, value) -> float:
        all_ = self.torch.tensor([value], dtype=self.torch.float64, device=self.device)
        self.torch.distributed.all_reduce(all_)
        return float(all_)

    def mean_s(self, one, count) -> float:
        """Mean time of one operation over `count` of them and all ranks."""
        self.wait()
        self.torch.distributed.barrier()
        began = time.perf_counter()
        for _ in range(count):
            one.run()
        self.wait()
        return self.sum_of((time.perf_counter() - began) / count) / self.ranks


def main():
    asked = arguments()
    if asked.local and not os.environ.get("ACCEPT_CHILD"):
        return spawn(asked)
    torch = importlib.import_module("torch")
    dist = importlib.import_module("torch.distributed")
    rank, ranks, local = number(RANK, 0), number(WORLD, 1), number(LOCAL, 0)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    limit = datetime.timedelta(seconds=asked.timeout)
    where = f"tcp://{asked.master}:{asked.port}"
    dist.init_process_group("nccl" if cuda else "gloo", init_method=where, rank=rank, world_size=ranks, timeout=limit)
    hosts = [None] * ranks
    dist.all_gather_object(hosts, socket.gethostname())
    library = "nccl " + ".".join(map(str, torch.cuda.nccl.version())) if cuda else "gloo"
    head = {"engine": "torch", "library": f"{library}, torch {torch.__version__}", "collective": asked.collective, "ranks": ranks}

    def say(entry):
        if rank == 0:
            print(json.dumps(entry), flush=True)

    say({**head, "hosts": sorted(set(hosts)), "min_bytes": asked.min, "max_bytes": asked.max, "factor": asked.factor})
    clock, size = Clock(torch, device, ranks), asked.min
    while size <= asked.max:
        say({"begin": size})
        one = Collective(torch, device, asked.collective, size, rank, ranks)
        if one.bytes:
            one.run()
            clock.wait()
            wrong = int(clock.sum_of(one.wrong()))
            usual = clock.mean_s(one, asked.warmup)
            took = clock.mean_s(one, max(1, min(asked.iterations, int(MEASURE_S / max(usual, 1e-9)))))
            say({"bytes": one.bytes, "time_out_us": round(took * 1e6, 3), "wrong_out": wrong})
        else:
            say({"bytes": 0})
        size *= asked.factor
    say({"end": True})
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
