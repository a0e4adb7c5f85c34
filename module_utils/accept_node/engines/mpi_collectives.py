"""Collectives over MPI on CPUs, one process per rank: the engine that needs no GPU, no compiler and no package beside an MPI library.

A program of its own: `python3 -c <this text> --collective all_reduce --min 8 --max 16777216`, started by mpirun or srun on every rank. It
calls libmpi (Open MPI, MPICH and what has its binary interface) through ctypes and prints, on rank 0, the lines that
parsers/collective_lines.py reads. Sizes are those of nccl-tests: what is gathered, scattered or exchanged in all, rounded down to whole
elements of every rank. What arrives is compared with what must arrive, on every rank and at every size.
"""

from __future__ import annotations

import argparse
import array
import ctypes
import json
import os
import sys
import time

LIBRARIES = ("libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi.so", "libmpi.so.20")
NAME_BYTES = 256
MEASURE_S = 0.4  # of one size and one placement, whatever the number of iterations
TILE = 8
P = ctypes.c_void_p


class Mpi:
    """The calls that are used, and the handles of whichever library it is."""

    def __init__(self):
        tried = [os.environ["ACCEPT_MPI_LIBRARY"]] if os.environ.get("ACCEPT_MPI_LIBRARY") else LIBRARIES
        for name in tried:
            try:
                self.lib = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
                break
            except OSError:
                continue
        else:
            raise OSError("no MPI library: " + ", ".join(tried))
        if hasattr(self.lib, "ompi_mpi_comm_world"):
            at = lambda name: P(ctypes.addressof(ctypes.c_char.in_dll(self.lib, name)))  # noqa: E731
            self.world, self.float, self.byte, self.double = (at("ompi_mpi_" + name) for name in ("comm_world", "float", "byte", "double"))
            self.sum, self.in_place, self.ignore = at("ompi_mpi_op_sum"), P(1), P(0)
        else:
            self.world, self.float, self.byte, self.double = (
                ctypes.c_int(code) for code in (0x44000000, 0x4C00040A, 0x4C00010D, 0x4C00080B)
            )
            self.sum, self.in_place, self.ignore = ctypes.c_int(0x58000003), P(-1), P(1)
        self.call("Init", None, None)
        self.rank, self.size = self._number("Comm_rank"), self._number("Comm_size")

    def call(self, name, *args):
        code = getattr(self.lib, "MPI_" + name)(*args)
        if code:
            raise RuntimeError(f"MPI_{name} returned {code}")

    def _number(self, name):
        value = ctypes.c_int()
        self.call(name, self.world, ctypes.byref(value))
        return value.value

    def barrier(self):
        self.call("Barrier", self.world)

    def sum_of(self, value: float) -> float:
        """The sum over all ranks."""
        mine, all_ = ctypes.c_double(value), ctypes.c_double()
        self.call("Allreduce", ctypes.byref(mine), ctypes.byref(all_), 1, self.double, self.sum, self.world)
        return all_.value

    def hosts(self) -> list:
        name, length = ctypes.create_string_buffer(NAME_BYTES), ctypes.c_int()
        self.call("Get_processor_name", name, ctypes.byref(length))
        every = ctypes.create_string_buffer(NAME_BYTES * self.size)
        self.call("Allgather", name, NAME_BYTES, self.byte, every, NAME_BYTES, self.byte, self.world)
        return sorted(
            {every.raw[at : at + NAME_BYTES].split(b"\0")[0].decode("utf-8", "replace") for at in range(0, len(every), NAME_BYTES)}
        )

    def version(self) -> str:
        text, length = ctypes.create_string_buffer(8192), ctypes.c_int()
        self.call("Get_library_version", text, ctypes.byref(length))
        return text.value.decode("utf-8", "replace").split(",")[0].splitlines()[0][:60]


class Collective:
    """One collective at one size: `run(in_place)` does it once, `fill` and `wrong` check it. `bytes` is what is really moved."""

    def __init__(self, mpi, kind, size, out, into):
        self.mpi, self.kind, self.out, self.into = mpi, kind, out, into
        ranks = mpi.size
        element = 4 if kind in ("all_reduce", "reduce_scatter") else 1
        whole = element * (1 if kind in ("all_reduce", "broadcast", "sendrecv") else ranks)
        self.bytes = size // whole * whole
        self.chunk = self.bytes // ranks if kind in ("all_gather", "reduce_scatter", "alltoall") else self.bytes
        self.places = (False, True) if kind in ("all_reduce", "all_gather", "reduce_scatter") else (False,)

    def run(self, in_place):
        mpi, send, receive, chunk = self.mpi, address(self.out), address(self.into), self.chunk
        source = mpi.in_place if in_place else send
        if self.kind == "all_reduce":
            mpi.call("Allreduce", source, receive, self.bytes // 4, mpi.float, mpi.sum, mpi.world)
        elif self.kind == "all_gather":
            mpi.call("Allgather", source, chunk, mpi.byte, receive, chunk, mpi.byte, mpi.world)
        elif self.kind == "reduce_scatter":
            mpi.call("Reduce_scatter_block", source, receive, chunk // 4, mpi.float, mpi.sum, mpi.world)
        elif self.kind == "alltoall":
            mpi.call("Alltoall", send, chunk, mpi.byte, receive, chunk, mpi.byte, mpi.world)
        elif self.kind == "broadcast":
            mpi.call("Bcast", receive, self.bytes, mpi.byte, 0, mpi.world)
        else:
            to, source_rank = (mpi.rank + 1) % mpi.size, (mpi.rank - 1) % mpi.size
            mpi.call("Sendrecv", send, chunk, mpi.byte, to, 0, receive, chunk, mpi.byte, source_rank, 0, mpi.world, mpi.ignore)

    def fill(self, in_place):
        """What this rank gives; what it gets is made unlike it first."""
        rank, ranks, chunk = self.mpi.rank, self.mpi.size, self.chunk
        put(self.into, b"\xff" * self.bytes)
        if self.kind in ("all_reduce", "reduce_scatter"):
            put(self.into if in_place else self.out, floats(rank + 1, self.bytes))
        elif self.kind == "all_gather":
            at = rank * chunk if in_place else 0
            put(self.into if in_place else self.out, block(rank, 0, chunk), at)
        elif self.kind == "alltoall":
            put(self.out, b"".join(block(rank, to, chunk) for to in range(ranks)))
        elif self.kind == "broadcast":
            put(self.into, block(0, 0, chunk) if rank == 0 else b"\xff" * chunk)
        else:
            put(self.out, block(rank, 0, chunk))

    def wrong(self) -> int:
        """Elements that are not what they must be."""
        rank, ranks, chunk, element = self.mpi.rank, self.mpi.size, self.chunk, 1
        if self.kind in ("all_reduce", "reduce_scatter"):
            element = 4
            wanted = floats(ranks * (ranks + 1) // 2, self.bytes)
            wanted = wanted[rank * chunk : (rank + 1) * chunk] if self.kind == "reduce_scatter" else wanted
        elif self.kind == "all_gather":
            wanted = b"".join(block(source, 0, chunk) for source in range(ranks))
        elif self.kind == "alltoall":
            wanted = b"".join(block(source, rank, chunk) for source in range(ranks))
        else:
            wanted = block(0 if self.kind == "broadcast" else (rank - 1) % ranks, 0, chunk)
        got = memoryview(self.into).cast("B")[: len(wanted)]
        if got == wanted:
            return 0
        return sum(got[at : at + element] != wanted[at : at + element] for at in range(0, len(wanted), element))


def address(buffer):
    return P(buffer.buffer_info()[0])


def put(buffer, content, at=0):
    memoryview(buffer).cast("B")[at : at + len(content)] = content


def floats(factor, size) -> bytes:
    """Whole numbers, so that their sums are exact; each differs from its neighbours, so that a shift is seen."""
    tile = array.array("f", [float(factor * (1 + place)) for place in range(TILE)]).tobytes()
    return (tile * (size // len(tile) + 1))[:size]


def block(source, to, size) -> bytes:
    """What `source` has for `to`."""
    tile = bytes((source * 31 + to * 7 + place) % 251 for place in range(251))
    return (tile * (size // len(tile) + 1))[:size]


def measure(mpi, one, in_place, iterations, warmup) -> float:
    """Mean time of one operation over iterations and ranks, in microseconds."""
    began = time.perf_counter()
    for _ in range(warmup):
        one.run(in_place)
    mean_s = mpi.sum_of((time.perf_counter() - began) / warmup) / mpi.size
    count = max(1, min(iterations, int(MEASURE_S / max(mean_s, 1e-9))))
    mpi.barrier()
    began = time.perf_counter()
    for _ in range(count):
        one.run(in_place)
    return mpi.sum_of((time.perf_counter() - began) / count) / mpi.size * 1e6


def say(mpi, entry):
    if mpi.rank == 0:
        print(json.dumps(entry), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--collective", required=True)
    for name, default in (("min", 8), ("max", 16777216), ("factor", 2), ("iterations", 20), ("warmup", 2)):
        parser.add_argument("--" + name, type=int, default=default)
    asked, mpi = parser.parse_args(), Mpi()
    head = {"engine": "mpi", "library": mpi.version(), "collective": asked.collective, "ranks": mpi.size, "hosts": mpi.hosts()}
    say(mpi, {**head, "min_bytes": asked.min, "max_bytes": asked.max, "factor": asked.factor})
    out, into = (array.array("f", bytes((asked.max + 3) // 4 * 4)) for _ in range(2))
    size = asked.min
    while size <= asked.max:
        say(mpi, {"begin": size})
        one = Collective(mpi, asked.collective, size, out, into)
        entry = {"bytes": one.bytes}
        for in_place in one.places:
            side = "in" if in_place else "out"
            one.fill(in_place)
            one.run(in_place)
            wrong = int(mpi.sum_of(one.wrong()))
            entry.update({f"time_{side}_us": round(measure(mpi, one, in_place, asked.iterations, asked.warmup), 3), f"wrong_{side}": wrong})
        say(mpi, entry)
        size *= asked.factor
    say(mpi, {"end": True})
    mpi.call("Finalize")


if __name__ == "__main__":
    sys.exit(main())
