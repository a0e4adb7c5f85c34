"""Speak the verdict of a scored run: its summary for the terminal, its exit code for the callback of the same name."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from ansible.plugins.action import ActionBase

NO_VERDICT = 13
ARGUMENTS = {"run_dir": {"type": "path", "required": True}, "enforce": {"type": "bool", "default": True}}


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(ARGUMENTS)
        run_dir = Path(args["run_dir"])
        if self._task.check_mode:
            return {"changed": False, "accept_gate_code": NO_VERDICT, "accept_summary": ["No verdict: check mode measures nothing"]}
        try:
            card = json.loads((run_dir / "scorecard.json").read_text(encoding="utf-8"))
            code, lines = card["decision"]["exit_code"], _summary(card, run_dir.resolve())
        except (OSError, ValueError, KeyError) as error:
            code, lines = NO_VERDICT, [f"No verdict: {run_dir}/scorecard.json: {error}"]
        if not args["enforce"]:
            lines[-1:] = [lines[-1], f"  gate       not enforced (accept_gate=false); the code would be {code}"]
            code = 0
        return {"changed": False, "failed": code != 0, "msg": lines[0], "accept_gate_code": code, "accept_summary": lines}


def _summary(card, run_dir):
    decision, coverage = card["decision"], card["coverage"]
    rows, nodes = coverage["rows"], coverage["nodes"]
    demonstration = "DEMONSTRATION, replayed captures; " if decision["demonstration"] else ""
    lines = [
        f"Verdict: {demonstration}{decision['verdict'].replace('_', ' ')}",
        f"  nodes      {nodes['delivered']} delivered, {nodes['listed']} listed, {nodes['reachable']} reachable, {nodes['tested']} tested",
        "  rows       " + ", ".join(f"{rows[key]} {key.replace('_', ' ')}" for key in rows),
    ]
    lines += [f"  because    {reason}" for reason in decision["reasons"][:5]]
    if len(decision["reasons"]) > 5:
        lines.append(f"             and {len(decision['reasons']) - 5} more reasons in the report")
    report = next((run_dir / name for name in ("report.html", "report.md") if (run_dir / name).exists()), run_dir / "scorecard.json")
    with contextlib.suppress(ValueError):
        report = report.relative_to(Path.cwd())
    return [*lines, f"  report     {report}"]
