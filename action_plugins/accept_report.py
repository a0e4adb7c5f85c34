"""Render a run's scorecard for people, tickets, CI and spreadsheets. In the controller's own process, as accept_score."""

from __future__ import annotations

import sys
from pathlib import Path

from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import report  # noqa: E402

FORMATS = ["html", "md", "junit", "csv"]


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        args = self._task.args
        run_dir, templates, formats = Path(args["run_dir"]), Path(args["templates"]), args.get("formats", FORMATS)
        unknown = sorted(set(formats) - set(FORMATS))
        if unknown:
            return {"failed": True, "msg": f"formats: {', '.join(unknown)} unknown; known are {', '.join(FORMATS)}"}
        try:
            paths, changed = report.write(run_dir, templates, formats, dry=self._task.check_mode)
        except (report.ReportError, OSError) as error:
            return {"failed": True, "msg": f"no report: {' '.join(str(error).split())}"}
        return {"changed": changed, "paths": paths}
