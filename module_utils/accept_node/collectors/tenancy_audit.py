"""What one tenant of a cluster sees of the others through its scheduler. Asked once, on the head, with the access that the head has.

Counts and our own rights only: no job, user, account or namespace of anybody is read by name. Root sees everything, so the questions
to Slurm are asked as nobody where the head is root's; an administrator's credentials for Kubernetes say nothing of tenants, and are named
as such.
"""

from __future__ import annotations

from ..parsers import counted, kubectl_auth, scontrol_config, squeue

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
CONFIG = ["scontrol", "show", "config"]  # word for word what the scheduler's audit asks
JOBS = ["squeue", "-a", "-h", "-o", "%T"]
OWN_JOBS = ["squeue", "--me", "-h", "-o", "%T"]
RECORDS = ["sacct", "-a", "-X", "-n", "-P", "-S", "now-1days", "-o", "ExitCode"]
OWN_RECORDS = [word for word in RECORDS if word != "-a"]
LIMIT = "--request-timeout=30s"
WHOAMI = ["kubectl", "auth", "whoami", "-o", "json", LIMIT]
# Every cluster has this namespace, and no tenant owns it: what we may do there we may do to others.
RIGHTS = ["kubectl", "auth", "can-i", "--list", "--namespace=kube-system", LIMIT]
NAMESPACES = ["kubectl", "get", "namespaces", "--no-headers", "-o", "custom-columns=:.status.phase", LIMIT]
OWN_NAMESPACE = ["kubectl", "config", "view", "--minify", "-o", "jsonpath={..namespace}"]
TIMEOUT_S = 60


def labels_of(namespace) -> list:
    """What tells the pod security level of a namespace."""
    return ["kubectl", "get", "namespace", namespace, "-o", "jsonpath={.metadata.labels}", LIMIT]


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/tenancy_audit.json is its shape."""
    return {"slurm": _slurm(gather), "kubernetes": _kubernetes(gather)}


def _slurm(gather):
    """ "none" where Slurm's tools are not there."""
    config = gather.command(CONFIG, scontrol_config.parse, timeout_s=TIMEOUT_S, optional=True)
    if gather.missing(" ".join(CONFIG)):
        return "none"
    nobody = gather.node.identity().get("uid") == 0
    found = {"asked_as": "nobody" if nobody else "ourselves", "private_data": None, "jobs_of_others": None, "records_of_others": None}
    if config is None:  # a controller that does not answer is asked once
        return found
    told = config["values"].get("PrivateData", "none")
    found["private_data"] = told if told == "none" else sorted(told.split(","))
    found["jobs_of_others"] = _others(gather, JOBS, OWN_JOBS, squeue.parse, "jobs", nobody)
    found["records_of_others"] = _others(gather, RECORDS, OWN_RECORDS, counted.parse_records, "count", nobody)
    return found


def _others(gather, argv, own, parse, key, nobody):
    """How many of all are not ours. Nobody owns none."""
    found = gather.command([*(AS_NOBODY if nobody else ()), *argv], parse, timeout_s=TIMEOUT_S)
    mine = {key: 0} if nobody else gather.command(own, parse, timeout_s=TIMEOUT_S)
    return None if found is None or mine is None else max(0, found[key] - mine[key])


def _kubernetes(gather):
    """ "none" where kubectl is not there."""
    rights = gather.command(RIGHTS, kubectl_auth.parse, timeout_s=TIMEOUT_S, optional=True)
    if gather.missing(" ".join(RIGHTS)):
        return "none"
    if rights is None:  # no cluster, or one that does not answer: it is asked once
        return None
    who = gather.command(WHOAMI, kubectl_auth.parse_whoami, timeout_s=TIMEOUT_S)
    seen = gather.command(NAMESPACES, kubectl_auth.parse_phases, timeout_s=TIMEOUT_S, ok=None, streams="both")
    own = gather.command(OWN_NAMESPACE)
    level = None if own is None else gather.command(labels_of(own.strip() or "default"), kubectl_auth.parse_enforced, timeout_s=TIMEOUT_S)
    return {
        "groups": who and who["groups"],
        "rules": rights["rules"],
        "incomplete": rights["incomplete"],
        "namespaces_visible": seen and seen["count"],
        "pod_security": level and level["enforce"],
    }
