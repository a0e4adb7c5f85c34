"""The process that looks after one detached job. jobs.py writes this file's text beside the job's state and starts it there.

It holds the lock, starts the work in a session of its own, ends it at the deadline or on SIGTERM, and says how it ended. It stands alone:
nothing of this package is there when it runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
AWAITED = (signal.SIGCHLD, signal.SIGTERM)


def put(folder, name, content):
    """Write a JSON file whole or not at all."""
    path = os.path.join(folder, name)
    with open(path + ".part", "w", encoding="utf-8") as handle:
        json.dump(content, handle)
    os.replace(path + ".part", path)


def birth(pid):
    """When a process began, in the kernel's ticks: a pid alone may be another process's by now."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as handle:
            return handle.read().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


def prepare():
    """In the child: signals as usual, and no life beyond this process's, which alone knows the deadline."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def kill(process, number):
    with contextlib.suppress(OSError):
        os.killpg(process.pid, number)


def session(leader):
    """The processes of a session besides its leader. While one of them lives its number is nobody else's."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != leader:
            try:
                with open("/proc/" + name + "/stat", encoding="utf-8", errors="replace") as handle:
                    found += [int(name)] if int(handle.read().rsplit(")", 1)[1].split()[3]) == leader else []
            except (OSError, IndexError, ValueError):
                continue
    return found


def attend(process, until):
    """Wait for the end of the work; why it has to be ended, or nothing."""
    while process.poll() is None:
        left = until - time.monotonic()
        if left <= 0:
            return "deadline"
        found = signal.sigtimedwait(AWAITED, left)
        if found is not None and found.si_signo == signal.SIGTERM:
            return "stopped"
    return ""


def main(folder):
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open(os.path.join(folder, "job.json"), encoding="utf-8") as handle:
        job = json.load(handle)
    began = {"pid": os.getpid(), "birth": birth(os.getpid()), "started_at_s": time.time()}
    until = time.monotonic() + job["deadline_s"]
    with open(os.path.join(folder, "stdout"), "ab") as out, open(os.path.join(folder, "stderr"), "ab") as err:
        try:
            process = subprocess.Popen(
                job["argv"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=job["env"],
                cwd="/",
                start_new_session=True,
                pass_fds=[lock],  # as long as any of the work lives the lock is held, whatever becomes of this process
                preexec_fn=prepare,
            )
        except OSError as error:
            put(folder, "began.json", began)
            put(folder, "ended.json", {"rc": None, "errno": error.errno, "reason": "", "message": str(error), "ended_at_s": time.time()})
            return
    put(folder, "began.json", {**began, "work_pid": process.pid, "work_birth": birth(process.pid)})
    reason = attend(process, until)
    if reason:
        kill(process, signal.SIGTERM)
        attend(process, time.monotonic() + job["grace_s"])
    kill(process, signal.SIGKILL)  # also what the work has left behind in its group
    for pid in session(process.pid):  # and in groups of their own, as mpirun does with what reaches other nodes
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    rc = process.wait()
    put(folder, "ended.json", {"rc": None if reason else rc, "errno": 0, "reason": reason, "message": "", "ended_at_s": time.time()})


if __name__ == "__main__":
    main(sys.argv[1])
