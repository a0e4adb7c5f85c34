"""A cluster as the Kubernetes API tells it: `kubectl get --raw`, page by page, 1.36 on simulated clusters."""

from __future__ import annotations

import json
import time

from accept_node.schedulers import kubernetes

from .model_scheduler import AGENTS
from .records import command, hung

GROUPS = {
    "apps": "v1",
    "batch": "v1",
    "apiextensions.k8s.io": "v1",
    "nvidia.com": "v1",
    "mellanox.com": "v1alpha1",
    "resource.k8s.io": "v1",
}


def commands(control) -> list:
    """What is asked of the API server on the head."""
    client = kubernetes.Client(None)
    if control.slow:
        return [hung(client.argv(kubernetes.VERSION), timeout_s=kubernetes.TIMEOUT_S)]
    if control.down:
        return [command(client.argv(kubernetes.VERSION), rc=1, stderr=control.down + "\n", duration_s=1.2)]
    paths = {kubernetes.VERSION: _version(control), kubernetes.GROUPS: _groups(control)}
    paths.update(_pages(kubernetes.NODES, "NodeList", "v1", [_node(control, node) for node in control.nodes if node.place.known]))
    paths.update(_pages(kubernetes.DAEMONSETS, "DaemonSetList", "apps/v1", _daemonsets(control)))
    paths["/apis/nvidia.com/v1/clusterpolicies"] = _list("ClusterPolicyList", "nvidia.com/v1", [_policy(control)])
    paths["/apis/mellanox.com/v1alpha1/nicclusterpolicies"] = _list("NicClusterPolicyList", "mellanox.com/v1alpha1", [_nic_policy(control)])
    paths["/apis/resource.k8s.io/v1/deviceclasses"] = _list("DeviceClassList", "resource.k8s.io/v1", _classes(control))
    slices = f"/apis/resource.k8s.io/v1/resourceslices?fieldSelector=spec.driver%3Dgpu.nvidia.com&limit={kubernetes.PAGE}"
    paths[slices] = _list("ResourceSliceList", "resource.k8s.io/v1", [])
    return [_answer(control, client.argv(path), path, document) for path, document in paths.items()]


def _answer(control, argv, path, document):
    denied = next((start for start in sorted(control.denied) if path.startswith(start)), None)
    if denied:
        kind = path.split("?")[0].rsplit("/", 1)[1]
        said = f'{kind} is forbidden: User "audit" cannot list resource "{kind}" in API group "" at the cluster scope'
        return command(argv, rc=1, stderr=f"Error from server (Forbidden): {said}\n", duration_s=0.1)
    return command(argv, json.dumps(document, separators=(",", ":")), duration_s=0.1)


def _pages(path, kind, version, items):
    """A list in pages, with a continue token between them."""
    size = kubernetes.PAGE
    parts = [items[start : start + size] for start in range(0, len(items), size)] or [[]]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        meta = {} if last else {"continue": f"page{number + 1}", "remainingItemCount": len(items) - size * (number + 1)}
        yield (
            path + (f"&continue=page{number}" if number else ""),
            {**_list(kind, version, part), "metadata": {"resourceVersion": "81201", **meta}},
        )


def _list(kind, version, items):
    return {"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "81201"}, "items": items}


def _version(control):
    number = _kubelet(control.nodes[0])
    major, minor, _ = number.split(".")
    return {"major": major, "minor": minor, "gitVersion": "v" + number, "platform": "linux/arm64", "goVersion": "go1.24.6"}


def _kubelet(node):
    return node.versions.get("kubelet") or "1.36.2"


def _groups(control):
    found = {**GROUPS, **({"resource.nvidia.com": "v1beta1"} if control.compute_domain else {})}
    named = [
        {
            "name": name,
            "versions": [{"groupVersion": f"{name}/{one}", "version": one}],
            "preferredVersion": {"groupVersion": f"{name}/{one}", "version": one},
        }
        for name, one in found.items()
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": named}


def _stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _node(control, node):
    place, gpus = node.place, len(node.gpus) if node.place.gpus is None else node.place.gpus
    resource = "amd.com/gpu" if node.vendor == "amd" else "nvidia.com/gpu"
    capacity = {
        "cpu": str(node.sockets * node.cores_per_socket),
        "ephemeral-storage": "3515785652Ki",
        "hugepages-2Mi": "0",
        "memory": f"{node.memory_gib * 1024 * 1024}Ki",
        "pods": "110",
        **({resource: str(gpus)} if place.device_plugin else {}),
        **({control.rdma: "63"} if control.rdma else {}),
    }
    allocatable = {**capacity, "memory": f"{node.memory_gib * 1024 * 1024 - 102400}Ki"}
    if place.device_plugin:
        allocatable[resource] = str(gpus - place.lost_gpus)
    fenced = [("node.kubernetes.io/unschedulable", None, "NoSchedule")] if place.cordoned else []
    fenced += [("node.kubernetes.io/unreachable", None, "NoExecute")] if place.ready == "Unknown" else []
    spec = {"providerID": f"metal://{node.name}", "podCIDR": f"10.244.{node.slot}.0/24"}
    spec["taints"] = [{key: value for key, value in zip(("key", "value", "effect"), taint) if value} for taint in [*place.taints, *fenced]]
    if place.cordoned:
        spec["unschedulable"] = True
    return {
        "metadata": {
            "name": node.name,
            "uid": f"{node.seed:08x}-0000-4000-8000-000000000000",
            "resourceVersion": "81190",
            "creationTimestamp": _stamp(control.at_s - node.uptime_s),
            "labels": _labels(node),
            "annotations": {"node.alpha.kubernetes.io/ttl": "0", "volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "managedFields": _writers(control, place),
        },
        "spec": spec,
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": _conditions(control, node),
            "addresses": [{"type": "InternalIP", "address": f"10.30.1.{node.slot}"}, {"type": "Hostname", "address": node.name}],
            "nodeInfo": {
                "bootID": node.boot_id,
                "machineID": node.machine_id,
                "kernelVersion": node.versions["kernel"],
                "osImage": "Ubuntu 24.04.3 LTS",
                "containerRuntimeVersion": "containerd://" + node.versions["containerd"],
                "kubeletVersion": "v" + (place.version or _kubelet(node)),
                "architecture": "arm64" if node.arch == "aarch64" else "amd64",
                "operatingSystem": "linux",
            },
            "images": [{"names": [f"registry.example/tool-{n}@sha256:{n:064x}"], "sizeBytes": 81_000_000 + n} for n in range(5)],
        },
    }


def _writers(control, place):
    base = [
        {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": _stamp(control.at_s - 60), "fieldsV1": {"f:status": {}}}
    ]
    if place.cordoned:
        actor = {"manager": "kubectl-cordon", "operation": "Update", "apiVersion": "v1", "time": _stamp(control.at_s - 7200)}
        base.append({**actor, "fieldsV1": {"f:spec": {"f:unschedulable": {}}}})
    return base


def _labels(node):
    arch = "arm64" if node.arch == "aarch64" else "amd64"
    labels = {
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
        "topology.kubernetes.io/zone": node.rack,
        "network.topology.nvidia.com/leaf": "leaf-" + node.rack,
        "node.kubernetes.io/instance-type": node.sku.replace("_", "-"),
    }
    if not node.place.in_topology:
        del labels["topology.kubernetes.io/zone"], labels["network.topology.nvidia.com/leaf"]
    if node.vendor == "nvidia":
        product = node.gpus[0].name.replace(" ", "-") if node.gpus else "GPU"
        labels |= {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": str(len(node.gpus)), "nvidia.com/gpu.product": product}
        labels |= {"nvidia.com/mig.strategy": "single", "nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/gpu.replicas": "1"}
        domain = node.gpus[0] if node.gpus else None
        if node.sku.endswith("_nvl72") and node.place.clique and domain and domain.cluster_uuid:
            labels["nvidia.com/gpu.clique"] = f"{domain.cluster_uuid}.{domain.clique_id}"
    return labels


def _conditions(control, node):
    place = node.place
    usual = [
        ("NetworkUnavailable", "False", "CiliumIsUp", "Cilium is running on this node"),
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ]
    ready = {
        "True": ("KubeletReady", "kubelet is posting ready status"),
        "False": ("KubeletNotReady", "container runtime is down"),
        "Unknown": ("NodeStatusUnknown", "Kubelet stopped posting node status."),
    }[place.ready]
    return [
        {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": _stamp(control.at_s - place.heartbeat_s),
            "lastTransitionTime": _stamp(control.at_s - node.uptime_s + 120),
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in [*usual, *place.conditions, ("Ready", place.ready, *ready)]
    ]


def _daemonsets(control):
    known = [node for node in control.nodes if node.place.known]
    items = [_daemonset(control, purpose, known) for purpose in control.agents if purpose in AGENTS]
    # an agent of somebody else: counted, and not kept
    other = {"metadata": {"name": "log-shipper", "namespace": "team-blue"}, "spec": {"template": {"spec": {"containers": []}}}}
    return [*items, {**other, "status": {"desiredNumberScheduled": len(known), "numberReady": len(known)}}]


def _daemonset(control, purpose, known):
    name, namespace, image, container = AGENTS[purpose]
    state = control.agents[purpose]
    lacking = state.get("missing", 0)
    if purpose == "nvidia_device_plugin":
        lacking = max(lacking, sum(not node.place.device_plugin for node in known))
    names = [container]
    if purpose == "gpu_dra_driver":
        names = (["compute-domains"] if control.compute_domain else []) + ["gpus"]
    env = [{"name": key, "value": value} for key, value in state.get("env", {}).items()]
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {"template": {"spec": {"containers": [{"name": one, "image": image, "env": env} for one in names]}}},
        "status": {
            "desiredNumberScheduled": len(known),
            "currentNumberScheduled": len(known),
            "updatedNumberScheduled": len(known),
            "numberReady": len(known) - lacking,
            "numberAvailable": len(known) - lacking,
        },
    }


def _policy(control):
    spec = {"mig": {"strategy": "single"}, "devicePlugin": {"enabled": True}, "driver": {"enabled": False}}
    return {"metadata": {"name": "cluster-policy"}, "spec": spec, "status": {"namespace": "gpu-operator", "state": control.policy_state}}


def _nic_policy(control):
    applied = [{"name": "state-RDMA-device-plugin", "state": "ready"}, {"name": "state-OFED", "state": "ignore"}]
    return {"metadata": {"name": "nic-cluster-policy"}, "spec": {}, "status": {"state": control.policy_state, "appliedStates": applied}}


def _classes(control):
    names = ["gpu.nvidia.com", "mig.nvidia.com"]
    if control.compute_domain:
        names += ["compute-domain-daemon.nvidia.com", "compute-domain-default-channel.nvidia.com"]
    return [{"metadata": {"name": name}, "spec": {}} for name in names]
