"""What an acceptance run shows on a terminal: the plan, one line of progress, what was lost, and the verdict."""

from __future__ import annotations

import atexit
import os
import sys
import time

from ansible import constants as C
from ansible.plugins.callback.default import CallbackModule as Default

DOCUMENTATION = """
name: accept_progress
type: stdout
short_description: The plan, one line of progress, and the verdict
description:
  - On a terminal one line tells the phase, the hosts done of all, and the time left.
  - Elsewhere the display is quiet until there is something to say.
  - With -v everything that the default display shows is shown.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
"""


class CallbackModule(Default):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "accept_progress"

    def __init__(self):
        super().__init__()
        self.terminal = sys.stdout.isatty()
        self.line = ""
        self.phase, self.hosts, self.done, self.start = "", 0, 0, 0.0
        self.detached, self.pid = "", os.getpid()
        atexit.register(self._farewell)

    @property
    def verbose(self):
        return self._display.verbosity > 0

    # The progress line

    def _progress(self):
        if not self.terminal or self.verbose or not self.hosts:
            return
        elapsed = time.monotonic() - self.start
        left = f"  {_clock(elapsed / self.done * (self.hosts - self.done))} left" if self.done else ""
        self._clear()
        self.line = f"{self.phase}  {self.done}/{self.hosts} hosts  {_clock(elapsed)}{left}"
        sys.stdout.write(self.line)
        sys.stdout.flush()

    def _clear(self):
        if self.line:
            sys.stdout.write("\r" + " " * len(self.line) + "\r")
            self.line = ""

    def _say(self, text, color=None):
        self._clear()
        self._display.display(text, color=color)

    def _farewell(self):
        """What goes on on the nodes when this command ends before it, by Ctrl-C or otherwise."""
        if self.detached and os.getpid() == self.pid:
            self._say(self.detached, C.COLOR_WARN)

    # What happens

    def v2_playbook_on_start(self, playbook):
        if self.verbose:
            super().v2_playbook_on_start(playbook)

    def v2_playbook_on_play_start(self, play):
        self.phase, self.hosts = play.get_name().strip(), 0
        self._play = play
        if self.verbose:
            super().v2_playbook_on_play_start(play)

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.done, self.start = 0, time.monotonic()
        hosts = 1 if task.run_once else len(self._play.get_variable_manager()._inventory.get_hosts(self._play.hosts))
        self.hosts = hosts if hosts > 1 else 0
        self._progress()
        if self.verbose:
            super().v2_playbook_on_task_start(task, is_conditional)

    def v2_playbook_on_include(self, included_file):
        if self.verbose:
            super().v2_playbook_on_include(included_file)

    def v2_runner_on_start(self, host, task):
        if self.verbose:
            super().v2_runner_on_start(host, task)

    def v2_runner_on_ok(self, result):
        self._count()
        data = getattr(result, "result", None) or result._result
        if data.get("accept_plan"):
            self._say("\n".join(data["accept_plan"]))
        self.detached = data.get("accept_detached", self.detached)
        if data.get("accept_lost"):
            host = getattr(result, "host", None) or result._host
            self._say(f"{host.get_name()}: {data['accept_lost']}", C.COLOR_UNREACHABLE)
        if data.get("accept_summary"):
            self._say("\n".join(data["accept_summary"]), C.COLOR_OK if data.get("accept_gate_code") == 0 else C.COLOR_ERROR)
        if self.verbose:
            super().v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._count()
        data = getattr(result, "result", None) or result._result
        if self.verbose:
            super().v2_runner_on_failed(result, ignore_errors)
        elif data.get("accept_summary"):
            self._say("\n".join(data["accept_summary"]), C.COLOR_ERROR)
        else:
            host = getattr(result, "host", None) or result._host
            lines = data.get("accept_errors") or [f"{host.get_name()}: {data.get('msg', 'failed')}"]
            self._say("\n".join(f"ERROR {line}" for line in lines), C.COLOR_ERROR)

    def v2_runner_on_skipped(self, result):
        self._count()
        if self.verbose:
            super().v2_runner_on_skipped(result)

    def v2_runner_on_unreachable(self, result):
        self._count()
        self._clear()
        super().v2_runner_on_unreachable(result)

    def v2_runner_retry(self, result):
        if self.verbose:
            super().v2_runner_retry(result)

    def _count(self):
        self.done += 1
        self._progress()

    def v2_playbook_on_stats(self, stats):
        self._clear()
        if self.verbose:
            super().v2_playbook_on_stats(stats)


def _clock(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes}:{seconds:02d}"
