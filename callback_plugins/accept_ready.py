"""Load what the judge's tasks need once, before the first of them: every task runs in a fork of this process."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from ansible.plugins.callback import CallbackBase

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "module_utils"))

DOCUMENTATION = """
name: accept_ready
type: aggregate
short_description: Load judge, report and standards once for all tasks of a run
description:
  - What is wrong with the standards is left to preflight to say. Standards elsewhere, or changed meanwhile, are loaded by who needs them.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "accept_ready"
    CALLBACK_NEEDS_ENABLED = False

    def v2_playbook_on_start(self, playbook):
        from accept_judge import report, scorecard, standards  # noqa: F401

        with contextlib.suppress(ValueError, OSError):
            standards.keep(ROOT / "standards")
