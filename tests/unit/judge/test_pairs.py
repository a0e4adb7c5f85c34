"""The pair plan: each node at most once a round, planted slow nodes, rails and paths are found and nobody else is, in few rounds."""

from __future__ import annotations

import math
import random

import pytest
from accept_judge import pairs
from accept_judge.pairs import NOT_RUN, Outcome
from hypothesis import given, settings
from hypothesis import strategies as st

FLOOR = 384.0


def names(count):
    return [f"n{number:04d}" for number in range(count)]


def play(nodes, rails, slow=(), paths=(), lost=(), dead=(), floor=FLOOR):
    """Run a pass against planted faults: slow and dead (node, rail), paths frozenset of two nodes, lost nodes. (outcomes, rounds)"""
    outcomes, rounds = [], 0
    while True:
        chosen = pairs.next_round(nodes, outcomes, rounds, floor)
        if not chosen:
            return outcomes, rounds
        busy = [node for pair in chosen for node in pair]
        assert len(busy) == len(set(busy)), "a node works twice in a round"
        assert set(busy) <= set(nodes)
        for sender, receiver in chosen:
            for rail in rails:
                if {sender, receiver} & set(lost):
                    gbps = NOT_RUN
                elif {(sender, rail), (receiver, rail)} & set(dead):
                    gbps = None
                elif {(sender, rail), (receiver, rail), (sender, rail, "send"), (receiver, rail, "receive")} & set(slow) or frozenset(
                    (sender, receiver)
                ) in paths:
                    gbps = 190.0
                else:
                    gbps = 391.0
                outcomes.append(Outcome(rounds, sender, receiver, rail, gbps))
        rounds += 1
        assert rounds <= 4 + math.log2(len(nodes))


def culprits(found):
    return {(row["node"], row["rail"]) for row in found["culprits"]}


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 17, 18, 64, 1023, 1024])
def test_all_work_in_each_of_the_first_rounds_with_other_partners(count):
    nodes = names(count)
    rounds = pairs.screening(nodes)
    assert len(rounds) == (1 if count < 3 else 2)
    met = set()
    for chosen in rounds:
        busy = [node for pair in chosen for node in pair]
        assert len(set(busy)) == len(busy) == count - count % 2
        assert not met & set(map(frozenset, chosen))
        met |= set(map(frozenset, chosen))
    if len(rounds) == 2:
        first, second = ({sender for sender, _ in chosen} for chosen in rounds)
        assert not first & second, "who sends first receives second"


@given(count=st.integers(2, 40))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_a_tournament_meets_everyone_once(count):
    nodes = names(count)
    met = [frozenset(pair) for turn in range(count - 1 + count % 2) for pair in pairs.circle(nodes, turn)]
    assert len(met) == len(set(met)) == count * (count - 1) // 2


@given(data=st.data())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_planted_rails_are_named_and_no_other(data):
    """Up to one node in six has slow or dead rails, possibly all of them."""
    count = data.draw(st.integers(6, 60))
    nodes, rails = names(count), [f"mlx5_{number}" for number in range(data.draw(st.integers(1, 4)))]
    bad = data.draw(st.lists(st.sampled_from(nodes), max_size=max(1, count // 6), unique=True))
    planted = {(node, rail) for node in bad for rail in data.draw(st.lists(st.sampled_from(rails), min_size=1, unique=True))}
    dead = {key for key in sorted(planted) if data.draw(st.booleans())}
    outcomes, _ = play(nodes, rails, planted - dead, dead=dead)
    found = pairs.verdict(nodes, outcomes, FLOOR)
    assert culprits(found) <= planted
    assert culprits(found) | {(row["node"], row["rail"]) for row in found["unsettled"]} >= planted
    if not found["unsettled"]:
        assert culprits(found) == planted
    assert not found["paths"]


@pytest.mark.parametrize("seed", range(4))
def test_a_thousand_nodes(seed):
    rng = random.Random(seed)
    nodes, rails = names(1024), [f"mlx5_{number}" for number in range(8)]
    planted = {(rng.choice(nodes), rng.choice(rails)) for _ in range(12)} | {(nodes[rng.randrange(1024)], rail) for rail in rails}
    outcomes, rounds = play(nodes, rails, planted)
    found = pairs.verdict(nodes, outcomes, FLOOR)
    assert culprits(found) == planted
    assert not found["unsettled"]
    assert not found["paths"]
    assert rounds <= 8
    assert found["worst"]["gbps"] == 190.0


def test_healthy_needs_two_rounds():
    outcomes, rounds = play(names(64), ["mlx5_0"])
    assert rounds == 2
    assert not any(pairs.verdict(names(64), outcomes, FLOOR)[key] for key in ("culprits", "paths", "unsettled", "untested"))


def test_a_slow_path_is_no_node():
    nodes = names(16)
    sender, receiver = pairs.screening(nodes)[0][3]
    outcomes, rounds = play(nodes, ["mlx5_0"], paths=[frozenset((sender, receiver))])
    found = pairs.verdict(nodes, outcomes, FLOOR)
    assert not found["culprits"]
    assert found["paths"] == [{"sender": sender, "receiver": receiver, "rail": "mlx5_0", "gbps": 190.0, "times": 2}]
    assert rounds == 4


@pytest.mark.parametrize("role", ["send", "receive"])
def test_a_rail_that_is_slow_one_way_only(role):
    nodes = names(20)
    outcomes, rounds = play(nodes, ["mlx5_0", "mlx5_1"], slow={("n0007", "mlx5_1", role)})
    found = pairs.verdict(nodes, outcomes, FLOOR)
    assert [(row["node"], row["rail"], row["roles"]) for row in found["culprits"]] == [("n0007", "mlx5_1", [role])]
    assert not found["paths"]
    assert not found["unsettled"]
    assert rounds <= 4


def test_two_nodes_cannot_be_told_apart():
    outcomes, _ = play(names(2), ["mlx5_0", "mlx5_1", "mlx5_2"], slow={("n0000", "mlx5_0")})
    found = pairs.verdict(names(2), outcomes, FLOOR)
    assert not found["culprits"]
    assert {row["node"] for row in found["unsettled"]} == {"n0000", "n0001"}


def test_all_slow_names_nobody():
    """Half the wanted rate everywhere is no node's fault: the judge fails them all, the plan hunts nobody."""
    nodes = names(12)
    outcomes, rounds = play(nodes, ["mlx5_0"], slow={(node, "mlx5_0") for node in nodes})
    assert rounds == 2
    assert not pairs.verdict(nodes, outcomes, FLOOR)["culprits"]


def test_all_dead_ends_within_the_budget():
    nodes = names(12)
    outcomes, rounds = play(nodes, ["mlx5_0"], dead={(node, "mlx5_0") for node in nodes})
    assert rounds <= pairs.budget(12)
    found = pairs.verdict(nodes, outcomes, FLOOR)
    assert not found["culprits"]
    assert len(found["unsettled"]) == 12


def test_without_a_floor_the_odd_one_is_found():
    nodes = names(16)
    outcomes, _ = play(nodes, ["mlx5_0"], slow={("n0005", "mlx5_0")}, floor=None)
    assert culprits(pairs.verdict(nodes, outcomes)) == {("n0005", "mlx5_0")}


def test_partners_of_a_lost_node_are_tested_with_others():
    nodes = names(10)
    outcomes, _ = play(nodes, ["mlx5_0"], lost={"n0003"})
    found = pairs.verdict(nodes, outcomes, FLOOR)
    assert found["untested"] == ["n0003"]
    assert not found["culprits"]


@pytest.mark.parametrize("count", [0, 1])
def test_nobody_to_pair(count):
    assert pairs.next_round(names(count), [], 0) == []
    assert pairs.budget(count) == 0
    assert "no pair" in pairs.coverage(count)


@pytest.mark.parametrize(("count", "fan", "groups"), [(2, 8, 0), (3, 2, 1), (5, 4, 1), (9, 8, 1), (18, 8, 2), (20, 8, 2)])
def test_incast_groups_are_disjoint(count, fan, groups):
    found = pairs.incasts(names(count))
    busy = [node for receiver, senders in found for node in (receiver, *senders)]
    assert len(busy) == len(set(busy))
    assert len(found) == groups
    assert all(len(senders) == fan for _, senders in found)
    assert {receiver for turn in range(count) for receiver, _ in pairs.incasts(names(count), turn=turn)} == (
        set(names(count)) if groups else set()
    )


def test_what_is_covered_is_said_in_words():
    assert "2 of its 1023 possible partners: 1024 of 523776 pairs (0.2 %)" in pairs.coverage(1024)
    assert "1 of 1 pairs (100.0 %)" in pairs.coverage(2)
    assert "rests" in pairs.coverage(5)


def test_the_cost_grows_with_rounds_and_nodes():
    assert 0 < pairs.minutes(4, 2, 8) < pairs.minutes(4, 4, 8) < pairs.minutes(1024, 4, 8)
