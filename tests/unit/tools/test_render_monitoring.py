"""A monitoring that shows all of it passes, each fault is named, near misses stay green, and the data keeps its shape."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
from accept_judge import standards
from accept_judge.analysis import monitoring_audit as judged
from accept_node.collectors import monitoring_audit
from accept_node.envelope import collect
from accept_node.fetch import services_of
from accept_node.node import ReplayNode
from simulation import build, faults_monitoring, render

ROOT = Path(__file__).resolve().parents[3]
STANDARDS = standards.load(ROOT / "standards")
CLUSTERS = {
    "b200": {"sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 4},
    "gb300": {"sku": "gb300_nvl72", "transport": "roce", "scheduler": "kubernetes", "nodes": 3},
    "mi300x": {"sku": "mi300x", "transport": "roce", "scheduler": "slurm", "nodes": 2},
}


def head(cluster="b200", *faults):
    built = build.build({"schema": 1, "seed": 5, "clusters": [{"name": cluster, **CLUSTERS[cluster]}]})
    for name, given in faults:
        getattr(faults_monitoring, name)(built[0], random.Random(1), **given)
    return built[0]


def read(machine):
    capture = render.capture(machine, machine.control.at_s)
    envelope = collect("monitoring_audit", monitoring_audit.collect, ReplayNode(capture), "cluster")
    assert services_of(capture) == ["prometheus", "alertmanager", "grafana"]
    schema = json.loads((ROOT / "standards/schema/concerns/monitoring_audit.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(envelope["data"])
    assert (envelope["status"], envelope["errors"]) == ("ok", [])
    return envelope["data"]


def analysed(cluster="b200", *faults):
    machine = head(cluster, *faults)
    run = SimpleNamespace(standards=STANDARDS, context={}, hosts=tuple(node.name for node in machine.control.nodes))
    return judged.analyse(read(machine), run)


def unfit(found) -> list:
    """What is not as it should be, in the words of the rows."""
    names = [one["what"] for one in found["shows"] if not (one["shown"] or "").startswith("shown")]
    names += [one["tile"] for one in found["tiles_judged"] if one["shown_age_s"] is None or one["shown_age_s"] > 900]
    names += [one["what"] for one in found["alert_kinds"] if not (one["rule"] or "").startswith("found")]
    names += [f"{one['rule']}: {one['works']}" for one in found["rules_judged"] if one["works"] != "works"]
    names += [f"{one['job']}: {one['down']} down" for one in found["targets_judged"] if one["down"]]
    names += [f"{found['nodes_silent']} silent"] if found["nodes_silent"] else []
    names += [found["alerts_sent"]] if not found["alerts_sent"].startswith("sends") else []
    return names + found["alerts_firing"]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_monitoring_that_shows_it_all(cluster):
    assert unfit(analysed(cluster)) == []


FAULTS = {
    "green_tile": ["GPU fleet: GPUs that pass their check (or vector(...))"],
    "dead_rule": ["HealthCheckStale: it cannot fire: its series ended 540 min ago"],
    "exporter_down": ["node-exporter: 2 down"],
    "nodes_unheard": ["2 silent"],
    "tile_missing": ["the age of each health check"],
    "alert_missing": ["a GPU that is gone"],
    "alert_rule_fails": ["NodeDown: its evaluation fails"],
    "alert_fires": ["GpuError: 3"],
    "alerts_go_nowhere": ["no: none of 1 receivers of Alertmanager sends anything"],
    "says_no_data": [],
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("cluster", ["b200", "gb300"])
def test_each_fault_is_named_and_nothing_else(cluster, name):
    assert unfit(analysed(cluster, (name, {}))) == FAULTS[name]


def test_nothing_of_what_is_nobodys_business_is_kept():
    text = json.dumps([one for one in render.capture(head(), 1.8e9)["commands"] if one["argv"][0] == "accept-fetch"]) + json.dumps(
        read(head())
    )
    for word in ("printer", "toner", "office", "ops@example.com", 'Hostname\\": \\"n'):
        assert word not in text


def test_without_access_nothing_can_be_asked():
    assert services_of(render.capture(head("b200", ("no_monitoring_access", {})), 1.8e9)) == []
