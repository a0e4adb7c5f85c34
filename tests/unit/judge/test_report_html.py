"""report.html: complete, self-contained, reachable by keyboard and eye, and deaf to what a node would like to run."""

from __future__ import annotations

import base64
import copy
import hashlib
import itertools
import re
from urllib.parse import unquote

import pytest
from accept_judge import report
from accept_judge.report.view import expand
from report_page import Page
from report_sample import TEMPLATES, sample

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> \u202egpj.exe \x1b[31m\x00"


def render(card) -> str:
    return report.render(card, TEMPLATES, ["html"])["report.html"]


@pytest.fixture(scope="module")
def html() -> str:
    return render(sample())


@pytest.fixture(scope="module")
def page(html) -> Page:
    return Page(html)


def test_it_is_well_formed(page):
    assert (page.broken, page.stack) == ([], [])
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_verdict_its_code_and_every_reason_come_first(page):
    head = page.text[: page.text.index("Coverage", page.text.index("Exit code"))]
    for word in ["Rejected", "Exit code 10", *sample()["decision"]["reasons"]]:
        assert word in head


def test_every_row_that_did_not_pass_is_there(page):
    for check in sample()["checks"]:
        for row in check["rows"]:
            if row["verdict"] in ("fail", "warn", "waived", "not_measured"):
                assert check["id"] in page.text
                assert row["reason"] in page.text
            for item in row["items"]:
                assert item["label"] in page.text


def test_the_map_shows_every_node_and_concern(page):
    card = sample()
    cells = [
        attrs for attrs in page.all("td") if attrs.get("class") in ("pass", "fail", "warn", "not_measured", "waived", "not_applicable")
    ]
    concerns = {check["concern"] for check in card["checks"]}
    racks = sum(len(cluster["racks"]) for cluster in card["clusters"])
    assert len(cells) == (len(card["hosts"]) + racks) * len(concerns)


def test_links_lead_to_evidence_that_a_run_has(page):
    card = sample()
    hosts, concerns = {host["name"] for host in card["hosts"]}, {check["concern"] for check in card["checks"]}
    there = {f"facts/{host}/{concern}.json" for host in hosts for concern in concerns}
    there |= {"scorecard.json", "report.md", "junit.xml", "punch_list.csv"}
    files = [link for link in page.links() if not link.startswith("#")]
    assert {f"facts/{host}/" for row in _bad(card) for host in expand(row["nodes"])} <= {link.rpartition("/")[0] + "/" for link in files}
    assert set(map(unquote, files)) <= there
    ids = {attrs.get("id") for _, attrs in page.elements}
    assert {link[1:] for link in page.links() if link.startswith("#") and "=" not in link} <= ids


def _bad(card):
    return [row for check in card["checks"] for row in check["rows"] if row["verdict"] in ("fail", "warn", "not_measured", "waived")]


def test_nothing_is_fetched_from_anywhere(html, page):
    assert not re.search(r"url\(|@import|https?://|srcset|<link|<iframe", html)
    assert not any("src" in attrs for _, attrs in page.elements)
    policy = next(attrs["content"] for attrs in page.all("meta") if attrs.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    script = page.scripts[-1]
    assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy


def _poison(value, key=""):
    kept = {"verdict", "severity", "schema", "scope", "counts", "worst", "concerns", "exit_code", "sha256", "rows", "nodes"}
    if isinstance(value, dict):
        return {name: item if name in kept and not isinstance(item, list) else _poison(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_poison(item, key) for item in value]
    return value + HOSTILE if isinstance(value, str) else value


def test_values_of_nodes_are_words_and_never_markup():
    card = copy.deepcopy(sample())
    for check in card["checks"]:
        check["title"] += HOSTILE
        check["rows"] = _poison(check["rows"])
    for host in card["hosts"]:
        host["rack"] += HOSTILE
    card["run"] = _poison(card["run"])
    card["decision"]["reasons"] = _poison(card["decision"]["reasons"])
    card["causes"] = _poison(card["causes"])
    html, clean = render(card), Page(render(sample()))
    poisoned = Page(html)
    assert len(poisoned.all("script")) == len(clean.all("script"))
    assert not poisoned.all("img")
    assert not [attrs for _, attrs in poisoned.elements for name in attrs if name.startswith("on")]
    assert "<script>alert(1)</script>" in poisoned.text
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", html)
    assert not [link for link in poisoned.links() if ":" in link.partition("#")[0] or link.startswith("/")]


def test_an_evidence_path_stays_inside_the_run():
    card = sample()
    row = next(row for check in card["checks"] for row in check["rows"] if row["verdict"] == "fail")
    row["evidence"] = "javascript:alert(1)//../../../etc/passwd"
    links = Page(render(card)).links()
    assert "javascript%3Aalert%281%29/etc/passwd" in links


def test_a_demonstration_says_so_on_screen_and_on_every_sheet(html):
    live = sample()
    live["decision"]["demonstration"] = False
    for sign in ('class="banner"', 'class="watermark"', "@top-center"):
        assert sign in html
        assert sign not in render(live)


def test_headings_go_down_one_step_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_control_has_a_label(html):
    form = html[html.index('<form id="filter"') : html.index("</form>")]
    for control in re.findall(r"<(?:input|select)[^>]*>", form):
        assert re.search(r"<label>[^<]*$", form[: form.index(control)]), control


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1, 2], ids=["light", "dark", "print"])
def test_text_stands_out_from_its_ground(root, theme):
    css = (root / "roles/sla_score/files/report.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", re.findall(r":root \{(.*?)\}", css, re.S)[theme]))
    pairs = [("ink", "bg"), ("soft", "bg"), ("soft", "panel"), ("link", "bg"), ("fail", "panel"), ("fail", "bg")]
    pairs += [(verdict, verdict + "-bg") for verdict in ("fail", "not_measured", "warn", "waived", "pass", "not_applicable")]
    for front, back in pairs:
        light, dark = sorted((_luminance(colours[front]), _luminance(colours[back])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (front, back)


def test_long_values_are_cut_but_complete(page):
    long = next(row["actual"] for check in sample()["checks"] for row in check["rows"] if row["actual"] and len(str(row["actual"])) > 200)
    assert long in page.text
    assert {"class": "long"} in page.all("details")


def test_a_run_in_which_all_is_well_says_so():
    card = sample()
    card["checks"] = [check | {"rows": [row for row in check["rows"] if row["verdict"] == "pass"]} for check in card["checks"]]
    card |= {"causes": [], "contract": None}
    card["decision"] |= {"verdict": "accepted", "exit_code": 0, "reasons": [], "demonstration": False}
    text = Page(render(card)).text
    assert "Accepted" in text
    assert "Nothing failed, nothing is waived and everything that applies was measured." in text


def test_a_row_of_the_run_itself_names_no_node():
    card = sample()
    row = {
        "verdict": "fail",
        "nodes": "",
        "count": 1,
        "actual": 103,
        "wanted": 10,
        "wanted_from": "baseline",
        "items": [],
        "reason": "old table",
    }
    card["checks"][0] |= {"scope": "run", "rows": [row | {"evidence": "run.json", "waiver": None}]}
    texts = report.render(card, TEMPLATES)
    assert "run.json" in Page(texts["report.html"]).links()
    assert "preflight.node_reachable [run]" in texts["junit.xml"]
    assert texts["punch_list.csv"].count(",preflight.node_reachable,") == 1
