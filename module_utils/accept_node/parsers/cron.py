"""Tables of cron: `/etc/crontab` and `/etc/cron.d/*` with a user in the sixth field, `parse_user` a user's own without.

{"jobs": [{"schedule", "interval_s": longest pause | None, "user": str | None, "command"}], "unparsed": [lines that are no job]}
`interval_s` is None for @reboot and where days of the month or months are named.
"""

from __future__ import annotations

import re

from ..recurrence import DAY_S, WEEK_S, longest_gap_s, members
from . import ParseError

NICK = {"@hourly": 3600.0, "@daily": float(DAY_S), "@midnight": float(DAY_S), "@weekly": float(WEEK_S)}
SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\s*=")
FIELD = re.compile(r"[0-9A-Za-z*,/~-]+")
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


def parse(text: str) -> dict:
    return _table(text, True)


def parse_user(text: str) -> dict:
    """A user's own table: the command follows the five fields."""
    return _table(text, False)


def _table(text, with_user) -> dict:
    if not text.strip():
        raise ParseError("empty: no table of cron")
    jobs, unparsed = [], []
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#") or SETTING.match(line):
            continue
        job = _job(line, with_user)
        if job:
            jobs.append(job)
        else:
            unparsed.append(line[:120])
    if unparsed and not jobs:
        raise ParseError(f"no job: {unparsed[0][:80]!r}")
    return {"jobs": jobs, "unparsed": unparsed[:20]}


def _job(line, with_user):
    fields = 1 if line.startswith("@") else 5
    words = line.split(None, fields + with_user)
    if len(words) != fields + with_user + 1 or not all(FIELD.fullmatch(word.lstrip("@")) for word in words[:fields]):
        return None
    return {
        "schedule": " ".join(words[:fields]),
        "interval_s": NICK.get(words[0]) if fields == 1 else _interval(words[:5]),
        "user": words[fields] if with_user else None,
        "command": words[-1],
    }


def _interval(fields):
    minute, hour, day, month, weekday = fields
    if (day, month) != ("*", "*"):
        return None
    minutes, hours, days = members(minute, 0, 59), members(hour, 0, 23), members(weekday, 0, 7, DAYS)
    if not (minutes and hours and days):
        return None
    return longest_gap_s({(number - 1) % 7 for number in days}, hours, minutes)
