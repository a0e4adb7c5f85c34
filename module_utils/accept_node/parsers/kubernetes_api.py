"""What the Kubernetes API server says of itself and of the GPU and network operators: `/version`, `/apis`, and small lists of theirs."""

from __future__ import annotations

import re

from ..loose_json import strict
from . import ParseError
from . import kubernetes_list as api


def parse(text: str) -> dict:
    """`/version`: {"version": "1.34.2", "text": "v1.34.2-gke.100"}"""
    document = strict(text)
    said = api.text_at(document, "gitVersion")
    match = re.match(r"v?([0-9]+\.[0-9]+\.[0-9]+)", said or "")
    if not match:
        raise ParseError("no version of an API server: %r" % text.strip()[:60])
    return {"version": match.group(1), "text": said}


def parse_groups(text: str) -> dict:
    """`/apis`: {"groups": {"resource.k8s.io": "v1", ...}}, each with the version that the server prefers."""
    document = strict(text)
    if not isinstance(document.get("groups"), list):
        raise ParseError("no API groups: %r" % text.strip()[:60])
    found = {}
    for group in api.listing(document["groups"]):
        name = api.text_at(group, "name")
        versions = [api.text_at(one, "version") for one in api.listing(group.get("versions"))]
        if name:
            found[name] = api.text_at(group, "preferredVersion", "version") or next((one for one in versions if one), None)
    return {"groups": found}


def parse_policies(text: str) -> dict:
    """ClusterPolicies (nvidia.com) or NicClusterPolicies (mellanox.com): {"policies": [{name, state, parts: {name: state}, mig_strategy,
    device_plugin}]}; `device_plugin`: does the GPU operator run one; None where it does not say."""
    return {
        "policies": [
            {
                "name": api.text_at(item, "metadata", "name"),
                "state": api.text_at(item, "status", "state"),
                "parts": {
                    api.text_at(part, "name"): api.text_at(part, "state")
                    for part in api.listing(api.at(item, "status", "appliedStates"))
                    if api.text_at(part, "name")
                },
                "mig_strategy": api.text_at(item, "spec", "mig", "strategy"),
                "device_plugin": _flag(api.at(item, "spec", "devicePlugin", "enabled")),
            }
            for item in api.parse(text)["items"]
        ]
    }


def parse_classes(text: str) -> dict:
    """DeviceClasses (resource.k8s.io): {"classes": [name, ...]}"""
    return {"classes": sorted(filter(None, (api.text_at(item, "metadata", "name") for item in api.parse(text)["items"])))}


def parse_slices(text: str) -> dict:
    """ResourceSlices: {"devices": {node: {driver: N}}, "continue"}; of those that belong to one node, and of GPUs the whole ones."""
    page, found = api.parse(text), {}
    for item in page["items"]:
        node, driver = api.text_at(item, "spec", "nodeName"), api.text_at(item, "spec", "driver")
        if node and driver:
            count = sum(1 for device in api.listing(api.at(item, "spec", "devices")) if _whole(device))
            drivers = found.setdefault(node, {})
            drivers[driver] = drivers.get(driver, 0) + count
    return {"devices": found, "continue": page["continue"]}


def strip_slices(text: str) -> str:
    """The list with nodes, drivers and types of devices only."""

    def kept(item):
        devices = [
            {"name": api.text_at(one, "name"), "attributes": {"type": {"string": _type(one)}}}
            for one in api.listing(api.at(item, "spec", "devices"))
        ]
        return {"spec": {**{key: api.at(item, "spec", key) for key in ("nodeName", "driver")}, "devices": devices}}

    return api.repack(text, kept)


def strip_policies(text: str) -> str:
    """The list with name, state and the settings that are read."""

    def kept(item):
        spec = {"mig": {"strategy": api.at(item, "spec", "mig", "strategy")}}
        spec["devicePlugin"] = {"enabled": api.at(item, "spec", "devicePlugin", "enabled")}
        status = {key: api.at(item, "status", key) for key in ("state", "appliedStates")}
        return {"metadata": {"name": api.at(item, "metadata", "name")}, "spec": spec, "status": status}

    return api.repack(text, kept)


def _flag(value):
    return value if isinstance(value, bool) else None


def _type(device):
    """v1: attributes at the device; v1beta1: below `basic`."""
    attributes = api.at(device, "attributes") or api.at(device, "basic", "attributes")
    return api.text_at(attributes, "type", "string")


def _whole(device):
    return _type(device) in (None, "gpu")
