"""LBNL Node Health Check: its configuration (`/etc/nhc/nhc.conf`), one `MASK || CHECK` a line, and the tail of its log with `parse_log`.

`parse(text)` -> {"checks": [{"hosts", "check", "args"}], "settings": {NAME: value}, "unparsed": [lines]}
A setting is a line `MASK || export NAME=value` or `MASK || NAME=value`; the file `/etc/sysconfig/nhc` has them without a mask.
`parse_log(text)` -> {"last": "20261130 05:59:01" | None, "result": "ok" | "failed" | None, "message": the last failure | None}
The helper that marks a node online writes a dated line at each run that passes; a failed check writes its own line.
"""

from __future__ import annotations

import re

from . import ParseError

SETTING = re.compile(r"(?:export\s+)?([A-Z_][A-Z0-9_]{0,60})=(\S*)\s*(?:#.*)?")
CHECK = re.compile(r"[A-Za-z_][\w.-]{0,80}")
DATED = re.compile(r"(20\d{6} \d\d:\d\d:\d\d) \[[\w-]*\] \S*node-mark-(on|off)line\b")
FAILED = re.compile(r"(?:ERROR:\s+\S+:\s+)?Health check failed:\s*(.{0,300})")


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no configuration of NHC")
    checks, settings, unparsed = [], {}, []
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        mask, bars, rest = line.partition("||")
        setting = SETTING.fullmatch((rest if bars else line).strip())
        words = rest.split(None, 1)
        if setting:
            settings[setting.group(1)] = setting.group(2).strip("\"'")
        elif bars and words and CHECK.fullmatch(words[0]):
            checks.append({"hosts": mask.strip()[:120], "check": words[0], "args": words[1][:300] if len(words) > 1 else ""})
        else:
            unparsed.append(line[:120])
    if not checks and not settings:
        raise ParseError(f"no check: {unparsed[0][:80]!r}" if unparsed else "nothing but comments")
    return {"checks": checks, "settings": settings, "unparsed": unparsed[:20]}


def parse_log(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no log of NHC")
    last, result, message = None, None, None
    for line in text.splitlines():
        dated, failed = DATED.search(line), FAILED.search(line)
        if dated:
            last = dated.group(1)
            result = "ok" if dated.group(2) == "on" else "failed"
        elif failed:
            result, message = "failed", failed.group(1).strip()
    return {"last": last, "result": result, "message": message}
