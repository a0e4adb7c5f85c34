"""A simulated cluster's burn-in as evidence on disk, judged: for tests of what the judge makes of hours of load."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from accept_judge import analysis, wanted
from accept_judge import standards as standards_of
from accept_judge.evaluate import Check
from accept_node.collectors import burn_in
from accept_node.envelope import Gather
from accept_node.node import RecordingNode, ReplayNode
from simulation import build, render_burn, render_kernel
from simulation.records import merge

ROOT = Path(__file__).resolve().parents[3]
STANDARDS = standards_of.load(ROOT / "standards")
STARTED = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
CHECKS = [check for check in STANDARDS.checks if check["concern"] == "burn_in"]


def data_of(node) -> dict:
    """What the role would have of a replayed node."""
    parts = merge([render_burn.render(node), render_kernel.render(node)])
    recorder = RecordingNode(ReplayNode({"schema": 1, "recorded_at_s": 1790000000.0, **parts}))
    gather = Gather(recorder)
    data = burn_in.discover(gather, {"python": render_burn.PYTHON})
    job = burn_in.RecordedJob(recorder)
    data.update(burn_in.attend(job, {"begun": False}, node.name))
    found, _ = burn_in.collect(gather, job)
    return {**data, **found}


class Burned:
    """`judged[host]` is its data with what the analysis adds; `verdicts(host)` maps check ids to verdicts."""

    def __init__(self, folder: Path, faults=(), nodes=4, sku="b200_hgx", change=None):
        cluster = {"name": "b", "sku": sku, "transport": "infiniband", "scheduler": "none", "nodes": nodes}
        self.nodes = build.build({"schema": 1, "seed": 7, "clusters": [cluster], "faults": list(faults)})
        names = tuple(node.name for node in self.nodes)
        hosts = [{"name": name, "cluster": "b", "rack": "r1", "groups": ["gpu_nodes"]} for name in names]
        self.run = {"schema": 1, "run_id": f"run-{id(self)}", "started_at": "2026-11-30T00:00:00.000Z", "inventory": {"hosts": hosts}}
        self.data = {node.name: data_of(node) for node in self.nodes}
        if change:
            change(self.data)
        for name, data in self.data.items():
            path = folder / "facts" / name / "burn_in.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            envelope = {"schema": 1, "concern": "burn_in", "status": "ok", "run_id": self.run["run_id"], "host": name, "data": data}
            path.write_text(json.dumps(envelope))
        self.context = {"sku": sku, "vendor": self.nodes[0].vendor, "transport": "infiniband"}
        self.lookup = wanted.Lookup(STANDARDS, None, "b", sku, "", STARTED)
        self.judged = {}
        for name, data in self.data.items():
            view = analysis.View(STANDARDS, self.context, {"host": name}, self.lookup, STARTED, folder, self.run, names)
            self.judged[name] = analysis.enrich("burn_in", data, view)

    def verdicts(self, host) -> dict:
        told = {}
        for check in CHECKS:
            one = Check(check)
            judged = one.scoped(self.context) or one.judge(self.judged[host], self.lookup.of(check))
            told[check["id"]] = judged.verdict
        return told

    def found(self) -> dict:
        """host -> ids of the checks that did not pass."""
        odd = {name: {check for check, verdict in self.verdicts(name).items() if verdict in ("fail", "warn")} for name in self.judged}
        return {name: checks for name, checks in odd.items() if checks}
