"""The machine itself, and the four shapes of an answer: of a command, a file, a tree of small files, a directory.

Nothing here raises for what a machine may do to it: a tool that is missing, hangs or may not be run, a file that cannot be read are
results with a reason.
"""

from __future__ import annotations

import errno
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
LOOK_S = 0.5  # between two looks at how much a tool has printed: it may fill the disk
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
            rc, reason = _waited(process, start + timeout_s, (out, err))
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


def _waited(process: subprocess.Popen, deadline: float, outputs) -> Tuple[int | None, str]:
    """(exit status, reason) at the end of a tool, of its time, or of what a tool may print: EFBIG, since half an answer is none."""
    rc, reason = None, ""
    while rc is None and not reason:
        try:
            rc = process.wait(max(0.0, min(LOOK_S, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            reason = "timeout" if time.monotonic() >= deadline else ""
        if any(os.fstat(output.fileno()).st_size > MAX_OUTPUT_BYTES for output in outputs):
            reason = "EFBIG"
    if rc is None:
        _kill_group(process)
    return rc, reason


def _kill_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(2)
    except (OSError, subprocess.TimeoutExpired):
        pass  # stuck in the kernel: it goes when the kernel lets it


def _content(handle) -> str:
    """In pieces: /proc/sys refuses (ENOMEM) a reader who asks for megabytes at once."""
    pieces = list(itertools.takewhile(bool, (handle.read(1 << 20) for _ in range((MAX_OUTPUT_BYTES >> 20) + 1))))
    if sum(map(len, pieces)) > MAX_OUTPUT_BYTES:
        raise OSError(errno.EFBIG, "larger than what is read")
    return b"".join(pieces).decode("utf-8", "replace")


def _text(handle) -> str:
    handle.seek(0)
    return handle.read(MAX_OUTPUT_BYTES).decode("utf-8", "replace")
