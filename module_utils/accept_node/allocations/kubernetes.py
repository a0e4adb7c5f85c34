"""A pod of ours on each node, with the devices that the load needs; tests run in it by `crictl exec` on the node.

settings: image and resources (e.g. {nvidia.com/gpu: 8, rdma/ib: 8}) are wanted; namespace, host_network, tolerations, annotations, labels,
service_account, pull_secrets, wait_s may be. The scheduler places the pods (by affinity to the node's name, never past it), the kubelet
ends them at activeDeadlineSeconds.
"""

from __future__ import annotations

import json
import os
import tempfile

from . import NAME, POLL_S, WAIT_S

RUN, ROLE, CONTAINER = "accept-run", "accept-role", "load"
AUDIT = "accept-audit"  # gid_check looks into containers of pods that bear this label
TOLERATED = [{"key": key, "operator": "Exists"} for key in ("nvidia.com/gpu", "amd.com/gpu")]
HOPELESS = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
)


def pod(name, place, host, node, settings, deadline_s) -> dict:
    """The manifest of one pod."""
    run_id, role = _parts(name)
    spec = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": deadline_s,
        "terminationGracePeriodSeconds": 5,
        "automountServiceAccountToken": False,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_only(node)]}}},
        "tolerations": settings.get("tolerations") or TOLERATED,
        "hostNetwork": bool(settings.get("host_network")),
        "containers": [
            {
                "name": CONTAINER,
                "image": settings["image"],
                "command": ["sleep", str(deadline_s)],
                "resources": {"limits": settings["resources"], "requests": settings["resources"]},
                "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
            }
        ],
    }
    if settings.get("service_account"):
        spec["serviceAccountName"] = settings["service_account"]
    if settings.get("pull_secrets"):
        spec["imagePullSecrets"] = [{"name": secret} for secret in settings["pull_secrets"]]
    labels = {**(settings.get("labels") or {}), RUN: run_id, ROLE: role, AUDIT: "gid"}
    metadata = {"name": "accept-%s-%s-%d" % (run_id.lower(), role.replace("_", "-"), place), "namespace": _namespace(settings)}
    metadata.update(labels=labels, annotations={**(settings.get("annotations") or {}), "accept/host": host})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def take(ask, name, nodes, settings, minutes) -> dict:
    """{"state", "pods": {host: {"container", "address", "reason"}}, "reason"}; held where one pod is up.

    `nodes`: host -> its name in Kubernetes.
    """
    lacking = [key for key in ("image", "resources") if not settings.get(key)]
    if lacking:
        return _refused(nodes, "accept_pod lacks %s" % " and ".join(lacking))
    found, why = _pods(ask, name, settings)
    if found is None:
        return _refused(nodes, why)
    wanted = [pod(name, place, host, nodes[host], settings, minutes * 60) for place, host in enumerate(sorted(nodes))]
    there = {_host(one) for one in found}
    missing = [one for one in wanted if one["metadata"]["annotations"]["accept/host"] not in there]
    why = _create(ask, missing) if missing else ""
    pods = _wait(ask, name, nodes, settings, why)
    if not any(one["container"] for one in pods.values()):
        release(ask, name, settings)
        return _refused(nodes, "; ".join(sorted({one["reason"] for one in pods.values()}))[:300], pods)
    return {"state": "held", "pods": pods, "reason": ""}


def _create(ask, manifests) -> str:
    """Why not all could be made; empty where they were."""
    handle, path = tempfile.mkstemp(prefix="accept-pods-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"apiVersion": "v1", "kind": "List", "items": manifests}, file)
        return ask(["kubectl", "create", "-f", path, "-o", "name"], 120.0)[1]
    finally:
        os.unlink(path)


def _wait(ask, name, nodes, settings, why) -> dict:
    until = ask.now() + float(settings.get("wait_s") or WAIT_S)
    while True:
        found, unread = _pods(ask, name, settings)
        by_host = {_host(one): one for one in found or ()}
        pods = {host: _state(by_host.get(host), why or unread or "the pod was not made") for host in nodes}
        waiting = [one for one in pods.values() if one["waiting"]]
        if not waiting or ask.now() >= until or ask.calls >= ask.max_calls - 2:
            return {host: {key: one[key] for key in ("container", "address", "reason")} for host, one in pods.items()}
        ask.sleep(POLL_S)


def _state(found, why) -> dict:
    if found is None:
        return {"container": None, "address": None, "reason": why, "waiting": False}
    status = found.get("status") or {}
    one = next((entry for entry in status.get("containerStatuses") or () if entry.get("name") == CONTAINER), {})
    state, ident = one.get("state") or {}, (one.get("containerID") or "").rpartition("://")[2]
    if "running" in state and ident and status.get("podIP") and not found["metadata"].get("deletionTimestamp"):
        return {"container": ident, "address": status["podIP"], "reason": "", "waiting": False}
    stuck = state.get("waiting") or {}
    said = stuck.get("message") or stuck.get("reason") or status.get("message") or status.get("reason") or ""
    unscheduled = [
        entry.get("message") for entry in status.get("conditions") or () if entry.get("status") == "False" and entry.get("message")
    ]
    reason = "pod %s is %s: %s" % (
        found["metadata"]["name"],
        status.get("phase") or "Pending",
        (said or "; ".join(unscheduled) or "no word")[:200],
    )
    over = status.get("phase") in ("Failed", "Succeeded") or stuck.get("reason") in HOPELESS
    return {"container": None, "address": None, "reason": reason, "waiting": not over}


def release(ask, name, settings=None) -> dict:
    """Delete the pods of ours that the name means: of a role of a run, of a run, or all."""
    run_id, role = _parts(name)
    selector = ",".join(part for part in (RUN + ("=" + run_id if run_id else ""), ROLE + "=" + role if role else "") if part)
    where = ["--namespace=" + _namespace(settings or {}), "--selector=" + selector]
    argv = ["kubectl", "delete", "pods", *where, "--ignore-not-found", "--grace-period=5", "--wait=true", "--timeout=60s", "-o", "name"]
    said, why = ask(argv, 90.0)
    gone = [line.strip() for line in (said or "").splitlines() if line.strip()]
    return {"released": gone, "reason": "" if "not installed" in why else why}


def _pods(ask, name, settings):
    run_id, role = _parts(name)
    where = ["--namespace=" + _namespace(settings), "--selector=%s=%s,%s=%s" % (RUN, run_id, ROLE, role)]
    said, why = ask(["kubectl", "get", "pods", *where, "-o", "json"])
    try:
        return (None, why) if said is None else (json.loads(said)["items"], "")
    except (ValueError, KeyError, TypeError):
        return None, "kubectl get pods: no JSON"


def _host(found):
    return ((found.get("metadata") or {}).get("annotations") or {}).get("accept/host")


def _namespace(settings):
    return settings.get("namespace") or "default"


def _only(node):
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}


def _parts(name):
    """(run id, role) of accept.<run_id>.<role>; either may be empty."""
    if not name.startswith(NAME):
        raise ValueError("%r is no name of ours" % name)
    run_id, _, role = name[len(NAME) :].partition(".")
    return run_id, role


def _refused(nodes, reason, pods=None) -> dict:
    nothing = {host: {"container": None, "address": None, "reason": reason} for host in nodes}
    return {"state": "refused", "pods": pods or nothing, "reason": reason}
