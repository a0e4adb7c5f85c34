"""`grep -HiE <settings> slurm.conf ...`: which programs slurmd runs on a node, from the configuration that lies there.

{"files": {path: {"settings": [[key, value]], "includes": [path as written]}}, "missing": [path], "unread": {path: why}}
Keys are in Slurm's own spelling, values without quotes. A file without any of the settings stands nowhere. What is missing or closed stands
on stderr, so both are read. Format: https://slurm.schedmd.com/slurm.conf.html (keys without regard to case, several on a line, # comments).
"""

from __future__ import annotations

import re

from . import ParseError

PROGRAMS = ("HealthCheckProgram", "Prolog", "Epilog", "TaskProlog", "TaskEpilog", "RebootProgram", "UnkillableStepProgram")
KEYS = (*PROGRAMS, "HealthCheckInterval", "HealthCheckNodeState", "SlurmUser")
GREP = "(^|[[:space:]])(include[[:space:]]|(" + "|".join(KEYS) + ")[[:space:]]*=)"
SETTING = re.compile(r"(?<!\w)(" + "|".join(KEYS) + r")\s*=\s*(\"[^\"]*\"|[^\s#]+)", re.I)
INCLUDE = re.compile(r"\s*include\s+(\S+)", re.I)
LINE = re.compile(r"(/[^:\n]{1,400}):(.*)")
FAILED = re.compile(r"(?:/\S{1,100}/)?grep: (/[^:\n]{1,400}): ([A-Z][\w /()'-]{2,80})")
SPELLING = {key.lower(): key for key in KEYS}


def parse(text: str) -> dict:
    found = {"files": {}, "missing": [], "unread": {}}
    for line in text.splitlines():
        failed, match = FAILED.fullmatch(line.strip()), LINE.fullmatch(line)
        if failed and failed.group(2) in ("No such file or directory", "Not a directory"):
            found["missing"].append(failed.group(1))
        elif failed:
            found["unread"][failed.group(1)] = failed.group(2)
        elif match:
            told = found["files"].setdefault(match.group(1), {"settings": [], "includes": []})
            code = match.group(2).split("#", 1)[0]
            told["settings"] += [[SPELLING[key.lower()], value.strip('"')] for key, value in SETTING.findall(code)]
            told["includes"] += [one.group(1) for one in [INCLUDE.match(code)] if one]
        elif line.strip():
            raise ParseError("not a line of slurm.conf as grep prints it: %r" % line.strip()[:60])
    if not (found["files"] or found["missing"] or found["unread"]):
        raise ParseError("empty: grep named no file")
    return found


def strip(text: str) -> str:
    """Of each line only the settings above: what else stands on it is not kept as evidence."""
    kept = []
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        code = match.group(2).split("#", 1)[0] if match else ""
        words = ["%s=%s" % pair for pair in SETTING.findall(code)] or [one.group(0) for one in [INCLUDE.match(code)] if one]
        if words:
            kept.append(match.group(1) + ":" + " ".join(words) + "\n")
    return "".join(kept)
