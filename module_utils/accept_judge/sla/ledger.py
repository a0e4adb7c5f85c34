"""A ledger of events, CSV or JSON, read strictly: one line for each fault, and no event is guessed at.

Columns: id, level, unit, kind, onset, detected, ticket, announced, schedulable, verified, note. Times are ISO 8601 with an offset or Z.
`unit` is a node, a rack, a cluster (also for control_plane, storage, fabric) or, at level site, the review's id.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
from dataclasses import dataclass
from pathlib import Path

from ..documents import DocumentError
from . import months

OUTAGES = ("down", "degraded", "draining")
EXCLUSIONS = ("maintenance", "force_majeure", "customer", "suspension")
STARTS = ("onset", "detected", "ticket")
TIMES = (*STARTS, "announced", "schedulable", "verified")
COLUMNS = ("id", "level", "unit", "kind", *TIMES, "note")
MOST_ERRORS = 50


@dataclass(frozen=True)
class Event:
    """Times in microseconds since 1970; None where the ledger gives none."""

    id: str
    level: str
    unit: str
    kind: str
    times: tuple
    note: str
    place: str

    def time(self, name: str) -> int | None:
        return self.times[TIMES.index(name)]

    def span(self, rules: dict | None = None) -> tuple[int, int]:
        """From the start to the end that the rules choose; without rules from the earliest sign to verified good.

        Where an event lacks the time that a rule asks for, the earliest sign and verified good stand in.
        """
        start = min(at for at in map(self.time, STARTS) if at is not None)
        end = self.time("verified")
        if rules and rules["start"] != "earliest":
            start = self.time(rules["start"]) or start
        if rules and rules["end"] == "schedulable":
            end = self.time("schedulable") or end
        return start, end


def load(path: Path, units: dict, month: months.Month) -> list[Event]:
    """The events of a ledger; `units`: level -> names that exist. DocumentError tells all that is wrong."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DocumentError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise DocumentError([f"{path}: is not UTF-8"]) from error
    rows = (_json if path.suffix == ".json" else _csv)(text, str(path))
    events, errors = [], []
    for place, row in rows:
        event, fault = _event(place, row, units, month)
        events += [event] if event else []
        errors += [f"{place}: {fault}"] if fault else []
    errors += _clashes(events)
    if errors:
        more = [f"{path}: {len(errors) - MOST_ERRORS} more errors"] if len(errors) > MOST_ERRORS else []
        raise DocumentError(errors[:MOST_ERRORS] + more)
    return events


def _csv(text: str, name: str) -> list[tuple[str, dict]]:
    rows, head = [], None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if head is None:
                head = [cell.lower() for cell in cells]
                if len(set(head)) < len(head):
                    raise DocumentError([f"{name}:{reader.line_num}: a column stands twice"])
            elif len(cells) != len(head):
                raise DocumentError([f"{name}:{reader.line_num}: {len(cells)} fields, the header has {len(head)}"])
            else:
                rows.append((f"{name}:{reader.line_num}", dict(zip(head, cells))))
    except csv.Error as error:
        raise DocumentError([f"{name}:{reader.line_num}: is no CSV: {error}"]) from error
    needed = {"id", "level", "unit", "kind", "verified"}
    if head is None or not needed <= set(head) or not set(head) <= set(COLUMNS):
        raise DocumentError([f"{name}: header: wanted {', '.join(COLUMNS)}; at least {', '.join(sorted(needed))}"])
    return rows


def _json(text: str, name: str) -> list[tuple[str, dict]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError([f"{name}: is no JSON: {error}"]) from error
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise DocumentError([f"{name}: is no list of events"])
    rows = [(f"{name}: event {at}", {key: value for key, value in row.items() if value is not None}) for at, row in enumerate(data, 1)]
    errors = [f"{place}: unknown key {key}" for place, row in rows for key in sorted(set(row) - set(COLUMNS))]
    errors += [f"{place}: {key}: is no text" for place, row in rows for key, value in row.items() if not isinstance(value, str)]
    if errors:
        raise DocumentError(errors[:MOST_ERRORS])
    return rows


def _event(place, row, units, month) -> tuple[Event | None, str | None]:
    for key, known in (("id", None), ("level", units), ("kind", (*OUTAGES, *EXCLUSIONS))):
        if not row.get(key):
            return None, f"{key}: is empty"
        if known and row[key] not in known:
            return None, f"{key}: {row[key]!r} is none of {', '.join(known)}"
    if row.get("unit") not in units[row["level"]]:
        return None, f"unit: {row.get('unit', '')!r} is no {row['level']} of this review"
    times = []
    for name in TIMES:
        at, fault = _time(row.get(name, ""))
        if fault:
            return None, f"{name}: {fault}"
        times.append(at)
    event = Event(row["id"], row["level"], row["unit"], row["kind"], tuple(times), row.get("note", ""), place)
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
    return months.micros(moment), None


def _fault(event: Event, month) -> str | None:
    if all(event.time(name) is None for name in STARTS):
        return "has no start: none of onset, detected, ticket"
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
