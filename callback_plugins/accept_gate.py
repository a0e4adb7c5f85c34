"""The exit code of an acceptance run: the gate's, or 13 where a run was opened and no verdict was reached.

An aggregate callback, so that it also speaks under ansible-runner, which brings its own display. It lies in the root's callback_plugins
and loads without being enabled; where it is absent, Ansible's own exit code remains, and that is never 0 for a rejection.
"""

from __future__ import annotations

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: accept_gate
type: aggregate
short_description: Give an acceptance run the exit code of its verdict
description:
  - 0 accepted, with or without exceptions; 10 rejected; 11 incomplete; 13 no verdict was reached.
  - Any other code is Ansible's own and means an error of the run, not a verdict.
"""

NO_VERDICT = 13


def data_of(result) -> dict:
    """The result's dict, on ansible-core 2.19 and newer."""
    return getattr(result, "result", None) or result._result


def task_of(result):
    return getattr(result, "task", None) or result._task


def _tasks(items):
    """The tasks of blocks within blocks."""
    for item in items:
        yield from _tasks(item.block) if hasattr(item, "block") else (item,)


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "accept_gate"
    CALLBACK_NEEDS_ENABLED = False

    def __init__(self):
        super().__init__()
        self.opened = False
        self.code = None
        self.play, self.nobody = None, False
        self.due = False  # does the playbook end in a verdict?

    def v2_playbook_on_start(self, playbook):
        self.due = any(task.action == "accept_gate" for play in playbook.get_plays() for task in _tasks(play.tasks))

    def v2_playbook_on_play_start(self, play):
        self.play = play

    def v2_playbook_on_no_hosts_matched(self):
        """A play for all hosts met none: an inventory that was not given, or is empty. Plays for a group may well meet none."""
        self.nobody = self.nobody or (self.play is not None and self.play.hosts == ["all"])

    def v2_runner_on_ok(self, result):
        self.opened = self.opened or task_of(result).action == "accept_preflight"
        self.code = data_of(result).get("accept_gate_code", self.code)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.code = data_of(result).get("accept_gate_code", self.code)

    def v2_playbook_on_stats(self, stats):
        if self.nobody and self.code is None:
            self._display.error("nothing was done: the inventory holds no hosts; name one with -i (README: -i cluster, -i localhost,)")
        elif self.due and self.code is None and not stats.failures and not self.opened:
            self._display.error("nothing was done: --skip-tags or --start-at-task left out the beginning and the verdict of this run")
            self.opened = True
        code = NO_VERDICT if (self.opened or self.nobody) and self.code is None else self.code
        if code:
            raise SystemExit(code)
