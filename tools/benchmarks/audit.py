"""The whole read-only audit: one node's Python time, and what the head asks of the scheduler."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from accept_node import capture as captures
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode

from . import fleet, scheduler
from .measure import at_most


def figures():
    with tempfile.TemporaryDirectory(prefix="accept-bench-") as folder:
        capture = captures.load(str(fleet.simulate(Path(folder), nodes=1) / "node-01"))
        concerns, took = fleet.collectors(), []
        for _ in range(9):
            start = time.process_time()
            node = RecordingNode(ReplayNode(capture))
            for concern, collector in concerns.items():
                collect(concern, collector, node)
            took.append(time.process_time() - start)
        yield at_most("node_python_seconds", statistics.median(took), "s", 1.0, f"{len(concerns)} concerns of one replayed node")
    yield from scheduler.figures()
