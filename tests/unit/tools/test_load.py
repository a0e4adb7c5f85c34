"""Loads between simulated nodes, round by round as the playbook runs them: the plan, both ends' modules, what comes back."""

from __future__ import annotations

import json
import time
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import jsonschema
import pytest
from accept_judge import facts_store, mgmt_plan, pairs, rdma_plan, scorecard
from accept_node.bench import Bench
from simulation import build, render

SETTINGS = {"passes": [], "devices": [], "gid_index": None, "traffic_class": None, "vrf": "", "bytes": 1048576, "qps": 4, "duration_s": 5}
SETTINGS |= {"iterations": 5000, "port": 18515, "slurm_job": "", "forks": 20}
FRONT = {"sample": 8, "simultaneous": False, "cap_mbps": 1000, "seconds": 2, "pings": 20, "ping_interval_s": 0.2, "port": 18715}
FLOORS = {"nic.ib_write_bw_min_gbps": 384, "nic.rdma_latency_max_us": 5, "nic.ib_write_bw_gdr_min_gbps": 360}
LIBRARY = Path(__file__).resolve().parents[3] / "library"


def module(name):
    loader = SourceFileLoader(name, str(LIBRARY / f"{name}.py"))
    found = module_from_spec(spec_from_loader(name, loader))
    loader.exec_module(found)
    return found


class Cluster:
    """Captures and what has been measured on them, as the wrapper joins it."""

    def __init__(self, spec):
        self.nodes = build.build(spec)
        self.captures = {node.name: render.capture(node, 0.0) for node in self.nodes}
        self.hosts = {node.name: {"cluster": node.cluster, "address": node.name} for node in self.nodes}
        self.facts, self.envelopes = {}, {}

    def run(self, name, concern, host, step, *rest):
        bench = Bench(concern, "run", self.captures[host])
        found = bench.result(module(name).take(step, bench, *rest), step, False)["envelopes"][0]
        found["observed"] = [time.time()] * 2
        joined = self.envelopes[host] = facts_store.appended(self.envelopes.get(host), found)
        self.facts[host] = joined["data"]

    def rdma(self, depth="quick", **settings):
        for host in self.hosts:
            self.run("accept_rdma_bench", "rdma_bandwidth", host, "discover", {}, settings.get("gid_index"))
        self.plan = rdma_plan.make(self.hosts, self.facts, {**SETTINGS, **settings}, depth, {})
        while True:
            orders = rdma_plan.advance(self.plan, self.facts, {node.cluster: FLOORS for node in self.nodes})
            if not orders:
                return self
            for step in ("serve", "measure", "finish"):
                for host, order in orders.items():
                    self.run("accept_rdma_bench", "rdma_bandwidth", host, step, order)

    def front(self, **settings):
        plan = mgmt_plan.make(self.hosts, {**FRONT, **settings}, {})
        for step in ("serve", "measure", "finish"):
            for host, order in plan["plans"].items():
                self.run("accept_net_bench", "mgmt_network", host, step, order)
        return self

    def found(self, name="together"):
        return next(iter(self.plan["clusters"].values()))["found"][name]


def spec(*faults, nodes=8, sku="b200_hgx", transport="infiniband"):
    cluster = {"name": "c", "sku": sku, "transport": transport, "scheduler": "none", "nodes": nodes}
    return {"schema": 1, "seed": 5, "clusters": [cluster], "faults": [dict(fault) for fault in faults]}


def culprits(found):
    return {(row["node"], row["rail"]) for row in found["culprits"]}


def test_a_healthy_cluster():
    cluster = Cluster(spec()).rdma("full")
    for name in ("together", "read", "gpu", "alone"):
        assert cluster.found(name)["rounds"] == 2, name
        assert cluster.found(name)["worst"]["gbps"] > 384, name
        assert not cluster.found(name)["culprits"], name
    for data in cluster.facts.values():
        assert {entry["status"] for entry in data["tests"]} == {"ok"}
        assert {entry["pass"] for entry in data["tests"]} == set(rdma_plan.PASSES)
        assert {entry["role"] for entry in data["tests"] if entry["pass"] == "together"} == {"client", "server"}
        assert len({(e["pass"], e["number"], e["role"], e["device"], e["peer"]) for e in data["tests"]}) == len(data["tests"])
    assert {envelope["status"] for envelope in cluster.envelopes.values()} == {"ok"}


def test_one_slow_rail_and_one_slow_node():
    faults = [{"fault": "slow_rail", "hosts": "c-02", "nic": 3}, {"fault": "slow_rail", "hosts": "c-05", "nic": -1, "gbps": 300.0}]
    cluster = Cluster(spec(*faults)).rdma()
    assert culprits(cluster.found()) == {("c-02", "mlx5_3")} | {("c-05", f"mlx5_{number}") for number in range(8)}
    assert not cluster.found()["unsettled"]
    assert not cluster.found()["paths"]


def test_a_port_at_half_its_rate_is_slow_for_its_partners_too():
    cluster = Cluster(spec({"fault": "half_rate_port", "hosts": "c-04", "nic": 1})).rdma()
    assert culprits(cluster.found()) == {("c-04", "mlx5_1")}
    assert cluster.found()["worst"]["gbps"] < 200


def test_a_rail_that_breaks_and_one_that_hangs():
    cluster = Cluster(
        spec({"fault": "broken_rail", "hosts": "c-03", "nic": 0}, {"fault": "perftest_hangs", "hosts": "c-06", "nic": 7})
    ).rdma()
    assert ("c-03", "mlx5_0") in culprits(cluster.found())
    told = [entry for entry in cluster.facts["c-03"]["tests"] if entry["device"] == "mlx5_0" and entry["pass"] == "together"]
    assert {entry["status"] for entry in told} == {"failed"}
    assert "status 12, syndrome 0x81" in told[0]["reason"]
    hung = [entry for entry in cluster.facts["c-06"]["tests"] if entry["status"] == "hung"]
    assert hung
    assert all(entry["gbps"] is None for entry in hung)


def test_a_slow_path():
    """Between two that meet in the first round."""
    one, other = pairs.screening([f"c-{number:02}" for number in range(1, 9)])[0][0]
    cluster = Cluster(spec({"fault": "slow_path", "hosts": one, "peer": other, "nic": 2})).rdma()
    assert [(row["sender"], row["receiver"], row["rail"], row["times"]) for row in cluster.found()["paths"]] == [(one, other, "mlx5_2", 2)]
    assert not cluster.found()["culprits"]


def test_ports_that_are_down_take_no_part():
    cluster = Cluster(spec({"fault": "port_down", "hosts": "c-01", "nic": 5})).rdma()
    assert "mlx5_5" not in cluster.plan["clusters"]["c"]["devices"]["c-01"]
    assert "mlx5_5" in cluster.plan["clusters"]["c"]["devices"]["c-02"]
    assert not [entry for entry in cluster.facts["c-01"]["tests"] if entry["device"] == "mlx5_5"]


def test_no_perftest_no_plan():
    cluster = Cluster(spec({"fault": "altered", "hosts": "c-01", "what": "ib_write_bw --help", "find": "", "put": "x"}))
    for record in cluster.captures["c-01"]["commands"]:
        if record["argv"][0] == "ib_write_bw":
            record.update(rc=None, stdout="", reason="missing")
    cluster.rdma()
    assert cluster.facts["c-01"]["perftest"] == {"installed": False, "version": None, "gpu_memory": "none"}
    assert cluster.plan["clusters"]["c"]["nodes"] == [f"c-{number:02}" for number in range(2, 9)]


def test_incast_shows_a_port_without_pfc():
    cluster = Cluster(spec({"fault": "no_pfc", "hosts": "c-01", "nic": 4}, nodes=9)).rdma(passes=["incast"])
    told = cluster.facts["c-01"]["tests"]
    assert len(told) == 8 * 8
    assert {entry["device"] for entry in told if entry["status"] == "failed"} == {"mlx5_4"}
    assert {entry["role"] for entry in told} == {"server"}


def test_a_broken_off_run_goes_on_where_it_was():
    """The plan is data: written down and read again between any two rounds, it ends the same."""
    cluster = Cluster(spec({"fault": "slow_rail", "hosts": "c-02", "nic": 3}))
    cluster.rdma()
    again = Cluster(spec({"fault": "slow_rail", "hosts": "c-02", "nic": 3}))
    for host in again.hosts:
        again.run("accept_rdma_bench", "rdma_bandwidth", host, "discover", {}, None)
    plan = rdma_plan.make(again.hosts, again.facts, SETTINGS, "quick", {})
    while True:
        plan = json.loads(json.dumps(plan))
        orders = rdma_plan.advance(plan, again.facts, {"c": FLOORS})
        if not orders:
            break
        for step in ("serve", "measure", "finish"):
            for host, order in orders.items():
                again.run("accept_rdma_bench", "rdma_bandwidth", host, step, order)
    assert plan["clusters"]["c"]["found"] == cluster.plan["clusters"]["c"]["found"]


def test_a_lost_node_keeps_what_it_had_measured():
    cluster = Cluster(spec(nodes=4)).rdma()
    before = cluster.envelopes["c-01"]
    lost = {
        **before,
        "status": "error",
        "reason": "unreachable: gone",
        "data": None,
        "sources": [],
        "errors": [],
        "attachments": [],
        "duration_s": None,
    }
    after = facts_store.appended(before, lost)
    assert after["data"] == before["data"]
    assert after["status"] == "partial"
    assert after["errors"][-1]["reason"] == "unreachable"


@pytest.mark.parametrize("count", [1, 2, 5])
def test_small_clusters(count):
    cluster = Cluster(spec(nodes=count)).rdma("standard")
    tests = cluster.facts["c-01"]["tests"]
    assert [entry["device"] for entry in tests if entry["kind"] == "loopback"] == [f"mlx5_{number}" for number in range(8)]
    assert any(entry["kind"] == "pair" for entry in tests) == (count > 1)
    assert any(entry["kind"] == "incast" for data in cluster.facts.values() for entry in data["tests"]) == (count > 2)


def test_the_plan_in_words():
    cluster = Cluster(spec(nodes=4)).rdma()
    line = rdma_plan.text(cluster.plan)[0]
    assert "4 nodes, 8 rails, passes loopback, together: 3 to 7 rounds" in line
    assert "2 of its 3 possible partners: 4 of 6 pairs (66.7 %)" in line


def test_an_unknown_pass_is_named():
    with pytest.raises(ValueError, match="rdma_bandwidth_passes: everything unknown"):
        rdma_plan.make({}, {}, {**SETTINGS, "passes": ["everything"]}, "quick", {})


def test_within_a_vrf_only_the_rails_own_address_will_do():
    data = {"devices": [{"name": "mlx5_0", "state": "ACTIVE", "rate_gbps": 400, "address": "10.1.0.1", "gpu": None}]}
    data["devices"].append({**data["devices"][0], "name": "mlx5_1", "address": None})
    data["perftest"] = {"installed": True, "gpu_memory": "cuda"}
    plan = rdma_plan.make({"a": {"cluster": "c", "address": "a"}}, {"a": data}, {**SETTINGS, "vrf": "rail"}, "quick", {})
    assert plan["clusters"]["c"]["devices"]["a"] == {"mlx5_0": {"address": "10.1.0.1", "gpu": None, "gpu_memory": None}}


def test_the_front_end():
    faults = [
        {"fault": "front_end_loss", "hosts": "c-02"},
        {"fault": "front_end_slow", "hosts": "c-03"},
        {"fault": "mtu_black_hole", "hosts": "c-04"},
    ]
    cluster = Cluster(spec(*faults, nodes=5)).front()
    peers = {peer["peer"]: peer for peer in cluster.facts["c-01"]["peers"]}
    assert set(peers) == {"c-02", "c-03", "c-04", "c-05"}
    assert peers["c-02"]["loss_pct"] == 5.0
    assert peers["c-03"]["tcp_pct_of_cap"] < 10
    assert peers["c-04"]["full_mtu"] == "dropped"
    assert peers["c-05"] == {
        "peer": "c-05", "address": "c-05", "interface": "eno1", "mtu_bytes": 9000, "loss_pct": 0.0, "sent": 20, "received": 20,
        "rtt_avg_ms": 0.09, "rtt_max_ms": 0.171, "full_mtu": "passes", "tcp_gbps": 0.9994, "reverse_tcp_gbps": 0.9994,
        "cap_gbps": 1.0, "tcp_pct_of_cap": 99.94, "retransmits": 0,
    }  # fmt: skip


def test_the_front_ends_sample_is_spread_and_its_pairs_are_all():
    hosts = {f"n{number:03}": {"cluster": "c", "address": "-"} for number in range(100)}
    plan = mgmt_plan.make(hosts, FRONT, {"n000": "why"})
    assert len(plan["chosen"]["c"]) == 8
    assert plan["chosen"]["c"][-1] > "n080"
    assert "n000" not in plan["idle"]
    assert len(plan["idle"]) == 91
    directed = {(host, test["peer"]) for host, order in plan["plans"].items() for test in order["tests"]}
    assert len(directed) == 56
    for host, order in plan["plans"].items():
        for test in order["tests"]:
            assert {"peer": host, "port": test["port"]} in plan["plans"][test["peer"]]["servers"]
    assert "56 directed pairs of 8 sampled nodes" in mgmt_plan.text(plan, FRONT, {})[0]


# --- what the judge makes of it -------------------------------------------------------------------------------------------------------


def judged(cluster, concern, tmp_path) -> dict:
    """Check -> node set of the rows that failed or warned, scored from a run's folder as a run leaves it."""
    run_dir = tmp_path / "run"
    members = cluster.nodes
    for host, envelope in cluster.envelopes.items():
        facts_store.write(run_dir / "facts" / host / f"{concern}.json", json.dumps({**envelope, "host": host, "run_id": "run"}).encode())
    hosts = [{"name": n.name, "cluster": n.cluster, "rack": n.rack, "groups": ["gpu_nodes"], "replay": True} for n in members]
    record = {"schema": 1, "run_id": "run", "started_at": "2026-11-30T12:00:00Z", "inventory": {"hosts": hosts}, "concerns": [concern]}
    facts_store.write(run_dir / "run.json", json.dumps({**record, "definition": "fabric", "phases": []}).encode())
    contract = tmp_path / "contract.yml"
    spec = {
        "clusters": [{"name": "c", "sku": members[0].sku, "transport": members[0].transport, "scheduler": "none", "nodes": len(members)}]
    }
    contract.write_text(json.dumps({**render.contract(members, spec), "definition": "fabric"}))
    card = scorecard.score(run_dir, LIBRARY.parent / "standards", contract)
    return {
        check["id"]: " ".join(row["nodes"] for row in check["rows"] if row["verdict"] in ("fail", "warn"))
        for check in card["checks"]
        if check["concern"] == concern and {"fail", "warn"} & set(check["counts"])
    }


def test_the_judge_names_who_is_slow_and_nobody_else(tmp_path):
    one, other = pairs.screening([f"c-{number:02}" for number in range(1, 11)])[0][0]
    rest = [f"c-{number:02}" for number in range(1, 11) if f"c-{number:02}" not in (one, other)]
    faults = ["slow_rail", "broken_rail", "slow_read", "slow_gpu_path", "high_latency", "slow_loopback"]
    planted = [{"fault": fault, "hosts": host, "nic": number} for number, (fault, host) in enumerate(zip(faults, rest))]
    cluster = Cluster(spec(*planted, {"fault": "slow_path", "hosts": one, "peer": other, "nic": 7}, nodes=10)).rdma("full")
    found = judged(cluster, "rdma_bandwidth", tmp_path)
    assert found["rdma.write_bw"] == rest[0]
    assert found["rdma.rail_works"] == rest[1]
    assert found["rdma.read_bw"] == rest[2]
    assert found["rdma.write_latency"] == rest[4]
    assert found["rdma.loopback_bw"] == rest[5]
    assert sorted(found["rdma.paths"].split()) == sorted([one, other])
    assert set(found) <= {
        "rdma.write_bw", "rdma.write_bw_alone", "rdma.rail_works", "rdma.read_bw", "rdma.write_latency", "rdma.loopback_bw", "rdma.paths",
        "rdma.rails_tested", "rdma.incast",
    }  # fmt: skip
    assert found["rdma.write_bw_alone"] == rest[0]
    assert found["rdma.rails_tested"] == rest[1]


def test_a_pair_that_was_slow_once_is_told_apart_from_a_slow_path(tmp_path):
    cluster = Cluster(spec(nodes=9)).rdma()
    host, peer = pairs.screening([f"c-{number:02}" for number in range(1, 10)])[0][0]
    first = next(e for e in cluster.facts[host]["tests"] if e["pass"] == "together" and e["peer"] == peer and e["device"] == "mlx5_0")
    again = {**first, "number": 2}
    first["gbps"] = 90.0
    cluster.facts[host]["tests"].append(again)
    assert judged(cluster, "rdma_bandwidth", tmp_path) == {"rdma.passing": host}


def test_the_judge_on_a_healthy_cluster(tmp_path):
    assert judged(Cluster(spec(nodes=9)).rdma("full"), "rdma_bandwidth", tmp_path) == {}


def test_the_judge_on_gpu_memory_and_incast(tmp_path):
    faults = [{"fault": "slow_gpu_path", "hosts": "c-04", "nic": 2}, {"fault": "no_pfc", "hosts": "c-01", "nic": 4}]
    cluster = Cluster(spec(*faults, nodes=9, sku="h200_hgx")).rdma("standard")
    found = judged(cluster, "rdma_bandwidth", tmp_path)
    assert found == {"rdma.gpu_write_bw": "c-04", "rdma.incast": "c-01"}


def test_roce_without_a_traffic_class_is_said_to_be_the_lossy_queue(tmp_path):
    cluster = Cluster(spec(nodes=3, sku="mi300x", transport="roce")).rdma()
    assert judged(cluster, "rdma_bandwidth", tmp_path)["rdma.recipe"].startswith("c-0")


def test_the_judge_blames_the_end_that_is_bad_with_most(tmp_path):
    faults = [{"fault": "front_end_loss", "hosts": "c-02"}, {"fault": "front_end_slow", "hosts": "c-03"}]
    faults += [{"fault": "mtu_black_hole", "hosts": "c-04"}, {"fault": "front_end_latency", "hosts": "c-05"}]
    found = judged(Cluster(spec(*faults, nodes=7)).front(), "mgmt_network", tmp_path)
    assert found == {"mgmt.packet_loss": "c-02", "mgmt.tcp_bandwidth": "c-03", "mgmt.full_mtu": "c-04", "mgmt.round_trip": "c-05"}


def test_data_has_the_shape_that_its_schema_says():
    cluster = Cluster(spec({"fault": "broken_rail", "hosts": "c-03"}, {"fault": "perftest_hangs", "hosts": "c-01", "nic": 1}, nodes=4))
    schemas = LIBRARY.parent / "standards" / "schema" / "concerns"
    for concern, run in (("rdma_bandwidth", lambda: cluster.rdma("full")), ("mgmt_network", lambda: cluster.front())):
        cluster.envelopes.clear()
        run()
        schema = json.loads((schemas / f"{concern}.json").read_text())
        for data in cluster.facts.values():
            jsonschema.validate(data, schema)
            assert len(json.dumps(data)) < 64 * 1024
