"""Containers of this node that may be looked into: those of pods that their owner has labelled for it. No concern of its own.

A pod says so by the label accept-audit=gid; the pods that this project starts bear it. Others are neither listed nor read.
What a container sees is read from the node, below /proc/<pid>/root and beside it: nothing runs inside, and nothing is changed.
"""

from __future__ import annotations

from ..parsers import crictl

LABEL = "accept-audit"
PODS = ["crictl", "pods", "--state", "ready", "--output", "json"]
MOST = 4


def declared(gather):
    """[{"name", "id", "pid"}] of the containers of labelled pods; None where the runtime cannot be asked."""
    asked = [*PODS, "--label", LABEL + "=gid"]
    pods = gather.command(asked, crictl.parse_pods, optional=True, timeout_s=15.0)
    if pods is None:
        return None
    found = []
    for pod in pods["pods"][:MOST]:
        listed = gather.command(
            ["crictl", "ps", "--pod", pod["id"], "--state", "running", "--output", "json"], crictl.parse_ps, timeout_s=15.0
        )
        for one in (listed or {"containers": []})["containers"][:1]:  # the containers of a pod share its network
            found.append({"name": f"{pod['namespace']}/{pod['name']}", "id": one["id"], "pid": pid(gather, one["id"])})
    return found


def pid(gather, container):
    """The process that a container began with, as the node counts it; None where it is not known."""
    argv = ["crictl", "inspect", "--output", "go-template", "--template", "{{.info.pid}}", container]
    return gather.command(argv, crictl.parse_pid, timeout_s=15.0)
