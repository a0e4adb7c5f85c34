"""What tiles, rules and receivers amount to: old values that look new, rules that cannot fire, and what is not known."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from accept_judge import standards
from accept_judge.analysis import monitoring_audit
from accept_node import monitored

STANDARDS = standards.load(Path(__file__).resolve().parents[3] / "standards")
CATALOGUE = STANDARDS.catalogs["monitoring"]
TILE = {
    "dashboard": "Fleet",
    "panel": "GPUs",
    "type": "stat",
    "query": "q",
    "series": ["gpu_x"],
    "labels": [],
    "aggregated": True,
    "masks": [],
}
TILE |= {"joins": "", "absent": False, "keeps_s": None, "no_value": None, "result": 1}
RULE = {
    "by": "prometheus",
    "name": "Xid",
    "query": "DCGM_FI_DEV_XID_ERRORS > 0",
    "series": ["gpu_x"],
    "labels": [],
    "masks": [],
    "joins": "",
}
RULE |= {"absent": False, "health": "ok", "state": "inactive", "firing": 0, "evaluated_age_s": 10.0, "no_data": None, "paused": False}
FRESH, OLD = [[0, 4]], [[540, 4]]


def run(hosts=4, **attestations):
    context = {"attestations": attestations}
    return SimpleNamespace(standards=STANDARDS, context=context, hosts=("n",) * hosts, envelope={"reason": "no access"})


def series(ages, selector="gpu_x", narrowed=False):
    return [{"selector": selector, "narrowed": narrowed, "ages": ages}]


def analysed(tiles=(TILE,), rules=(RULE,), of_series=None, **more):
    data = {
        "asked": ["prometheus", "grafana"],
        "prometheus": {"version": "3", "targets": [], "alertmanagers": 1, "rules_read": True},
        "alertmanager": None,
        "grafana": {"version": "12", "dashboards": ["Fleet"], "dashboards_left_out": 0, "contacts": ["email"], "rules_read": True},
        "tiles": list(tiles),
        "tiles_left_out": 0,
        "rules": list(rules),
        "series": series(FRESH) if of_series is None else of_series,
        **more,
    }
    return monitoring_audit.analyse(data, run())


@pytest.mark.parametrize("entry", CATALOGUE["shows"], ids=lambda entry: entry["what"])
def test_examples_of_series_are_looked_at_and_known(entry):
    for example in entry["examples"]:
        assert monitored.METRIC.search(example), example
        assert re.search(entry["series"], example), example


@pytest.mark.parametrize("entry", CATALOGUE["alerts"], ids=lambda entry: entry["what"])
def test_examples_of_rules_are_known(entry):
    for example in entry["examples"]:
        assert re.search(entry["query"], example), example


@pytest.mark.parametrize(
    ("changed", "ages", "shown"),
    [
        ({}, FRESH, 0.0),
        ({}, OLD, 32400.0),  # it still gives a value
        ({"result": 0}, OLD, 0.0),  # it says that there is nothing
        ({"result": 0, "keeps_s": 43200}, OLD, 32400.0),  # the last value of twelve hours
        ({"result": 0, "keeps_s": 21600}, OLD, 0.0),  # of six hours: gone by now
        ({"result": 0, "no_value": "OK"}, OLD, 32400.0),
        ({"result": 0, "no_value": "No data"}, OLD, 0.0),
        ({"absent": True}, OLD, 0.0),
        ({}, [], 86400.0),  # none in a day
        ({"result": None}, FRESH, 0.0),
    ],
)
def test_how_old_is_what_a_tile_shows(changed, ages, shown):
    assert analysed([{**TILE, **changed}], of_series=series(ages))["tiles_judged"][0]["shown_age_s"] == shown


@pytest.mark.parametrize(
    ("changed", "of_series", "reason"),
    [
        ({"result": None}, series(OLD), "what its query still gives could not be asked"),
        ({}, series(None), "could not be asked"),
        ({}, series(FRESH, narrowed=True), "labels that are not ours"),
        ({"series": []}, series(FRESH), "reads no series"),
    ],
)
def test_a_tile_of_which_too_little_is_known_is_not_measured(changed, of_series, reason):
    (tile,) = analysed([{**TILE, **changed}], of_series=of_series)["tiles_judged"]
    assert tile["shown_age_s"] is None
    assert reason in tile["shown_age_s_reason"]


def test_joined_by_or_the_youngest_counts_else_the_oldest():
    both = [*series(FRESH, "gpu_a"), *series(OLD, "gpu_b")]
    for joins, age in (("or", 0.0), ("", 32400.0), ("and", 32400.0)):
        (tile,) = analysed([{**TILE, "series": ["gpu_a", "gpu_b"], "joins": joins}], of_series=both)["tiles_judged"]
        assert tile["shown_age_s"] == age


@pytest.mark.parametrize(
    ("changed", "ages", "works"),
    [
        ({}, FRESH, "works"),
        ({}, OLD, "it cannot fire: its series ended 540 min ago"),
        ({}, [], "it cannot fire: its series had no sample in a day"),
        ({"absent": True}, OLD, "works"),
        ({"by": "grafana", "evaluated_age_s": None, "no_data": "Alerting"}, OLD, "works"),
        ({"by": "grafana", "evaluated_age_s": None, "no_data": "OK"}, OLD, "it cannot fire: its series ended 540 min ago"),
        ({"evaluated_age_s": None}, FRESH, "it was never evaluated"),
        ({"evaluated_age_s": 7200.0}, FRESH, "it was last evaluated 120 min ago"),
        ({"health": "err"}, FRESH, "its evaluation fails"),
        ({"paused": True}, FRESH, "it is paused"),
        ({}, None, None),
    ],
)
def test_rules(changed, ages, works):
    assert analysed(rules=[{**RULE, **changed}], of_series=series(ages))["rules_judged"][0]["works"] == works


def test_a_kind_of_alert_is_missing_only_where_all_rules_were_read():
    kinds = {one["what"]: one for one in analysed()["alert_kinds"]}
    assert kinds["errors of a GPU (XID, ECC, RAS)"]["rule"] == "found: Xid"
    assert kinds["a GPU that is gone"]["rule"] == "none"
    half = analysed(prometheus={"version": "3", "targets": [], "alertmanagers": 1, "rules_read": False}, rules=[])
    assert [one["rule"] for one in half["alert_kinds"]] == [None] * 4
    assert "Prometheus were not read" in half["alert_kinds"][0]["rule_reason"]


def test_a_paused_rule_is_no_alert():
    assert analysed(rules=[{**RULE, "paused": True}])["alert_kinds"][0]["rule"] == "none"


def test_nodes_that_are_not_heard():
    assert analysed(of_series=series([[0, 3], [190, 1]]))["nodes_silent"] == 1
    more = analysed(of_series=series([[0, 9]]))
    assert (more["nodes_silent"], "more than the 4 nodes" in more["nodes_silent_reason"]) == (None, True)
    assert analysed(of_series=series(FRESH, "slurm_nodes_down"))["nodes_silent"] is None


def manager(sends, sending=1):
    return {"version": "0.28", "receivers": 2, "sending": sending, "kinds": ["webhook"] * bool(sending), "default_sends": sends}


def test_who_gets_an_alert():
    none = {"version": "3", "targets": [], "alertmanagers": 0, "rules_read": True}
    assert analysed(alertmanager=manager(True))["alerts_sent"] == "sends: webhook"
    assert analysed(alertmanager=manager(False, 0))["alerts_sent"].startswith("no: none of 2 receivers")
    assert analysed(alertmanager=manager(False))["alerts_sent"] is None
    assert analysed()["alerts_sent"] is None
    assert analysed(prometheus=none)["alerts_sent"] == "no: Prometheus has no Alertmanager"
    assert analysed(prometheus=none, rules=[{**RULE, "by": "grafana"}])["alerts_sent"] is None  # only the contact point it comes with


def test_a_tile_shows_a_component_only_by_a_label_that_names_it():
    added_up = {**TILE, "series": ["DCGM_FI_DEV_XID_ERRORS"]}
    of_series = series(FRESH, "DCGM_FI_DEV_XID_ERRORS")
    for changed, shown in (({}, False), ({"labels": ["gpu"]}, True), ({"aggregated": False}, True)):
        first = analysed([{**added_up, **changed}], of_series=of_series)["shows"][0]
        assert first["shown"].startswith("shown") is shown


def test_a_tile_that_had_no_sample_in_a_day_shows_nothing_for_sure():
    tile = {**TILE, "series": ["slurm_jobs_running"]}
    found = {one["what"]: one for one in analysed([tile], of_series=series([], "slurm_jobs_running"))["shows"]}
    assert found["the jobs that it touches"]["shown"] is None


def test_without_access_the_providers_word_counts_and_is_asked_for():
    found = monitoring_audit.without_data(run())
    assert [one["shown"] for one in found["shows"]] == [None] * 4
    assert "monitoring_dashboards" in found["shows"][0]["shown_reason"]
    assert (found["tiles_judged"], found["tiles_judged_reason"]) == (None, "no access")
    word = {"holds": True, "by": "the provider", "date": "2026-11-20", "document": "monitoring"}
    found = monitoring_audit.without_data(run(monitoring_dashboards=word, monitoring_alerts={**word, "holds": False}))
    assert found["shows"][0]["shown"].startswith("holds: monitoring")
    assert found["alert_kinds"][0]["rule"].startswith("does not hold")
