"""The state of a simulated cluster's scheduler: what it thinks of each node, and how it is set up. Faults change it; renderers print it."""

from __future__ import annotations

from dataclasses import dataclass, field

# The agents that a GPU cluster on Kubernetes runs on every GPU node: purpose -> (name, namespace, image with tag, container).
AGENTS = {
    "gpu_dra_driver": (
        "nvidia-dra-driver-gpu-kubelet-plugin",
        "nvidia-dra-driver-gpu",
        "nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8.0",
        "compute-domains",
    ),
    "nvidia_device_plugin": (
        "nvidia-device-plugin-daemonset",
        "gpu-operator",
        "nvcr.io/nvidia/k8s-device-plugin:v0.18.0",
        "nvidia-device-plugin",
    ),
    "container_toolkit": ("nvidia-container-toolkit-daemonset", "gpu-operator", "nvcr.io/nvidia/k8s/container-toolkit:v1.19.1", "toolkit"),
    "dcgm_exporter": ("nvidia-dcgm-exporter", "gpu-operator", "nvcr.io/nvidia/k8s/dcgm-exporter:4.6.0-4.8.2-ubuntu24.04", "exporter"),
    "gpu_feature_discovery": ("gpu-feature-discovery", "gpu-operator", "nvcr.io/nvidia/k8s-device-plugin:v0.18.0", "gpu-feature-discovery"),
    "gpu_validator": ("nvidia-operator-validator", "gpu-operator", "nvcr.io/nvidia/gpu-operator:v25.10.1", "validator"),
    "rdma_shared_device_plugin": (
        "rdma-shared-dp-ds",
        "nvidia-network-operator",
        "nvcr.io/nvidia/mellanox/k8s-rdma-shared-dev-plugin:v25.10.0",
        "rdma-shared-dp",
    ),
    "multus": ("kube-multus-ds", "kube-system", "ghcr.io/k8snetworkplumbingwg/multus-cni:v4.2.2", "kube-multus"),
}


@dataclass
class Place:
    """A node as the scheduler sees it."""

    known: bool = True
    # Slurm
    base: str = "IDLE"
    flags: list = field(default_factory=list)
    reason: str = ""
    reason_by: str = ""
    gpus: int | None = None  # as configured; None: as many as the machine has
    partitions: list = field(default_factory=lambda: ["gpu"])
    in_topology: bool = True
    version: str = ""  # of slurmd or kubelet; empty: as installed
    # Kubernetes
    lost_gpus: int = 0  # capacity less allocatable
    device_plugin: bool = True
    ready: str = "True"
    heartbeat_s: float = 112.0
    cordoned: bool = False
    taints: list = field(default_factory=lambda: [("nvidia.com/gpu", "present", "NoSchedule")])
    conditions: list = field(default_factory=list)  # (type, status, reason, message)
    clique: bool = True


@dataclass
class Control:
    """The scheduler of a cluster."""

    kind: str  # slurm | kubernetes | none
    cluster: str
    at_s: float
    nodes: list = field(default_factory=list)
    down: str = ""  # a reason: its server does not answer
    slow: bool = False
    second: bool = False  # another scheduler holds the same nodes
    # Slurm
    accounting: str = "slurmdbd"  # slurmdbd | none | unregistered
    config: dict = field(default_factory=dict)  # key -> value, over the usual ones
    topology: str = ""  # tree | block | none; empty: as the racks ask for
    backup: bool = True
    dead_controllers: set = field(default_factory=set)  # primary, backup
    # Kubernetes
    agents: dict = field(default_factory=lambda: {purpose: {} for purpose in AGENTS})  # purpose -> {"missing": N, "env": {...}}
    policy_state: str = "ready"
    rdma: str = "rdma/rdma_shared_device_a"
    compute_domain: bool = True
    collectives: bool = False  # has the head's capture launches of collectives? They are the largest part of it
    denied: set = field(default_factory=set)  # beginnings of paths that RBAC denies
    # what the cluster's monitoring shows otherwise than all of it, by the names that render_monitoring.py reads
    monitoring: dict = field(default_factory=dict)


def control_of(cluster: dict, nodes: list, at_s: float) -> Control:
    """A healthy scheduler of the kind that the spec names, known to each of the nodes."""
    control = Control(cluster["scheduler"], cluster["name"], at_s, nodes)
    for node in nodes:
        node.control, node.place = control, Place()
    return control


def is_head(node) -> bool:
    """The first node of a cluster is where its scheduler is asked."""
    return node.control is not None and node.control.nodes[0] is node
