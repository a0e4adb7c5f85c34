"""What the stand-in of an API server knows: nodes, agents, namespaces, users and their rights, and what is wrong with it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

# user -> (its groups, its rules: (verbs, API groups, resources))
ADMIN = (["system:masters", "system:authenticated"], [("*", "*", "*")])
AUDIT = (
    ["auditors", "system:authenticated"],
    [("get list", "", "nodes"), ("get list", "apps", "daemonsets"), ("get list", "nvidia.com", "clusterpolicies")]
    + [("get list", "mellanox.com", "nicclusterpolicies"), ("get list", "resource.k8s.io", "deviceclasses resourceslices")],
)
TENANT = (["tenants", "system:authenticated"], [("get list watch create", "", "pods"), ("get", "", "namespaces")])


@dataclass
class World:
    """What the server knows. `users`: name (and token) -> (groups, rules). `lost`: nodes with a GPU that is not allocatable."""

    nodes: int = 6
    version: str = "v1.36.2"
    users: dict = field(default_factory=lambda: {"admin": ADMIN, "audit": AUDIT, "tenant": TENANT})
    denied: tuple = ()  # resources that nobody may read
    cordoned: tuple = ()
    lost: tuple = ()
    pages_expire: bool = False
    slow_s: float = 0.0
    garbled: tuple = ()  # paths that are answered with bytes that are no text
    cut: tuple = ()  # paths whose answer ends in its middle
    level: str = "baseline"

    def items(self, resource):
        return {"nodes": self._nodes, "daemonsets": self._daemonsets, "namespaces": self._namespaces}.get(resource, lambda: [])() or {
            "clusterpolicies": [{"metadata": {"name": "cluster-policy"}, "status": {"state": "ready"}}],
            "nicclusterpolicies": [{"metadata": {"name": "nic-cluster-policy"}, "status": {"state": "ready"}}],
            "deviceclasses": [{"metadata": {"name": "gpu.nvidia.com"}}],
        }.get(resource, [])

    def _nodes(self):
        return [self._node(number) for number in range(1, self.nodes + 1)]

    def _node(self, number):
        name = f"gpu-{number:04d}"
        capacity = {"cpu": "192", "memory": "2113536Mi", "pods": "110", "nvidia.com/gpu": "8", "rdma/rdma_shared_device_a": "63"}
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        spec = {"providerID": f"metal://{name}"}
        if name in self.cordoned:
            taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": stamp}
            spec |= {"unschedulable": True, "taints": [taint]}
        condition = {"lastHeartbeatTime": stamp, "lastTransitionTime": stamp}
        return {
            "metadata": {
                "name": name,
                "uid": f"{number:08d}-0000-4000-8000-000000000000",
                "labels": {
                    "kubernetes.io/hostname": name,
                    "topology.kubernetes.io/rack": f"r{(number - 1) // 16 + 1:02d}",
                    "nvidia.com/gpu.product": "NVIDIA-H200",
                    "tenant.example/owner": "somebody-else",
                },
            },
            "spec": spec,
            "status": {
                "capacity": capacity,
                "allocatable": {**capacity, "nvidia.com/gpu": "7" if name in self.lost else "8"},
                "conditions": [
                    {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory", **condition},
                    {"type": "Ready", "status": "True", "reason": "KubeletReady", **condition},
                ],
                "addresses": [{"type": "InternalIP", "address": f"10.30.{number // 250}.{number % 250 + 1}"}],
                "nodeInfo": {"kubeletVersion": self.version, "bootID": f"{number:08d}-1111-4111-8111-111111111111"},
            },
        }

    def _daemonsets(self):
        named = [("gpu-operator", "nvidia-device-plugin-daemonset", "nvcr.io/nvidia/k8s-device-plugin:v0.19.0", self.nodes)]
        named += [("network-operator", "rdma-shared-dp-ds", "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:1.5.3", self.nodes)]
        named += [("somebody-else", "their-secret-agent", "registry.example/agent:1", 3)]
        return [
            {
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}},
                "status": {"desiredNumberScheduled": count, "numberReady": count, "updatedNumberScheduled": count},
            }
            for namespace, name, image, count in named
        ]

    def _namespaces(self):
        return [
            {"metadata": {"name": name, "labels": labels}, "status": {"phase": "Active"}}
            for name, labels in (
                (
                    "default",
                    {"pod-security.kubernetes.io/enforce": self.level} if self.level else {"kubernetes.io/metadata.name": "default"},
                ),
                ("kube-system", {}),
                ("somebody-else", {}),
            )
        ]
