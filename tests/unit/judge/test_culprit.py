"""The search for the node that spoils a world: planted nodes, rails, leaves and paths are named and nobody else, in few rounds."""

from __future__ import annotations

import math
import random

import pytest
from accept_judge import culprit, culprit_plan
from accept_judge.culprit import NOT_RUN
from hypothesis import given, settings
from hypothesis import strategies as st

RAILS = [f"mlx5_{number}" for number in range(8)]
RATES = {"alone": 450.0, "nvlink": 850.0, "scale_out": 390.0, "across": 380.0, "rails": 390.0}


def cluster(count, per_leaf=32, rack=None):
    return {
        f"n{n:04d}": {"rack": f"r{n // (rack or per_leaf):02d}", "leaf": None if rack else f"leaf{n // per_leaf:02d}"} for n in range(count)
    }


class World:
    """Rates of launches: everybody is as slow as the slowest."""

    def __init__(self, plan, bad=None, rails=None, paths=(), leaves=(), lost=(), spread=0.01, seed=1, level=1.0):
        self.plan, self.bad, self.rails, self.paths, self.leaves, self.lost = plan, bad or {}, rails or {}, paths, leaves, lost
        self.random, self.spread, self.level = random.Random(seed), spread, level

    def rate(self, launch):
        if set(launch.nodes) & set(self.lost):
            return NOT_RUN
        share, whole = 1.0, RATES[launch.stage] * self.level
        for node in launch.nodes:
            part = self.bad.get(node, {})
            part = part.get(launch.stage, part.get("scale_out" if launch.stage == "rails" else launch.stage, 1.0))
            if part is None:
                return None
            share = min(share, part)
            if node in self.rails and launch.stage in ("scale_out", "across", "rails") and self.rails[node] in (launch.rails or RAILS):
                share = min(share, 0.5)
        if any(set(path) <= set(launch.nodes) for path in self.paths):
            share = min(share, 0.4)
        places = {self.plan["nodes"][node]["leaf"] for node in launch.nodes}
        if len(places) > 1 and places & set(self.leaves):
            share = min(share, 0.5)
        size = len(launch.rails) / len(RAILS) if launch.rails else 1.0
        return whole * size * share * (1 + self.random.gauss(0, self.spread))

    def search(self):
        rounds = []
        while True:
            launches, found = culprit.next_round(self.plan, rounds)
            if found is not None:
                return found
            busy = [node for launch in launches for node in launch.nodes]
            assert len(busy) == len(set(busy)), "a node works in two launches of a round"
            rounds.append([self.rate(launch) for launch in launches])
            assert len(rounds) <= culprit.budget(self.plan)


def everywhere(bad, share):
    return {node: {"scale_out": share, "across": share} for node in bad}


def names(found):
    return sorted(one["name"] for one in found["culprits"])


@pytest.mark.parametrize("count", [2, 3, 8, 18, 100, 1024])
def test_a_healthy_cluster_names_nobody(count):
    plan = culprit_plan.make(cluster(count))
    found = World(plan).search()
    assert names(found) == []
    assert found["passing"] == []
    assert found["rounds"] <= culprit.budget(plan)


@pytest.mark.parametrize("share", [0.5, None])
@pytest.mark.parametrize("planted", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_bad_nodes_among_1024_are_all_named_in_few_rounds(planted, share, seed):
    nodes = cluster(1024)
    bad = random.Random(seed).sample(sorted(nodes), planted)
    world = World(culprit_plan.make(nodes), bad=everywhere(bad, share), seed=seed)
    found = world.search()
    assert names(found) == sorted(bad)
    assert found["rounds"] <= 4 * math.log2(1024)
    assert all(one["hangs"] == (share is None) for one in found["culprits"])
    assert all(one["kind"] == "node" and one["stage"] == "scale_out" for one in found["culprits"])


def test_a_slow_tray_is_found_inside_its_nvlink_domain():
    nodes = cluster(18, rack=18)
    found = World(culprit_plan.make(nodes, racks_share_nvlink=True), bad={"n0006": {"nvlink": 0.6}}).search()
    assert [(one["name"], one["stage"]) for one in found["culprits"]] == [("n0006", "nvlink")]


def test_three_trays_of_one_rack_and_one_of_another():
    nodes = cluster(72, rack=18)
    bad = {node: {"nvlink": 0.7} for node in ("n0001", "n0002", "n0017", "n0040")}
    assert names(World(culprit_plan.make(nodes, racks_share_nvlink=True), bad=bad).search()) == sorted(bad)


def test_domains_of_one_node_take_no_part_inside_domains():
    nodes = cluster(18, rack=18)
    domains = {name: "other" if name == "n0004" else "rack" for name in nodes if name != "n0015"}
    found = World(culprit_plan.make(nodes, racks_share_nvlink=True, domains=domains), bad={"n0010": {"nvlink": 0.55}}).search()
    assert names(found) == ["n0010"]


def test_a_node_that_is_slow_by_itself_is_run_twice_and_named():
    found = World(culprit_plan.make(cluster(64)), bad={"n0009": {"alone": 0.8, "scale_out": 0.8, "across": 0.8}}).search()
    assert [(one["name"], one["stage"]) for one in found["culprits"]] == [("n0009", "alone")]


def test_a_slow_rail_is_named_with_its_node():
    found = World(culprit_plan.make(cluster(128), rails=RAILS), rails={"n0077": "mlx5_5"}).search()
    assert [(one["kind"], one["name"], one["rail"]) for one in found["culprits"]] == [("rail", "n0077 mlx5_5", "mlx5_5")]


def test_a_node_slow_on_all_rails_stays_a_node():
    found = World(culprit_plan.make(cluster(128), rails=RAILS), bad={"n0077": {"scale_out": 0.5, "across": 0.5}}).search()
    assert [(one["kind"], one["name"]) for one in found["culprits"]] == [("node", "n0077")]


def test_a_leaf_whose_uplinks_are_slow_is_named():
    found = World(culprit_plan.make(cluster(256)), leaves=["leaf05"]).search()
    assert [(one["kind"], one["name"], one["stage"]) for one in found["culprits"]] == [("leaf", "leaf05", "across")]


@pytest.mark.parametrize("path", [("n0003", "n0004"), ("n0000", "n0031"), ("n0016", "n0017"), ("n0020", "n0021")])
def test_a_path_between_two_good_nodes_is_named_and_no_node(path):
    found = World(culprit_plan.make(cluster(64)), paths=[path]).search()
    assert [one["kind"] for one in found["culprits"]] == ["path"]
    assert found["culprits"][0]["nodes"] == list(path)


def test_a_cluster_that_is_slow_as_a_whole_names_nobody_and_says_so():
    found = World(culprit_plan.make(cluster(32), {"scale_out": 380.0}), level=0.5).search()
    assert names(found) == []
    assert "scale_out" in found["uniform"]


def test_with_a_floor_both_halves_may_be_slow():
    nodes = cluster(32)
    bad = everywhere(["n0001", "n0030"], 0.5)
    assert names(World(culprit_plan.make(nodes, {"scale_out": 350.0}), bad=bad).search()) == sorted(bad)
    assert names(World(culprit_plan.make(nodes), bad=bad).search()) == sorted(bad)


def test_a_launch_that_does_not_begin_blames_nobody():
    found = World(culprit_plan.make(cluster(64)), lost=["n0010"]).search()
    assert names(found) == []
    assert "n0010" in found["untested"]


def test_what_was_slow_once_is_passing():
    plan = culprit_plan.make(cluster(64))
    world, rounds = World(plan), []
    while True:
        launches, found = culprit.next_round(plan, rounds)
        if found is not None:
            break
        rounds.append(
            [0.5 * world.rate(one) if len(rounds) == 1 and number == 1 else world.rate(one) for number, one in enumerate(launches)]
        )
    assert names(found) == []
    assert len(found["passing"]) == 1


def test_the_plan_says_what_it_costs_before_it_starts():
    lines = culprit_plan.text(culprit_plan.make(cluster(1024)), 30)
    assert "at most 40 rounds of 30 s" in lines[-1]
    assert len(lines) == 4


@given(st.integers(2, 200), st.integers(2, 40), st.integers(0, 2**32), st.integers(0, 4), st.sampled_from([0.5, 0.7, None]))
@settings(deadline=None, max_examples=60)
def test_never_a_good_node_and_never_beyond_the_budget(count, per_leaf, seed, planted, share):
    nodes = cluster(count, per_leaf)
    bad = random.Random(seed).sample(sorted(nodes), min(planted, max(0, count // 4)))
    found = World(culprit_plan.make(nodes), bad=everywhere(bad, share), seed=seed).search()
    assert {node for one in found["culprits"] if one["kind"] == "node" for node in one["nodes"]} <= set(bad)
