"""Envelopes that somebody edited: each is a reason of its own host, and never costs the cluster its verdict."""

from __future__ import annotations

import json

import fleet
import pytest
from accept_judge import recipe
from accept_judge.scorecard import score
from fleet import check, envelope


@pytest.mark.parametrize(
    "damage", [{"reason": 5, "status": "error", "data": None}, {"reason": ["x"]}, {"errors": 7}, {"errors": {"a": 1}}, {"status": []}]
)
def test_an_envelope_of_wrong_types_is_not_measured(tmp_path, damage):
    standards = fleet.write_standards(tmp_path / "standards", [check()])
    facts = {"n1": {"thing": {"count": 8}}, "n2": {"thing": {**envelope("n2", "thing", {"count": 8}), **damage}}}
    rows = fleet.rows_of(score(fleet.write_run(tmp_path / "run", facts), standards), "thing.count")
    assert [(row["verdict"], row["nodes"]) for row in rows] == [("not_measured", "n2"), ("pass", "n1")]
    assert rows[0]["reason"]


def test_no_verdict_hangs_on_a_recipe(monkeypatch):
    made = {"id": "x", "title": "X", "lines": [], "decisions": []}

    def of_node(view):
        if view == ("c", "n2"):
            raise TypeError("a node's facts are damaged")
        return made

    monkeypatch.setattr(recipe, "of_node", of_node)
    assert recipe.for_clusters({"c": ["n1", "n2"]}, lambda *of: of) == [{"cluster": "c", **made, "nodes": 1, "differ": []}]


def test_half_a_character_of_a_node_is_written(accept_score_action, tmp_path):
    """JSON may escape one, and UTF-8 has no bytes for it."""
    fleet.write_standards(tmp_path / "standards", [check(op="matches", want="x")])
    fleet.write_run(tmp_path / "run", {"n1": {"thing": {"count": "\ud800"}}})
    result = accept_score_action(tmp_path)
    assert result.get("failed") is not True
    assert json.loads((tmp_path / "run" / "scorecard.json").read_text(encoding="utf-8"))["coverage"]["rows"]["fail"] == 1


@pytest.fixture
def accept_score_action(monkeypatch, root):
    monkeypatch.syspath_prepend(str(root / "action_plugins"))
    import accept_score
    from ansible.plugins.action import ActionBase

    def run(folder):
        args = {
            "run_dir": str(folder / "run"),
            "standards": str(folder / "standards"),
            "contract": "",
            "version_table": "",
            "definition": "",
        }
        monkeypatch.setattr(ActionBase, "run", lambda self, *_: {})
        monkeypatch.setattr(ActionBase, "validate_argument_spec", lambda self, *_: (None, args))
        action = object.__new__(accept_score.ActionModule)
        action._task = type("Task", (), {"check_mode": False})
        return action.run()

    return run
