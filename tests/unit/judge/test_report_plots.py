"""Curves in the report: what is drawn is what was measured, hostile values draw nothing, and every plot can be read without seeing it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from accept_judge import report
from accept_judge.report import plots
from hypothesis import example, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[3]
SVG = "{http://www.w3.org/2000/svg}"


def curve(label="2 nodes, n[1-2]", **said):
    sizes = [2**power for power in range(3, 35)]
    rates = [480 / (1 + 4e6 / size) for size in sizes]
    made = {
        "label": label,
        "sizes": sizes,
        "busbw": [rates, [0.99 * rate for rate in rates]],
        "fit": rates,
        "fit_sizes": sizes,
        "marks": [{"kind": "dips", "from_bytes": 2**17, "to_bytes": 2**17, "text": "128 KiB: 41 % below, in 2 of 2 repeats"}],
        "expected_gbytes_s": 440,
        "facts": {"Plateau": "478 GB/s", "Spread": "1 %"},
    }
    return {**made, **said}


def plot(*curves):
    return {
        "kind": "curves",
        "title": "all_reduce, ours",
        "concern": "nccl_sweep",
        "cluster": "c",
        "owner": "cluster",
        "curves": list(curves),
    }


def parsed(svg):
    return ElementTree.fromstring(str(svg).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def test_a_panel_has_each_repeats_points_the_fit_the_dip_and_what_was_expected():
    ((label, svg, facts),) = plots.draw(plot(curve()))["panels"]
    tree = parsed(svg)
    assert label == "2 nodes, n[1-2]"
    assert len(tree.findall(f"{SVG}circle")) == 64
    assert [rect.get("class") for rect in tree.findall(f"{SVG}rect")] == ["dips"]
    assert len(tree.findall(f"{SVG}line[@class='expected']")) == 1
    assert len(tree.findall(f"{SVG}path[@class='fit']")) == 1
    assert facts["Plateau"] == "478 GB/s"


def test_the_words_say_what_the_picture_shows():
    drawn = plots.draw(plot(curve()))
    for svg in (drawn["wide"], drawn["panels"][0][1]):
        tree = parsed(svg)
        assert tree.get("role") == "img"
        assert "478 GB/s" in tree.get("aria-label")
    assert "128 KiB: 41 % below" in parsed(drawn["panels"][0][1]).get("aria-label")


def test_a_higher_rate_is_drawn_higher_and_a_larger_size_further_right():
    points = [(float(c.get("cx")), float(c.get("cy"))) for c in parsed(plots.draw(plot(curve()))["panels"][0][1]).findall(f"{SVG}circle")][
        :32
    ]
    assert points == sorted(points, key=lambda point: point[0])
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)


def test_worlds_stand_side_by_side_and_many_of_them_keep_those_with_marks():
    quiet = [curve(f"world {number}", marks=[]) for number in range(plots.PANELS + 5)]
    drawn = plots.draw(plot(*quiet, curve("the one with a dip")))
    assert len(drawn["panels"]) == plots.PANELS
    assert "the one with a dip" in [label for label, *_ in drawn["panels"]]
    assert drawn["more"] == 6
    assert len(parsed(drawn["wide"]).findall(f"{SVG}path")) == plots.PANELS + 6


def test_a_gap_breaks_the_line_and_is_not_drawn_as_nought():
    rates = curve()["busbw"][0]
    rates[10] = None
    tree = parsed(plots.draw(plot(curve(busbw=[rates])))["wide"])
    assert len(re.findall("M", tree.find(f"{SVG}path").get("d"))) == 2


def test_what_is_no_curve_is_not_drawn():
    assert plots.draw({"kind": "unheard of", "title": "x"}) is None
    assert plots.draw(plot(curve(fit=[None] * 32))) is None


@example("", [None, None, None, 5e-324])
@example("", [None, None, None, 9.9e307])
@given(st.text(max_size=40), st.lists(st.one_of(st.none(), st.floats(allow_nan=True)), min_size=4, max_size=4))
@settings(deadline=None, max_examples=60)
def test_no_value_breaks_the_page(text, rates):
    text = report.text.clean(text)
    hostile = curve(
        text, sizes=[8, 16, 32, 64], busbw=[rates], fit=rates, fit_sizes=[8, 16, 32, 64], facts={text: text}, expected_gbytes_s=None
    )
    drawn = plots.draw(plot(hostile, curve()))
    for svg in [drawn["wide"], *(svg for _, svg, _ in drawn["panels"])]:
        parsed(svg)


@pytest.fixture
def page(tmp_path):
    def page(*made):
        shutil.copy(ROOT / "tests/fixtures/report/scorecard.json", tmp_path)
        card = json.loads((tmp_path / "scorecard.json").read_text())
        (tmp_path / "scorecard.json").write_text(json.dumps({**card, **({"plots": list(made)} if made else {})}))
        report.write(tmp_path, ROOT / "roles/sla_score/templates", ["html"])
        return (tmp_path / "report.html").read_text()

    return page


def test_the_page_holds_the_plots_and_escapes_names(page):
    html = page(plot(curve("<script>alert(1)</script>")))
    assert 'id="curves"' in html
    assert "<script>alert" not in html
    assert html.count("<svg ") == 2
    assert 'href="#curves"' in html
    assert "http://" not in html[html.index('id="curves"') : html.index('id="not-measured"')]


def test_a_page_without_plots_has_no_section_of_them(page):
    assert "#curves" not in page()
