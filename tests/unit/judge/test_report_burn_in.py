"""The time axis in the report: drawn is what was measured, of who stands out; hostile values draw nothing; it can be read unseen."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from accept_judge.report import plots_burn_in
from burn_run import Burned

SVG = "{http://www.w3.org/2000/svg}"


def plots(burned):
    return {host: judged["plots"][0] for host, judged in burned.judged.items() if judged["plots"]}


def test_the_first_node_and_who_stands_out_are_drawn(tmp_path):
    faults = [{"fault": "burn_degrading_clock", "hosts": "b-05", "gpu": 2}, {"fault": "burn_wrong_result", "hosts": "b-07"}]
    drawn = plots(Burned(tmp_path, faults, nodes=9))
    assert set(drawn) == {"b-01", "b-05", "b-07"}
    assert len(drawn["b-05"]["time_s"]) == 60


def test_strips_lines_and_marks(tmp_path):
    plot = plots(
        Burned(tmp_path, [{"fault": "burn_xid", "hosts": "b-01", "gpu": 2}, {"fault": "burn_wrong_result", "hosts": "b-01"}], nodes=3)
    )["b-01"]
    drawn = plots_burn_in.draw(plot)
    root = ElementTree.fromstring(str(drawn["svg"]).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
    assert len(root.findall(f"{SVG}path")) == 4 * 8 + 1, "four quantities of eight GPUs, and the all-to-all"
    assert [text.text for text in root.findall(f"{SVG}text") if text.get("class") == "what"] == [row["name"] for row in plot["rows"]]
    assert len(root.findall(f"{SVG}line[@class='mark']")) == 2
    words = root.find(f"{SVG}desc").text
    assert "TFLOPS: gpu0 " in words
    assert "a wrong result" in words
    assert "Xid" in words
    assert drawn["labels"][:2] == ["gpu0", "gpu1"]
    assert drawn["marks"][0].startswith("4:00 h")


def small(**more):
    lines = [{"label": "gpu0", "values": [1.0, None, 3.0, 2.0]}]
    return {
        "kind": "burn_in",
        "title": "Burn-in of n1",
        "time_s": [5, 15, 25, 35],
        "rows": [{"name": "TFLOPS", "lines": lines}],
        "marks": [],
        **more,
    }


def test_a_line_breaks_off_where_nothing_was_measured():
    svg = str(plots_burn_in.draw(small())["svg"])
    path = svg.split('class="s0" d="')[1].split('"')[0]
    assert path.count("M") == 2
    assert path.count("L") == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "<script>", True, [], None])
def test_what_is_no_number_is_not_drawn(value):
    assert plots_burn_in.draw(small(rows=[{"name": "x", "lines": [{"label": "a", "values": [value] * 4}]}])) is None


def test_text_of_nodes_is_escaped():
    hostile = "</title><script>alert(1)</script>"
    lines = [{"label": hostile, "values": [1.0, 2.0, 3.0, 4.0]}]
    svg = str(
        plots_burn_in.draw(small(title=hostile, rows=[{"name": hostile, "lines": lines}], marks=[{"at_s": 10, "text": hostile}]))["svg"]
    )
    assert "<script" not in svg


def test_another_kind_is_not_drawn():
    assert plots_burn_in.draw({"kind": "curves"}) is None
