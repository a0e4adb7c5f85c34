"""An allocation of Slurm: one batch job that sleeps on exclusive nodes; tests are its steps (`srun --jobid=... --overlap`).

settings: partition, account, qos, reservation, constraint (texts), wait_s, and `options`, further options of sbatch as a list.
"""

from __future__ import annotations

import re

from . import NAME, POLL_S, WAIT_S

SEEN = "%i|%T|%r|%N"
OPTIONS = ("partition", "account", "qos", "reservation", "constraint")
GONE = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT", "REVOKED")
# Reasons that waiting does not change.
HOPELESS = re.compile(
    r"Invalid|BadConstraints|PartitionNodeLimit|PartitionTimeLimit|ReqNodeNotAvail|JobHeld|NotPermitted|DependencyNeverSatisfied"
)


def submit(name, nodes, settings, minutes) -> list:
    """sbatch's command."""
    argv = ["sbatch", "--parsable", "--job-name=" + name, "--nodelist=" + ",".join(nodes), "--nodes=%d" % len(nodes)]
    argv += ["--exclusive", "--mem=0", "--no-requeue", "--time=%d" % minutes, "--output=/dev/null", "--error=/dev/null", "--chdir=/"]
    argv += ["--%s=%s" % (key, settings[key]) for key in OPTIONS if settings.get(key)]
    return [*argv, *map(str, settings.get("options") or ()), "--wrap=sleep %d" % (minutes * 60)]


def take(ask, name, nodes, settings, minutes) -> dict:
    """{"state", "job": id | None, "reason"}"""
    ours, why = _jobs(ask, name)
    if ours is None:
        return _refused(None, why)
    job = next((one["id"] for one in ours if one["state"] not in (*GONE, "COMPLETING")), None)
    if job is None:
        said, why = ask(submit(name, nodes, settings, minutes))
        match = re.match(r"(\d{1,12})(?:;\S+)?\s*$", said or "")
        if not match:
            return _refused(None, why or "sbatch gave no job id: " + " ".join((said or "").split())[:120])
        job = match[1]
    return _wait(ask, job, float(settings.get("wait_s") or WAIT_S))


def _wait(ask, job, wait_s) -> dict:
    until = ask.now() + wait_s
    while True:
        said, why = ask(["squeue", "--noheader", "--jobs=" + job, "--states=all", "--format=" + SEEN])
        rows = [line.strip().split("|") for line in (said or "").splitlines() if line.count("|") >= 3]
        state, reason = (rows[0][1], rows[0][2]) if rows else ("", why or "squeue does not know the job")
        if state == "RUNNING":
            return {"state": "held", "job": job, "reason": ""}
        if state in GONE or (rows and HOPELESS.search(reason)) or ask.now() >= until or ask.calls >= ask.max_calls - 2:
            ask(["scancel", job])
            waited = (
                "" if state in GONE else " and was cancelled" if HOPELESS.search(reason) else " after %.0f s and was cancelled" % wait_s
            )
            return _refused(job, "job %s is %s (%s)%s" % (job, state.lower() or "not seen", reason, waited))
        ask.sleep(POLL_S)


def release(ask, name) -> dict:
    """Cancel the jobs of ours that the name means, and see that they are gone."""
    ours, why = _jobs(ask, name)
    if ours is None:
        return {"released": [], "reason": "" if "not installed" in why else why}
    ids = [one["id"] for one in ours if one["state"] not in (*GONE, "COMPLETING")]
    if not ids:
        return {"released": [], "reason": ""}
    _, why = ask(["scancel", *ids])
    for _ in range(6):
        left, unseen = _jobs(ask, name)
        left = [one["id"] for one in left or () if one["state"] not in (*GONE, "COMPLETING")]
        if not left and not unseen:
            return {"released": ids, "reason": ""}
        ask.sleep(POLL_S / 2)
    return {"released": [one for one in ids if one not in left], "reason": why or unseen or "jobs %s are still there" % ", ".join(left)}


def _jobs(ask, name):
    """Jobs of this user of this name, or, where it ends in a dot, that begin so; None and why where they could not be asked for."""
    if not name.startswith(NAME):
        raise ValueError("%r is no name of ours" % name)
    said, why = ask(["squeue", "--noheader", "--me", "--format=%i|%T|%j"])
    if said is None:
        return None, why
    rows = [line.strip().split("|", 2) for line in said.splitlines() if line.count("|") >= 2]
    ours = [row for row in rows if (row[2].startswith(name) if name.endswith(".") else row[2] == name)]
    return [{"id": number, "state": state} for number, state, _ in ours if number.isdigit()], ""


def _refused(job, reason) -> dict:
    return {"state": "refused", "job": job, "reason": reason}
