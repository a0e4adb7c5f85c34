"""NCCL's settings on a node: a conf file (/etc/nccl.conf, ~/.nccl.conf; parse) and shell files (parse_grep).

    {"values": {"NCCL_IB_GID_INDEX": "3"}, "ignored": ["export NCCL_DEBUG=INFO"]}
    {"files": {"/etc/environment": {"NCCL_IB_TC": "106"}}}

The library takes plain NAME=VALUE lines of a conf file; a line with blanks before the name or with `export` sets nothing: it is in
`ignored`. In shell files quotes and `export` are what they are in a shell. Only NCCL_ and RCCL_ names are kept: others are nobody's
business. parse_grep reads `grep -rHsE PATTERN FILES`: path:line. parse_environ reads `grep -zoaE PATTERN /proc/PID/environ`: entries behind
NUL; {"values": {...}}, and nothing is taken for none.
"""

from __future__ import annotations

import re

from . import ParseError

NAME = re.compile(r"((?:NCCL|RCCL)_[A-Z0-9_]{1,80})=(.*)")
GREP = re.compile(r"(/[^:\n]{1,200}):\s*(?:export\s+)?((?:NCCL|RCCL)_[A-Z0-9_]{1,80})=(.*)")


def parse(text: str) -> dict:
    """A conf file. An empty one sets nothing; binary rubbish is a ParseError."""
    if "\0" in text:
        raise ParseError("nccl.conf: not text")
    values, ignored = {}, []
    for line in text.splitlines():
        line = line.rstrip("\r")
        match = NAME.fullmatch(line)
        if match:
            values.setdefault(match.group(1), match.group(2).strip())
        elif re.match(r"\s+(?:export\s+)?[NR]CCL_|export\s+[NR]CCL_", line):
            ignored.append(line.strip()[:120])
    return {"values": values, "ignored": ignored}


def parse_grep(text: str) -> dict:
    """Lines of shell files; the last of a name counts, as for a shell that reads the file."""
    if text.strip() and not any(map(GREP.fullmatch, text.splitlines())):
        raise ParseError(f"grep: no NCCL variable in: {' '.join(text.split())[:120]}")
    files = {}
    for match in filter(None, map(GREP.fullmatch, text.splitlines())):
        path, name, value = match.groups()
        files.setdefault(path, {})[name] = _unquoted(value)
    return {"files": files}


def parse_environ(text: str) -> dict:
    """Entries of a process's environment."""
    matches = [NAME.fullmatch(entry) for entry in text.split("\0") if entry.strip()]
    if None in matches:
        raise ParseError("environ: an entry that is none of NCCL's")
    return {"values": {match.group(1): match.group(2)[:200] for match in matches}}


def _unquoted(value):
    value = value.strip()
    quoted = re.match(r"""(["'])(.*?)\1""", value)
    return quoted.group(2) if quoted else re.split(r"[\s;#]", value)[0]
