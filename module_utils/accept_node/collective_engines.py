"""The benchmarks that measure collectives: what is run on every rank, and who reads what it printed.

Engines of this project are programs of the standard library that travel as an argument (`python3 -c <text>`): nothing is installed on a
node, and no folder has to be shared.
"""

from __future__ import annotations

import inspect

from .engines import mpi_collectives, torch_collectives
from .parsers import ParseError, collective_lines, nccl_debug, nccl_tests, nccl_tests_json

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv")
ENGINES = ("nccl-tests", "rccl-tests", "torch", "mpi")
FACTOR = 2


def program(engine: str, asked: dict, settings: dict, spawns: bool) -> list:
    """argv of one rank, or of one node that starts its ranks itself. asked: a launch, with the number of its nodes, master, port.
    settings: folder (of the perf binaries), python (of the nodes)."""
    sizes = (str(asked["min_bytes"]), str(asked["max_bytes"]))
    if engine in ("nccl-tests", "rccl-tests"):
        binary = asked["collective"] + "_perf"
        gpus = asked["ranks_per_node"] if spawns else 1
        argv = [settings["folder"].rstrip("/") + "/" + binary if settings.get("folder") else binary, "-b", sizes[0], "-e", sizes[1]]
        return [*argv, "-f", str(FACTOR), "-g", str(gpus), "-n", str(asked["iterations"]), "-w", str(asked["warmup"]), "-c", "1"]
    source = torch_collectives if engine == "torch" else mpi_collectives
    argv = [settings.get("python") or "python3", "-c", inspect.getsource(source), "--collective", asked["collective"]]
    argv += ["--min", sizes[0], "--max", sizes[1], "--iterations", str(asked["iterations"]), "--warmup", str(asked["warmup"])]
    if engine == "torch":
        argv += ["--master", asked["master"], "--port", str(asked["port"]), "--timeout", str(asked["timeout_s"])]
        argv += ["--local", str(asked["ranks_per_node"]), "--nodes", str(asked["nodes"])] if spawns else []
    return argv


def spawns(engine: str, launcher: str) -> bool:
    """Whether one process per node starts the ranks: alone on a host nothing else does, and pods of a Job have no mpirun between them."""
    return (engine == "torch" and launcher in ("local", "kubernetes")) or (engine in ("nccl-tests", "rccl-tests") and launcher == "local")


def read(engine: str, text: str) -> dict:
    """The record of what was printed; ParseError where it is not this engine's."""
    if engine in ("torch", "mpi"):
        return collective_lines.parse(text)
    try:
        found = nccl_tests.parse(text)
    except ParseError:
        return nccl_tests_json.parse(text)
    if not found["rows"] and '"size"' in text:
        try:
            return nccl_tests_json.parse(text)
        except ParseError:
            pass
    return found


def transport(engine: str, text: str):
    """What the library said of its transport; None where it said nothing, or there is no such library."""
    if engine == "mpi":
        return None
    try:
        return nccl_debug.parse(text)
    except ParseError:
        return None
