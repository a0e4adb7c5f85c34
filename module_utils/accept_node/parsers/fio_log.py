"""fio's own series (`write_bw_log`, `write_iops_log`, `write_lat_log`, with `log_avg_msec=1000`). `parse(text)` returns::

    {"points": {"read": [[1000, 955120], ...], "write": [...], "trim": [...]},    milliseconds since the start, value; as logged
     "ordered": bool,    False where the lines of several jobs stand in one file and time goes back
     "cut": bool}        the last line ends before its time, and is left out

Values have the unit of their log: KiB/s of bandwidth, requests per second, latency in nanoseconds (fio 3) or microseconds (fio 2). fio
writes no line for a second in which a direction finished no request: a gap is a stall, never a zero that fio measured.
Lines have four columns (fio 2), five with the offset or six with the priority; the columns that `log_window_value=both` and
`log_issue_time` add are refused, as they shift what follows.
Format: https://fio.readthedocs.io/en/latest/fio_doc.html (log file formats).
"""

from __future__ import annotations

import re

from . import ParseError

DIRECTIONS = ("read", "write", "trim")
LINE = re.compile(r"(\d{1,15}), *(\d{1,18}), *([0-2]), *(\d{1,12})(?:, *(?:0x[0-9a-f]{1,16}|\d{1,20})){0,2} *", re.A)
MAX_POINTS = 500000


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: fio has logged nothing")
    points, ordered, cut, before = {name: [] for name in DIRECTIONS}, True, False, 0
    lines = text.rstrip().split("\n")
    if len(lines) > MAX_POINTS:
        raise ParseError("fio log: %d lines: it was not averaged over time" % len(lines))
    for number, line in enumerate(lines, 1):
        match = LINE.fullmatch(line.strip())
        if match is None and number == len(lines) > 1 and not text.endswith("\n"):
            cut = True
        elif match is None:
            raise ParseError("fio log: line %d is none of a log: %r" % (number, line[:80]))
        else:
            at = int(match[1])
            ordered, before = ordered and at >= before, at
            points[DIRECTIONS[int(match[3])]].append([at, int(match[2])])
    return {"points": points, "ordered": ordered, "cut": cut}
