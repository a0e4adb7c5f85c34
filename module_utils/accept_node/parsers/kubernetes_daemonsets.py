"""`/apis/apps/v1/daemonsets`: the agents that make a node a GPU node. Those of other purpose, which may be a tenant's, are not kept."""

from __future__ import annotations

import re

from . import kubernetes_list as api

# purpose -> name of the DaemonSet or of an image, as the projects' manifests have them
PURPOSES = (
    ("gpu_dra_driver", r"k8s-dra-driver-gpu|dra-driver-nvidia-gpu|nvidia-dra-driver-gpu"),
    ("nvidia_device_plugin", r"nvidia-device-plugin|nvidia-gpu-device-plugin|/k8s-device-plugin"),
    ("amd_device_plugin", r"amdgpu-device-plugin|amd-gpu-device-plugin|rocm/k8s-device-plugin"),
    ("gpu_driver", r"nvidia-driver-daemonset|nvidia-gpu-driver-|nvidia-vgpu-manager"),
    ("container_toolkit", r"nvidia-container-toolkit"),
    ("dcgm_exporter", r"dcgm-exporter"),
    ("amd_metrics_exporter", r"device-metrics-exporter|amd-metrics-exporter"),
    ("gpu_feature_discovery", r"gpu-feature-discovery"),
    ("mig_manager", r"mig-manager"),
    ("gpu_validator", r"operator-validator"),
    ("mofed_driver", r"mofed|doca-driver"),
    ("rdma_shared_device_plugin", r"rdma-shared-d(ev|p)|k8s-rdma-shared"),
    ("sriov_device_plugin", r"sriov-network-device-plugin|sriov-device-plugin"),
    ("efa_device_plugin", r"efa-k8s-device-plugin|aws-efa"),
    ("dranet", r"dranet"),
    ("multus", r"multus"),
    ("nv_ipam", r"nv-ipam"),
    ("node_feature_discovery", r"node-feature-discovery|nfd-worker"),
    ("node_problem_detector", r"node-problem-detector"),
    ("nvsentinel", r"nvsentinel"),
)
COMPILED = tuple((purpose, re.compile(pattern)) for purpose, pattern in PURPOSES)
ENVIRONMENT = ("DP_DISABLE_HEALTHCHECKS", "DP_ENABLE_HEALTHCHECKS", "MIG_STRATEGY", "PASS_DEVICE_SPECS", "DEVICE_LIST_STRATEGY")


def parse(text: str) -> dict:
    """{"daemonsets": [{purpose, name, namespace, desired, ready, updated, versions, containers, environment}], "others": N, "continue",
    "remaining"}

    `versions`: tags of its images. `environment`: the few variables that change what a device plugin does. `others`: how many are not kept.
    """
    page = api.parse(text)
    found = [(purpose(item), item) for item in page["items"]]
    return {
        "daemonsets": [_daemonset(what, item) for what, item in found if what],
        "others": sum(1 for what, _ in found if not what),
        "continue": page["continue"],
        "remaining": page["remaining"],
    }


def strip(text: str) -> str:
    """The list with those of known purpose only; of the others an empty object remains, so that they are counted."""
    return api.repack(text, _kept)


def purpose(item):
    """What a DaemonSet is for, or None."""
    name = api.text_at(item, "metadata", "name") or ""
    images = [api.text_at(one, "image") or "" for one in _containers(item)]
    # the name first: several agents come in one image
    return _named([name]) or _named(images)


def _named(texts):
    return next((what for what, pattern in COMPILED if any(pattern.search(text) for text in texts)), None)


def _containers(item):
    return api.listing(api.at(item, "spec", "template", "spec", "containers"))


def _kept(item):
    if purpose(item) is None:
        return {}
    containers = [
        {
            "name": api.text_at(one, "name"),
            "image": api.text_at(one, "image"),
            "env": [variable for variable in api.listing(one.get("env")) if variable.get("name") in ENVIRONMENT],
        }
        for one in _containers(item)
    ]
    return {
        "metadata": {key: api.at(item, "metadata", key) for key in ("name", "namespace")},
        "spec": {"template": {"spec": {"containers": containers}}},
        "status": api.mapping(item.get("status")),
    }


def _daemonset(what, item) -> dict:
    containers = _containers(item)
    tags = [re.search(r":([\w][\w.-]*)(?:@|$)", api.text_at(one, "image") or "") for one in containers]
    variables = [variable for one in containers for variable in api.listing(one.get("env"))]
    return {
        "purpose": what,
        "name": api.text_at(item, "metadata", "name"),
        "namespace": api.text_at(item, "metadata", "namespace"),
        "desired": api.count_at(item, "status", "desiredNumberScheduled"),
        "ready": api.count_at(item, "status", "numberReady"),
        "updated": api.count_at(item, "status", "updatedNumberScheduled"),
        "versions": sorted({tag.group(1) for tag in tags if tag}),
        "containers": [api.text_at(one, "name") or "" for one in containers],
        "environment": {variable["name"]: api.text_at(variable, "value") for variable in variables if variable.get("name") in ENVIRONMENT},
    }
