"""A quick look at GPUs: seeded faults by the checks that are for them, none of a healthy fleet; what has no published floor says so."""

from __future__ import annotations

import datetime
import json

import jsonschema
import pytest
from accept_judge import analysis, wanted
from accept_judge import standards as standards_of
from accept_judge.evaluate import Check
from accept_node.collectors import gpu_compute
from accept_node.envelope import Gather
from accept_node.node import ReplayNode
from accept_node.work import ReplayedWork
from burn_run import ROOT
from simulation import build, render_compute
from simulation.records import merge

STANDARDS = standards_of.load(ROOT / "standards")
STARTED = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
CHECKS = [check for check in STANDARDS.checks if check["concern"] == "gpu_compute"]
SETTINGS = {"python": "/p", "matrix": 8192, "seconds": 1, "bytes": 1 << 30, "limit_s": 900, "dcgm_level": 2}


def looked(folder, sku="b200_hgx", faults=(), nodes=3, settings=SETTINGS):
    """host -> (data, check id -> verdict)"""
    cluster = {"name": "b", "sku": sku, "transport": "infiniband", "scheduler": "none", "nodes": nodes}
    made = build.build({"schema": 1, "seed": 7, "clusters": [cluster], "faults": list(faults)})
    names, run_id, found = tuple(node.name for node in made), f"run-{id(made)}", {}
    for node in made:
        replay = ReplayNode(merge([render_compute.render(node)]))
        data = gpu_compute.collect(Gather(replay), ReplayedWork(replay), settings, node.name)
        path = folder / "facts" / node.name / "gpu_compute.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"schema": 1, "concern": "gpu_compute", "status": "ok", "run_id": run_id, "host": node.name, "data": data})
        )
        found[node.name] = data
    hosts = [{"name": name, "cluster": "b", "groups": ["gpu_nodes"]} for name in names]
    context = {"sku": sku, "vendor": made[0].vendor}
    lookup = wanted.Lookup(STANDARDS, None, "b", sku, "", STARTED)
    told = {}
    for name, data in found.items():
        view = analysis.View(STANDARDS, context, {}, lookup, STARTED, folder, {"run_id": run_id, "inventory": {"hosts": hosts}}, names)
        judged, verdicts = analysis.enrich("gpu_compute", data, view), {}
        for check in CHECKS:
            one = Check(check)
            verdicts[check["id"][12:]] = (one.scoped(context) or one.judge(judged, lookup.of(check))).verdict
        told[name] = (judged, verdicts)
    return told


def failed(told):
    odd = {name: {check for check, verdict in verdicts.items() if verdict in ("fail", "warn")} for name, (_, verdicts) in told.items()}
    return {name: checks for name, checks in odd.items() if checks}


@pytest.mark.parametrize("sku", ["b200_hgx", "h100_hgx", "gb300_nvl72", "mi300x"])
def test_a_healthy_fleet_has_no_finding(tmp_path, sku):
    assert failed(looked(tmp_path, sku)) == {}


FAULTS = {
    "slow_gemm": ({"gpu": 2, "pct": 30.0}, {"gemm_published", "beside_fleet"}),
    "slow_precision": ({"gpu": 1}, {"gemm_published", "beside_fleet"}),
    "slow_hbm": ({"gpu": 4}, {"hbm_copy", "gemv", "beside_fleet"}),
    "slow_host_copy": ({"gpu": 5}, {"h2d", "d2h", "beside_fleet"}),
    "gpu_does_not_compute": ({"gpu": 0}, {"every_gpu"}),
    "dcgm_diag_fails": ({"gpu": 3}, {"dcgm"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_on_its_node_alone(tmp_path, fault):
    given, checks = FAULTS[fault]
    assert failed(looked(tmp_path, faults=[{"fault": fault, "hosts": "b-02", **given}])) == {"b-02": checks}


def test_a_baseline_finds_what_the_largest_rate_does_not(tmp_path):
    told = looked(tmp_path, "h100_hgx", [{"fault": "slow_precision", "hosts": "b-02", "gpu": 1, "precision": "bf16", "pct": 9.0}])
    assert failed(told) == {"b-02": {"gemm_baseline", "beside_fleet"}}
    assert [row["label"] for row in told["b-02"][0]["beside"] if row["pct"] < -7] == ["gpu1 (0000:43:00.0) gemm_bf16"]


@pytest.mark.parametrize(
    "near_miss", [{"fault": "slow_gemm", "pct": 4.0}, {"fault": "slow_hbm", "pct": 5.0}, {"fault": "slow_host_copy", "pct": 3.0}]
)
def test_a_near_miss_is_no_finding(tmp_path, near_miss):
    assert failed(looked(tmp_path, faults=[{"hosts": "b-02", **near_miss}])) == {}


def test_without_a_published_floor_the_row_says_so_and_does_not_pass(tmp_path):
    judged, verdicts = looked(tmp_path)["b-01"]
    assert verdicts["gemm_unpublished"] == "not_measured"
    row = next(row for row in judged["unpublished"] if row["label"].endswith("nvfp4"))
    assert row["pct_of_floor"] is None
    assert "no measured floor is published" in row["pct_of_floor_reason"]
    assert row["tflops"] > 5000


def test_a_precision_that_the_chip_has_not_is_no_row(tmp_path):
    judged, _ = looked(tmp_path, "h100_hgx")["b-01"]
    rows = [row["label"] for kind in ("baseline", "published", "unpublished") for row in judged[kind]]
    assert not [label for label in rows if "nvfp4" in label]


def test_no_interpreter_is_not_measured_and_nvbandwidth_still_counts(tmp_path):
    judged, verdicts = looked(tmp_path, settings={**SETTINGS, "python": ""})["b-01"]
    assert verdicts["every_gpu"] == verdicts["hbm_copy"] == verdicts["beside_fleet"] == "not_measured"
    assert "gpu_compute_python" in judged["gpus_measured_reason"]
    assert verdicts["h2d"] == "pass"


def test_a_diagnostic_that_was_not_asked_for_says_so(tmp_path):
    judged, verdicts = looked(tmp_path, settings={**SETTINGS, "dcgm_level": 0})["b-01"]
    assert verdicts["dcgm"] == "not_measured"
    assert "accept_depth" in judged["dcgm_bad_reason"]


def test_data_are_as_the_schema_says(tmp_path):
    schema = json.loads((ROOT / "standards/schema/concerns/gpu_compute.json").read_text())
    for sku in ("b200_hgx", "mi300x"):
        for judged, _ in looked(tmp_path / sku, sku).values():
            data = {key: judged[key] for key in schema["properties"]}
            jsonschema.validate(data, schema)
            assert len(json.dumps(data)) < 64 * 1024
