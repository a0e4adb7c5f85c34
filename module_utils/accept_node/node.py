"""The only input and output of a node module: live, recorded or replayed.

LiveNode runs argv lists and reads files of the machine it runs on, RecordingNode keeps what was seen as a capture, ReplayNode answers
from such a capture instead of a machine. Nothing here raises for what a machine may do to it: a tool that is missing, hangs or may not
be run, a file that cannot be read are results with a reason.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import itertools
import os
import platform
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from typing import Dict, List, NamedTuple, Sequence, Tuple

MAX_OUTPUT_BYTES = 32 * 1024 * 1024
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/cuda/bin:/opt/rocm/bin:/opt/slurm/bin"
REASONS = {errno.ENOENT: "missing", errno.ENOTDIR: "missing", errno.EACCES: "permission", errno.EPERM: "permission"}


class CommandResult(NamedTuple):
    """What a command did. `reason` is empty when it ran to its end, whatever its exit status."""

    argv: Tuple[str, ...]
    rc: int | None  # None: it did not run to its end
    stdout: str
    stderr: str
    duration_s: float
    reason: str  # "" | missing | permission | timeout | not_recorded | an errno name


class FileResult(NamedTuple):
    """A file's text, or None and the reason."""

    path: str
    text: str | None
    reason: str  # "" | missing | permission | timeout | not_recorded | an errno name


class TreeResult(NamedTuple):
    """Many small files below one root. Paths are relative to the root; `links` holds the real path of each matched directory link."""

    root: str
    files: Dict[str, str]
    links: Dict[str, str]
    errors: Dict[str, str]
    reason: str  # "" | missing | permission | not_recorded


class ListResult(NamedTuple):
    """The names in a directory, sorted."""

    path: str
    names: List[str]
    reason: str


def _reason(error: OSError) -> str:
    return REASONS.get(error.errno or 0) or errno.errorcode.get(error.errno or 0, "unreadable")


@contextmanager
def _time_limit(seconds: float):
    """Interrupt a file read that hangs (a dead mount, a driver that does not answer)."""

    def expire(signum, frame):
        raise OSError(errno.ETIMEDOUT, "time limit")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class LiveNode:
    """The machine that the module runs on."""

    mode = "live"

    def identity(self) -> dict:
        """Who answers: python, uid, hostname, machine."""
        return {
            "python": platform.python_version(),
            "uid": os.geteuid(),
            "hostname": socket.gethostname(),
            "machine": platform.machine(),
        }

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def run(self, argv: Sequence[str], timeout_s: float = 30.0) -> CommandResult:
        """Run argv (never a shell) in the C locale. What it printed until a time limit is kept.

        Output goes to files, not pipes: a tool stuck in the kernel cannot be killed, and must not hold us too.
        """
        start = time.monotonic()
        search = SEARCH_PATH + ":" + os.environ.get("PATH", "")
        env = {"PATH": search, "LC_ALL": "C", "LANG": "C", "HOME": os.environ.get("HOME", "/root"), "PYTHONUTF8": "1"}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                process = subprocess.Popen(
                    _found(argv, search), stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd="/", start_new_session=True
                )
            except OSError as error:
                return CommandResult(tuple(argv), None, "", str(error), time.monotonic() - start, _reason(error))
            reason = ""
            try:
                rc = process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                rc, reason = None, "timeout"
                _kill_group(process)
            return CommandResult(tuple(argv), rc, _text(out), _text(err), time.monotonic() - start, reason)

    def read(self, path: str, timeout_s: float = 10.0) -> FileResult:
        try:
            with _time_limit(timeout_s), open(path, "rb") as handle:
                return FileResult(path, _content(handle), "")
        except OSError as error:
            return FileResult(path, None, "timeout" if error.errno == errno.ETIMEDOUT else _reason(error))

    def read_tree(self, root: str, patterns: Sequence[str], timeout_s: float = 30.0) -> TreeResult:
        """Read every file below root that one of the glob patterns (relative to root) names."""
        if not os.path.isdir(root):
            return TreeResult(root, {}, {}, {}, "missing")
        files, links, errors, start = {}, {}, {}, len(os.path.join(root, ""))
        try:
            with _time_limit(timeout_s):
                for pattern in patterns:
                    for path in sorted(glob.glob(os.path.join(root, pattern))):
                        name = path[start:]
                        try:
                            files[name] = _small(path)
                        except IsADirectoryError:
                            links[name] = os.path.realpath(path)
                        except OSError as error:
                            if error.errno == errno.ETIMEDOUT:
                                raise
                            errors[name] = _reason(error)
        except OSError as error:
            return TreeResult(root, files, links, errors, "timeout" if error.errno == errno.ETIMEDOUT else _reason(error))
        return TreeResult(root, files, links, errors, "")

    def listdir(self, path: str) -> ListResult:
        try:
            return ListResult(path, sorted(os.listdir(path)), "")
        except OSError as error:
            return ListResult(path, [], _reason(error))


def _small(path: str) -> str:
    """A file of one page or so, with as few calls as can be: a fabric has thousands of them."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = [os.read(handle, 65536)]
        while pieces[-1] and len(pieces) < 16:
            pieces.append(os.read(handle, 65536))
    finally:
        os.close(handle)
    return b"".join(pieces).decode("utf-8", "replace")


def _found(argv: Sequence[str], search: str) -> List[str]:
    """argv with its program looked up in our search path: Popen would use the caller's."""
    if os.sep in argv[0]:
        return list(argv)
    for folder in search.split(":"):
        path = os.path.join(folder, argv[0])
        if folder and os.path.isfile(path) and os.access(path, os.X_OK):
            return [path, *argv[1:]]
    raise FileNotFoundError(errno.ENOENT, "not found in " + SEARCH_PATH, argv[0])


def _kill_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(2)
    except (OSError, subprocess.TimeoutExpired):
        pass  # stuck in the kernel: it goes when the kernel lets it


def _content(handle) -> str:
    """In pieces: /proc/sys refuses (ENOMEM) a reader who asks for megabytes at once."""
    pieces = itertools.takewhile(bool, (handle.read(1 << 20) for _ in range(MAX_OUTPUT_BYTES >> 20)))
    return b"".join(pieces).decode("utf-8", "replace")


def _text(handle) -> str:
    handle.seek(0)
    return handle.read(MAX_OUTPUT_BYTES).decode("utf-8", "replace")


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
