"""IOR's text, of 3.x and 4.x, with or without the launcher's rank before each line. `parse(text)` returns::

    {"iterations": [{"operation": "write" | "read", "bytes_s": 26329743360.0, "iteration": 0}],
     "summary": [{"operation", "max_bytes_s", "min_bytes_s", "mean_bytes_s", "stonewall_s": None, "tasks": 48, "api": "MPIIO"}],
     "max_write_bytes_s": 1.0 | None, "max_read_bytes_s": 1.0 | None,    the "Max Write:" lines
     "errors": [line],      ERROR and WARNING lines, wrong data among them; the first 20
     "finished": bool,      it said that it had ended: a cut text has not, older versions never do
     "cut": bool}           a row that ends before its time, and is left out

Rates are bytes per second (IOR prints MiB/s, which are 2^20 bytes). `NA` and `-` are not measured: null.
Format: https://github.com/hpc/ior, src/ior-output.c.
"""

from __future__ import annotations

import re

from . import ParseError

RANK = re.compile(r"^\s*(?:\[\d{1,7}\]|\d{1,7}:)\s*")
MAXIMUM = re.compile(r"^Max (Write|Read):\s+(\d{1,12}\.\d{1,6}) MiB/sec\b")
NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.A)
COMPLAINT = re.compile(r"\b(?:ERROR|WARNING)\b")
OPERATIONS = ("write", "read")
ROW_LENGTHS = (9, 11)  # of an iteration: older versions, and those that print requests per second and latency too
MIB, MAX_ROWS, MAX_ERRORS = 1048576, 10000, 20
RATES = {"Max(MiB)": "max_bytes_s", "Min(MiB)": "min_bytes_s", "Mean(MiB)": "mean_bytes_s"}


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: IOR has printed nothing")
    found = {
        "iterations": [],
        "summary": [],
        "max_write_bytes_s": None,
        "max_read_bytes_s": None,
        "errors": [],
        "finished": False,
        "cut": False,
    }
    columns = []
    for line in text.splitlines()[: 10 * MAX_ROWS]:
        line = RANK.sub("", line).strip()
        words, maximum = line.split(), MAXIMUM.match(line)
        if maximum:
            found["max_%s_bytes_s" % maximum[1].lower()] = float(maximum[2]) * MIB
        elif words[:2] == ["Operation", "Max(MiB)"]:
            columns = words
        elif words and words[0] in OPERATIONS and len(words) > 1:
            _row(words, columns, found)
        elif words[:1] == ["Finished"]:
            found["finished"] = True
        elif COMPLAINT.search(line) and len(found["errors"]) < MAX_ERRORS:
            found["errors"].append(" ".join(words)[:200])
    if not (found["iterations"] or found["summary"] or found["errors"] or found["max_write_bytes_s"] or found["max_read_bytes_s"]):
        raise ParseError("IOR: no result in: %s" % " ".join(text.split())[:100])
    return found


def _row(words, columns, found):
    if len(found["iterations"]) + len(found["summary"]) >= MAX_ROWS:
        return
    if not columns and len(words) in ROW_LENGTHS:
        found["iterations"].append({"operation": words[0], "bytes_s": _rate(words[1]), "iteration": _whole(words[-1])})
    elif columns and len(words) == len(columns):
        named = dict(zip(columns, words))
        row = {"operation": words[0], **{key: _rate(named.get(name, "")) for name, key in RATES.items()}}
        stonewall = named.get("Stonewall(s)", "")
        row["stonewall_s"] = float(stonewall) if NUMBER.fullmatch(stonewall) else None
        found["summary"].append({**row, "tasks": _whole(named.get("#Tasks", "")), "api": named.get("API")})
    else:
        found["cut"] = True


def _rate(word):
    return float(word) * MIB if NUMBER.fullmatch(word) else None


def _whole(word):
    return int(word) if word.isdecimal() and word.isascii() and len(word) < 16 else None
