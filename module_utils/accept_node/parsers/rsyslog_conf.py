"""rsyslog's configuration, all its files joined: do the kernel's records come in, and into which files do they go?

`parse(text)` -> {"inputs": ["imjournal", "imklog", "imuxsock"], "permit_non_kernel": bool, "files": [{"path", "kernel", "user"}],
"intricate": bool}. `kernel`, `user`: does a record of that facility and of severity error come into the file, by the lines
`FACILITY.SEVERITY PATH`. `intricate`: there are rules that are no such lines, so that what is false may be true.
`permit_non_kernel`: imklog drops what a program wrote to /dev/kmsg unless told otherwise.
Format: https://www.rsyslog.com/doc/ (configuration formats; modules imklog and imjournal)
"""

from __future__ import annotations

import re

from . import ParseError

MODULE = re.compile(r"(?:\bmodule\s*\(\s*load\s*=\s*\"|^\s*\$ModLoad\s+)(im\w+?)(?:\.so)?(?=[\"\s]|$)", re.I | re.M)
PERMIT = re.compile(r"permitnonkernelfacility\s*=?\s*\"?(on|off|yes|no)\b", re.I)
LINE = re.compile(r"^([\w*,]+\.[\w*=!.,;]+(?:;[\w*,]+\.[\w*=!,]+)*)\s+-?(/[^\s;]+)\S*$")
RULE = re.compile(r"^\s*(?:if\b|:\w+\s*,|ruleset\s*\(|action\s*\(|\*?\.?\w*\s+(?:stop|~)\s*$)", re.I | re.M)
SEVERITIES = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
NAMES = {"error": "err", "warn": "warning", "panic": "emerg"}


def parse(text: str) -> dict:
    lines = [line.split("#", 1)[0].rstrip() for line in text.splitlines()]
    code = "\n".join(line for line in lines if line.strip())
    if not code:
        raise ParseError("empty: no configuration of rsyslog")
    inputs = sorted({name.lower() for name in MODULE.findall(code)} & {"imklog", "imjournal", "imuxsock"})
    permit = [word.lower() in ("on", "yes") for word in PERMIT.findall(code)]
    files: dict = {}
    for line in code.splitlines():
        found = LINE.match(line.strip())
        if found:
            entry = files.setdefault(found.group(2), {"path": found.group(2), "kernel": False, "user": False})
            entry["kernel"] |= selects(found.group(1), "kern")
            entry["user"] |= selects(found.group(1), "user")
    if not inputs and not files and "=" not in code and "$" not in code:
        raise ParseError("not a configuration of rsyslog: %r" % code[:60])
    return {
        "inputs": inputs,
        "permit_non_kernel": bool(permit and permit[-1]),
        "files": sorted(files.values(), key=lambda entry: entry["path"]),
        "intricate": RULE.search(code) is not None,
    }


def selects(selector: str, facility: str) -> bool:
    """Does a selector take a record of this facility and of severity error? Of its parts the last that speaks of it counts."""
    taken = False
    for part in selector.split(";"):
        facilities, _, severity = part.partition(".")
        if not {"*", facility} & set(facilities.split(",")):
            continue
        turned, severity = severity.startswith("!"), severity.lstrip("!")
        exact, severity = severity.startswith("="), NAMES.get(severity.lstrip("="), severity.lstrip("="))
        if severity == "none":
            taken = False
        elif severity == "*":
            taken = not turned
        elif severity in SEVERITIES:
            holds = severity == "err" if exact else SEVERITIES.index(severity) >= SEVERITIES.index("err")
            taken = (taken and not holds) if turned else (taken or holds)
    return taken
