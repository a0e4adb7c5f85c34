"""Detached jobs: they outlive who started them, end at their deadline or when stopped, with all their children, and a name runs once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from accept_node import job_runner, jobs

MODULE_UTILS = str(Path(jobs.__file__).parents[1])
BASE = jobs.base


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Each test has its own jobs, and leaves none behind."""
    monkeypatch.setattr(jobs, "base", lambda: str(tmp_path))
    yield tmp_path
    jobs.stop_all()


def alive(pid: int) -> bool:
    """Does it run? One that has ended and that nobody has waited for does not."""
    try:
        return Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def eventually(condition, seconds=10.0):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    return condition()


def test_ends_by_itself():
    began = jobs.start("r1.echo", ["sh", "-c", "echo out; echo err >&2; exit 3"], 20)
    assert began["argv"][0] == "sh"
    assert began["deadline_at_s"] - began["started_at_s"] == 20
    done = jobs.wait("r1.echo", 10)
    assert (done["state"], done["rc"], done["reason"], done["stdout"], done["stderr"]) == ("ended", 3, "", "out\n", "err\n")
    assert done["ended_at_s"] >= done["started_at_s"]
    jobs.forget("r1.echo")
    assert jobs.status("r1.echo")["state"] == "absent"


def test_what_it_has_printed_is_there_while_it_runs():
    jobs.start("r1.slow", ["sh", "-c", "echo so far; sleep 30"], 60)
    assert eventually(lambda: jobs.status("r1.slow")["stdout"] == "so far\n")
    assert jobs.status("r1.slow")["state"] == "running"


def test_deadline():
    start = time.monotonic()
    jobs.start("r1.hang", ["sh", "-c", "echo said; sleep 60"], 0.5)
    done = jobs.wait("r1.hang", 10)
    assert (done["state"], done["rc"], done["reason"], done["stdout"]) == ("ended", None, "deadline", "said\n")
    assert time.monotonic() - start < 8


def test_a_deadline_holds_for_what_ignores_signals():
    jobs.start("r1.deaf", ["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 0.2; done"], 0.4, grace_s=0.5)
    assert jobs.wait("r1.deaf", 10)["reason"] == "deadline"


def test_children_go_with_it(folder):
    jobs.start("r1.tree", ["sh", "-c", "sleep 61 & echo $! > %s/pid; trap '' TERM; wait; sleep 62" % folder], 60, grace_s=0.3)
    assert eventually(lambda: (folder / "pid").exists() and (folder / "pid").read_text().strip())
    pid = int((folder / "pid").read_text())
    assert alive(pid)
    assert jobs.stop("r1.tree")["reason"] == "stopped"
    assert eventually(lambda: not alive(pid))


def test_what_the_work_leaves_behind_is_ended_too(folder):
    jobs.start("r1.left", ["sh", "-c", "sleep 63 & echo $! > %s/pid" % folder], 60)
    assert jobs.wait("r1.left", 10)["rc"] == 0
    assert eventually(lambda: not alive(int((folder / "pid").read_text())))


def test_what_went_into_groups_of_their_own_goes_with_it(folder):
    """mpirun starts what reaches other nodes so: a hung ssh must not outlive the launch."""
    code = "import os, time; open(%r, 'w').write(str(os.getpid())); os.setpgid(0, 0); time.sleep(60)" % str(folder / "child")
    jobs.start("r1.apart", ["sh", "-c", '%s -c "$0" & sleep 60' % sys.executable, code], 30)
    assert eventually(lambda: (folder / "child").exists() and (folder / "child").read_text())
    child = int((folder / "child").read_text())
    assert eventually(lambda: os.getpgid(child) == child)
    jobs.stop("r1.apart")
    assert eventually(lambda: not alive(child))


def test_stop_of_what_does_not_run():
    assert jobs.stop("r1.never")["state"] == "absent"
    jobs.start("r1.done", ["true"], 20)
    jobs.wait("r1.done", 10)
    assert jobs.stop("r1.done")["rc"] == 0


def test_two_starts_of_one_name(folder):
    """The second is told of the first, at the same time and later, while it runs and when it has ended."""
    argv = ["sh", "-c", "echo x >> %s/times; sleep 0.6" % folder]
    threads = [threading.Thread(target=jobs.start, args=("r1.once", argv, 20)) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert jobs.start("r1.once", argv, 20)["state"] == "running"
    jobs.wait("r1.once", 10)
    assert jobs.start("r1.once", argv, 20)["state"] == "ended"
    assert (folder / "times").read_text() == "x\n"


def test_kill_9_of_the_starter(folder):
    """The process that began it, its whole session, dies; the work goes on and is found again by its name."""
    code = "import sys, time; sys.path.insert(0, %r)\nfrom accept_node import jobs\njobs.base = lambda: %r\n"
    code += "jobs.start('r1.survivor', ['sleep', '64'], 60)\ntime.sleep(60)"
    starter = subprocess.Popen([sys.executable, "-c", code % (MODULE_UTILS, str(folder))], start_new_session=True)
    assert eventually(lambda: jobs.status("r1.survivor")["state"] == "running")
    os.killpg(starter.pid, signal.SIGKILL)
    starter.wait()
    time.sleep(0.3)
    assert jobs.status("r1.survivor")["state"] == "running"
    assert jobs.stop("r1.survivor")["reason"] == "stopped"


def test_kill_9_of_the_runner_takes_the_work_along(folder):
    """Who knows the deadline is gone: the work may not live on without one."""
    jobs.start("r1.orphan", ["sleep", "65"], 60)
    began = jobs._json(str(folder / "r1.orphan"), "began.json")
    os.kill(began["pid"], signal.SIGKILL)
    assert eventually(lambda: not alive(began["work_pid"]))
    assert eventually(lambda: jobs.status("r1.orphan")["state"] == "lost")


def test_stop_all_of_one_run(folder):
    for name in ("r1.a", "r1.b", "r2.a"):
        jobs.start(name, ["sleep", "66"], 60)
    assert jobs.names("r1") == ["r1.a", "r1.b"]
    assert jobs.stop_all("r1") == ["r1.a", "r1.b"]
    assert jobs.names() == ["r2.a"]
    assert jobs.status("r2.a")["state"] == "running"


def test_a_program_that_is_not_there():
    jobs.start("r1.none", ["no-such-program"], 20)
    done = jobs.wait("r1.none", 10)
    assert (done["state"], done["rc"], done["reason"]) == ("ended", None, "missing")


@pytest.mark.parametrize("name", ["", "../up", "a/b", "-x", "a b", ".hidden", "x" * 300])
def test_names_that_would_be_paths(name):
    with pytest.raises(jobs.JobError):
        jobs.start(name, ["true"], 1)


def test_a_pid_that_is_another_process_by_now_is_left_alone():
    other = subprocess.Popen(["sleep", "67"])
    jobs._kill({"pid": other.pid, "birth": "1", "work_pid": other.pid, "work_birth": "1"}, signal.SIGKILL)
    time.sleep(0.1)
    assert other.poll() is None
    jobs._kill({"pid": other.pid, "birth": job_runner.birth(other.pid)}, signal.SIGKILL)
    assert other.wait(5) == -signal.SIGKILL


def test_the_folder_is_ours_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(jobs.os, "geteuid", lambda: 4711)
    (tmp_path / "accept-4711").mkdir(mode=0o777)
    with pytest.raises(jobs.JobError, match="no folder of ours"):
        BASE()


def test_under_systemd_it_is_a_unit(monkeypatch, tmp_path):
    """Where systemd is pid 1 a unit of its own survives the end of the session; where it refuses, a session of its own must do."""
    asked = []

    def run(argv, **rest):
        asked.append(argv)
        return subprocess.CompletedProcess(argv, 1 if len(asked) > 1 else 0)

    monkeypatch.setattr(jobs, "SYSTEMD", str(tmp_path))
    monkeypatch.setattr(jobs.os, "geteuid", lambda: 0)
    monkeypatch.setattr(jobs.subprocess, "run", run)
    begun = []
    monkeypatch.setattr(jobs.subprocess, "Popen", lambda argv, **rest: begun.append((argv, rest)))
    jobs._detach("r1.x", ["python3", "runner.py", "state"], 90)
    assert asked[0][:6] == ["systemd-run", "--quiet", "--collect", "--unit", "accept-r1.x", "-p"]
    assert asked[0][6:] == ["RuntimeMaxSec=90", "python3", "runner.py", "state"]
    assert not begun
    jobs._detach("r1.x", ["python3"], 90)
    assert begun[0][1]["start_new_session"] is True
