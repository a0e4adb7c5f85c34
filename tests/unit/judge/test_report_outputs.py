"""Markdown, JUnit and CSV: golden files, and what their consumers rely on. All from the scorecard alone."""

from __future__ import annotations

import copy
import csv
import io
import json
import xml.etree.ElementTree as ET

import pytest
from accept_judge import report
from accept_judge.report.markdown import escape
from accept_judge.report.punch_list import COLUMNS, cell
from accept_judge.report.view import expand
from jsonschema import Draft202012Validator
from report_sample import FIXTURES, TEMPLATES, sample, synthetic

FILES = {"md": "report.md", "junit": "junit.xml", "csv": "punch_list.csv", "html": "report.html"}


def render(card, form) -> str:
    return report.render(card, TEMPLATES, [form])[FILES[form]]


@pytest.mark.parametrize("card", [sample(), synthetic(30, 8)], ids=["sample", "synthetic"])
def test_what_is_rendered_here_is_a_scorecard(root, card):
    schema = json.loads((root / "standards/schema/scorecard.json").read_text(encoding="utf-8"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(card)] == []


@pytest.mark.parametrize("form", ["md", "junit", "csv"])
def test_golden(form):
    assert render(sample(), form) == (FIXTURES / FILES[form]).read_text(encoding="utf-8")


def test_nothing_but_the_scorecard_is_needed(tmp_path):
    (tmp_path / "scorecard.json").write_text(json.dumps(sample()), encoding="utf-8")
    paths, changed = report.write(tmp_path, TEMPLATES)
    assert changed
    assert {form: tmp_path / name for form, name in FILES.items()} == {form: tmp_path / path for form, path in paths.items()}
    assert {path.name for path in tmp_path.iterdir()} == {"scorecard.json", *FILES.values()}
    assert report.write(tmp_path, TEMPLATES) == (paths, False)


def test_a_dry_run_writes_nothing(tmp_path):
    (tmp_path / "scorecard.json").write_text(json.dumps(sample()), encoding="utf-8")
    assert report.write(tmp_path, TEMPLATES, ["md"], dry=True)[1]
    assert [path.name for path in tmp_path.iterdir()] == ["scorecard.json"]


def test_a_full_disk_leaves_the_report_that_was_there(tmp_path, monkeypatch):
    (tmp_path / "scorecard.json").write_text(json.dumps(sample()), encoding="utf-8")
    (tmp_path / "report.md").write_text("before", encoding="utf-8")

    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space"):
        report.write(tmp_path, TEMPLATES, ["md"])
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"scorecard.json", "report.md"}


@pytest.mark.parametrize(
    ("text", "said"), [(None, "No such file"), ("{", "scorecard.json: "), ("[]", "schema None"), ('{"schema": 2}', "schema 2")]
)
def test_a_scorecard_that_cannot_be_read_is_one_line(tmp_path, text, said):
    if text is not None:
        (tmp_path / "scorecard.json").write_text(text, encoding="utf-8")
    with pytest.raises(report.ReportError, match=said) as caught:
        report.write(tmp_path, TEMPLATES)
    assert "\n" not in str(caught.value)


# JUnit


def cases(card) -> dict:
    root = ET.fromstring(render(card, "junit"))
    return {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}


def test_junit_has_a_case_for_each_row_and_its_sums_are_right():
    card = sample()
    root = ET.fromstring(render(card, "junit"))
    assert len(list(root.iter("testcase"))) == len(cases(card)) == 1 + sum(len(check["rows"]) for check in card["checks"])
    for element in [root, *root]:
        found = list(element.iter("testcase"))
        sums = {tag: sum(case.find(tag) is not None for case in found) for tag in ("failure", "error", "skipped")}
        named = {"tests": len(found), "failures": sums["failure"], "errors": sums["error"], "skipped": sums["skipped"]}
        assert {key: int(element.get(key)) for key in named} == named
    allowed = {"failure", "error", "skipped", "system-out"}
    assert all(len(case) <= 1 and {child.tag for child in case} <= allowed for case in root.iter("testcase"))


def test_junit_outcomes():
    found = cases(sample())
    for check in sample()["checks"]:
        for row in check["rows"]:
            case = found[check["concern"], f"{check['id']} [{row['nodes']}]"]
            grave = check["severity"] in ("blocker", "major")
            wanted = {"pass": [], "fail": ["failure"], "warn": ["failure"], "waived": ["skipped"], "not_applicable": ["skipped"]}
            wanted["not_measured"] = ["error"] if grave else ["skipped"]
            assert [child.tag for child in case] == wanted[row["verdict"]]


@pytest.mark.parametrize(("code", "tags"), [(0, ["system-out"]), (10, ["failure"]), (11, ["error"]), (13, ["error"])])
def test_the_decision_is_a_case_of_its_own(code, tags):
    card = sample()
    card["decision"]["exit_code"] = code
    assert [child.tag for child in cases(card)["verdict", "decision"]] == tags


def test_junit_survives_what_no_xml_may_hold():
    card = sample()
    for check in card["checks"]:
        for row in check["rows"]:
            row["actual"], row["reason"] = "\x00\x1b[31m ]]> &<\ud800", "a\nb\t\ufffe"
    ET.fromstring(render(card, "junit").encode("utf-8"))


# CSV


def table(card) -> list:
    return list(csv.DictReader(io.StringIO(render(card, "csv"))))


def test_the_punch_list_is_by_node_in_order_of_severity():
    lines = table(sample())
    assert list(lines[0]) == COLUMNS
    order = ["blocker", "major", "minor", "info"]
    nodes = list(dict.fromkeys(line["node"] for line in lines))
    blocks = [[line for line in lines if line["node"] == node] for node in nodes]
    assert [line for block in blocks for line in block] == lines
    ranks = [[order.index(line["severity"]) for line in block] for block in blocks]
    assert all(rank == sorted(rank) for rank in ranks)
    assert [rank[0] for rank in ranks] == sorted(rank[0] for rank in ranks)


def test_every_open_row_of_every_node_is_in_the_punch_list():
    listed = {(line["node"], check) for line in table(sample()) for check in line["check"].split()}
    wanted = {
        (host, check["id"])
        for check in sample()["checks"]
        for row in check["rows"]
        if row["verdict"] in ("fail", "warn", "not_measured")
        for host in expand(row["nodes"])
    }
    assert listed == wanted


def test_a_node_is_told_only_its_own_part_of_a_row_of_the_rack():
    lines = [line for line in table(sample()) if line["check"] == "inventory.nvlink_domain_same" and line["node"] == "gb300-17"]
    assert [line["items"] for line in lines] == ["gb300-17: c1f0…07/2"]


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3+cmd", "@SUM(A1)", "\t=1", "\n=1", " =1", "＝1+1", '=HYPERLINK("x")'])
def test_a_formula_is_disarmed(text):
    assert cell(text).startswith("'")
    assert cell(text)[1:] == text


@pytest.mark.parametrize("value", [-3, -2.5, "-4", "+12", "1e-3", "570.172.08", "GPU 3", True, None])
def test_numbers_and_words_stay_as_they_are(value):
    assert not cell(value).startswith("'")


def test_no_value_of_a_node_reaches_a_cell_as_a_formula():
    card = copy.deepcopy(sample())
    for check in card["checks"]:
        for row in check["rows"]:
            row["actual"], row["reason"] = "=cmd|'/C calc'!A0", "@SUM(1)"
            row["items"] = [{"label": "-1+1", "actual": "=2"} for _ in row["items"]]
    for line in table(card):
        assert not [value for value in line.values() if value[:1] in set("=+@-\t\r\n")]


# Markdown


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a|b\nc", r"a\|b c"),
        ("<script>", r"\<script\>"),
        ("[x](javascript:alert(1))", r"[x\](javascript:alert(1))"),
        ("# title", r"\# title"),
        ("b200-[01-04]", "b200-[01-04]"),
        ("busy_time _em_ **b** `c`", r"busy_time \_em\_ \*\*b\*\* \`c\`"),
        (None, ""),
        (True, "true"),
    ],
)
def test_markdown_escapes_what_would_be_markup(value, said):
    assert escape(value) == said


def test_markdown_tables_keep_their_columns():
    card = sample()
    for check in card["checks"]:
        for row in check["rows"]:
            row["actual"] = "a | b\n| c |"
    width = None
    for line in render(card, "md").splitlines():
        if not line.startswith("|"):
            width = None
            continue
        count = line.replace("\\|", "").count("|")
        assert width in (None, count), line
        width = count
