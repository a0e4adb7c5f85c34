"""Review a month by its ledgers. In the controller's own process, as accept_score."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ansible.plugins.action import ActionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import documents
from accept_judge.facts_store import write as write_whole
from accept_judge.sla import markdown, review

ARGUMENTS = {
    "review": {"type": "path", "required": True},
    "month": {"type": "str", "required": True},
    "provider": {"type": "str", "default": ""},
    "customer": {"type": "str", "default": ""},
    "as_of": {"type": "str", "default": ""},
    "standards": {"type": "path", "required": True},
    "output": {"type": "path", "required": True},
}


class ActionModule(ActionBase):
    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        _, args = self.validate_argument_spec(ARGUMENTS)
        as_of = documents.date(args["as_of"])
        if args["as_of"] and as_of is None:
            return {"failed": True, "msg": f"no review: as_of: {args['as_of']!r} is no date YYYY-MM-DD"}
        ledgers = {side: args[side] for side in review.SIDES}
        try:
            found = review.build(Path(args["review"]), Path(args["standards"]), args["month"], ledgers, as_of)
            texts = {"review.json": json.dumps(found, indent=1, ensure_ascii=False) + "\n", "review.md": markdown.render(found)}
            changed = self._write(Path(args["output"]), texts)
        except documents.DocumentError as error:
            return {"failed": True, "msg": "no review:\n" + "\n".join(error.errors)}
        except OSError as error:
            return {"failed": True, "msg": f"no review: {' '.join(str(error).split())}"}
        credit = {side: account["credit"]["credit"] for side, account in found["ledgers"].items()}
        return {"changed": changed, "paths": [str(Path(args["output"]) / name) for name in texts], "credit": credit}

    def _write(self, folder: Path, texts: dict) -> bool:
        changed = False
        for name, text in texts.items():
            path, content = folder / name, text.encode("utf-8")
            if path.is_file() and path.read_bytes() == content:
                continue
            changed = True
            if not self._task.check_mode:
                write_whole(path, content)
        return changed
