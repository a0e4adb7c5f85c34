"""systemd's units, as `systemctl show --property=... UNIT...` prints them: blocks of `Name=value`, one block a unit, an empty line between.

`parse(text)` -> {"units": [{"id", "load", "active", "sub", "enabled", "result", "type", "exec": [command lines],
"main_pid": int | None, "exit_status": int | None, "restarts": int | None, "timeout_s", "runtime_max_s": float | None (None: without limit),
"started_boot_s", "exited_boot_s", "active_boot_s": seconds since boot | None (never in this boot),
and of timers "triggers": unit | None, "last_trigger_boot_s", "last_trigger": text | None, "schedule": [{"on", "text", "interval_s"}]}]}

`interval_s` is the longest pause between two runs; None where the schedule names dates, or runs once (OnBootUSec).
`parse_unit_files(text)` of `systemctl list-unit-files --no-legend` -> {"unit_files": [{"id", "state"}]}
"""

from __future__ import annotations

import re

from ..recurrence import calendar_s, span_s
from . import ParseError

WORDS = {"load": "LoadState", "active": "ActiveState", "sub": "SubState", "enabled": "UnitFileState", "result": "Result", "type": "Type"}
COUNTS = {"main_pid": "MainPID", "exit_status": "ExecMainStatus", "restarts": "NRestarts"}
SINCE_BOOT = {
    "started_boot_s": "ExecMainStartTimestampMonotonic",
    "exited_boot_s": "ExecMainExitTimestampMonotonic",
    "active_boot_s": "ActiveEnterTimestampMonotonic",
}
SPANS = {"timeout_s": "TimeoutStartUSec", "runtime_max_s": "RuntimeMaxUSec"}
PROPERTIES = (
    *("Id", "Unit", "ExecStart", "LastTriggerUSec", "LastTriggerUSecMonotonic", "TimersCalendar", "TimersMonotonic"),
    *(*WORDS.values(), *COUNTS.values(), *SINCE_BOOT.values(), *SPANS.values()),
)
ENTRY = re.compile(r"\{ (On\w{1,30})=([^;]{0,200}?) ; ")
ARGV = re.compile(r"argv\[\]=(.{0,2000}?) ; ignore_errors=")
UNIT = re.compile(r"[A-Za-z0-9:_.@\\-]{1,255}\.(?:service|timer)")
REPEATING = ("OnUnitActiveUSec", "OnUnitInactiveUSec", "OnCalendar")


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no unit")
    if "System has not been booted with systemd" in text or "Failed to connect to bus" in text:
        raise ParseError("systemd does not run here")
    units = []
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")):
        pairs = [line.partition("=")[::2] for line in block.splitlines() if "=" in line]
        fields = dict(pairs)
        if fields.get("Id"):
            units.append(_unit(fields, pairs))
    if not units:
        raise ParseError(f"no unit: no line begins with Id=, the first is {text.strip().splitlines()[0][:60]!r}")
    return {"units": units}


def parse_unit_files(text: str) -> dict:
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and UNIT.fullmatch(words[0]):
            found.append({"id": words[0], "state": words[1]})
    if not found:
        raise ParseError(f"no unit file: {text.strip()[:60]!r}" if text.strip() else "empty: no unit file")
    return {"unit_files": found}


def _unit(fields, pairs) -> dict:
    unit = {"id": fields["Id"].strip()}
    unit.update({key: fields.get(name, "").strip() or None for key, name in WORDS.items()})
    unit.update({key: _count(fields.get(name)) for key, name in COUNTS.items()})
    unit["main_pid"] = unit["main_pid"] or None
    unit.update({key: _since_boot(fields.get(name)) for key, name in SINCE_BOOT.items()})
    unit.update({key: span_s(fields.get(name)) for key, name in SPANS.items()})
    unit["exec"] = [found for name, value in pairs if name == "ExecStart" for found in ARGV.findall(value)]
    if unit["id"].endswith(".timer"):
        last = fields.get("LastTriggerUSec", "").strip()
        unit["triggers"] = fields.get("Unit", "").strip() or unit["id"][: -len("timer")] + "service"
        unit["last_trigger"] = last if last and last != "n/a" else None
        unit["last_trigger_boot_s"] = span_s(fields.get("LastTriggerUSecMonotonic")) or None
        unit["schedule"] = [
            _schedule(on, value)
            for name, entry in pairs
            if name in ("TimersCalendar", "TimersMonotonic")
            for on, value in ENTRY.findall(entry)
        ]
    return unit


def _schedule(on, value) -> dict:
    read = calendar_s if on == "OnCalendar" else span_s
    return {"on": on, "text": value.strip(), "interval_s": read(value) if on in REPEATING else None}


def _count(text):
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None


def _since_boot(text):
    """Microseconds on the monotonic clock; 0 is never."""
    text = (text or "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 19) or not int(text):
        return None
    return round(int(text) / 1e6, 3)
