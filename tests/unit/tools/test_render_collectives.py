"""A sweep on simulated clusters, from the benchmarks' text to the judge's words: each seeded fault is found, and nothing else."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
from accept_judge import analysis, culprit_plan, documents, sweep_facts, sweep_plan
from accept_judge import standards as standards_of
from accept_judge.evidence import Fact
from accept_judge.wanted import Lookup
from accept_node.collective_rows import COLUMNS
from accept_node.collectives import Sweep
from accept_node.node import ReplayNode
from accept_node.work import ReplayedWork
from simulation import build, model_collectives, records, render_collectives

ROOT = Path(__file__).resolve().parents[3]
STANDARDS = standards_of.load(ROOT / "standards")
CLUSTERS = {
    "b200": {"sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 4, "racks": {"b200-r1": 2, "b200-r2": 2}},
    "gb300": {"sku": "gb300_nvl72", "transport": "roce", "scheduler": "kubernetes", "nodes": 18},
    "mi": {"sku": "mi300x", "transport": "roce", "scheduler": "slurm", "nodes": 4},
}
QUIET = ("nccl.expectation_known",)


class View(analysis.View):
    """Facts of nodes as the audit would have them."""

    def fact(self, host, concern):
        node = self.run["nodes"][host]
        said = {"inventory_audit": {"nvlink_domain": model_collectives.domain_of(node) or "none"}}
        return Fact(concern, "ok", "", said.get(concern, {}))


@pytest.fixture
def sweep(tmp_path):
    """sweep(cluster, faults, depth) -> the judge's view of what the head measured."""

    def sweep(name, faults=(), depth="standard"):
        spec = {"schema": 1, "seed": 3, "clusters": [{"name": name, **CLUSTERS[name], "collectives": True}], "faults": list(faults)}
        nodes = {node.name: node for node in build.build(spec)}
        head = next(iter(nodes.values()))
        node = ReplayNode({**records.merge([render_collectives.render(head)]), "schema": 1, "recorded_at_s": 0.0, "identity": {}})
        profile = STANDARDS.profiles[head.sku]
        context = {"sku": head.sku, "transport": head.transport, "scheduler": head.scheduler, **{k: profile[k] for k in ("vendor", "form")}}
        lookup = Lookup(STANDARDS, None, name, head.sku, "", documents.moment("2026-11-30T00:00:00Z"))
        start = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
        alive = tuple(one.name for one in nodes.values() if not one.unreachable)
        view = View(STANDARDS, context, {}, lookup, start, tmp_path, {"nodes": nodes}, alive)
        facts = render_collectives._facts(head, {host: nodes[host] for host in alive})
        one, searches, data = sweep_plan.cluster(name, facts, {}, depth), {"searches": []}, None
        while step := sweep_plan.advance(one, data, searches, lambda data: sweep_facts.slow_worlds(data, view)):
            work = Sweep(ReplayedWork(node), facts["engine"], facts["launcher"], {"run_id": "run"})
            runs = work.run(step["launches"], step["parallel"])
            assert {run["cause"] for run in runs} <= {"", "hang", "output"}, [run["reason"] for run in runs if run["cause"]][:3]
            data = data or {"placement": facts["placement"], "plan": one["plan"], "columns": list(COLUMNS), "runs": []}
            data["runs"] += runs
            culprit_plan.save(tmp_path, searches)
        found = analysis.enrich("nccl_sweep", data, view)
        json.dumps(found)
        return found

    return sweep


def offences(found) -> dict:
    """Check of this concern -> what offends it, as the judge finds it."""
    from accept_judge.evaluate import Check

    told = {}
    for check in (Check(check) for check in STANDARDS.checks if check["concern"] == "nccl_sweep"):
        lookup = Lookup(STANDARDS, None, "c", "b200_hgx", "", documents.moment("2026-11-30T00:00:00Z"))
        judged = check.judge(found, lookup.of(check.data))
        if judged.verdict in ("fail", "warn") and check.id not in QUIET:
            told[check.id] = [item["label"] for item in judged.items]
    return told


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_healthy_cluster_offends_nothing(sweep, name):
    found = sweep(name)
    assert offences(found) == {}
    assert found["slow_worlds"] == []
    assert {one["finding"] for one in found["transports"]} == {"none"}
    assert any(one["pct_of_expected"] for one in found["worlds"] if one["nodes"] > 1 or name != "gb300")
    assert all(len(one["dips"]) == 0 for one in found["worlds"])


def test_a_dip_is_found_at_its_size(sweep):
    found = sweep("b200", [{"fault": "collective_dip", "hosts": "b200-01"}])
    assert set(offences(found)) == {"nccl.dips"}
    dips = {one["name"]: one["dips"] for one in found["worlds"] if one["dips"]}
    assert all(len(said) == 1 and said[0].startswith("128 KiB: ") for said in dips.values())
    assert all("b200-[01" in name for name in dips)


def test_a_size_that_does_not_go_through_is_found_with_its_node(sweep):
    found = sweep("b200", [{"fault": "collective_hang", "hosts": "b200-02", "bytes": 1048576, "collective": "reduce_scatter"}])
    assert set(offences(found)) == {"nccl.through", "nccl.culprits"}
    stuck = [one for one in found["launches"] if one["finding"] != "none"]
    assert all("1 MiB" in one["finding"] and one["name"].startswith("reduce_scatter") for one in stuck)
    assert [one["name"] for one in found["culprits"]] == ["b200-02"]
    assert "hangs" in found["culprits"][0]["finding"]


def test_a_socket_fall_back_is_found_and_its_bandwidth_is_not_judged(sweep):
    found = sweep("b200", [{"fault": "socket_fallback", "hosts": "b200-04"}])
    offending = offences(found)
    assert "transport.as_intended" in offending
    assert not {"nccl.expected", "nccl.dips", "nccl.culprits", "nccl.peers"} & set(offending)
    assert "b200-04" in next(one["finding"] for one in found["transports"] if one["finding"] != "none")
    assert any("sockets" in (one.get("pct_of_expected_reason") or "") for one in found["worlds"])


def test_one_slow_tray_among_eighteen_is_named(sweep):
    found = sweep("gb300", [{"fault": "slow_tray", "hosts": "gb300-11"}])
    assert [one["name"] for one in found["culprits"]] == ["gb300-11"]
    assert "inside each NVLink domain" in found["culprits"][0]["finding"]
    offending = offences(found)
    assert {"nccl.culprits", "nccl.expected"} <= set(offending) <= {"nccl.culprits", "nccl.expected", "nccl.peers", "nccl.growth"}


@pytest.mark.parametrize("name", ["b200", "mi"])
def test_a_bad_rail_is_found_by_name(sweep, name):
    found = sweep(name, [{"fault": "slow_rail_in_collectives", "hosts": f"{name}-03", "rail": 5}])
    (one,) = found["culprits"]
    (node,) = (
        node for node in build.build({"schema": 1, "seed": 3, "clusters": [{"name": name, **CLUSTERS[name]}]}) if node.name == one["name"]
    )
    assert one["name"] == f"{name}-03"
    assert one["finding"].startswith(f"its rail {node.nics[5].name}, "), one["finding"]
    assert "nccl.culprits" in offences(found)


def test_wrong_values_of_one_pair_are_booked_on_that_pair(sweep):
    found = sweep("gb300", [{"fault": "wrong_values", "hosts": "gb300-03", "peer": "gb300-04"}])
    assert set(offences(found)) == {"nccl.wrong"}
    assert offences(found)["nccl.wrong"][0] == "all_reduce on gb300-[03-04]"


def test_repeats_that_differ_are_told(sweep):
    found = sweep("mi", [{"fault": "jittery_repeats", "hosts": "mi-02"}])
    assert "nccl.spread" in offences(found)


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("passing_dip", "nccl.dips_passing"),
        ("notch", "nccl.notches"),
        ("jagged_curve", "nccl.jagged"),
        ("sagging_curve", "nccl.sag"),
        ("missing_size", "nccl.sizes"),
        ("slow_in_network", "nccl.expected"),
    ],
)
def test_each_shape_is_told(sweep, fault, check):
    assert check in offences(sweep("mi", [{"fault": fault, "hosts": "mi-03"}]))


@pytest.mark.parametrize(
    ("cluster", "fault", "check"),
    [
        ("b200", "host_staged", "transport.gpudirect"),
        ("mi", "link_local_traffic", "transport.gid_routable"),
        ("b200", "one_adapter", "transport.hcas_same"),
        ("b200", "one_adapter", "transport.hcas"),
        ("b200", "other_library", "transport.one_version"),
        ("b200", "acs_hint", "transport.warnings"),
        ("b200", "needs_a_recipe", "recipe.out_of_the_box"),
        ("b200", "needs_a_recipe", "recipe.written_down"),
    ],
)
def test_each_fault_of_the_transport_is_told(sweep, cluster, fault, check):
    found = sweep(cluster, [{"fault": fault, "hosts": f"{cluster}-02"}])
    assert check in offences(found)
    assert not {"nccl.culprits", "nccl.wrong", "nccl.dips"} & set(offences(found))


def test_jobs_that_hang_across_nvlink_domains_are_told(sweep):
    found = sweep("gb300", [{"fault": "stuck_across_domains", "hosts": "gb300-05"}])
    assert "hangs across NVLink domains" in found["transport_domains"][0]["finding"]


def test_a_tray_of_another_domain_and_one_that_is_away_do_not_spoil_the_rest(sweep):
    found = sweep(
        "gb300",
        [
            {"fault": "nvlink_domain_split", "hosts": "gb300-05"},
            {"fault": "unreachable", "hosts": "gb300-14"},
            {"fault": "slow_tray", "hosts": "gb300-11"},
        ],
    )
    assert [one["name"] for one in found["culprits"]] == ["gb300-11"]


def test_the_head_alone_holds_launches_and_only_where_the_spec_says_so():
    spec = {"schema": 1, "seed": 3, "clusters": [{"name": "b200", **CLUSTERS["b200"], "collectives": True}]}
    first, second, *_ = build.build(spec)
    assert render_collectives.render(first)["commands"]
    assert render_collectives.render(second) == {}
    del spec["clusters"][0]["collectives"]
    assert render_collectives.render(build.build(spec)[0]) == {}
