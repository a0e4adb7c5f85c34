"""Ledgers and review files that cannot be right: one line each, and no figure."""

from __future__ import annotations

import json

import pytest
import yaml
from accept_judge.documents import DocumentError
from accept_judge.sla import definitions, markdown
from sla_desk import STANDARDS, Desk, event

DAY = "2026-11-10T"


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def refused(desk, rows, **changes) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        desk.review(rows, **changes)
    return caught.value.errors


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (event("a", f"{DAY}00:00:00", f"{DAY}01:00:00Z"), "onset: '2026-11-10T00:00:00' has no time zone"),
        (event("a", f"{DAY}00:00:00Z", "tomorrow"), "verified: 'tomorrow' is no time in ISO 8601"),
        (event("a", "2026-02-29T00:00:00Z", f"{DAY}01:00:00Z"), "onset: '2026-02-29T00:00:00Z' is no time in ISO 8601"),
        (event("a", f"{DAY}00:00:00Z", ""), "a: is open-ended: no verified time"),
        (event("a", f"{DAY}00:00:00Z", "", schedulable=f"{DAY}01:00:00Z"), "schedulable is no proof"),
        (event("a", "", f"{DAY}01:00:00Z"), "a: has no start"),
        (event("a", f"{DAY}01:00:00Z", f"{DAY}01:00:00Z"), "not after its start"),
        (event("a", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z"), "is not in 2026-11 (UTC)"),
        (event("a", "2026-12-01T00:00:00Z", "2026-12-02T00:00:00Z"), "is not in 2026-11 (UTC)"),
        (event("a", f"{DAY}00:00:00Z", f"{DAY}01:00:00Z", detected=f"{DAY}02:00:00Z"), "later than its end"),
        (event("a", f"{DAY}00:00:00Z", f"{DAY}01:00:00Z", unit="n9"), "unit: 'n9' is no node of this review"),
        (event("a", f"{DAY}00:00:00Z", f"{DAY}01:00:00Z", kind="slow"), "kind: 'slow' is none of down"),
        (event("a", f"{DAY}00:00:00Z", f"{DAY}01:00:00Z", who="me"), "unknown key 'who'"),
        (event("a", "", f"{DAY}01:00:00Z", kind="maintenance", ticket=f"{DAY}00:00:00Z"), "a: has no start: no onset"),
        (event("a", "0001-01-01T00:00:00+14:00", f"{DAY}01:00:00Z"), "is out of range"),
        (event("a\ud800", f"{DAY}00:00:00Z", f"{DAY}01:00:00Z"), "is not printable"),
        (event("a\nb", f"{DAY}00:00:00Z", f"{DAY}01:00:00Z"), "is not printable"),
        (event("", f"{DAY}00:00:00Z", f"{DAY}01:00:00Z"), "id: is empty"),
    ],
)
def test_an_event_that_cannot_be_right_is_one_line(desk, row, line):
    errors = refused(desk, [row])
    assert len(errors) == 1
    assert line in errors[0]
    assert "provider.json: event 1: " in errors[0]


def test_the_same_said_twice_is_refused_and_touching_is_not(desk):
    rows = [event("a", f"{DAY}00:00:00Z", f"{DAY}02:00:00Z"), event("b", f"{DAY}01:00:00Z", f"{DAY}03:00:00Z")]
    assert refused(desk, rows)[0].endswith("b: overlaps a, also down of node n1")
    rows[1]["onset"] = f"{DAY}02:00:00Z"
    assert desk.review(rows)["ledgers"]["provider"]["groups"][0]["down_h"] == "3"
    assert "stands already" in refused(desk, [rows[0], {**rows[1], "id": "a"}])[0]


def test_faults_of_both_ledgers_are_told_together(desk):
    bad = event("a", f"{DAY}00:00:00Z", "")
    with pytest.raises(DocumentError) as caught:
        desk.review([bad, {**bad, "id": "b"}], [bad])
    assert len(caught.value.errors) == 3


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[{]", '[{"id": "a", "id": "b"}]', "id,level\n", '"', "\x00"])
def test_what_is_no_ledger_is_refused(desk, text):
    for name in ("provider.json", "provider.csv"):
        path = desk.folder / name
        path.write_text(text)
        with pytest.raises(DocumentError):
            review_of(desk, path)


def review_of(desk, path):
    from accept_judge.sla import review

    return review.build(desk.file(), STANDARDS, "2026-11", {"provider": path})


def test_csv_and_json_say_the_same(desk):
    rows = [event("a", f"{DAY}00:00:00Z", f"{DAY}02:00:00Z", note="fan | tray")]
    path = desk.folder / "provider.csv"
    path.write_text(
        "# by hand\nid,level,unit,kind,onset,verified,note\n"
        + ",".join(rows[0][k] for k in ("id", "level", "unit", "kind", "onset", "verified", "note"))
        + "\n"
    )
    assert review_of(desk, path)["ledgers"] == desk.review(rows)["ledgers"]
    path.write_text("id,level,unit,kind,onset,verified\n")  # a month without events is a good month
    assert review_of(desk, path)["ledgers"]["provider"]["groups"][0]["availability_pct"] == "100.000"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"tier": "platinum"}, "tier: platinum is none of bronze, silver, gold"),
        ({"timezone": "Mars/Base"}, "timezone: Mars/Base is unknown"),
        ({"overrides": {"nvl64_down_at": 4}}, "overrides: nvl64_down_at: definition hgx8 has no such rule"),
        ({"overrides": {"grace_s": 4}}, "unknown key grace_s"),
        ({"definition": "nvl72", "nodes": 17}, "rack r1: 17 nodes, nvl64_trays says 18"),
        ({"history": [{"month": "2026-10", "cluster": "c9", "availability_pct": "99"}]}, "history: c9: no such cluster"),
        ({"history": [{"month": "2026-10", "cluster": "c1", "availability_pct": "101"}]}, "history.0.availability_pct"),
        ({"month": "9999-12"}, "is no month YYYY-MM"),
        ({"month": "2026-13"}, "is no month YYYY-MM"),
    ],
)
def test_a_review_that_contradicts_itself_is_refused(desk, changes, line):
    assert line in refused(desk, [], **changes)[0]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda tiers: tiers[0]["guarantees"]["node"].reverse(), "thresholds must fall and credits rise"),
        (lambda tiers: tiers.reverse(), "credits less than the laxer"),
        (lambda tiers: tiers[0]["claim_days"].pop("source"), "source"),
    ],
)
def test_tiers_that_are_not_monotonic_or_have_no_source_are_refused(tmp_path, change, line):
    for kind in ("sla", "schema"):
        (tmp_path / kind).mkdir()
        for path in (STANDARDS / kind).glob("*.*"):
            (tmp_path / kind / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "sla" / "tiers.yml"
    data = yaml.safe_load(path.read_text())
    change(data["tiers"])
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(DocumentError, match=line):
        definitions.load(tmp_path)


def test_a_review_reads_as_tables_whatever_a_ledger_says(desk):
    rows = [event("a|<b>", f"{DAY}00:00:00Z", f"{DAY}02:00:00Z")]
    review = desk.review(rows, [])
    text = markdown.render(json.loads(json.dumps(review)))
    line = next(line for line in text.splitlines() if line.startswith("| missing"))
    assert "a\\|&lt;b>" in line
    assert "1 − 2/720 = 99.722 %, below 99.9 %: 10 % of 1000.00 = 100.00" in text


def test_the_audit_and_the_review_promise_the_same_availability():
    """The tiers of standards/tiers and those of standards/sla are one promise."""
    for name, tier in definitions.load(STANDARDS).tiers.items():
        told = yaml.safe_load((STANDARDS / "tiers" / f"{name}.yml").read_text())["values"]["sla.node_availability_pct"]["value"]
        assert float(tier["guarantees"]["node"][0]["below_pct"]["value"]) == told
