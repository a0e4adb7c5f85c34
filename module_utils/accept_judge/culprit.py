"""Who spoils a world that is slow or hangs: groups by bisection, many at once, then pairs with known good partners. Pure: outcomes in, the
next round of launches out.

Three stages, each with its own network, so that a name comes with a place: inside an NVLink domain, then without NVLink inside a leaf (or
rack), then across leaves. A slow group is halved until single nodes are left; each of these must be slow with two different good partners
before it is named. A slow group whose halves are both fast is run again, and then searched for the pair, or the two leaves, between which
it is slow. A named node is tried rail by rail. Who is named takes no part in later stages. All launches of a round run at once on nodes of
their own; there are at most 4 log2(n) rounds, and what is not settled by then is said to be so.

The search is a generator: it yields the launches of a round and is sent their outcomes, GB/s each, None for a hang or a failure, NOT_RUN
for one that did not begin. Replaying the recorded outcomes brings it back to where it was, so that nothing but they needs to be kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

NOT_RUN = -1.0
NEAR = 0.9  # of the reference of its stage: a group below it is slow; repeats of a healthy one differ by a few per cent
ACROSS = 0.8 / NEAR  # of what leaves reach inside, where no floor is known across them: a larger world is a little slower
BETTER = 1.05  # times its slow parent: a half that is no faster than the whole is slow too
TIMES = 2  # good partners with whom a node must be slow


class Launch(NamedTuple):
    stage: str  # alone | nvlink | scale_out | across | rails
    nodes: tuple
    rails: tuple = ()  # all of them, unless named


class Stage(NamedTuple):
    name: str
    units: dict  # node, leaf or rack -> its nodes
    groups: tuple  # of units: what is launched first
    floor: float | None  # GB/s that a group of it should reach, where that is known


def budget(plan: dict) -> int:
    """The most rounds of a search; where rails are told apart, of few nodes as many as of sixteen."""
    return 4 * max(4 if len(plan["rails"]) > 1 else 1, math.ceil(math.log2(max(len(plan["nodes"]), 2))))


def next_round(plan: dict, rounds: list) -> tuple[list, dict | None]:
    """(launches of the next round, None), or ([], findings) when there is nothing left to find out. rounds: the outcomes of each round."""
    search = Search(plan)
    run = search.run()
    try:
        launches = next(run)
        for outcomes in rounds:
            launches = run.send(outcomes)
    except StopIteration:
        return [], search.findings(len(rounds))
    if len(rounds) >= budget(plan):
        return [], {**search.findings(len(rounds)), "unsettled": sorted({node for launch in launches for node in launch.nodes})}
    return launches, None


class Search:
    """plan: culprit_plan.make."""

    def __init__(self, plan: dict):
        self.plan = plan
        self.named, self.passing, self.untested, self.launches = [], [], set(), 0
        self.reference: dict = {}  # stage -> best rate of a group that is not slow
        self.uniform: list = []
        self.groups_rate: dict = {}  # stage -> reference of its first groups

    def findings(self, rounds: int) -> dict:
        """{"culprits": [{kind: node|rail|leaf|rack|path, name, nodes, rail, stage, busbw_gbytes_s, reference_gbytes_s, hangs, partners}],
        "passing", "untested", "uniform": stages in which nobody stands out, "unsettled", "rounds", "launches"}"""
        return {
            "culprits": sorted(self.named, key=lambda one: (one["kind"], one["name"])),
            "passing": self.passing,
            "untested": sorted(self.untested),
            "uniform": sorted(set(self.uniform)),
            "unsettled": [],
            "rounds": rounds,
            "launches": self.launches,
        }

    def run(self):
        blamed: set = set()
        for stage in self.plan["stages"]:
            units = {name: [node for node in nodes if node not in blamed] for name, nodes in stage["units"].items()}
            units = {name: nodes for name, nodes in units.items() if nodes}
            groups = [tuple(unit for unit in group if unit in units) for group in stage["groups"]]
            before = len(self.named)
            if stage["name"] == "across" and "scale_out" in self.groups_rate:
                self.reference["across"] = ACROSS * self.groups_rate["scale_out"]
            yield from self._stage(Stage(stage["name"], units, tuple(group for group in groups if group), stage["floor_gbytes_s"]))
            if stage["name"] == "scale_out" and self.plan["rails"]:
                yield from self._rails([one for one in self.named[before:] if one["kind"] == "node"], set(units) - self._blamed())
            blamed |= self._blamed()

    def _blamed(self):
        return {node for one in self.named if one["kind"] in ("node", "rail") for node in one["nodes"]}

    # --- one stage ----------------------------------------------------------------------------------------------------------------------

    def _stage(self, stage: Stage):
        groups = [group for group in stage.groups if len(group) > 1 or stage.name == "alone"]
        left = tuple(unit for group in stage.groups if len(group) == 1 for unit in group)
        groups += [left] if stage.name == "scale_out" and len(left) > 1 else []  # no NVLink joins domains of one node
        if not groups:
            return
        informed = stage.name in self.reference
        rates = yield from self._launch(stage, groups)
        self._refer(stage, rates.values())
        self.groups_rate[stage.name] = self.reference.get(stage.name, 0.0)
        slow = {group: rate for group, rate in rates.items() if self._slow(stage, rate)}
        if stage.name == "alone":
            yield from self._again(stage, slow)
            return
        forced = len(groups) == 1 and not slow and stage.floor is None and not informed
        if forced:
            slow = dict(rates)  # nothing to compare with, and somebody called the whole slow
        good = {unit for group in rates for unit in group if group not in slow and rates[group] != NOT_RUN}
        self.untested.update(node for group, rate in rates.items() if rate == NOT_RUN for node in self._nodes(stage, group))
        before, suspects = len(self.named), set()
        split: dict = {}  # groups that end in single units and have no slow half -> rate
        while slow:
            slow = yield from self._halve(stage, slow, good, suspects, split)
        named = yield from self._confirm(stage, suspects, good)
        between = {group: rate for group, rate in split.items() if not named & set(group) and good.issuperset(group)}
        if between:
            yield from self._between(stage, between)
        if forced and len(self.named) == before:
            self.uniform.append(stage.name)

    def _halve(self, stage, slow, good, suspects, split):
        """The halves that are slow: both halves of each slow group run at once; single units wait for the confirmation."""
        halves = {group: _parts(group) for group in slow}
        tested = [half for pair in halves.values() for half in pair if len(half) > 1]
        rates = (yield from self._launch(stage, tested)) if tested else {}
        self._refer(stage, rates.values())
        pending, between = {}, {}
        for group, pair in halves.items():
            bad = [half for half in pair if len(half) > 1 and self._slow(stage, rates[half], slow[group])]
            for half in pair:
                if len(half) == 1:
                    suspects.update(half)
                elif rates[half] == NOT_RUN:
                    self.untested.update(self._nodes(stage, half))
                elif half not in bad:
                    good.update(half)
            pending.update({half: rates[half] for half in bad})
            if not bad:
                (split if min(map(len, pair)) == 1 else between)[group] = slow[group]
        if between:
            yield from self._between(stage, between)
        return pending

    def _confirm(self, stage, suspects, good):
        """Each suspect with good partners, another one each time: slow with TIMES of them is named, fast with one is cleared."""
        seen: dict = {unit: [] for unit in sorted(suspects)}
        used: dict = {unit: set() for unit in sorted(suspects)}
        while True:
            open_ones = [unit for unit in seen if unit not in good and len(seen[unit]) < TIMES]
            helpers = sorted(good, key=lambda unit: (sum(unit in partners for partners in used.values()), unit))
            pairs = []
            for unit in open_ones:
                partner = next((one for one in helpers if one not in used[unit]), None)
                if partner is not None:
                    helpers.remove(partner)
                    used[unit].add(partner)
                    pairs.append((unit, partner))
            alone = [unit for unit in open_ones if not any(unit in pair for pair in pairs)]
            if not good:  # nobody is beyond doubt: they try each other
                pairs = [(one, other) for one, other in zip(alone[::2], alone[1::2]) if other not in used[one]]
                for one, other in pairs:
                    used[one].add(other)
                    used[other].add(one)
            if not pairs:
                break
            rates = yield from self._launch(stage, pairs)
            self._refer(stage, rates.values())
            for (unit, partner), rate in rates.items():
                if rate == NOT_RUN:
                    seen[unit].append(NOT_RUN)
                elif self._slow(stage, rate):
                    seen[unit].append(rate)
                    if partner in suspects and partner not in good:
                        seen[partner].append(rate)
                else:
                    good.update((unit, partner))
        named, equal = set(), False
        for unit in sorted(suspects - good):
            slow = [rate for rate in seen[unit] if rate != NOT_RUN]
            if len(slow) >= TIMES and good:
                self._name(stage, [unit], slow, used[unit])
                named.add(unit)
            elif slow and not good:
                equal = True
            else:
                self.untested.update(stage.units[unit])
        self.uniform += [stage.name] if equal else []
        return named

    def _again(self, stage, slow):
        """Groups that need no partner: slow twice is named."""
        rates = (yield from self._launch(stage, list(slow))) if slow else {}
        for group, rate in rates.items():
            if rate != NOT_RUN and self._slow(stage, rate):
                self._name(stage, group, [slow[group], rate], ())
            elif rate == NOT_RUN:
                self.untested.update(node for unit in group for node in stage.units[unit])
            else:
                self.passing.append({"name": group[0], "stage": stage.name, "nodes": stage.units[group[0]]})

    def _between(self, stage, groups):
        """Slow groups with two fast halves: once more, then the two units between which they are slow."""
        rates = yield from self._launch(stage, list(groups))
        open_ones = []
        for group, rate in rates.items():
            if self._slow(stage, rate):
                open_ones.append((*_parts(group), rate))
            elif self._slow(stage, groups[group]):
                self.passing.append({"name": f"{group[0]} … {group[-1]}", "stage": stage.name, "nodes": self._nodes(stage, group)})
        while open_ones:
            tested = {}
            for one, other, rate in open_ones:
                for part in _parts(one):
                    for peer in _parts(other):
                        tested[part + peer] = (part, peer, rate)
            rates = {}
            for batch in _disjoint(list(tested)):
                rates.update((yield from self._launch(stage, batch)))
            following = []
            for one, other, rate in open_ones:
                worse = [
                    (part, peer, rates[part + peer])
                    for part in _parts(one)
                    for peer in _parts(other)
                    if rates[part + peer] != NOT_RUN and self._slow(stage, rates[part + peer], rate)
                ]
                if not worse or (len(one) == 1 and len(other) == 1):
                    self._name(stage, [*one, *other], [groups.get(one + other, rate), rate], (), between=(one, other))
                else:
                    following += worse
            open_ones = following

    def _rails(self, named, good):
        """Named nodes, rail by rail with a good partner: a single rail, or the node as a whole."""
        open_ones = {one["nodes"][0]: tuple(self.plan["rails"]) for one in named}
        partners = dict(zip(open_ones, sorted(good)))
        open_ones = {node: rails for node, rails in open_ones.items() if node in partners and len(rails) > 1}
        whole = self.reference.get("scale_out") or 0.0
        every = len(self.plan["rails"])
        while open_ones:
            found: dict = {node: [] for node in open_ones}
            for side in (0, 1):
                halves = {node: _parts(rails)[side] for node, rails in open_ones.items()}
                launches = [Launch("rails", tuple(sorted((node, partners[node]))), rails) for node, rails in halves.items()]
                rates = yield from self._send(launches)
                for (node, rails), rate in zip(halves.items(), rates):
                    if rate is None or (rate != NOT_RUN and rate < NEAR * whole * len(rails) / every):
                        found[node].append(rails)
            following = {}
            for node, bad in found.items():
                if len(bad) == 1 and len(bad[0]) > 1:
                    following[node] = bad[0]
                elif len(bad) == 1:
                    entry = next(one for one in self.named if one["kind"] == "node" and one["nodes"] == [node])
                    entry.update(kind="rail", rail=bad[0][0], name=f"{node} {bad[0][0]}")
            open_ones = following

    # --- what all of them need ----------------------------------------------------------------------------------------------------------

    def _nodes(self, stage, group):
        return [node for unit in group for node in stage.units[unit]]

    def _launch(self, stage, groups):
        rates = yield from self._send([Launch(stage.name, tuple(self._nodes(stage, group))) for group in groups])
        return dict(zip(groups, rates))

    def _send(self, launches):
        self.launches += len(launches)
        rates = yield launches
        if len(rates) != len(launches):
            raise ValueError(f"{len(launches)} launches were asked for, and {len(rates)} outcomes given")
        return rates

    def _refer(self, stage, rates):
        """The reference of a stage: its floor, else the upper middle of its first groups, else the best seen."""
        known = sorted(rate for rate in rates if rate is not None and rate != NOT_RUN)
        if stage.floor is not None:
            self.reference[stage.name] = stage.floor / NEAR
        elif known:
            best = known[(3 * len(known)) // 4] if len(known) > 3 else known[-1]
            self.reference[stage.name] = max(best, self.reference.get(stage.name, 0.0))

    def _slow(self, stage, rate, parent=None) -> bool:
        if rate is None:
            return True
        if rate == NOT_RUN:
            return False
        if rate < NEAR * self.reference.get(stage.name, 0.0):
            return True
        return stage.floor is None and parent is not None and rate <= BETTER * parent

    def _name(self, stage, units, rates, partners, between=None):
        nodes, known = self._nodes(stage, units), [rate for rate in rates if rate is not None]
        kind = "path" if between else self.plan["kinds"].get(units[0], "node")
        self.named.append(
            {
                "kind": kind,
                "name": " – ".join(f"{side[0]} … {side[-1]}" if len(side) > 1 else side[0] for side in between) if between else units[0],
                "nodes": nodes,
                "rail": None,
                "stage": stage.name,
                "busbw_gbytes_s": max(known) if known else None,
                "reference_gbytes_s": self.reference.get(stage.name),
                "hangs": len(known) < len(rates),
                "partners": sorted(partners),
            }
        )


def _parts(group):
    """Both halves, or the one unit that there is."""
    middle = (len(group) + 1) // 2
    return [part for part in (group[:middle], group[middle:]) if part]


def _disjoint(groups) -> list[list]:
    """The groups in as few batches as it takes for no unit to stand twice in one."""
    batches: list = []
    for group in groups:
        for batch, busy in batches:
            if not busy & set(group):
                batch.append(group)
                busy |= set(group)
                break
        else:
            batches.append(([group], set(group)))
    return [batch for batch, _ in batches]
