"""What a head costs the scheduler's servers, and itself, for a thousand nodes."""

from __future__ import annotations

import time

from accept_node.collectors import scheduler_audit
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode

from .measure import at_most

NODES = 1000


def figures():
    for scheduler, sku in (("slurm", "b200_hgx"), ("kubernetes", "gb300_nvl72")):
        node = RecordingNode(ReplayNode(_head(scheduler, sku)))
        start = time.process_time()
        envelope = collect("scheduler_audit", scheduler_audit.collect, node, "cluster")
        elapsed = time.process_time() - start
        if len(envelope["data"]["nodes"]) != NODES:
            raise RuntimeError(f"{scheduler}: {envelope['errors']}")
        asked = [record for record in node.capture["commands"] if record["reason"] != "missing"]
        yield at_most(f"{scheduler}_calls", len(asked), "calls", 10, f"{NODES} nodes")
        yield at_most(f"{scheduler}_python_seconds", elapsed, "s", 1, f"{NODES} nodes, without the tools")


def _head(scheduler, sku) -> dict:
    from simulation import build, render_scheduler

    cluster = {"name": "fleet", "sku": sku, "transport": "roce", "scheduler": scheduler, "nodes": NODES}
    nodes = build.build({"schema": 1, "seed": 1, "clusters": [cluster]})
    return {"schema": 1, "recorded_at_s": nodes[0].control.at_s, **render_scheduler.render(nodes[0])}
