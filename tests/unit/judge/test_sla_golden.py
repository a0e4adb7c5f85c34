"""Months worked by hand. The arithmetic stands beside each case."""

from __future__ import annotations

import datetime

import pytest
from accept_judge.sla import months
from sla_desk import Desk, event, unit

HOUR = 3_600_000_000


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def at(hour: float) -> str:
    """A point of 10 November 2026, in UTC."""
    return (datetime.datetime(2026, 11, 10, tzinfo=datetime.UTC) + datetime.timedelta(hours=hour)).isoformat()


def tray(number: int, start, end, **more) -> dict:
    return event(f"t{number}-{start}", at(start), at(end), unit=f"n{number}", **more)


TWO = [tray(1, 0, 10), tray(2, 0, 10)]


@pytest.mark.parametrize(
    ("rows", "tray_hours"),
    [
        (TWO, 20),  # two trays, ten hours each: the rack is up
        ([*TWO, tray(3, 4, 6)], 52),  # 2 h × 18 + 8 h × 2
        ([*TWO, tray(3, 4, 6), tray(4, 5, 6)], 52),  # a fourth inside the same two hours adds nothing: the whole rack is down already
        ([*TWO, tray(3, 4, 6), tray(4, 5, 7)], 68),  # three from 4 to 7: 3 h × 18 + 7 h × 2
    ],
)
def test_tray_hours(desk, rows, tray_hours):
    account = desk.account(rows, definition="nvl72", nodes=18)
    assert next(row for row in account["groups"] if row["level"] == "rack")["down_us"] == tray_hours * HOUR


@pytest.mark.parametrize(
    ("counts", "tray_hours"),
    [
        (False, 20),  # the third tray does not count: two trays for ten hours
        (True, 50),  # 2 h × 17, as its own two hours are excluded, and 8 h × 2
    ],
)
def test_an_excluded_tray_counts_towards_three_only_where_the_contract_says_so(desk, counts, tray_hours):
    rows = [*TWO, tray(3, 4, 6, kind="force_majeure")]
    account = desk.account(rows, definition="nvl72", nodes=18, overrides={"nvl64_excluded_counts": counts})
    switches = {row["nvl64_excluded_counts"]: row for row in account["nvl64"][0]["switches"] if not row["nvl64_degraded_counts"]}
    assert account["groups"][0]["down_us"] == tray_hours * HOUR
    assert {key: row["tray_us"] // HOUR for key, row in switches.items()} == {False: 20, True: 50}
    assert switches[counts]["chosen"]
    assert not switches[not counts]["chosen"]


def test_a_dead_nvlink_switch_tray_degrades_the_rack_and_downs_no_node(desk):
    account = desk.account([event("s", at(0), at(5), unit="r1", level="rack", kind="degraded")], definition="nvl72", nodes=18)
    assert account["groups"][0]["down_us"] == 0
    assert unit(account, "n7")["degraded_h"] == "5"


def test_99_896_is_not_99_9(desk):
    # 0.104 % of 720 h is 0.7488 h = 2695.68 s
    account = desk.account([event("a", "2026-11-10T00:00:00Z", "2026-11-10T00:44:55.680Z")])
    assert unit(account, "n1")["availability_pct"] == "99.896"
    assert [line["credit"] for line in account["credit_lines"]] == ["100.00"]


@pytest.mark.parametrize(
    ("end", "shown", "credit"),
    [("00:43:12", "99.900", "0.00"), ("00:43:12.000001", "99.899", "100.00")],  # 0.1 % of 720 h is 0.72 h = 43 min 12 s
)
def test_the_threshold_itself_is_kept_and_a_microsecond_more_is_not(desk, end, shown, credit):
    account = desk.account([event("a", "2026-11-10T00:00:00Z", f"2026-11-10T{end}Z")])
    assert unit(account, "n1")["availability_pct"] == shown
    assert account["credit"]["credit"] == credit


def test_excluded_time_leaves_both_sides(desk):
    rows = [
        event("m", at(0), at(8), kind="maintenance", announced="2026-10-20T00:00:00Z"),
        event("d", at(4), at(14)),  # 10 h, 4 of them in the maintenance: 6 h down of 712 h
    ]
    row = unit(desk.account(rows), "n1")
    assert (row["down_h"], row["base_h"], row["availability_pct"]) == ("6", "712", "99.157")
    row = unit(desk.account(rows, overrides={"excluded_from_denominator": False}), "n1")
    assert (row["down_h"], row["base_h"], row["availability_pct"]) == ("6", "720", "99.166")


@pytest.mark.parametrize(
    ("announced", "down", "base"),
    [
        ("2026-10-27T00:00:00Z", "4", "712"),  # 14 days before: 8 of its 12 h are allowed, 4 are an outage
        ("2026-10-27T00:00:01Z", "12", "720"),  # a second late
        ("", "12", "720"),
    ],
)
def test_maintenance_is_excluded_as_far_as_it_was_announced_and_allowed(desk, announced, down, base):
    row = unit(desk.account([event("m", at(0), at(12), kind="maintenance", announced=announced)]), "n1")
    assert (row["down_h"], row["base_h"]) == (down, base)


@pytest.mark.parametrize(("zone", "down"), [("UTC", "2"), ("Europe/Berlin", "3"), ("America/New_York", "0")])
def test_an_event_is_cut_at_the_month_of_the_contract(desk, zone, down):
    rows = [event("a", "2026-10-31T22:00:00Z", "2026-11-01T02:00:00Z")]
    if zone == "America/New_York":  # November begins at 04:00 UTC there: the event reaches it by nothing
        rows[0]["verified"] = "2026-11-01T04:00:00.000001Z"
    assert unit(desk.account(rows, timezone=zone), "n1")["down_h"] == down


@pytest.mark.parametrize(
    ("month", "zone", "length"),
    [
        ("2026-10", "Europe/Berlin", 745),
        ("2026-03", "Europe/Berlin", 743),
        ("2026-10", "UTC", 744),
        ("2028-02", "UTC", 696),
        ("2026-02", "UTC", 672),
        ("2100-02", "UTC", 672),
        ("2026-12", "UTC", 744),
    ],
)
def test_months_are_as_long_as_they_are(month, zone, length):
    found = months.month(month, zone)
    assert found.end - found.start == length * HOUR


def test_an_hour_that_the_clock_shows_twice_is_an_hour(desk):
    rows = [event("a", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00")]
    row = unit(desk.review(rows, month="2026-10", timezone="Europe/Berlin")["ledgers"]["provider"], "n1")
    assert (row["down_h"], row["base_h"]) == ("1", "745")


def test_overlaps_of_levels_and_kinds_count_once(desk):
    rows = [event("a", at(0), at(10)), event("b", at(5), at(12), unit="r1", level="rack"), event("c", at(11), at(13), kind="degraded")]
    account = desk.account(rows)
    assert (unit(account, "n1")["down_h"], unit(account, "n2")["down_h"]) == ("13", "7")
    assert account["groups"][0]["down_h"] == "20"


def test_the_earliest_sign_begins_an_event_and_draining_is_none(desk):
    rows = [
        event("a", at(2), at(4), detected=at(3), ticket=at(1), schedulable=at(3.5)),
        event("b", at(5), at(9), kind="draining"),
    ]
    assert unit(desk.account(rows), "n1")["down_h"] == "3"
    assert unit(desk.account(rows, overrides={"start": "detected", "end": "schedulable"}), "n1")["down_h"] == "0.5"
    assert unit(desk.account(rows, overrides={"draining_is_down": True}), "n1")["down_h"] == "7"


def test_services_have_classes_of_their_own(desk):
    rows = [event("a", at(0), at(1), unit="c1", level="storage"), event("b", at(0), at(8), unit="c1", level="fabric", kind="degraded")]
    account = desk.account(rows)
    # storage 719/720 = 99.861 %, below 99.99: 10 % of 500; fabric 712/720 = 98.888 %, below 99.0: 25 % of 200
    assert [(line["level"], line["credit"]) for line in account["credit_lines"]] == [("storage", "50.00"), ("fabric", "50.00")]
    assert account["groups"][0]["down_us"] == 0
    assert desk.account(rows, overrides={"service_outage_downs_nodes": True})["groups"][0]["down_h"] == "2"


def test_bands_are_not_cumulative_and_the_cap_holds(desk):
    rows = [event("a", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", unit="c1", level="cluster")]
    credit = desk.account(rows, tier="bronze")["credit"]
    # two nodes wholly down: 100 % of 1000 each; the month costs 2 × 1000 + 800, half of it is the cap
    assert (credit["sum"], credit["cap"], credit["credit"], credit["capped"]) == ("2000.00", "1400.00", "1400.00", True)


def test_a_month_excluded_as_a_whole_is_not_measurable_and_never_100_pct(desk):
    account = desk.account([event("a", "2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z", kind="suspension")])
    assert unit(account, "n1")["availability_pct"] is None
    assert "nothing to measure" in account["credit_lines"][0]["step"]


def test_a_credit_by_the_month_goes_by_the_whole_cluster(desk):
    # 16 h of 1440 node-hours: 98.888 %, below 99.0: 30 % of 2000; by node it is 30 % of one node (704/720 = 97.777 %)
    rows = [event("a", at(0), at(16))]
    assert desk.account(rows, overrides={"credit_base": "month_fee"})["credit"]["credit"] == "600.00"
    assert desk.account(rows)["credit"]["credit"] == "300.00"


@pytest.mark.parametrize(("day", "state"), [("2026-12-14", "open"), ("2026-12-15", "lapsed"), (None, "unknown")])
def test_claims_lapse(desk, day, state):
    as_of = day and datetime.date.fromisoformat(day)
    claim = desk.review([], tier="silver", as_of=as_of)["ledgers"]["provider"]["claim"]
    assert (claim["last_day"], claim["state"]) == ("2026-12-14", state)


@pytest.mark.parametrize(
    ("earlier", "state"),
    [
        ([("2026-10", "97.9")], "met"),  # with this month's 97.777 % two of six
        ([("2026-10", "98.0")], "open"),  # the threshold is kept; four months are not known
        ([(f"2026-{n:02d}", "99.0") for n in range(6, 11)], "not met"),
        ([("2026-05", "10.0")] + [(f"2026-{n:02d}", "99.0") for n in range(6, 11)], "not met"),  # too long ago
    ],
)
def test_termination_looks_back_over_months(desk, earlier, state):
    rows = [event("a", at(0), at(16), unit="r1", level="rack")]
    history = [{"month": month, "cluster": "c1", "availability_pct": pct} for month, pct in earlier]
    triggers = desk.account(rows, history=history)["termination"]
    assert [trigger["state"] for trigger in triggers] == [state, "not met"]


def test_events_a_month_that_a_tier_tolerates(desk):
    rows = {(row["tier"], row["minutes"]): row for row in desk.review([])["tolerance"] if row["level"] == "node"}
    assert rows["gold", 60]["one_leaves_pct"] == "99.861"
    assert rows["gold", 520]["one_leaves_pct"] == "98.796"
    # 0.1, 0.5 and 1 % of 720 h: 0.72, 3.6 and 7.2 h
    assert [rows[tier, 60]["tolerated"] for tier in ("gold", "silver", "bronze")] == [0, 3, 7]


def test_two_ledgers(desk):
    provider = [event("p1", at(0), at(2)), event("p2", at(5), at(6)), event("p3", at(9), at(10), unit="n2")]
    customer = [event("k1", at(0), at(2)), event("k2", at(4), at(6)), event("k4", at(20), at(21), unit="n2")]
    review = desk.review(provider, customer)
    rows = review["comparison"]["events"]
    assert [(row["state"], row["id"]) for row in rows] == [("agreed", "p1"), ("disputed", "p2"), ("missing", "p3"), ("missing", "k4")]
    assert "start 2026-11-10T05:00:00Z against 2026-11-10T04:00:00Z" in rows[1]["detail"]
    times = {
        row["unit"]: [row[key] // HOUR for key in ("agreed_us", "provider_only_us", "customer_only_us")]
        for row in review["comparison"]["times"]
    }
    assert times == {"n1": [3, 0, 1], "n2": [0, 1, 1]}


def test_an_outage_that_the_other_calls_maintenance_is_disputed(desk):
    provider = [event("p1", at(0), at(2), kind="maintenance", announced="2026-10-01T00:00:00Z")]
    rows = desk.review(provider, [event("k1", at(0), at(2))])["comparison"]["events"]
    assert [(row["state"], row["id"]) for row in rows] == [("disputed", "p1")]
    assert "kind maintenance against down" in rows[0]["detail"]


def test_what_if_shows_every_other_tier_and_definition(desk):
    cases = desk.review([event("a", at(0), at(5))], what_if=[{"title": "short ones are free", "rules": {"minimum_event_s": 18001}}])[
        "what_if"
    ]
    # 5 of 720 h: 99.305 %: silver 10 %, bronze none
    assert {case["title"]: case.get("provider", {}).get("credit") for case in cases} == {
        "tier Bronze": "0.00", "tier Silver": "100.00", "definition nvl72, without overrides": None,
        "short ones are free": "0.00"}  # fmt: skip
    assert "has not 18 trays" in cases[2]["not_possible"]


def test_the_ticket_of_a_maintenance_does_not_begin_it(desk):
    rows = [event("m", at(0), at(2), kind="maintenance", announced="2026-10-20T00:00:00Z", ticket="2026-10-20T00:00:00Z")]
    assert unit(desk.account(rows), "n1")["excluded_h"] == "2"


def test_the_same_files_give_the_same_review_wherever_they_lie(desk, tmp_path):
    other = Desk(tmp_path / "other")
    other.folder.mkdir()
    rows = [event("a", at(0), at(1))]
    review = desk.review(rows, rows)
    assert other.review(rows, rows) == review
    assert [one["what"] for one in review["inputs"]] == ["review", "provider", "customer", "standards", "standards", "standards"]
