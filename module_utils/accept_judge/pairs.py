"""Which nodes work together in which round, and who is to blame for a slow pair. Pure: outcomes in, the next round out.

A pass begins with two rounds in which every node works once (one idles where their number is odd), with another partner each time, once
sending and once receiving: a rail may be slow one way only. Whoever was slow on some rail and fast with nobody is then paired with nodes
that are known good on it, until it is cleared (its partner was slow, or the path) or named. A slow pair of two good nodes is run once more,
the same way round: it is the path, or it was a passing thing. No round beyond 4 + log2(n): what is then not settled is said to be so.

An outcome is Outcome(round, sender, receiver, rail, gbps): None for a test that failed, NOT_RUN for one that did not begin.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import NamedTuple

SCREENING = 2
NOT_RUN = -1.0
SEND, RECEIVE = "send", "receive"
OTHER = {SEND: RECEIVE, RECEIVE: SEND}
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
    """What the outcomes of a pass amount to: rail by rail, and each node's sending and receiving apart (`sides`: node, rail, role)."""

    def __init__(self, nodes, outcomes, floor: float | None = None):
        self.nodes, self.outcomes = list(nodes), list(outcomes)
        self.limit = limit(self.outcomes, floor)
        self.good: set = set()  # sides that were fast with somebody
        self.bad, self.not_run = defaultdict(set), defaultdict(set)  # side -> partners; node -> rounds
        self.slow = defaultdict(list)  # (sender, receiver, rail) -> rates below the limit
        self.tried = defaultdict(set)  # (sender, receiver) -> rounds
        for outcome in self.outcomes:
            self._take(outcome)
        self.named = {side for side, partners in self.bad.items() if side not in self.good and self._known_good(side, partners) >= 2}

    def _take(self, outcome):
        number, sender, receiver, rail, gbps = outcome
        self.tried[sender, receiver].add(number)
        sides = (sender, rail, SEND), (receiver, rail, RECEIVE)
        if gbps == NOT_RUN:
            self.not_run[sender].add(number)
            self.not_run[receiver].add(number)
        elif gbps is not None and self.limit is not None and gbps >= self.limit:
            self.good.update(sides)
        else:
            self.slow[sender, receiver, rail].append(gbps)
            self.bad[sides[0]].add(receiver)
            self.bad[sides[1]].add(sender)

    def _known_good(self, side, partners):
        """With how many partners that are themselves fast with somebody else a side was slow."""
        _, rail, role = side
        return sum((partner, rail, OTHER[role]) in self.good for partner in partners)

    def suspects(self) -> dict:
        """(node, role) -> rails on which that side has neither been cleared nor named."""
        found = defaultdict(set)
        for side in self.bad:
            if side not in self.good and side not in self.named:
                found[side[0], side[2]].add(side[1])
        return found

    def untested(self) -> list:
        """Nodes of which no test has begun, and that may be tried again."""
        begun = {node for outcome in self.outcomes if outcome.gbps != NOT_RUN for node in (outcome.sender, outcome.receiver)}
        return [node for node in self.nodes if node not in begun and len(self.not_run[node]) < TRIES]

    def paths(self) -> dict:
        """(sender, receiver, rail) -> rates of slow pairs that neither of the two explains."""
        return {key: rates for key, rates in self.slow.items() if {(key[0], key[2], SEND), (key[1], key[2], RECEIVE)} <= self.good}


def next_round(nodes, outcomes, rounds_run: int, floor: float | None = None) -> list[tuple]:
    """The pairs (sender, receiver) of the next round of a pass; empty when there is nothing left to find out, or no round left."""
    nodes = list(nodes)
    first = screening(nodes) if len(nodes) > 1 else []
    if rounds_run < len(first):
        return first[rounds_run]
    if rounds_run >= budget(len(nodes)):
        return []
    return _diagnosis(State(nodes, outcomes, floor), rounds_run)


def _diagnosis(state: State, rounds_run: int) -> list[tuple]:
    suspects, used, pairs = state.suspects(), set(), []
    doubtful = {node for node, _ in suspects}

    def pair_up(sender, receiver):
        used.update((sender, receiver))
        pairs.append((sender, receiver))

    # Those with most slow rails first: they are the hardest to find a partner for. Nodes beyond doubt help before others do.
    order = [node for node in state.nodes if node not in doubtful] + [node for node in state.nodes if node in doubtful]
    for node, role in sorted(suspects, key=lambda key: (-len(suspects[key]), key)):
        if node not in used:
            partner = _partner(node, role, suspects[node, role], state, order, used)
            if partner:
                pair_up(*((node, partner) if role == SEND else (partner, node)))
    stuck = [node for node in state.nodes if node in doubtful and node not in used]
    for one, other in circle(stuck, rounds_run):  # nobody is known good on their rails: they try each other
        if not state.tried[one, other] and not state.tried[other, one]:
            pair_up(one, other)
    for node in state.untested():
        helper = next((one for one in order if one not in used and one != node and any(side[0] == one for side in state.good)), None)
        if node not in used and helper:
            pair_up(node, helper)
    for (sender, receiver, _), rates in state.paths().items():  # once more, the same way round: a path, or a passing thing?
        if len(rates) == 1 and len(state.tried[sender, receiver]) == 1 and not {sender, receiver} & used:
            pair_up(sender, receiver)
    return pairs


def _partner(node, role, rails, state: State, among, used):
    """A node whose other side is good on as many of these rails as can be had, and that has not been tried this way round."""
    best, most = None, 0
    for other in among:
        pair = (node, other) if role == SEND else (other, node)
        if other == node or other in used or state.tried[pair]:
            continue
        known = sum((other, rail, OTHER[role]) in state.good for rail in rails)
        if known > most:
            best, most = other, known
            if known == len(rails):
                break
    return best


def verdict(nodes, outcomes, floor: float | None = None) -> dict:
    """{"limit_gbps", "culprits": [{node, rail, gbps, roles, partners}], "paths": [{sender, receiver, rail, gbps, times}],
    "unsettled": [{node, rail}], "untested": [node], "worst": {gbps, sender, receiver, rail} | None, "tests": n}: what a pass has found."""
    state = State(nodes, outcomes, floor)
    rates, roles, partners = defaultdict(list), defaultdict(list), defaultdict(set)
    for outcome in state.outcomes:
        if outcome.gbps != NOT_RUN:
            rates[outcome.sender, outcome.rail, SEND].append(outcome.gbps)
            rates[outcome.receiver, outcome.rail, RECEIVE].append(outcome.gbps)
    for side in sorted(state.named):
        roles[side[:2]].append(side[2])
        partners[side[:2]] |= state.bad[side]
    measured = [outcome for outcome in state.outcomes if outcome.gbps is not None and outcome.gbps != NOT_RUN]
    worst = min(measured, key=lambda outcome: outcome.gbps, default=None)
    tested = {node for node, _, _ in rates}
    unsettled = {(node, rail) for (node, _), rails in state.suspects().items() for rail in rails} - set(roles)
    return {
        "limit_gbps": state.limit,
        "culprits": [
            {
                "node": node,
                "rail": rail,
                "gbps": _most(rate for role in told for rate in rates[node, rail, role]),
                "roles": told,
                "partners": sorted(partners[node, rail]),
            }
            for (node, rail), told in sorted(roles.items())
        ],
        "paths": [
            {"sender": sender, "receiver": receiver, "rail": rail, "gbps": _most(slow), "times": len(slow)}
            for (sender, receiver, rail), slow in sorted(state.paths().items())
        ],
        "unsettled": [{"node": node, "rail": rail} for node, rail in sorted(unsettled)],
        "untested": [node for node in state.nodes if node not in tested],
        "worst": worst and {"gbps": worst.gbps, "sender": worst.sender, "receiver": worst.receiver, "rail": worst.rail},
        "tests": len(measured),
    }


def _most(rates):
    return max((rate for rate in rates if rate is not None), default=None)


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
