"""The plan of a sweep: what is run, what the budget takes away, and what comes after a slow world."""

from __future__ import annotations

import pytest
from accept_judge import culprit, culprit_plan, sweep_estimate, sweep_plan
from accept_node.collective_rows import COLUMNS
from hypothesis import given, settings
from hypothesis import strategies as st


def facts(count=18, engine="nccl-tests", racks=1, **more):
    placement = {f"n{number:03d}": {"rack": f"r{number % racks}", "leaf": None} for number in range(count)}
    return {"head": "n000", "engine": engine, "launcher": "slurm", "ranks_per_node": 4, "placement": placement, **more}


def launches(one):
    return [launch for batch in one["batches"] for launch in batch["launches"]]


def test_every_collective_size_and_world_and_each_node_by_itself():
    one = sweep_plan.cluster("a", facts(), {"budget_minutes": 9999}, "standard")
    assert one["plan"]["worlds"] == [1, 2, 4, 8, 16, 18]
    assert (one["plan"]["sizes"][0], one["plan"]["sizes"][-1], len(one["plan"]["sizes"])) == (8, 16 << 30, 32)
    assert {launch["collective"] for launch in launches(one)} == set(sweep_plan.COLLECTIVES)
    assert {launch["nodes"][0] for launch in launches(one) if len(launch["nodes"]) == 1} == set(one["placement"])
    assert {launch["mode"] for launch in launches(one)} == {"bare", "scale_out"}
    assert one["plan"]["trimmed"] == []


def test_a_world_spans_as_few_racks_as_can_be():
    one = sweep_plan.cluster("a", facts(8, racks=2), {}, "standard")
    pairs = [launch["nodes"] for launch in launches(one) if len(launch["nodes"]) in (2, 4) and launch["mode"] == "bare"]
    assert all(len({one["placement"][node]["rack"] for node in pair}) == 1 for pair in pairs)


def test_recipe_provider_and_bare_are_compared_on_all_nodes():
    one = sweep_plan.cluster("a", facts(4, recipe={"NCCL_IB_TC": "106"}, provider={"NCCL_IB_TC": "41"}), {}, "standard")
    widest = {
        launch["mode"]: launch["env"] for launch in launches(one) if len(launch["nodes"]) == 4 and launch["collective"] == "all_reduce"
    }
    assert set(widest) == {"bare", "provider", "ours", "scale_out"}
    assert widest["ours"]["NCCL_IB_TC"] == widest["scale_out"]["NCCL_IB_TC"] == "106"
    assert "NCCL_IB_TC" not in widest["bare"]
    assert widest["scale_out"]["NCCL_P2P_DISABLE"] == "1"
    assert all(env["NCCL_DEBUG"] == "INFO" for env in widest.values())


def test_across_nvlink_domains_two_nodes_are_launched_on_purpose():
    placed = facts(4, racks=2)
    placed["domains"] = {node: place["rack"] for node, place in placed["placement"].items()}
    found = [launch for launch in launches(sweep_plan.cluster("a", placed, {}, "quick")) if launch["mode"] == "cross_domain"]
    assert [launch["nodes"] for launch in found] == [["n000", "n001"]]
    assert not [one for one in launches(sweep_plan.cluster("a", facts(4, racks=2), {}, "quick")) if one["mode"] == "cross_domain"]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.sampled_from(sorted(sweep_plan.MAX_BYTES)), st.floats(1, 3000), st.sampled_from(sorted(sweep_plan.DEPTHS)))
def test_whatever_the_budget(count, engine, budget, depth):
    placed = facts(count, engine)
    one = sweep_plan.cluster("a", placed, {"budget_minutes": budget}, depth)
    free = sweep_plan.cluster("a", placed, {"budget_minutes": 1e9}, depth)
    every = launches(one)
    assert one["plan"]["sizes"] == free["plan"]["sizes"]  # never sizes
    assert {launch["collective"] for launch in every} == {launch["collective"] for launch in launches(free)}
    assert all(launch["min_bytes"] == 8 for launch in every)
    assert len({launch["name"] for launch in every}) == len(every)
    assert {1, count} <= set(one["plan"]["worlds"])
    for batch in one["batches"]:
        nodes = [node for launch in batch["launches"] for node in launch["nodes"]]
        assert not batch["parallel"] or len(set(nodes)) == len(nodes)
    if one["plan"]["repeats"] > 1:
        assert one["plan"]["worlds"] == free["plan"]["worlds"]  # repeats go first
    if one["plan"]["minutes"] > budget:
        assert one["plan"]["repeats"] == 1
        assert any("nothing more" in line for line in one["plan"]["trimmed"])
    else:
        assert not any("nothing more" in line for line in one["plan"]["trimmed"])


def measured(rate, launch, status="ok"):
    row = [launch["max_bytes"], 1.0, rate, rate, 0, 1.0, rate, rate, 0]
    keys = ("name", "collective", "mode", "nodes", "node_set", "repeat", "min_bytes", "max_bytes")
    rest = {"ranks": 1, "reason": "", "cause": "", "unfinished_bytes": None, "transport": None, "duration_s": 1.0}
    return {**{key: launch[key] for key in keys}, **rest, "round": launch.get("round"), "status": status, "rows": [row]}


def play(one, bad, slow, limit=200):
    """Run the plan against nodes of which some are slow; returns the searches."""
    data, searches = {"columns": list(COLUMNS), "runs": []}, {"searches": []}
    for _ in range(limit):
        step = sweep_plan.advance(one, data, searches, slow)
        if step is None:
            return data, searches
        data["runs"] += [measured(50.0 if bad & set(launch["nodes"]) else 100.0, launch) for launch in step["launches"]]
    raise AssertionError("no end")


def test_a_healthy_cluster_is_not_searched():
    one = sweep_plan.cluster("a", facts(), {}, "quick")
    data, searches = play(one, set(), lambda data: [])
    assert {run["name"] for run in data["runs"]} == {launch["name"] for launch in launches(one)}
    assert searches == {"searches": []}


def test_a_slow_world_is_searched_until_the_node_is_named():
    one = sweep_plan.cluster("a", facts(), {}, "quick")
    data, searches = play(one, {"n007"}, lambda data: ["all_reduce on n[000-017], bare"])
    (search,) = searches["searches"]
    outcomes = culprit_plan.outcomes(search, data["columns"], data["runs"])
    _, found = culprit_plan.culprit.next_round(search["plan"], outcomes)
    assert [(row["kind"], row["name"]) for row in found["culprits"]] == [("node", "n007")]
    assert all(run["round"] for run in data["runs"] if run["name"].startswith("search"))


def test_a_batch_that_brings_nothing_back_is_tried_again_once_and_left():
    one = sweep_plan.cluster("a", facts(2), {"collectives": ["all_reduce"]}, "quick")
    steps = 0
    while sweep_plan.advance(one, None, {"searches": []}, lambda data: []):
        steps += 1
    assert steps == sweep_plan.TRIES * len(one["batches"])


def test_what_was_measured_before_a_break_is_not_run_again():
    one = sweep_plan.cluster("a", facts(2), {}, "standard")
    first = sweep_plan.advance(one, None, {"searches": []}, lambda data: [])
    data = {"columns": list(COLUMNS), "runs": [measured(9.0, first["launches"][0])]}
    again = sweep_plan.advance(one, data, {"searches": []}, lambda data: [])
    assert [launch["name"] for launch in again["launches"]] == [launch["name"] for launch in first["launches"][1:]] or not first[
        "launches"
    ][1:]


@pytest.mark.parametrize("depth", sorted(sweep_plan.DEPTHS))
def test_the_plan_is_said_in_words(depth):
    one = sweep_plan.cluster("a", facts(), {"budget_minutes": 1}, depth)
    told = "\n".join(sweep_plan.text({"clusters": {"a": one}, "refused": {"b": "no head"}}))
    assert "18 nodes by slurm with nccl-tests" in told
    assert "nothing more can be left out" in told
    assert "culprit search" in told
    assert "b: not run: no head" in told


def test_minutes_are_known_before_any_node_was_asked():
    """From the contract alone the plan is the one that facts will give."""
    hosts = [{"name": f"n{n:03d}", "cluster": "a", "rack": "r1", "groups": ["gpu_nodes"] + ["head"] * (n == 0)} for n in range(18)]
    clusters, profiles = (
        [{"name": "a", "sku": "s", "scheduler": "slurm"}],
        {"s": {"vendor": "nvidia", "values": {"gpu.count": {"value": 4}}}},
    )
    told = sweep_estimate.minutes(hosts, clusters, profiles, {}, "standard")
    assert told == sweep_plan.cluster("a", facts(recipe={"NCCL_IB_TC": "106"}), {}, "standard")["plan"]["minutes"]
    assert sweep_estimate.minutes(hosts, clusters, profiles, {"nccl_sweep_repeats": "1"}, "standard") < told
    assert sweep_estimate.minutes(hosts[1:], clusters, profiles, {}, "standard") == 0  # no head: nothing is swept
    assert sweep_estimate.minutes(hosts, [{"name": "a", "sku": "auto"}], {}, {"nccl_sweep_engine": "mpi"}, "quick") > 0
    with pytest.raises(ValueError, match="nccl_sweep_engine: 'nccl' unknown; known are mpi, nccl-tests"):
        sweep_estimate.minutes(hosts, clusters, profiles, {"nccl_sweep_engine": "nccl"}, "quick")


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({}, 9.0),
        ({"status": "partial", "cause": "output"}, culprit.NOT_RUN),  # ranks' output mixed, tables side by side, a cut end
        ({"status": "partial", "cause": "output", "wrong": 3}, 9.0),
        ({"status": "partial", "cause": "rank_died"}, None),
        ({"status": "hang", "cause": "hang"}, None),
        ({"status": "error", "cause": "pending", "rows": []}, culprit.NOT_RUN),
    ],
)
def test_a_search_goes_by_whole_launches(changed, outcome):
    row = [0] * len(COLUMNS)
    row[COLUMNS.index("busbw_out_gbytes_s")], row[COLUMNS.index("wrong_out")] = 9.0, changed.get("wrong", 0)
    run = {"name": "a", "rows": [row], "status": "ok", "cause": "", **changed}
    assert culprit_plan.outcomes({"rounds": [["a"]]}, list(COLUMNS), [run]) == [[outcome]]
