"""Runs of simulated clusters with their concerns cabling and ib_fabric, as evidence on disk, for tests of what the judge makes of them."""

from __future__ import annotations

import json
import os
import types
from pathlib import Path

from accept_judge import analysis, wanted
from accept_judge import standards as standards_of
from accept_node.collectors import cabling, ib_fabric
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode
from simulation import build, model_fabric, render

ROOT = Path(__file__).resolve().parents[3]
STANDARDS = standards_of.load(ROOT / "standards")
CLUSTERS = {
    "ib": {"sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 4},
    "roce": {"sku": "gb300_nvl72", "transport": "roce", "scheduler": "kubernetes", "nodes": 3},
}


class Run:
    """A run of one simulated cluster; `say` changes a host's envelope before it is judged."""

    def __init__(self, folder: Path, kind: str, faults=(), rail_map=True):
        self.folder, self.kind = folder, kind
        spec = {"schema": 1, "seed": 5, "clusters": [{"name": kind, **CLUSTERS[kind]}], "faults": list(faults)}
        self.nodes = build.build(spec)
        self.map = model_fabric.rail_map(self.nodes)
        if rail_map:
            self.write("rail_map.csv", self.map)
        hosts = [{"name": node.name, "cluster": kind, "rack": "r1", "groups": ["gpu_nodes"]} for node in self.nodes]
        run = {"schema": 1, "run_id": "run", "started_at": "2026-11-30T12:00:00.000Z", "inventory": {"hosts": hosts}}
        self.write("run.json", json.dumps(run))
        self.captures = {}
        for node in self.nodes:
            self._read(node)

    def _read(self, node):
        capture = render.capture(node, 1790000000.0)
        concerns = {"cabling": cabling.collect}
        if node is self.nodes[0]:
            concerns["ib_fabric"] = ib_fabric.collect
        recorder = RecordingNode(ReplayNode(capture))
        for concern, collector in concerns.items():
            if capture.get("unreachable"):
                envelope = {
                    "schema": 1,
                    "concern": concern,
                    "status": "error",
                    "reason": "unreachable: " + capture["unreachable"],
                    "data": None,
                }
            else:
                envelope = collect(concern, collector, recorder, "cluster" if concern == "ib_fabric" else "node")
            self.put(node.name, concern, envelope)
        self.captures[node.name] = recorder.capture

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, ns=(0, id(self)))  # the judge keeps what it has read of a run, by the time of its record

    def put(self, host, concern, envelope):
        self.write(f"facts/{host}/{concern}.json", json.dumps({**envelope, "run_id": "run", "host": host, "concern": concern}))

    def envelope(self, host, concern) -> dict:
        return json.loads((self.folder / f"facts/{host}/{concern}.json").read_text())

    def say(self, host, concern, change) -> None:
        envelope = self.envelope(host, concern)
        change(envelope["data"])
        self.put(host, concern, envelope)

    def judge(self, host, concern="cabling", **said) -> dict:
        """The data of a host with what the analysis adds."""
        envelope = self.envelope(host, concern)
        context = {"sku": self.nodes[0].sku, "transport": self.nodes[0].transport, **said}
        lookup = wanted.Lookup(STANDARDS, None, self.kind, self.nodes[0].sku, "", None)
        view = types.SimpleNamespace(standards=STANDARDS, context=context, envelope=envelope, wanted=lookup, run_dir=self.folder)
        return analysis.enrich(concern, envelope["data"], view)

    def fabric(self) -> dict:
        return self.judge(self.nodes[0].name, "ib_fabric")
