"""`squeue -a -h -o %T`: one state a job and nothing else, so that no job of anybody is read."""

from __future__ import annotations

import re

from . import ParseError


def parse(text: str) -> dict:
    """{"states": {"RUNNING": 12, "PENDING": 3}, "jobs": N}; no jobs is an empty mapping."""
    states = {}
    for line in text.split("\n"):
        word = line.strip()
        if not word or word == "STATE":
            continue
        if not re.fullmatch(r"[A-Z_]{2,24}", word):
            raise ParseError("not a job's state: %r" % word[:60])
        states[word] = states.get(word, 0) + 1
    return {"states": states, "jobs": sum(states.values())}
