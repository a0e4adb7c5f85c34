"""`/api/v1/nodes`: what Kubernetes knows of each node. Names are those of the API and of the projects that set labels and conditions."""

from __future__ import annotations

import re

from . import kubernetes_list as api

GPU = re.compile(r"(nvidia|amd|gpu\.intel)\.com/(gpu|gpu\.shared|mig-[\w.-]+|pgpu|[A-Z0-9_]+_[A-Z0-9_]*)")
DEVICE = re.compile(r"[\w.-]+/[\w.-]+")  # extended resources have a domain; cpu, memory, pods, hugepages-2Mi have none
# Labels that tell what a node is, where it stands and what agents think of it. All others may be a tenant's and are not kept.
LABELS = re.compile(
    r"(kubernetes\.io/(hostname|arch)|node\.kubernetes\.io/.*|node-role\.kubernetes\.io/.*|nvidia\.com/(gpu|mig|cuda|mofed|imex)[\w.-]*"
    r"|amd\.com/gpu[\w.-]*|(network\.)?topology\.[\w.-]+/.*|network\.nvidia\.com/.*|cloud\.google\.com/gce-topology-.*"
    r"|cloud\.google\.com/gke-(nodepool|accelerator|gpu-[\w-]+)|(nvsentinel\.)?dgxc\.nvidia\.com/.*|k8saas\.nvidia\.com/.*"
    r"|sagemaker\.amazonaws\.com/(node-health-status|deep-health-check-status)|oci\.oraclecloud\.com/rdma\..*|backend\.coreweave\.cloud/.*)"
)
FENCES = ("f:unschedulable", "f:taints")
CODE = re.compile(r"ErrorCode:([0-9]{1,4})\b")


def parse(text: str, labels=()) -> dict:
    """{"nodes": [...], "continue", "remaining"}; `labels`: names of further labels to keep.

    A node: name, hostname, address, unschedulable, set_by {manager, at} (who last wrote taints or unschedulable; None where not told),
    created_at, labels, taints [{key, value, effect}], conditions [{type, status, reason, message, codes, heartbeat_at, since}],
    gpus_capacity and gpus_allocatable {resource: N}, devices {resource: {capacity, allocatable}}, cpus, memory_mib, kubelet,
    kernel, runtime, boot_id. A name that is not told is None; quantities that cannot be read are None.
    """
    page = api.parse(text)
    return {"nodes": [_node(item, labels) for item in page["items"]], "continue": page["continue"], "remaining": page["remaining"]}


def strip(text: str) -> str:
    """The list without images, annotations and labels of others: what is parsed from it stays."""
    return api.repack(text, _kept)


def _kept(item):
    labels = api.mapping(api.at(item, "metadata", "labels"))
    status = api.mapping(item.get("status"))
    info = api.mapping(status.get("nodeInfo"))
    return {
        "metadata": {
            **{key: api.at(item, "metadata", key) for key in ("name", "creationTimestamp") if api.at(item, "metadata", key)},
            "labels": {key: value for key, value in labels.items() if LABELS.fullmatch(key)},
            "managedFields": [
                {**{key: one.get(key) for key in ("manager", "time")}, "fieldsV1": {"f:spec": {part: {} for part in _fenced(one)}}}
                for one in _writers(item)
            ],
        },
        "spec": {key: api.at(item, "spec", key) for key in ("unschedulable", "taints") if api.at(item, "spec", key)},
        "status": {
            **{key: status[key] for key in ("capacity", "allocatable", "conditions", "addresses") if key in status},
            "nodeInfo": {key: info[key] for key in ("bootID", "kernelVersion", "kubeletVersion", "containerRuntimeVersion") if key in info},
        },
    }


def _fields(entry):
    return api.mapping(api.at(entry, "fieldsV1", "f:spec"))


def _fenced(entry):
    return [part for part in FENCES if part in _fields(entry)]


def _writers(item):
    """Entries of managedFields that own what fences a node."""
    return [one for one in api.listing(api.at(item, "metadata", "managedFields")) if _fenced(one)]


def _set_by(item):
    writers = sorted((api.text_at(one, "time") or "", api.text_at(one, "manager") or "") for one in _writers(item))
    return {"manager": writers[-1][1] or None, "at": writers[-1][0] or None} if writers else None


def _node(item, extra) -> dict:
    labels = api.mapping(api.at(item, "metadata", "labels"))
    capacity, allocatable = (api.mapping(api.at(item, "status", key)) for key in ("capacity", "allocatable"))
    memory = api.quantity(capacity.get("memory"))
    devices = sorted(name for name in {**capacity, **allocatable} if DEVICE.fullmatch(name))
    return {
        "name": api.text_at(item, "metadata", "name"),
        "hostname": api.text_at(labels, "kubernetes.io/hostname"),
        "address": _address(item),
        "unschedulable": api.at(item, "spec", "unschedulable") is True,
        "set_by": _set_by(item),
        "created_at": api.text_at(item, "metadata", "creationTimestamp"),
        "labels": {key: str(value) for key, value in sorted(labels.items()) if LABELS.fullmatch(key) or key in extra},
        "taints": [
            {key: api.text_at(taint, key) for key in ("key", "value", "effect")} for taint in api.listing(api.at(item, "spec", "taints"))
        ],
        "conditions": [_condition(condition) for condition in api.listing(api.at(item, "status", "conditions"))],
        "gpus_capacity": {name: api.quantity(capacity.get(name)) for name in devices if GPU.fullmatch(name) and name in capacity},
        "gpus_allocatable": {name: api.quantity(allocatable.get(name)) for name in devices if GPU.fullmatch(name) and name in allocatable},
        "devices": {
            name: {"capacity": api.quantity(capacity.get(name)), "allocatable": api.quantity(allocatable.get(name))}
            for name in devices
            if not GPU.fullmatch(name)
        },
        "cpus": api.quantity(capacity.get("cpu")),
        "memory_mib": None if memory is None else memory // 2**20,
        "kubelet": api.text_at(item, "status", "nodeInfo", "kubeletVersion"),
        "kernel": api.text_at(item, "status", "nodeInfo", "kernelVersion"),
        "runtime": api.text_at(item, "status", "nodeInfo", "containerRuntimeVersion"),
        "boot_id": api.text_at(item, "status", "nodeInfo", "bootID"),
    }


def _address(item):
    """The address inside the cluster's network."""
    found = [one for one in api.listing(api.at(item, "status", "addresses")) if one.get("type") == "InternalIP"]
    return api.text_at(found[0], "address") if found else None


def _condition(condition) -> dict:
    message = " ".join((api.text_at(condition, "message") or "").split())
    return {
        "type": api.text_at(condition, "type"),
        "status": api.text_at(condition, "status"),
        "reason": api.text_at(condition, "reason"),
        "message": message[:160],
        "codes": codes(message),
        "heartbeat_at": api.text_at(condition, "lastHeartbeatTime"),
        "since": api.text_at(condition, "lastTransitionTime"),
    }


def codes(message: str) -> list:
    """The XIDs that NVSentinel names in a condition's message, several of them with `;` between: [119, 94]."""
    return [int(code) for code in CODE.findall(message)]
