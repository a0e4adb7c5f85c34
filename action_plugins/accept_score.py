"""Judge a run: evidence, standards and contract in, scorecard.json out. In the controller's process: a module's start costs a second."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import scorecard
from accept_judge.decision import NO_VERDICT
from accept_judge.facts_store import write

ARGUMENTS = {
    "run_dir": {"type": "path", "required": True},
    "standards": {"type": "path", "required": True},
    "contract": {"type": "str", "default": ""},
    "version_table": {"type": "str", "default": ""},
    "definition": {"type": "str", "default": ""},
}


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(ARGUMENTS)
        run_dir = Path(args["run_dir"])
        own, own_table = run_dir / "contract.yml", run_dir / scorecard.VERSION_TABLE
        try:
            card = scorecard.score(
                run_dir,
                Path(args["standards"]),
                args["contract"] or (own if own.exists() else None),
                version_table=args["version_table"] or (own_table if own_table.exists() else None),
                definition=args["definition"] or None,
            )
            if not self._task.check_mode:
                text = json.dumps(card, indent=1, ensure_ascii=False) + "\n"
                write(run_dir / "scorecard.json", text.encode("utf-8", "replace"))  # a node may have said half a character
        except (*scorecard.ERRORS, OSError) as error:
            errors = getattr(error, "errors", None) or [" ".join(str(error).split())]
            return {"failed": True, "msg": f"no verdict: {'; '.join(errors)}", "accept_errors": errors, "exit_code": NO_VERDICT}
        return {
            "changed": True,
            "decision": card["decision"],
            "coverage": card["coverage"]["statement"],
            "counts": card["coverage"]["rows"],
            "exit_code": card["decision"]["exit_code"],
            "scorecard": str(run_dir / "scorecard.json"),
        }
