"""Detached work on a node, under a name: it outlives module run, controller and connection, and ends at its deadline at the latest.

    start("<run_id>.<role>", argv, deadline_s)   begins it; a name that runs, or has run, is not begun again but told as it stands.
                                                 `files` (relative path -> text) are put beside it; {folder} in argv is where
    status(name)                                 re-attaches by name: state, exit status, what it printed until now
    stop(name), stop_all(run_id)                 ends it: SIGTERM, a little grace, SIGKILL to its whole process group
    forget(name)                                 removes the state of a job that has ended

A status is {"name", "state": "running|ended|lost|absent", "rc", "reason", "message", "stdout", "stderr", "argv", "started_at_s",
"ended_at_s", "deadline_at_s"}. `lost`: it no longer runs and nobody saw its end. `reason` of an ended job is empty where it came to its
end by itself, else `deadline`, `stopped`, `missing`, `permission` or an errno name; `rc` is then null.

A job runs while its lock is held. The state lies in /run (gone after a reboot), without root in a private folder of the temporary one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import inspect
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from . import job_runner
from .node import MAX_OUTPUT_BYTES, REASONS, SEARCH_PATH

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,180}")
BEGIN_S = 15.0  # a node under load may be slow to start a Python
GRACE_S = 5.0
SYSTEMD = "/run/systemd/system"  # is there where systemd is pid 1


class JobError(Exception):
    """A job that cannot be begun or found: a wrong name, a folder that is not ours. One line."""


def base() -> str:
    """The folder of all jobs of this user, made if need be; nobody else may write there."""
    uid = os.geteuid()
    path = "/run/accept" if uid == 0 else os.path.join(tempfile.gettempdir(), "accept-%d" % uid)
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        info = os.lstat(path)
    except OSError as error:
        raise JobError(f"{path}: {error.strerror}") from error
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != uid or info.st_mode & 0o022:
        raise JobError(f"{path}: is no folder of ours that only we can write to; remove it")
    return path


def start(name: str, argv, deadline_s: float, grace_s: float = GRACE_S, files=None) -> dict:
    """Begin a job, unless one of this name runs or has run; its status."""
    folder = _folder(name)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    with open(os.path.join(folder, "starting"), "w", encoding="utf-8") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)  # of two that start one name the second waits, and finds it begun
        if os.path.exists(os.path.join(folder, "began.json")) or _locked(folder):
            return status(name)
        env = {"PATH": SEARCH_PATH + ":" + os.environ.get("PATH", ""), "LC_ALL": "C", "LANG": "C", "HOME": os.environ.get("HOME", "/")}
        argv = [part.replace("{folder}", folder) for part in argv]
        for path, text in (files or {}).items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), mode=0o700, exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as handle:
                handle.write(text)
        job_runner.put(folder, "job.json", {"argv": argv, "deadline_s": deadline_s, "grace_s": grace_s, "env": env})
        runner = os.path.join(folder, "runner.py")
        with open(runner, "w", encoding="utf-8") as handle:
            handle.write(inspect.getsource(job_runner))
        _detach(name, [sys.executable, runner, folder], deadline_s + grace_s + 60)
        until = time.monotonic() + BEGIN_S
        while not os.path.exists(os.path.join(folder, "began.json")):
            if time.monotonic() > until:
                raise JobError(f"{name}: did not begin within {BEGIN_S:.0f} s")
            time.sleep(0.01)
    return status(name)


def status(name: str) -> dict:
    """A job as it stands now."""
    folder = _folder(name)
    running = _locked(folder)  # first: what is read later is then at least as new
    job, began, ended = (_json(folder, part) for part in ("job.json", "began.json", "ended.json"))
    told = {
        "name": name,
        "state": "running" if running else "ended" if ended else "lost" if began else "absent",
        "rc": None,
        "reason": "",
        "message": "",
        "stdout": _text(folder, "stdout"),
        "stderr": _text(folder, "stderr"),
        "argv": job.get("argv", []),
        "started_at_s": began.get("started_at_s"),
        "ended_at_s": None,
        "deadline_at_s": began["started_at_s"] + job["deadline_s"] if began and job else None,
    }
    if ended and not running:
        number = ended.get("errno") or 0
        reason = ended["reason"] or (REASONS.get(number) or errno.errorcode.get(number, "unreadable") if number else "")
        told.update(rc=ended["rc"], reason=reason, message=ended["message"], ended_at_s=ended["ended_at_s"])
    return told


def stop(name: str, wait_s: float = GRACE_S + 3.0) -> dict:
    """End a job that runs; its status."""
    folder = _folder(name)
    for number, patience in ((signal.SIGTERM, wait_s), (signal.SIGKILL, 3.0)):
        if not _locked(folder):
            break
        _kill(_json(folder, "began.json"), number)
        until = time.monotonic() + patience
        while _locked(folder) and time.monotonic() < until:
            time.sleep(0.05)
    return status(name)


def _kill(began: dict, number) -> None:
    """SIGTERM goes to the runner, which ends the work; SIGKILL to both. A pid that is by now another process's is left alone."""
    runner, work = began.get("pid"), began.get("work_pid")
    with contextlib.suppress(OSError):
        # While one process of the group lives its number is nobody else's, also where the first of them is gone.
        if number == signal.SIGKILL and work and job_runner.birth(work) in ("", began["work_birth"]):
            os.killpg(work, number)
    with contextlib.suppress(OSError):
        if runner and job_runner.birth(runner) == began["birth"]:
            os.kill(runner, number)


def wait(name: str, timeout_s: float) -> dict:
    """The status of a job when it has ended, or when the time is up."""
    folder, until = _folder(name), time.monotonic() + timeout_s
    while _locked(folder) and time.monotonic() < until:
        time.sleep(0.05)
    return status(name)


def forget(name: str) -> None:
    """Remove the state of a job that does not run."""
    folder = _folder(name)
    if not _locked(folder):
        shutil.rmtree(folder, ignore_errors=True)


def folder_of(name: str) -> str:
    """Where a job's state, its files and what it writes are."""
    return _folder(name)


def names(run_id: str = "") -> list:
    """The jobs there is a state of: of one run, or all."""
    return sorted(name for name in os.listdir(base()) if NAME.fullmatch(name) and (not run_id or name.startswith(run_id + ".")))


def stop_all(run_id: str = "") -> list:
    """End every job of a run (of all runs where none is named) and forget it; names of those that ran."""
    ran = []
    for name in names(run_id):
        if status(name)["state"] == "running":
            ran.append(name)
            stop(name)
        forget(name)
    return ran


def _folder(name: str) -> str:
    if not NAME.fullmatch(name):
        raise JobError(f"{name[:80]!r} cannot be the name of a job")
    return os.path.join(base(), name)


def _locked(folder: str) -> bool:
    try:
        with open(os.path.join(folder, "lock"), "rb+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EACCES)
    return False


def _detach(name, argv, limit_s) -> None:
    """A process that nobody's log-out, hang-up or kill takes along: a unit of systemd where that rules, else a session of its own."""
    if os.geteuid() == 0 and os.path.isdir(SYSTEMD):
        unit = ["systemd-run", "--quiet", "--collect", "--unit", "accept-" + name, "-p", f"RuntimeMaxSec={limit_s:.0f}"]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            if subprocess.run([*unit, *argv], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False).returncode == 0:
                return
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(argv, start_new_session=True, close_fds=True, cwd="/", **quiet)


def _json(folder, name) -> dict:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as handle:
            return json.load(handle)
    except (OSError, ValueError):
        return {}


def _text(folder, name) -> str:
    try:
        with open(os.path.join(folder, name), "rb") as handle:
            return handle.read(MAX_OUTPUT_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
