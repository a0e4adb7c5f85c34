"""Slurm: each launch is a step of one allocation (`job`), ranks wired by PMIx, in a container where `image` names one (pyxis).

settings: job (id of the allocation), mpi (pmix), gpus_per_node, image, mounts, pending_s, options (further options of srun, a list).
"""

from __future__ import annotations

import re

from . import first_line, with_env

TOOL = "srun"
PENDING = re.compile(
    r"step creation (?:temporarily disabled|still disabled)|queued and waiting|Requested nodes are busy|"
    r"Immediate execution impossible"
)
GIVEN = "has been allocated resources"  # what was pending is no longer
DIED = re.compile(
    r"srun: error: \S+: tasks? .*(?:Killed|Exited|Segmentation|Aborted|Terminated|Bus error)|slurmstepd: error: .*(?:oom|NODE FAIL)", re.I
)
REFUSED = re.compile(r"srun: (?:error|fatal): .*")


def argv(launch, settings) -> list:
    count, tasks = len(launch.nodes), launch.tasks_per_node()
    found = ["srun", "--job-name=accept", "--overlap", f"--nodes={count}", f"--ntasks={count * tasks}", f"--ntasks-per-node={tasks}"]
    found += ["--nodelist=" + ",".join(launch.nodes), "--mpi=" + (settings.get("mpi") or "pmix"), "--kill-on-bad-exit=1", "--unbuffered"]
    found += [
        f"--immediate={int(settings.get('pending_s') or 120)}",
        f"--time={-(-launch.timeout_s // 60) + 1}",
        "--input=none",
        "--chdir=/",
    ]
    if settings.get("job"):
        found.append(f"--jobid={settings['job']}")
    if settings.get("gpus_per_node"):
        found.append(f"--gres=gpu:{settings['gpus_per_node']}")
    if settings.get("image"):
        found.append("--container-image=" + settings["image"])
        found += ["--container-mounts=" + ",".join(settings["mounts"])] if settings.get("mounts") else []
    return [*found, *map(str, settings.get("options") or ()), *with_env(launch)]


def why(text, settings):
    for cause, pattern in (("pending", PENDING), ("rank_died", DIED), ("not_started", REFUSED)):
        line = "" if cause == "pending" and GIVEN in text else first_line(text, pattern)
        if line:
            return cause, line
    return "", ""
