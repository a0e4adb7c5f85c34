"""The only input and output of a node module: live, recorded or replayed.

LiveNode runs argv lists and reads files of the machine it runs on, RecordingNode keeps what was seen as a capture, ReplayNode answers
from such a capture instead of a machine.
"""

from __future__ import annotations

import fnmatch
from typing import Sequence

from .live import MAX_OUTPUT_BYTES, REASONS, SEARCH_PATH, CommandResult, FileResult, ListResult, LiveNode, TreeResult

__all__ = [
    "MAX_OUTPUT_BYTES",
    "REASONS",
    "SEARCH_PATH",
    "CommandResult",
    "FileResult",
    "ListResult",
    "LiveNode",
    "RecordingNode",
    "ReplayNode",
    "TreeResult",
]


class RecordingNode:
    """A node that keeps all it saw. An answer seen before is given again, so that concerns of one audit share their tools' runs."""

    def __init__(self, node):
        self.node, self.mode = node, node.mode
        self.capture = {"schema": 1, "commands": [], "files": [], "trees": [], "listings": []}
        self.capture["identity"] = dict(node.identity())
        self.start = node.now()
        self.capture["recorded_at_s"] = self.start
        self.known = {}

    def identity(self):
        return self.capture["identity"]

    def now(self):
        return self.node.now()

    def sleep(self, seconds):
        self.known.clear()  # time has passed: what was seen may have changed
        self.node.sleep(seconds)

    def _once(self, kind, key, ask):
        if (kind, key) not in self.known:
            at_s = round(self.node.now() - self.start, 6)
            result = self.known[(kind, key)] = ask()
            self.capture[kind].append({"at_s": at_s, **result._asdict()})
        return self.known[(kind, key)]

    def run(self, argv, timeout_s=30.0):
        return self._once("commands", tuple(argv), lambda: self.node.run(argv, timeout_s))

    def keep_instead(self, result):
        """Keep this of a command that has just run: what its output held beyond it is not kept anywhere."""
        records = self.capture["commands"]
        index = max(number for number, record in enumerate(records) if tuple(record["argv"]) == tuple(result.argv))
        records[index] = {"at_s": records[index]["at_s"], **result._asdict()}
        self.known[("commands", tuple(result.argv))] = result

    def read(self, path, timeout_s=10.0):
        return self._once("files", path, lambda: self.node.read(path, timeout_s))

    def read_tree(self, root, patterns, timeout_s=30.0):
        return self._once("trees", (root, tuple(patterns)), lambda: self.node.read_tree(root, patterns, timeout_s))

    def listdir(self, path):
        return self._once("listings", path, lambda: self.node.listdir(path))


class ReplayNode:
    """A recorded machine. Time is virtual: it passes by `sleep` and by the recorded duration of commands, and costs nothing."""

    mode = "replay"

    def __init__(self, capture: dict):
        self.capture, self.elapsed = capture, 0.0
        self.records = {}
        for kind, key in (("commands", "argv"), ("files", "path"), ("trees", "root"), ("listings", "path")):
            for record in capture.get(kind, ()):
                name = tuple(record[key]) if key == "argv" else record[key]
                self.records.setdefault((kind, name), []).append(record)
        for records in self.records.values():
            records.sort(key=lambda record: record.get("at_s", 0.0))

    def identity(self):
        return self.capture.get("identity", {})

    def now(self):
        return self.capture.get("recorded_at_s", 0.0) + self.elapsed

    def sleep(self, seconds):
        self.elapsed += seconds

    def _record(self, kind, name):
        """The newest record that virtual time has reached, else the first one."""
        records = self.records.get((kind, name))
        if not records:
            return None
        reached = [record for record in records if record.get("at_s", 0.0) <= self.elapsed]
        return (reached or records)[-1 if reached else 0]

    def run(self, argv, timeout_s=30.0):
        record = self._record("commands", tuple(argv))
        if record is None:
            return CommandResult(tuple(argv), None, "", "", 0.0, "not_recorded")
        duration = float(record.get("duration_s", 0.0))
        self.elapsed += min(duration, timeout_s)
        if duration > timeout_s:
            return CommandResult(tuple(argv), None, record.get("stdout", ""), record.get("stderr", ""), timeout_s, "timeout")
        return CommandResult(
            tuple(argv), record.get("rc"), record.get("stdout", ""), record.get("stderr", ""), duration, record.get("reason", "")
        )

    def read(self, path, timeout_s=10.0):
        record = self._record("files", path)
        if record is None:
            return FileResult(path, None, "not_recorded")
        return FileResult(path, record.get("text"), record.get("reason", ""))

    def read_tree(self, root, patterns, timeout_s=30.0):
        """All records of the root that time has reached, joined: a recorder asks for one root with several sets of patterns."""
        records = self.records.get(("trees", root))
        if not records:
            return TreeResult(root, {}, {}, {}, "not_recorded")
        records = [record for record in records if record.get("at_s", 0.0) <= self.elapsed] or records
        parts = [{}, {}, {}]
        for record in records:
            for part, key in zip(parts, ("files", "links", "errors")):
                part.update({name: value for name, value in record.get(key, {}).items() if _matches(name, patterns)})
        return TreeResult(root, *parts, records[-1].get("reason", ""))

    def listdir(self, path):
        record = self._record("listings", path)
        return ListResult(path, [], "not_recorded") if record is None else ListResult(path, list(record["names"]), record.get("reason", ""))


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Glob as the shell does it: a star does not cross a slash."""
    parts = name.split("/")
    return any(
        len(parts) == pattern.count("/") + 1 and all(fnmatch.fnmatchcase(a, b) for a, b in zip(parts, pattern.split("/")))
        for pattern in patterns
    )
