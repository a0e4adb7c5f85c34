"""A ledger of events, CSV or JSON, read strictly: one line for each fault, and no event is guessed at.

Columns: id, level, unit, kind, onset, detected, ticket, announced, schedulable, verified, note. Times are ISO 8601 with an offset or Z.
The note is for people alone. `unit` is a node, a rack, a cluster (also for control_plane, storage, fabric) or, at level site, the
review's id.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from ..documents import DocumentError
from . import ledger_rows, months

OUTAGES = ("down", "degraded", "draining")
EXCLUSIONS = ("maintenance", "force_majeure", "customer", "suspension")
STARTS = ("onset", "detected", "ticket")
TIMES = (*STARTS, "announced", "schedulable", "verified")
COLUMNS = ("id", "level", "unit", "kind", *TIMES, "note")


@dataclass(frozen=True)
class Event:
    """Times in microseconds since 1970; None where the ledger gives none."""

    id: str
    level: str
    unit: str
    kind: str
    times: tuple
    place: str

    def time(self, name: str) -> int | None:
        return self.times[TIMES.index(name)]

    def span(self, rules: dict | None = None) -> tuple[int, int]:
        """From the start to the end that the rules choose; without rules from the earliest sign to verified good.

        Where an event lacks the time that a rule asks for, the earliest sign and verified good stand in. What is excluded lasts from
        its onset to verified good under any rules: the ticket of a maintenance may be weeks older.
        """
        start = min(at for at in map(self.time, starts(self.kind)) if at is not None)
        end = self.time("verified")
        if self.kind in EXCLUSIONS:
            return start, end
        if rules and rules["start"] != "earliest":
            start = self.time(rules["start"]) or start
        if rules and rules["end"] == "schedulable":
            end = self.time("schedulable") or end
        return start, end


def starts(kind: str) -> tuple:
    """The times of which the earliest begins an event of this kind."""
    return ("onset",) if kind in EXCLUSIONS else STARTS


def load(path: Path, units: dict, month: months.Month) -> list[Event]:
    """The events of a ledger; `units`: level -> names that exist. DocumentError tells all that is wrong."""
    path = Path(path)
    events, errors = [], []
    for place, row in ledger_rows.read(path, COLUMNS):
        event, fault = _event(place, row, units, month)
        events += [event] if event else []
        errors += [f"{place}: {fault}"] if fault else []
    errors += _clashes(events)
    if errors:
        more = [f"{path}: {len(errors) - ledger_rows.MOST_ERRORS} more errors"] if len(errors) > ledger_rows.MOST_ERRORS else []
        raise DocumentError(errors[: ledger_rows.MOST_ERRORS] + more)
    return events


def _event(place, row, units, month) -> tuple[Event | None, str | None]:
    for key, known in (("id", None), ("level", units), ("kind", (*OUTAGES, *EXCLUSIONS))):
        if not row.get(key):
            return None, f"{key}: is empty"
        if known and row[key] not in known:
            return None, f"{key}: {row[key]!r} is none of {', '.join(known)}"
    if not row["id"].isprintable():
        return None, f"id: {row['id']!r} is not printable"
    if row.get("unit") not in units[row["level"]]:
        return None, f"unit: {row.get('unit', '')!r} is no {row['level']} of this review"
    times = []
    for name in TIMES:
        at, fault = _time(row.get(name, ""))
        if fault:
            return None, f"{name}: {fault}"
        times.append(at)
    event = Event(row["id"], row["level"], row["unit"], row["kind"], tuple(times), place)
    fault = _fault(event, month)
    return (None, f"{event.id}: {fault}") if fault else (event, None)


def _time(text: str) -> tuple[int | None, str | None]:
    if not text:
        return None, None
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None, f"{text[:60]!r} is no time in ISO 8601"
    if moment.tzinfo is None:
        return None, f"{text[:60]!r} has no time zone"
    if not 1971 <= moment.year <= 9000:
        return None, f"{text[:60]!r} is out of range"
    return months.micros(moment), None


def _fault(event: Event, month) -> str | None:
    if all(event.time(name) is None for name in starts(event.kind)):
        return f"has no start: no {' or '.join(starts(event.kind))}"
    if event.time("verified") is None:
        what = "schedulable is no proof" if event.time("schedulable") is not None else "give the time of its verification"
        return f"is open-ended: no verified time ({what})"
    start, end = event.span()
    if end <= start:
        return f"ends {months.text(end)}, not after its start {months.text(start)}"
    if any(at is not None and at > end for at in event.times):
        return f"a time of it is later than its end {months.text(end)}"
    if end <= month.start or start >= month.end:
        return f"{months.text(start)} to {months.text(end)} is not in {month.name} ({month.zone})"
    return None


def _clashes(events) -> list[str]:
    """Ids that stand twice, and events that say the same of the same unit at the same time: one of them is wrong."""
    errors, seen, last = [], {}, {}
    for event in events:
        if event.id in seen:
            errors.append(f"{event.place}: {event.id}: stands already at {seen[event.id].place}")
        seen.setdefault(event.id, event)
    for event in sorted(events, key=Event.span):
        before = last.get((event.level, event.unit, event.kind))
        if before and event.span()[0] < before.span()[1]:
            errors.append(f"{event.place}: {event.id}: overlaps {before.id}, also {event.kind} of {event.level} {event.unit}")
        if not before or event.span()[1] > before.span()[1]:
            last[event.level, event.unit, event.kind] = event
    return errors
