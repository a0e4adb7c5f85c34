"""What preflight's facts amount to: does the node answer, may we read what needs root, how far off can its clock be."""

from __future__ import annotations

import re

# The operator's side of a lost connection: it says nothing about the node.
OURS = re.compile(
    r"permission denied|authentication|host key|no matching|could not resolve|name or service not known|sudo|become|password|identity file"
    r"|no such file|unprotected private key|too many authentication",
    re.IGNORECASE,
)


def analyse(data: dict, run) -> dict:
    """reachable: true · privileged: bool|null · clock_offset_abs_s: [least, most]|null, how far off the clock is at least and at most."""
    return {"reachable": True, "privileged": _privileged(data), "clock_offset_abs_s": _distance(data.get("clock_offset_s"))}


def without_data(run) -> dict | None:
    """A node that did not answer: reachable false, or null where the reason is on the operator's side."""
    reason = run.envelope.get("reason") or ""
    if not reason.startswith("unreachable"):
        return None
    if OURS.search(reason):
        return {"reachable": None, "reachable_reason": f"{reason} (the operator's side)"}
    return {"reachable": False, "reachable_reason": reason}


def _privileged(data: dict) -> bool | None:
    if data.get("uid") == 0 or data.get("sudo") is True:
        return True
    return False if data.get("uid") is not None and data.get("sudo") is False else None


def _distance(interval) -> list | None:
    """[lo, hi] of the offset -> [least, most] of its absolute value."""
    if not isinstance(interval, list) or len(interval) != 2 or None in interval:
        return None
    low, high = sorted(interval)
    return [0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))]
