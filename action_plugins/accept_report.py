"""Render a run's scorecard for people, tickets, CI and spreadsheets. In the controller's own process, as accept_score."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import report

FORMATS = ["html", "md", "junit", "csv"]
ARGUMENTS = {
    "run_dir": {"type": "path", "required": True},
    "templates": {"type": "path", "required": True},
    "formats": {"type": "list", "elements": "str", "choices": FORMATS, "default": FORMATS},
}


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(ARGUMENTS)
        try:
            paths, changed = report.write(Path(args["run_dir"]), Path(args["templates"]), args["formats"], dry=self._task.check_mode)
        except (report.ReportError, OSError) as error:
            return {"failed": True, "msg": f"no report: {' '.join(str(error).split())}"}
        return {"changed": changed, "paths": paths}
