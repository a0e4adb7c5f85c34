"""An allocation of our own for a load on nodes that a scheduler hands out: taken once, used for all rounds, given back always.

A module of a scheduler has
  take(ask, name, nodes, settings, minutes)   {"state": "held" | "refused", "reason", ...}: asks, waits its turn, or takes it back
  release(ask, name)                          {"released": [what was given back], "reason": why something may be left}

`name` is <run_id>.<role> with NAME before it; release takes a beginning of it that ends in a dot too, so that the emergency stop finds
all of a run, or of all runs. A name that is held already is taken up again and not asked for twice. Each allocation has a limit that the
scheduler itself keeps: it ends also where nobody comes back for it.
"""

from __future__ import annotations

NAME = "accept."  # in front of all that is ours
PAUSE_S = 1.0  # between any two calls of a scheduler's tools
POLL_S = 10.0  # between two looks at one that is pending
MAX_CALLS = 200
WAIT_S = 300.0  # how long a pending one is waited for, unless the settings say otherwise


class Ask:
    """Runs a scheduler's tools at a capped rate. `calls` counts them."""

    def __init__(self, node, pause_s=PAUSE_S, max_calls=MAX_CALLS):
        self.node, self.pause_s, self.max_calls, self.calls = node, pause_s, max_calls, 0

    def __call__(self, argv, timeout_s=60.0):
        """(what it printed, "") or (None, why not)."""
        if self.calls >= self.max_calls:
            return None, "not asked: %d calls of a scheduler's tools are the limit" % self.max_calls
        if self.calls:
            self.node.sleep(self.pause_s)
        self.calls += 1
        result = self.node.run(argv, timeout_s=timeout_s)
        if result.reason == "missing":
            return None, argv[0] + " is not installed on this host"
        if result.reason or result.rc:
            said = [line.strip() for line in (result.stderr or result.stdout).splitlines() if line.strip()]
            what = result.reason or "exit status %s" % result.rc
            return None, ("%s: %s: %s" % (argv[0], what, said[-1] if said else "no word"))[:300]
        return result.stdout, ""

    def now(self):
        return self.node.now()

    def sleep(self, seconds):
        self.node.sleep(seconds)
