"""Judge the hosts of a large fleet on all cores: contiguous shares in forked processes, what they counted joined in the hosts' order.

What comes out is what one process would have counted. A share whose process fails is judged again here, so that no host is lost.
"""

from __future__ import annotations

import os
import pickle

LEAST = 100  # hosts a share is worth a process of its own for; a process and its answer cost about 50 ms


def judge_hosts(judge, hosts: list, cores: int | None = None) -> list:
    """Judge every host with judge.judge_host; returns the hosts, with what was learned of each. `judge` has .tally and .groups."""
    cores = cores or len(os.sched_getaffinity(0))
    number = max(1, min(cores, len(hosts) // LEAST))
    size = -(-len(hosts) // number) if hosts else 1
    shares = [hosts[start : start + size] for start in range(0, len(hosts), size)]
    children = [_start(judge, share) for share in shares[1:]]
    judged = list(shares[0]) if shares else []
    for host in judged:
        judge.judge_host(host)
    for share, (pid, reader) in zip(shares[1:], children):
        answer = _answer(pid, reader)
        if answer is None:
            for host in share:
                judge.judge_host(host)
            judged += share
        else:
            found, tally, groups = answer
            judge.tally.join(tally)
            judge.join_groups(groups)
            judged += found
    return judged


def _start(judge, share) -> tuple[int, int]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    status = 1
    try:  # the child: nothing of the parent's may run on, be flushed or be cleaned up here
        os.close(reader)
        for host in share:
            judge.judge_host(host)
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump((share, judge.tally.counted_here(), judge.groups_here()), pipe, pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        os._exit(status)


def _answer(pid: int, reader: int):
    """What a child found, or None where it did not come to its end."""
    with os.fdopen(reader, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(pid, 0)
    return pickle.loads(content) if status == 0 else None
