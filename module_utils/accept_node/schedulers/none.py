"""No scheduler: nothing places jobs, so nothing can be asked."""

from __future__ import annotations

from . import kubernetes, slurm


def detect(gather) -> dict:
    """Present where it is known that there is no other."""
    found = [slurm.detect(gather), kubernetes.detect(gather)]
    known = [one["present"] for one in found]
    present = True if known == [False, False] else False if True in known else None
    return {"present": present, "version": None, "reason": "; ".join(one["reason"] for one in found if one["reason"])}


def nodes(gather):
    return []


def one(gather, name):
    return None


def survey(gather) -> dict:
    return {}


def capabilities(found) -> dict:
    return {"drain": False, "reason": False, "reboot": False, "history": False, "health_program": False}
