"""What holds for every ledger: more downtime never gives less credit, a stricter tier never less than a laxer one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from accept_judge.sla import figures, intervals, months, review
from accept_judge.sla.definitions import SERVICES, Cluster
from accept_judge.sla.ledger import EXCLUSIONS, OUTAGES, TIMES, Event
from hypothesis import given, settings
from hypothesis import strategies as st
from sla_desk import LOADED

MONTH = months.month("2026-11", "UTC")
HOUR = intervals.HOUR
CLUSTERS = [Cluster("c1", {"r1": ["n1", "n2", "n3", "n4"]}, Decimal("999.99"), {s: Decimal(100) for s in SERVICES})]
PLACES = [*(("node", f"n{n}") for n in range(1, 5)), ("rack", "r1"), ("cluster", "c1"), ("site", "s"), *((s, "c1") for s in SERVICES)]
REVIEW = {"id": "s", "definition": "nvl72"}


@st.composite
def events(draw, kinds=(*OUTAGES, *EXCLUSIONS)):
    level, unit = draw(st.sampled_from(PLACES))
    start = MONTH.start + draw(st.integers(-20, 719)) * HOUR
    end = start + draw(st.integers(1, 200)) * HOUR // draw(st.sampled_from([1, 7, 60]))
    given = {"onset": start, "verified": end, "announced": draw(st.sampled_from([None, start - 400 * HOUR]))}
    return Event("e", level, unit, draw(st.sampled_from(kinds)), tuple(given.get(name) for name in TIMES), "")


RULES = st.fixed_dictionaries(
    {
        "degraded_is_down": st.booleans(),
        "group_degraded_is_down": st.booleans(),
        "draining_is_down": st.booleans(),
        "service_outage_downs_nodes": st.booleans(),
        "excluded_from_denominator": st.booleans(),
        "unexcused_maintenance_is_down": st.booleans(),
        "nvl64_excluded_counts": st.booleans(),
        "nvl64_degraded_counts": st.booleans(),
        "minimum_event_s": st.sampled_from([0, 7200]),
        "credit_base": st.sampled_from(["node_fee", "month_fee"]),
    }
)


def account(found, rules, tier="gold"):
    return review.account(found, REVIEW, CLUSTERS, MONTH, LOADED.rules(REVIEW, rules), LOADED.tiers[tier])


@settings(max_examples=80, deadline=None)
@given(st.lists(events(), max_size=8), st.lists(events(OUTAGES), min_size=1, max_size=3), RULES, st.sampled_from(list(LOADED.tiers)))
def test_more_downtime_never_gives_less_credit(found, more, rules, tier):
    before, after = account(found, rules, tier)["credit"], account(found + more, rules, tier)["credit"]
    assert all(Decimal(after[key]) >= Decimal(before[key]) for key in ("sum", "credit"))


@settings(max_examples=60, deadline=None)
@given(st.lists(events(), max_size=8), RULES)
def test_a_stricter_tier_never_credits_less(found, rules):
    sums = [Decimal(account(found, rules, tier)["credit"]["sum"]) for tier in LOADED.tiers]
    assert sums == sorted(sums)


@settings(max_examples=60, deadline=None)
@given(st.lists(events(), max_size=8), RULES)
def test_no_unit_is_down_longer_than_it_counts(found, rules):
    for row in account(found, {**rules, "excluded_from_denominator": True})["units"]:
        assert 0 <= row["down_us"] <= row["base_us"] <= MONTH.end - MONTH.start


PIECES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6)


@given(PIECES, PIECES, PIECES)
def test_sets_of_time_are_sets(one, two, three):
    def points(pieces):
        return {at for start, end in pieces for at in range(start, end)}

    assert points(intervals.union(one, two)) == points(one) | points(two)
    assert points(intervals.intersect(one, two)) == points(one) & points(two)
    assert points(intervals.subtract(one, two)) == points(one) - points(two)
    counts = [sum(at in points(pieces) for pieces in (one, two, three)) for at in range(41)]
    assert points(intervals.at_least([one, two, three], 2)) == {at for at, count in enumerate(counts) if count >= 2}
    assert intervals.length(one) == len(points(one))
    assert points(intervals.first(one, 5)) == set(sorted(points(one))[:5])


@given(st.fractions(0, 1), st.sampled_from(["99.9", "99.99", "99.5", "99.0"]))
def test_what_is_shown_is_never_more_than_what_is(share, edge):
    shown = Fraction(figures.percent(share))
    assert shown <= share * 100 < shown + Fraction(1, 1000)
    if figures.below(share, edge):
        assert shown < Fraction(edge)
