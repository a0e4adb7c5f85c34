"""Load that a benchmark puts on a node: jobs with deadlines on a live one, recorded outputs on a replayed one.

    start(what, argv, deadline_s)            begin it; nothing is said if it cannot be begun: its result says so
    result(what, timeout_s, recorded_as, peer)   its CommandResult, waited for, then ended and forgotten whatever it does

`recorded_as` is the command without what differs from round to round (ports, addresses): a capture holds it with the peer's name behind
it, or with "*" for any peer. Start and result may be in two runs of a module.
"""

from __future__ import annotations

import time

from . import jobs
from .node import CommandResult

ANY = "*"


class LiveWork:
    """Jobs named <run_id>.<role>.<what>. What they printed is kept in `commands`, as records of a capture."""

    def __init__(self, run_id: str, role: str):
        self.prefix, self.commands, self.failed = f"{run_id}.{role}.", [], {}

    def start(self, what, argv, deadline_s, files=None):
        try:
            jobs.start(self.prefix + what, argv, deadline_s, files=files)
        except (jobs.JobError, OSError) as error:
            self.failed[what] = CommandResult(tuple(argv), None, "", str(error), 0.0, "not_started")

    def result(self, what, timeout_s, recorded_as=(), peer="") -> CommandResult:
        if what in self.failed:
            return self._kept(self.failed.pop(what))
        name = self.prefix + what
        told = jobs.wait(name, timeout_s)
        if told["state"] == "running":
            told = jobs.stop(name)
        jobs.forget(name)
        took = (told["ended_at_s"] or 0) - (told["started_at_s"] or 0) if told["ended_at_s"] else timeout_s
        reason = {"deadline": "timeout", "stopped": "timeout"}.get(told["reason"], told["reason"])
        reason = reason or {"ended": "", "running": "timeout"}.get(told["state"], told["state"])
        stderr = told["stderr"] + told["message"]
        return self._kept(CommandResult(tuple(told["argv"]), told["rc"], told["stdout"], stderr, max(0.0, took), reason))

    def sleep(self, seconds):
        """Until it is this node's turn to call a scheduler's tools."""
        time.sleep(seconds)

    def _kept(self, result):
        self.commands.append({"at_s": 0.0, **result._asdict()})
        return result


class ReplayedWork:
    """The same from a capture."""

    def __init__(self, node):
        self.node, self.commands = node, []

    def start(self, what, argv, deadline_s, files=None):
        pass

    def sleep(self, seconds):
        pass

    def result(self, what, timeout_s, recorded_as=(), peer="") -> CommandResult:
        found = self.node.run([*recorded_as, peer], timeout_s=timeout_s)
        return found if found.reason != "not_recorded" else self.node.run([*recorded_as, ANY], timeout_s=timeout_s)
