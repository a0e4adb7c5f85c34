"""Which time of which unit counts as down: union of overlaps, exclusions out, and NVL64+ for whole racks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from .definitions import SERVICES
from .intervals import HOUR, at_least, first, intersect, length, subtract, union
from .ledger import EXCLUSIONS


@dataclass
class Unit:
    """A node or a service in one month: sets of time within the month."""

    level: str
    name: str
    cluster: str
    rack: str | None
    month: list
    hard: list  # down, before exclusions
    soft: list  # degraded; `soft_counts` of it is downtime
    soft_counts: list
    excluded: list
    excluded_both: bool
    rack_down: list

    @property
    def counted(self) -> list:
        return subtract(union(self.hard, self.soft_counts, self.rack_down), self.excluded)

    @property
    def down(self) -> int:
        return length(self.counted)

    @property
    def base(self) -> int:
        return length(subtract(self.month, self.excluded) if self.excluded_both else self.month)

    @property
    def share(self) -> Fraction | None:
        return availability(self.down, self.base)


def availability(down: int, base: int) -> Fraction | None:
    """None where nothing is left to measure: all of the month is excluded."""
    return 1 - Fraction(down, base) if base else None


def units(events, clusters, site: str, month, rules: dict) -> list[Unit]:
    """Nodes in the order of their racks, then the services, of every cluster."""
    found = {}
    for event in events:
        found.setdefault((event.level, event.unit), []).append(event)
    out = []
    for cluster in clusters:
        wide = [("cluster", cluster.name), ("site", site)]
        services = [(service, cluster.name) for service in SERVICES]
        follow = services if rules["service_outage_downs_nodes"] else []
        for rack, nodes in cluster.racks.items():
            trays = [
                _unit("node", n, cluster.name, rack, [("node", n), ("rack", rack), *wide, *follow], found, month, rules) for n in nodes
            ]
            if "nvl64_down_at" in rules:
                together = rack_down(trays, rules)
                for tray in trays:
                    tray.rack_down = together
            out += trays
        out += [_unit(key[0], cluster.name, cluster.name, None, [key, ("site", site)], found, month, rules) for key in services]
    return out


def _unit(level, name, cluster, rack, keys, found, month, rules) -> Unit:
    events = [event for key in keys for event in found.get(key, ())]

    def pieces(*kinds, wider=None):
        spans = [event.span(rules) for event in events if event.kind in kinds and wider in (None, event.level != level)]
        least = rules["minimum_event_s"] * 1_000_000
        return [piece for piece in union(spans) if piece[1] - piece[0] >= least]

    notice = rules["maintenance_notice_h"] * HOUR
    planned = [event for event in events if event.kind == "maintenance"]
    told = [e.span() for e in planned if e.time("announced") is not None and e.span()[0] - e.time("announced") >= notice]
    allowed = first(intersect(told, month.piece), rules["maintenance_cap_h"] * HOUR)
    excluded = union(allowed, pieces(*(kind for kind in EXCLUSIONS if kind != "maintenance")))
    late = subtract([event.span() for event in planned], allowed) if rules["unexcused_maintenance_is_down"] else []
    hard = union(pieces("down"), pieces("draining") if rules["draining_is_down"] else [], late)
    soft_counts = union(
        pieces("degraded", wider=False) if rules["degraded_is_down"] else [],
        pieces("degraded", wider=True) if rules["group_degraded_is_down"] else [],
    )
    sets = [intersect(one, month.piece) for one in (hard, pieces("degraded"), soft_counts, excluded)]
    return Unit(level, name, cluster, rack, month.piece, *sets, rules["excluded_from_denominator"], [])


def rack_down(trays, rules) -> list:
    """The time in which so many trays are down at once that the whole rack is."""
    sets = []
    for tray in trays:
        own = union(tray.hard, tray.soft) if rules["nvl64_degraded_counts"] else tray.hard
        sets.append(union(own, tray.excluded) if rules["nvl64_excluded_counts"] else subtract(own, tray.excluded))
    return at_least(sets, rules["nvl64_down_at"])


def tray_hours(trays, rules) -> list[dict]:
    """Microseconds of tray-downtime of one rack under each setting of the switches; `chosen` marks the contract's."""
    rows = []
    for excluded, degraded in product((False, True), repeat=2):
        setting = {"nvl64_excluded_counts": excluded, "nvl64_degraded_counts": degraded}
        together = rack_down(trays, {**rules, **setting})
        total = sum(length(subtract(union(t.hard, t.soft_counts, together), t.excluded)) for t in trays)
        rows.append(
            {**setting, "rack_down_us": length(together), "tray_us": total, "chosen": all(rules[k] == v for k, v in setting.items())}
        )
    return rows
