"""nccl-tests and rccl-tests: the text of every published version, with what launchers, libraries and other ranks print between its lines.

`parse(text)` returns the record of ..collective_rows, as JSON::

    {"tool": "nccl-tests" | "rccl-tests" | null, "tool_version": "2.17.6", "library_version": "2.26.2+cuda12.8", "collective": "all_reduce",
     "ranks": 16, "hosts": ["n1", "n2"], "min_bytes": 8, "max_bytes": 17179869184, "rows": [[...]], "zero_size_rows": 0,
     "unfinished_bytes": null, "average_busbw_gbytes_s": 150.209, "wrong_values": 0, "warnings": 0, "status": "ok", "reasons": [],
     "errors": ["lines that say what broke"]}

Times are microseconds, bandwidths 10^9 bytes per second. Rows of 0 bytes (fewer elements than ranks) are counted and left out. The old
column "error" is a deviation, not a count: within the tolerance of its type it is 0 wrong values, beyond it at least 1. A number in a
wrong format, N/A and nan are null. `unfinished_bytes`: the size whose line was begun and not ended, where a hang stood. Two ranks of one
number are tests that knew nothing of each other (built without MPI): an error, whatever the table says.

Format: https://github.com/NVIDIA/nccl-tests, src/util.cu and src/common.cu, 1.0 to 2.19; https://github.com/ROCm/rccl-tests.
"""

from __future__ import annotations

import re

from .. import collective_rows as rows
from . import ParseError

NOISE = re.compile(r"([\w.\-]+):\d+:\d+ \[ ?\d+ ?\]$")
TAG = re.compile(
    r"^(?:\[\d+\]|\[[\w.@\-]*,?\d+\]<std(?:out|err)>:|\s*\d+: |\[pod/[^\]]{1,200}\] |[\d\-]{10}T[\d:.]{8,20}Z |"
    r"[A-Z][a-z]{2} [^<\n]{16,24}<stdout>:)"
)
MID_TAG = re.compile(r"\[\d+(?:,\d+)?\](?:<std(?:out|err)>:)?")
DEVICE = re.compile(r"#?\s*Rank\s+(\d+)(?:\s+Group\s+\d+)?\s+Pid\s+(\d+)\s+on\s+(\S.*?)\s+device\s+(\d+)\s+\[[0-9a-fA-Fx:.]+\]")
HEAD = re.compile(r"\s*(\d[\d,.]*)\s+(\d[\d,.]*)\s+([a-z][a-z0-9_]{2,12})\b(?:\s+(sum|prod|max|min|avg|all|mulsum|none)\b)?")
CONFIG = re.compile(r"minBytes (\d+) maxBytes (\d+) step: (\d+)\((factor|bytes)\)")
TOOL = re.compile(r"(nccl|rccl)-tests:? [Vv]ersion:? *(\S*)")
LIBRARY = re.compile(r"^(?:#?\s*)[NR]CCL version ?:? (\S+)")
PROGRAM = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|alltoallv?|broadcast|sendrecv|reduce|gather|scatter|hypercube)_perf\b")
BOUNDS = re.compile(r"# Out of bounds values\s*:\s*(\d+)(?: (OK|FAILED))?")
AVERAGE = re.compile(r"# Avg bus bandwidth\s*:\s*(\S*)")
STAMP = re.compile(r"\s\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$")
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
COMMA = re.compile(r"\d+(?:\.\d{3})*,\d+(?:[eE][+-]?\d+)?")
GROUPED = re.compile(r"\d{1,3}(?:[,.]\d{3})+")
NONE = ("n/a", "[n/a]", "nan", "-nan", "inf", "-inf", "")
TOLERANCE = {"half": 1e-2, "bfloat16": 1e-2, "float": 1e-5, "double": 1e-12}  # of the old column "error", for reductions
ERRORS = re.compile(
    r"Test (?:NCCL|CUDA|HIP|RCCL) failure|Test failure |\bSignal: |exited on signal|Segmentation fault|Bus error|corrupted |\bKilled\b|"
    r"srun: error|slurmstepd: error|prterun noticed|mpirun noticed|mpiexec noticed|MPI_ABORT was invoked|Primary job +terminated|"
    r"command not found|No such file or directory|error while loading shared libraries|Invalid number of GPUs|CANCELLED|DUE TO TIME LIMIT|"
    r"unable to (?:start|launch|find)|could not (?:access|find)|There are not enough slots|"
    r"Permission denied(?: \(|$)|Connection refused|# error: \S"
)
MAX_ERRORS = 12


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: the benchmark has printed nothing")
    table = _Table()
    for line in text.splitlines():
        at = line.find(" NCCL ")
        if at > 0 and line[at + 6 : at + 10] in ("INFO", "WARN"):
            table.warned += line[at + 6] == "W"
            if not line[0].isalpha() and line[:at] not in table.pure:
                table.before_noise(line[:at])
        elif line:
            table.line(line)
    return table.finish(text)


class _Table:
    """What has been read up to now. `open` holds a row whose end has not come yet, `root` whether rows have that column."""

    def __init__(self):
        self.found, self.known = rows.record(), False
        self.ranks, self.hosts, self.open, self.root, self.step = {}, {}, None, None, None
        self.headers, self.warned, self.pure = 0, 0, set()

    def before_noise(self, left):
        """A line of the library that began in the middle of a row: what stands before it is the row's."""
        match = NOISE.search(left)
        name = match[1] if match else ""
        host = name if name in self.hosts else max((host for host in self.hosts if name.endswith(host)), key=len, default="")
        glued = name[: len(name) - len(host)] if host else (re.match(r"-1(?=[A-Za-z])", name) or [""])[0]
        part = _untagged(left[: match.start()] + glued) if match else ""
        if part.strip():
            self.line(part, broken=True)
        else:
            self.pure.add(left)

    def line(self, line, broken=False):
        line = _untagged(line)
        if self._row(line, broken):
            return
        stripped = line.lstrip("# \t")
        if stripped.startswith("Rank"):
            self._device(line)
        elif "size" in stripped[:8] and "count" in line:
            self._header(line)
        else:
            self._text(line)

    def _device(self, line):
        match = DEVICE.match(line.strip())
        if match:
            self.known = True
            self.ranks.setdefault(int(match[1]), set()).add(match.groups()[1:])
            self.hosts.setdefault(match[3].strip())

    def _header(self, line):
        words = line.lower().split()
        self.known, self.headers, self.open = True, self.headers + 1, None
        self.root = "root" in words
        if words.count("size") > 1:
            rows.add(self.found, "tables side by side: the left one is kept")

    def _text(self, line):
        """Whatever is no row: settings, summary, and what broke."""
        found = self.found
        match = CONFIG.search(line)
        if match:
            self.known = True
            found["min_bytes"], found["max_bytes"] = int(match[1]), int(match[2])
            self.step = (int(match[3]), match[4])
        for pattern, key in ((TOOL, "tool"), (LIBRARY, "library_version"), (PROGRAM, "collective")):
            match = pattern.search(line)
            if match and pattern is TOOL:
                self.known, found["tool"] = True, match[1] + "-tests"
                found["tool_version"] = match[2] if re.search(r"\w", match[2]) else None
            elif match and (found[key] is None or key == "library_version"):
                found[key], self.known = match[1], self.known or key == "library_version"
        match = BOUNDS.search(line)
        if match:
            self.known, found["wrong_values"] = True, int(match[1])
        match = AVERAGE.search(line)
        if match:
            self.known = True
            found["average_busbw_gbytes_s"] = _number(match[1])[0]
        if ERRORS.search(line):
            self.known = True
            if len(found["errors"]) < MAX_ERRORS:
                found["errors"].append(" ".join(line.split())[:200])

    def _row(self, line, broken) -> bool:
        """Take a row or a part of one; False where the line is neither."""
        if "[" in line:
            line = MID_TAG.sub(" ", line)
        line = STAMP.sub("", line)
        match = HEAD.match(line)
        if match:
            self._unfinished()
            rest = line[match.end() :]
            self.open = {"head": match, "words": rest.split(), "gap": len(rest) - len(rest.lstrip()[6:].lstrip()) > 36, "broken": broken}
        elif self.open and self.open["broken"] and line.strip() and all(_is_number(word) for word in line.split()):
            self.open["words"] += line.split()
        else:
            return False
        self.known = True
        self._close(final=not (broken or (match and not self.open["words"][1:])))
        return True

    def _unfinished(self):
        """A row that was begun and is not going on: keep what it has."""
        if self.open:
            self._close(final=True, cut=True)

    def _close(self, final, cut=False):
        head, words = self.open["head"], list(self.open["words"])
        beside = next((place for place, word in enumerate(words) if word[0].isalpha() and not _is_number(word)), None)
        if beside is not None and re.fullmatch(r"[a-z]\w+", words[beside]):
            words = words[: max(0, beside - 2)]
            rows.add(self.found, "tables side by side: the left one is kept")
        root = self.root if self.root is not None else len(words) in (9, 17)
        if root and words and not (self.open["broken"] and len(words) in (4, 8, 16) and words[0] != "-1"):
            words = words[1:]
        if not final and len(words) < 8:
            self.open["broken"] = True
            return
        size = _size(head[1])
        self.open, gap = None, self.open["gap"]
        if size is None:
            rows.add(self.found, f"{head[1]}: no size in bytes")
        elif size == 0:
            self.found["zero_size_rows"] += 1
        elif len(words) < 4:
            self.found["unfinished_bytes"] = size
        else:
            self.found["rows"].append(self._values(size, words, head, gap, cut))

    def _values(self, size, words, head, gap, cut):
        width = 8 if len(words) >= 16 else 4  # -I prints four more columns on each side
        halves = [words[:4], words[width : width + 4]] if len(words) >= width + 4 else [[], words[:4]] if gap else [words[:4], []]
        if len(words) < width + 4 and (cut or not gap):
            rows.add(self.found, f"{size} bytes: the row is cut")
        row = [size]
        for half in halves:
            values = [self._value(size, word) for word in half] or [None] * 4
            row += [*values[:3], self._wrong(values[3], half[3] if half else "", head)]
        return row

    def _value(self, size, word):
        value, why = _number(word)
        if why == "comma":
            rows.add(self.found, "numbers with decimal commas: the benchmark ran under another locale")
        elif why:
            rows.add(self.found, f"{size} bytes: {word[:20]!r} is no number")
        return value

    def _wrong(self, value, word, head):
        """A count; the old column held the greatest deviation."""
        if value is None or (value == int(value) and "e-" not in word):
            return None if value is None else int(value)
        return 0 if value <= TOLERANCE.get(head[3], 0.0) else 1

    def finish(self, text) -> dict:
        self._unfinished()
        found = self.found
        if not self.known:
            raise ParseError(f"no line of nccl-tests or rccl-tests: {' '.join(text.split())[:80]!r}")
        found["warnings"], found["hosts"] = self.warned, sorted(self.hosts)
        found["ranks"] = max(self.ranks) + 1 if self.ranks else None
        for error in found["errors"][:2]:  # with its summary the table is whole, whatever else was said beside it
            rows.add(found, f"broke: {error}", "partial" if found["average_busbw_gbytes_s"] is None else "ok")
        twice = sum(len(who) - 1 for who in self.ranks.values())
        if twice:
            first = min(self.ranks)
            reason = f"{len(self.ranks[first])} ranks {first}: tests that knew nothing of each other (built without MPI?)"
            rows.add(found, reason, "error")
        elif self.headers > 1:
            rows.add(found, f"{self.headers} tables in one output: the first is kept")
        if self.ranks and len(self.ranks) < found["ranks"]:
            rows.add(found, f"{len(self.ranks)} of {found['ranks']} ranks listed", "ok")
        self._summary()
        step, kind = self.step or (0, "")
        return rows.whole(found, *rows.wanted(found, step if kind == "factor" else 0))

    def _summary(self):
        """The average covers all rows: where it does not fit them rows are missing, or it is cut itself."""
        found = self.found
        values = [row[place] for row in found["rows"] for place in (3, 7)]
        average = found["average_busbw_gbytes_s"]
        if found["rows"] and average is None:
            rows.add(found, "no summary: the output ends before it")
        elif found["rows"] and None not in values and found["status"] == "ok":
            mean = sum(values) / (len(values) + 2 * found["zero_size_rows"])
            if abs(mean - average) > 0.02 + 0.005 * mean:
                rows.add(found, f"average bus bandwidth {average:g} is not that of the rows ({mean:.2f}): rows or its end are missing")


def _untagged(line) -> str:
    """A line without what its launcher puts before it."""
    while True:
        tag = TAG.match(line)
        if not tag:
            return line
        line = line[tag.end() :]


def _size(word):
    return int(word) if word.isdigit() else int(re.sub(r"[,.]", "", word)) if GROUPED.fullmatch(word) else None


def _is_number(word) -> bool:
    return bool(NUMBER.fullmatch(word) or COMMA.fullmatch(word)) or word.lower() in NONE


def _number(word):
    """(value, why it is none or doubtful)"""
    if NUMBER.fullmatch(word):
        return float(word), ""
    if word.lower() in NONE:
        return None, "" if word.lower() in ("n/a", "[n/a]", "") else "nan"
    if COMMA.fullmatch(word):
        return float(word.replace(".", "").replace(",", ".")), "comma"
    return None, "unreadable"
