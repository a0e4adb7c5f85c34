"""Kubernetes by `kubectl get --raw`, page by page: what is asked is plain, and each denial stands for itself."""

from __future__ import annotations

import calendar
import re
import time
from urllib.parse import quote

from ..parsers import kubernetes_api, kubernetes_daemonsets, kubernetes_nodes
from . import DOWN, SILENT, node

PAGE = 500  # objects a call: a thousand nodes in two, each page far below the 32 MiB that are read of a tool
VERSION = "/version"
GROUPS = "/apis"
NODES = "/api/v1/nodes?limit=%d" % PAGE
DAEMONSETS = "/apis/apps/v1/daemonsets?limit=%d" % PAGE
TIMEOUT_S = 60
# Where a control plane leaves its own access, for a head without ~/.kube/config.
CONFIGS = ("/etc/kubernetes/admin.conf", "/etc/rancher/rke2/rke2.yaml", "/etc/rancher/k3s/k3s.yaml")
NO_CONFIG = re.compile(r"localhost:8080|no configuration has been provided|current-context is not set", re.I)
DENIED = re.compile(r"\bforbidden\b|\bunauthorized\b|must be logged in", re.I)
POSITIVE = re.compile(r"(Ready|Healthy|Passed|Available|Succeeded|Schedulable|OK)$")
NEGATIVE = re.compile(
    r"(Pressure|Unavailable|Error|Problem|Deadlock|Filesystem|Failed|Failure|Watch|Corrupt\w*|Frequent\w+|FallenOff|Degraded|Hang|StateCheck)$"
)
# Taints that every GPU job tolerates: their resource's own.
OF_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.present")
WHOLE = re.compile(r"(nvidia|amd|gpu\.intel)\.com/gpu(\.shared)?")


class Client:
    """kubectl with the access that was found to work."""

    def __init__(self, gather, config=""):
        self.gather, self.flags = gather, ["--kubeconfig", config] if config else []

    def argv(self, path):
        return ["kubectl", *self.flags, "get", "--raw", path, "--request-timeout=30s"]

    def get(self, path, parse, strip=None):
        """What the API server answers to a path, or None; the reason stands in the gather's errors."""
        before = len(self.gather.errors)
        found = self.gather.command(self.argv(path), parse, timeout_s=TIMEOUT_S, optional=True, strip=strip)
        for error in self.gather.errors[before:]:
            if DENIED.search(error["message"]):
                error["reason"] = "denied"
        return found

    def pages(self, path, parse, strip, join):
        """All pages of a list through `join(page)`; True where the last one came."""
        token, separator = "", "&" if "?" in path else "?"
        for _ in range(200):
            page = self.get(path + ("%scontinue=%s" % (separator, quote(token, safe="")) if token else ""), parse, strip)
            if page is None:
                return False
            join(page)
            token = page["continue"]
            if not token:
                return True
        return self.gather.error(path, "too many pages", path + ": more than 200 pages")

    def why(self, path):
        what = " ".join(self.argv(path))
        return "; ".join(error["message"] for error in self.gather.errors if error["source"] == what) or what + ": no answer"


def connect(gather):
    """(Client or None, version or None, present, reason). kubectl without a cluster is not known, and never an API server that is down."""
    why = ""
    for config in ("", *CONFIGS):
        client = Client(gather, config)
        before = len(gather.errors)
        version = client.get(VERSION, kubernetes_api.parse)
        if version:
            del gather.errors[before:]
            return client, version["version"], True, ""
        if gather.missing(" ".join(client.argv(VERSION))):
            return None, None, False, "kubectl is not installed"
        said = client.why(VERSION)
        absent = NO_CONFIG.search(said) or (config and re.search(r"no such file|stat %s" % config, said))
        if config and absent:
            del gather.errors[before:]  # only a try
            continue
        if not absent:
            return None, None, None, said
        why = "kubectl is installed, and no access to a cluster is configured for it"
        gather.errors[before:] = [{**error, "message": why} for error in gather.errors[before:]][:1]
    return None, None, None, why


def detect(gather) -> dict:
    _, version, present, reason = connect(gather)
    return {"present": present, "version": version, "reason": reason}


def nodes(gather):
    """All nodes, normalised."""
    client = connect(gather)[0]
    records = client and records_of(client)
    return records and [normalise(record) for record in records["nodes"]]


def records_of(client):
    """{"nodes": as the parser gives them, "complete": bool} or None: pages that came, though a later one did not, are kept."""
    found = []
    complete = client.pages(NODES, kubernetes_nodes.parse, kubernetes_nodes.strip, lambda page: found.extend(page["nodes"]))
    return {"nodes": found, "complete": bool(complete)} if complete or found else None


def one(gather, name):
    """One node, normalised."""
    client = connect(gather)[0]
    found = client and client.get("/api/v1/nodes?fieldSelector=metadata.name%3D" + name, kubernetes_nodes.parse, kubernetes_nodes.strip)
    return normalise(found["nodes"][0]) if found and found["nodes"] else None


def normalise(record) -> dict:
    """A node as the API tells it, in the shape of all schedulers."""
    schedulable, against = judged(record)
    told = [c for c in record["conditions"] if positive(c["type"]) is not None and c["status"] != str(positive(c["type"]))]
    writer = record["set_by"] or {}
    capacity, usable = gpus(record, "gpus_capacity"), gpus(record, "gpus_allocatable")
    return node(
        record["name"],
        hostname=record["hostname"],
        state="; ".join(against) or ("Ready" if schedulable else None),
        schedulable=schedulable,
        against=against,
        reason="; ".join(f"{c['type']} is {c['status']}: {c['reason']}" for c in told) or None,
        set_by=writer.get("manager") if against else None,
        set_at=writer.get("at") if against else None,
        gpus=capacity,
        gpus_usable=usable,
        gpu_types={record["labels"]["nvidia.com/gpu.product"]: capacity} if "nvidia.com/gpu.product" in record["labels"] else None,
        cpus=record["cpus"],
        memory_mib=record["memory_mib"],
        version=record["kubelet"],
        boot_id=record["boot_id"],
    )


def gpus(record, key):
    """Whole GPUs; of shared ones the real number. None where no resource of GPUs is on the node at all, or a number could not be read."""
    found = {name: count for name, count in record[key].items() if WHOLE.fullmatch(name)}
    if not found:
        return 0 if record["gpus_capacity"] else None
    if None in found.values():
        return None
    replicas = record["labels"].get("nvidia.com/gpu.replicas", "")
    shared = record["labels"].get("nvidia.com/gpu.sharing-strategy", "none") != "none" and re.fullmatch("[1-9][0-9]{0,3}", replicas)
    return sum(found.values()) // (int(replicas) if shared else 1)


def positive(kind):
    """Is True the good status of this condition? None: its name does not tell."""
    return True if POSITIVE.search(kind or "") else False if NEGATIVE.search(kind or "") else None


def fences(record) -> list:
    """Taints that keep a GPU job away."""
    return [taint for taint in record["taints"] if taint["effect"] in ("NoSchedule", "NoExecute") and taint["key"] not in OF_GPUS]


def judged(record) -> tuple:
    """(schedulable, what stands against it)."""
    ready = next((condition["status"] for condition in record["conditions"] if condition["type"] == "Ready"), None)
    against = ["cordoned"] if record["unschedulable"] else []
    against += {"False": [DOWN], "Unknown": [SILENT]}.get(ready or "", [])
    own = ("node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    against += ["taint " + (taint["key"] or "?") for taint in fences(record) if taint["key"] not in own]
    if against:
        return False, against
    return (True if ready == "True" else None), []


def survey(gather, client=None) -> dict:
    """{groups, daemonsets, other_daemonsets, policies, nic_policies, classes}; None: could not be had; [] or {}: there is none."""
    client = client or connect(gather)[0]
    if client is None:
        return dict.fromkeys(("groups", "daemonsets", "other_daemonsets", "policies", "nic_policies", "classes"))
    groups = client.get(GROUPS, kubernetes_api.parse_groups)
    known = groups["groups"] if groups else None
    sets, others = [], [0]

    def join(page):
        sets.extend(page["daemonsets"])
        others[0] += page["others"]

    complete = client.pages(DAEMONSETS, kubernetes_daemonsets.parse, kubernetes_daemonsets.strip, join)
    return {
        "groups": known and {name: version for name, version in known.items() if not name.endswith(".k8s.io") or name == "resource.k8s.io"},
        "daemonsets": sets if complete else None,
        "other_daemonsets": others[0] if complete else None,
        "policies": _list(client, known, "nvidia.com", "clusterpolicies", kubernetes_api.parse_policies, "policies"),
        "nic_policies": _list(client, known, "mellanox.com", "nicclusterpolicies", kubernetes_api.parse_policies, "policies"),
        "classes": _list(client, known, "resource.k8s.io", "deviceclasses", kubernetes_api.parse_classes, "classes"),
    }


def _list(client, groups, group, kind, parse, key):
    """A list of a group's kind; [] where the group is not installed."""
    if groups is None:
        return None
    if not groups.get(group):
        return []
    strip = kubernetes_api.strip_policies if key == "policies" else None
    found = client.get("/apis/%s/%s/%s" % (group, groups[group], kind), parse, strip)
    return found and found[key]


def slices(client, groups):
    """{node: GPUs} by dynamic resource allocation, for clusters without an extended resource; None where it could not be had."""
    if not (groups or {}).get("resource.k8s.io"):
        return None
    found = {}
    group = "/apis/resource.k8s.io/" + groups["resource.k8s.io"]
    path = group + "/resourceslices?fieldSelector=spec.driver%%3Dgpu.nvidia.com&limit=%d" % PAGE

    def join(page):
        for name, drivers in page["devices"].items():
            found[name] = found.get(name, 0) + drivers.get("gpu.nvidia.com", 0)

    return found if client.pages(path, kubernetes_api.parse_slices, kubernetes_api.strip_slices, join) else None


def age_s(stamp, now):
    """Seconds since a time of the API, or None."""
    try:
        return round(now - calendar.timegm(time.strptime((stamp or "")[:19], "%Y-%m-%dT%H:%M:%S")), 1)
    except ValueError:
        return None


def capabilities(found) -> dict:
    """What a drill may use. A reboot is not the API's to give; events of an hour are no history."""
    return {"drain": True, "reason": False, "reboot": False, "history": False, "health_program": None}
