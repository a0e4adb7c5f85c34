"""Which nodes work together in which round, and who is to blame for a slow pair. Pure: outcomes in, the next round out.

A pass begins with two rounds in which every node works once (one idles where their number is odd), with another partner each time, once
sending and once receiving. Whoever was slow with every partner on some rail is then paired with nodes that are known good on that rail,
until it is cleared (its partners were slow, or the path) or named. A slow pair of two good nodes is run once more: it is the path, or it
was a passing thing. No round beyond 4 + log2(n): what is then not settled is said to be so.

An outcome is Outcome(round, sender, receiver, rail, gbps): None for a test that failed, NOT_RUN for one that did not begin.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple

SCREENING = 2
NOT_RUN = -1.0
NEAR_MEDIAN = 0.95  # where no floor is known, or nobody reaches it: who is further below its like is looked at again
TRIES = 3  # a node whose tests did not begin so often is left alone


class Outcome(NamedTuple):
    round: int
    sender: str
    receiver: str
    rail: str
    gbps: float | None  # None: failed or hung; NOT_RUN: did not begin


def budget(nodes: int) -> int:
    """The most rounds of a pass."""
    return 4 + int(math.log2(nodes)) if nodes > 1 else 0


def circle(nodes: list, turn: int) -> list[tuple]:
    """Round number `turn` of a tournament in which all meet all: disjoint pairs of all nodes (of an odd number one rests)."""
    ring = [*nodes, *([None] if len(nodes) % 2 else [])]
    if len(ring) < 2:
        return []
    turn %= len(ring) - 1
    rest = ring[1:]
    ring = [ring[0], *rest[turn:], *rest[:turn]]
    half = len(ring) // 2
    return [pair for pair in zip(ring[:half], reversed(ring[half:])) if None not in pair]


def screening(nodes: list) -> list[list[tuple]]:
    """The rounds a pass begins with, as (sender, receiver): who sends in the first receives in the second."""
    turns = [0] if len(nodes) < 3 else [0, max(1, (len(nodes) - 1) // 3)]
    rounds = [circle(nodes, turn) for turn in turns]
    partners = defaultdict(list)
    for pairs in rounds:
        for one, other in pairs:
            partners[one].append(other)
            partners[other].append(one)
    sends_first = {}
    for node in nodes:  # two perfect matchings form rings of even length: along them the roles alternate
        todo = [node] if node not in sends_first else []
        sends_first.setdefault(node, True)
        while todo:
            one = todo.pop()
            for other in partners[one]:
                if other not in sends_first:
                    sends_first[other] = not sends_first[one]
                    todo.append(other)
    return [
        [(one, other) if sends_first[one] == (number == 0) else (other, one) for one, other in pairs] for number, pairs in enumerate(rounds)
    ]


def limit(outcomes, floor: float | None) -> float | None:
    """Below what a pair is looked at again: the wanted floor where most reach it, else a little below the median."""
    rates = sorted(outcome.gbps for outcome in outcomes if outcome.gbps is not None and outcome.gbps > 0)
    if not rates:
        return floor
    median = rates[len(rates) // 2]
    return floor if floor and median >= floor else NEAR_MEDIAN * median


class State:
    """What the outcomes of a pass amount to, rail by rail."""

    def __init__(self, nodes, outcomes, floor: float | None = None):
        self.nodes, self.outcomes = list(nodes), list(outcomes)
        self.limit = limit(self.outcomes, floor)
        self.good, self.bad, self.not_run = (
            defaultdict(set) for _ in range(3)
        )  # rail -> nodes; (node, rail) -> partners; node -> partners
        self.slow_pairs = defaultdict(list)  # (nodes, rail) -> rates
        self.tried = defaultdict(int)  # nodes -> rounds together
        self.rails = list(dict.fromkeys(outcome.rail for outcome in self.outcomes))
        for together in {(outcome.round, frozenset((outcome.sender, outcome.receiver))) for outcome in self.outcomes}:
            self.tried[together[1]] += 1
        for outcome in self.outcomes:
            self._take(outcome)
        self.named = {key for key, partners in self.bad.items() if self._is_named(*key, partners)}

    def _take(self, outcome):
        pair, rail = frozenset((outcome.sender, outcome.receiver)), outcome.rail
        if outcome.gbps == NOT_RUN:
            for one, other in ((outcome.sender, outcome.receiver), (outcome.receiver, outcome.sender)):
                self.not_run[one].add((outcome.round, other))
        elif outcome.gbps is not None and self.limit is not None and outcome.gbps >= self.limit:
            self.good[rail].update(pair)
        else:
            self.slow_pairs[pair, rail].append(outcome.gbps)
            self.bad[outcome.sender, rail].add(outcome.receiver)
            self.bad[outcome.receiver, rail].add(outcome.sender)

    def _is_named(self, node, rail, partners):
        """Slow with two partners, and fast with none, who are both fast with somebody else."""
        return node not in self.good[rail] and len(partners & self.good[rail]) >= 2

    def suspects(self) -> dict:
        """node -> rails on which it has neither been cleared nor named."""
        found = defaultdict(set)
        for (node, rail), _ in self.bad.items():
            if node not in self.good[rail] and (node, rail) not in self.named:
                found[node].add(rail)
        return found

    def untested(self) -> list:
        """Nodes of which no test has begun, and that may be tried again."""
        begun = {node for outcome in self.outcomes if outcome.gbps != NOT_RUN for node in (outcome.sender, outcome.receiver)}
        return [node for node in self.nodes if node not in begun and len({number for number, _ in self.not_run[node]}) < TRIES]

    def paths(self) -> dict:
        """(pair, rail) -> rates of slow pairs that nobody in them explains."""
        return {
            (pair, rail): rates
            for (pair, rail), rates in self.slow_pairs.items()
            if all(node in self.good[rail] for node in pair) and not any((node, rail) in self.named for node in pair)
        }


def next_round(nodes, outcomes, rounds_run: int, floor: float | None = None) -> list[tuple]:
    """The pairs (sender, receiver) of the next round of a pass; empty when there is nothing left to find out, or no round left."""
    nodes = list(nodes)
    first = screening(nodes) if len(nodes) > 1 else []
    if rounds_run < len(first):
        return first[rounds_run]
    if rounds_run >= budget(len(nodes)):
        return []
    state = State(nodes, outcomes, floor)
    return _diagnosis(state, rounds_run)


def _diagnosis(state: State, rounds_run: int) -> list[tuple]:
    suspects, used, pairs = state.suspects(), set(), []
    idle = [node for node in state.nodes if node not in suspects]

    def pair_up(one, other):
        used.update((one, other))
        pairs.append((one, other) if rounds_run % 2 else (other, one))

    # Those with most slow rails first: they are the hardest to find a partner for.
    for node in sorted(suspects, key=lambda name: (-len(suspects[name]), name)):
        if node not in used:
            other = _partner(node, suspects[node], state, idle, used) or _partner(node, suspects[node], state, state.nodes, used)
            if other:
                pair_up(node, other)
    stuck = [node for node in state.nodes if node in suspects and node not in used]
    for one, other in circle(stuck, rounds_run):  # nobody is known good on their rails: they try each other
        if not state.tried[frozenset((one, other))]:
            pair_up(one, other)
    for node in state.untested():
        other = next((one for one in idle if one not in used and one != node and any(one in good for good in state.good.values())), None)
        if node not in used and other:
            pair_up(node, other)
    for (pair, _), rates in state.paths().items():  # once more, to tell a path from a passing thing
        if len(rates) == 1 and state.tried[pair] == 1 and not pair & used:
            pair_up(*sorted(pair))
    return pairs


def _partner(node, rails, state: State, among, used):
    """A node that is good on as many of these rails as can be had, and has not worked with this one yet."""
    best, most = None, 0
    for other in among:
        if other == node or other in used or state.tried[frozenset((node, other))]:
            continue
        known = sum(other in state.good[rail] for rail in rails)
        if known > most:
            best, most = other, known
            if known == len(rails):
                break
    return best


def verdict(nodes, outcomes, floor: float | None = None) -> dict:
    """{"limit_gbps", "culprits": [{node, rail, gbps, partners}], "paths": [{nodes, rail, gbps, times}], "unsettled": [{node, rail}],
    "untested": [node], "worst": {gbps, sender, receiver, rail} | None, "tests": n}: what a pass has found."""
    state = State(nodes, outcomes, floor)
    rates = defaultdict(list)
    for outcome in state.outcomes:
        if outcome.gbps != NOT_RUN:
            for node in (outcome.sender, outcome.receiver):
                rates[node, outcome.rail].append(outcome.gbps)
    measured = [outcome for outcome in state.outcomes if outcome.gbps is not None and outcome.gbps != NOT_RUN]
    worst = min(measured, key=lambda outcome: outcome.gbps, default=None)
    tested = {node for node, _ in rates}
    return {
        "limit_gbps": state.limit,
        "culprits": [
            {
                "node": node,
                "rail": rail,
                "gbps": max((r for r in rates[node, rail] if r is not None), default=None),
                "partners": sorted(state.bad[node, rail]),
            }
            for node, rail in sorted(state.named)
        ],
        "paths": [
            {"nodes": sorted(pair), "rail": rail, "gbps": max((r for r in slow if r is not None), default=None), "times": len(slow)}
            for (pair, rail), slow in sorted(state.paths().items(), key=lambda item: (sorted(item[0][0]), item[0][1]))
        ],
        "unsettled": [{"node": node, "rail": rail} for node, rails in sorted(state.suspects().items()) for rail in sorted(rails)],
        "untested": [node for node in state.nodes if node not in tested],
        "worst": worst and {"gbps": worst.gbps, "sender": worst.sender, "receiver": worst.receiver, "rail": worst.rail},
        "tests": len(measured),
    }


def incasts(nodes: list, fan: int = 8, turn: int = 0) -> list[tuple]:
    """Disjoint groups (receiver, senders): `fan` senders each, fewer in a small cluster, none below two. `turn` shifts who receives."""
    fan = min(fan, len(nodes) - 1)
    if fan < 2:
        return []
    turn %= len(nodes)
    ring = [*nodes[turn:], *nodes[:turn]]
    return [(ring[start], ring[start + 1 : start + 1 + fan]) for start in range(0, len(ring) - fan, fan + 1)]


def coverage(nodes: int, rounds: int = SCREENING) -> str:
    """What these rounds show of all pairs, in one sentence."""
    pairs = nodes * (nodes - 1) // 2
    if not pairs:
        return "a single node has no partner: no pair is tested"
    rounds = min(rounds, nodes - 1)
    shown = min(pairs, rounds * (nodes // 2))
    rest = "; one node rests in each round" if nodes % 2 else ""
    return (
        f"every rail of each of {nodes} nodes, with {rounds} of its {nodes - 1} possible partners: {shown} of {pairs} pairs"
        f" ({100 * shown / pairs:.1f} %){rest}; paths between other pairs are not tested, and what is slow gets up to"
        f" {budget(nodes) - rounds} further rounds"
    )


def minutes(nodes: int, rounds: int, test_s: float, forks: int = 20, host_s: float = 0.4) -> float:
    """About how long so many rounds take: three module runs a node and round, in batches of `forks`, around tests of test_s seconds."""
    batches = -(-nodes // 2 // max(1, forks)) or 1
    return round(rounds * (3 * host_s * nodes / 2 + batches * test_s + 5) / 60, 1)
