"""Processes, as `ps -ww -o pid=,etimes=,comm=,args= -C NAME,...` prints them, one a line.

{"processes": [{"pid", "elapsed_s", "comm", "args"}]}; of a kernel thread args are its name in brackets.
"""

from __future__ import annotations

import re

from . import ParseError

LINE = re.compile(r"\s*(\d{1,10})\s+(\d{1,12})\s+(\S+)(?:\s+(\S.*))?")


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no process")
    found = []
    for line in text.splitlines():
        match = LINE.fullmatch(line.rstrip())
        if match:
            pid, elapsed, comm, args = match.groups()
            found.append({"pid": int(pid), "elapsed_s": int(elapsed), "comm": comm, "args": args or comm})
        elif line.strip():
            raise ParseError(f"not a line of ps: {line.strip()[:80]!r}")
    return {"processes": found}
