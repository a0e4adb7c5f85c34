"""Kubernetes: an MPIJob (mpi-operator, v2beta1), or an indexed Job where every pod starts its own ranks; made, followed, read and deleted
by kubectl, from a program of this project (engines/kubernetes_job.py) that is itself the detached job.

settings: image, resources (limits of a worker, e.g. {nvidia.com/gpu: 8, rdma/ib: 8}), namespace, service_account, tolerations, annotations,
labels, host_network, pull_secrets, resource_claims (ResourceClaimTemplates by name of the claim: a ComputeDomain's channel), node_label
(kubernetes.io/hostname), pending_s, run_id, python (of this host).
"""

from __future__ import annotations

import inspect
import json
import re

from ..engines import kubernetes_job
from . import first_line, with_env

TOOL = "kubectl"
RUN = "accept-run"
PENDING = re.compile(r"^accept: pending: ")
DIED = re.compile(r"^accept: pod .* (?:failed|ended)|noticed that process rank|exited on signal|OOMKilled|Primary job +terminated")
REFUSED = re.compile(r"^accept: |error: |Error from server")
TOLERATED = [{"key": key, "operator": "Exists"} for key in ("nvidia.com/gpu", "amd.com/gpu")]


def manifests(launch, settings) -> list:
    """What is created, the job first."""
    name = pod_name(settings, launch)
    if launch.spawns:
        return [_job(name, launch, settings), _service(name, settings)]
    return [_mpijob(name, launch, settings)]


def argv(launch, settings) -> list:
    order = {
        "manifests": manifests(launch, settings),
        "namespace": _namespace(settings),
        "selector": f"accept-launch={pod_name(settings, launch)}",
        "pods": len(launch.nodes) + (0 if launch.spawns else 1),
        "speaker": "0" if launch.spawns else "launcher",
        "pending_s": int(settings.get("pending_s") or 300),
        "timeout_s": launch.timeout_s,
    }
    return [settings.get("python") or "python3", "-c", inspect.getsource(kubernetes_job), json.dumps(order)]


def why(text, settings):
    for cause, pattern in (("pending", PENDING), ("rank_died", DIED), ("not_started", REFUSED)):
        line = first_line(text, pattern)
        if line:
            return cause, line
    return "", ""


def pod_name(settings, launch) -> str:
    """A name that Kubernetes takes: small letters, digits and hyphens, no longer than a label."""
    return re.sub(r"[^a-z0-9-]+", "-", f"accept-{settings.get('run_id', '')[-12:]}-{launch.name}".lower()).strip("-")[:52].rstrip("-")


def _namespace(settings):
    return settings.get("namespace") or "default"


def _metadata(name, settings) -> dict:
    labels = {**(settings.get("labels") or {}), "accept-launch": name, RUN: settings.get("run_id") or "none"}
    return {"name": name, "namespace": _namespace(settings), "labels": labels, "annotations": settings.get("annotations") or {}}


def _pod(name, launch, settings, container, worker=True) -> dict:
    """The template of a pod: workers only on the nodes of the launch, no two on one node."""
    metadata = _metadata(name, settings)
    spec = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "tolerations": settings.get("tolerations") or TOLERATED,
        "containers": [container],
        "hostNetwork": bool(worker and settings.get("host_network")),
    }
    if worker:
        limits = settings.get("resources") or {}
        label = settings.get("node_label") or "kubernetes.io/hostname"
        container["resources"] = {"limits": limits, "requests": limits}
        container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
        container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
        spec["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
        only = {"matchExpressions": [{"key": label, "operator": "In", "values": list(launch.nodes)}]}
        apart = {"labelSelector": {"matchLabels": {"accept-launch": name, "accept-worker": "yes"}}, "topologyKey": label}
        metadata["labels"]["accept-worker"] = "yes"
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [only]}},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
        }
        claims = settings.get("resource_claims") or {}
        if claims:
            spec["resourceClaims"] = [{"name": key, "resourceClaimTemplateName": value} for key, value in sorted(claims.items())]
            container["resources"]["claims"] = [{"name": key} for key in sorted(claims)]
    if settings.get("service_account"):
        spec["serviceAccountName"] = settings["service_account"]
    if settings.get("pull_secrets"):
        spec["imagePullSecrets"] = [{"name": secret} for secret in settings["pull_secrets"]]
    return {"metadata": {key: metadata[key] for key in ("labels", "annotations")}, "spec": spec}


def _container(settings, name, command=None) -> dict:
    return {"name": name, "image": settings.get("image") or "", **({"command": command} if command else {})}


def _mpijob(name, launch, settings) -> dict:
    command = ["mpirun", "--allow-run-as-root", "-np", str(len(launch.nodes) * launch.ranks_per_node), "--bind-to", "none"]
    command += [*map(str, settings.get("options") or ()), *with_env(launch)]
    launcher = _pod(name, launch, settings, _container(settings, "launcher", command), worker=False)
    launcher["metadata"]["labels"]["accept-speaker"] = "launcher"
    workers = _pod(name, launch, settings, _container(settings, "worker"))
    replicas = {"Launcher": {"replicas": 1, "template": launcher}, "Worker": {"replicas": len(launch.nodes), "template": workers}}
    policy = {"cleanPodPolicy": "All", "activeDeadlineSeconds": launch.timeout_s + 60, "backoffLimit": 0}
    spec = {"slotsPerWorker": launch.ranks_per_node, "runPolicy": policy, "mpiReplicaSpecs": replicas}
    return {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": _metadata(name, settings), "spec": spec}


def _job(name, launch, settings) -> dict:
    template = _pod(name, launch, settings, _container(settings, "worker", with_env(launch)))
    template["spec"]["subdomain"] = name
    count = len(launch.nodes)
    spec = {"completions": count, "parallelism": count, "completionMode": "Indexed", "backoffLimit": 0, "template": template}
    spec["activeDeadlineSeconds"] = launch.timeout_s + 60
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _metadata(name, settings), "spec": spec}


def _service(name, settings) -> dict:
    """Without an address of its own: it makes the first pod's name known, <job>-0.<job>."""
    spec = {"clusterIP": "None", "selector": {"accept-launch": name}, "publishNotReadyAddresses": True}
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(name, settings), "spec": spec}
