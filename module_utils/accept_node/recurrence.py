"""How far apart the runs of a schedule are at most: calendar times of a week and time spans, as cron and systemd write them."""

from __future__ import annotations

import re

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_S, WEEK_S = 86_400, 604_800
SPAN = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([a-zA-Zµ]{0,7})")
UNITS = {
    **dict.fromkeys(("us", "µs", "usec"), 1e-6),
    **dict.fromkeys(("ms", "msec"), 1e-3),
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86_400.0),
    **dict.fromkeys(("w", "week", "weeks"), 604_800.0),
    **dict.fromkeys(("M", "month", "months"), 2_629_800.0),
    **dict.fromkeys(("y", "year", "years"), 31_557_600.0),
}


def span_s(text: str):
    """`1h 32.020246s`, `5min`, `15s`, `2m30s` in seconds; None for `infinity`, `n/a` and what is no span."""
    text, at, total = (text or "").strip(), 0, 0.0
    if not text:
        return None
    while at < len(text):
        match = SPAN.match(text, at)
        if not match or match.group(2) not in UNITS:
            return None
        total += float(match.group(1)) * UNITS[match.group(2)]
        at = match.end()
        while at < len(text) and text[at] == " ":
            at += 1
    return round(total, 6)


def members(text: str, low: int, high: int, names=()):
    """The numbers that one field names: `*`, `5`, `1-5`, `1..5`, `*/10`, `0/5`, `Mon,Wed`; None where it cannot be read."""
    found = set()
    for part in text.split(","):
        body, _, step = part.partition("/")
        if step and not (step.isascii() and step.isdigit() and len(step) < 4 and int(step)):
            return None
        if body == "*":
            first, last = low, high
        else:
            ends = [_number(end, names) for end in re.split(r"\.\.|-", body)]
            if len(ends) > 2 or None in ends:
                return None
            first, last = ends[0], ends[-1] if len(ends) == 2 else high if step else ends[0]
        if not low <= first <= high or not low <= last <= high:
            return None
        span = range(first, last + 1) if first <= last else [*range(first, high + 1), *range(low, last + 1)]
        found.update(list(span)[:: int(step or 1)])
    return found or None


def _number(text, names):
    low = text.strip().lower()
    if low[:3] in names:
        return names.index(low[:3])
    return int(low) if low.isascii() and low.isdigit() and len(low) < 4 else None


def longest_gap_s(days, hours, minutes, seconds=(0,)) -> float:
    """The longest pause between two runs within a week; `days` count from Monday, 0."""
    if len(seconds) > 1 and len(minutes) == 60 and len(hours) == 24 and len(days) == 7:
        ordered = sorted(seconds)
        return float(max(b - a for a, b in zip(ordered, [*ordered[1:], ordered[0] + 60])))
    second = min(seconds)
    times = sorted(day * DAY_S + hour * 3600 + minute * 60 + second for day in days for hour in hours for minute in minutes)
    return float(max(b - a for a, b in zip(times, [*times[1:], times[0] + WEEK_S])))


def calendar_s(text: str):
    """The longest pause of a systemd calendar in its normal form, `Mon..Fri *-*-* 00/2:30:00`; None where dates are named."""
    words = text.split()
    short = {"minutely": "*:*:00", "hourly": "*:00:00", "daily": "00:00:00", "weekly": "Mon 00:00:00"}.get(text.strip().lower())
    if short:
        words = short.split()
    if words and words[-1] in ("UTC", "Z"):
        words.pop()
    days = set(range(7))
    if words and words[0][:3].lower() in DAYS:
        days = members(words.pop(0), 0, 6, DAYS)
    if words and "-" in words[0] and words.pop(0) not in ("*-*-*", "*-*"):
        return None
    clock = words[0].split(":") if len(words) == 1 else []
    if days is None or len(clock) not in (2, 3):
        return None
    hours, minutes = members(clock[0], 0, 23), members(clock[1], 0, 59)
    seconds = members(clock[2].split(".")[0], 0, 59) if len(clock) == 3 else {0}
    return longest_gap_s(days, hours, minutes, seconds) if hours and minutes and seconds else None
