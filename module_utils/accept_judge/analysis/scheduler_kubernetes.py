"""What Kubernetes says of nodes and of the agents on them. Null, with a `_reason`, where it is not there or did not tell."""

from __future__ import annotations

import re

from .scheduler_slurm import why

# Taints that are understood: a GPU's own, those of the node's life cycle (they have checks of their own), and known agents'.
UNDERSTOOD = re.compile(
    r"(nvidia\.com/gpu(\.present|\.deploy.*)?|amd\.com/gpu|node\.kubernetes\.io/.*|node\.cloudprovider\.kubernetes\.io/.*|node-role\.kubernetes\.io/.*"
    r"|sagemaker\.amazonaws\.com/node-health-status|dgxc\.nvidia\.com/.*|(nvsentinel\.)?dgxc\.nvidia\.com/.*)"
)
# Labels that place a node in its network, by their publishers.
PLACES = (
    "network.topology.nvidia.com/",
    "topology.kubernetes.io/rack",
    "topology.kubernetes.io/zone",
    "topology.k8s.aws/network-node-layer",
    "cloud.google.com/gce-topology",
    "oci.oraclecloud.com/rdma",
    "backend.coreweave.cloud/",
    "nvidia.com/gpu.clique",
)
RDMA = re.compile(
    r"(rdma/.+|nvidia\.com/(hostdev|rdma_.+|mlnxnics|mlnxics|sriov\w*|switchdev|resibs\w*)|vpc\.amazonaws\.com/efa|openshift\.io/.*(rdma|mlnx|ib).*)"
)
RDMA_CLASSES = ("dranet.net", "dra.net")
# key -> a part of the question that it is from
FROM = {
    **dict.fromkeys(("kubernetes_agents", "kubernetes_gpu_agent", "kubernetes_plugin_health"), "daemonsets"),
    "kubernetes_policies": "polic",
    **dict.fromkeys(("kubernetes_rdma", "imex"), "deviceclasses"),
    "kubernetes_skewed": "nodes",
}
PLUGINS = ("nvidia_device_plugin", "amd_device_plugin", "gpu_dra_driver")


def derive(data: dict, run, members: list | None) -> dict:
    """kubernetes_<what>, and for each member heartbeat_age_s, bad_conditions, odd_taints, in_topology, clique.

    kubernetes_agents: [{name, purpose, runs_on: all | "17 of 18"}] · kubernetes_rdma: names of resources | none ·
    imex: compute_domain | switch_imex | host_imex | undocumented (NVLink over several nodes)
    """
    kubernetes = data.get("kubernetes") or {}
    facts = {fact["name"]: fact for fact in kubernetes.get("node_facts") or ()}
    for member in members or ():
        member.update(_of_node(facts.get(member["name"])))
    known = [member for member in members or () if member["name"] in facts]
    found = {
        "kubernetes_agents": _agents(kubernetes),
        "kubernetes_policies": _policies(kubernetes),
        "kubernetes_gpu_agent": _gpu_agent(kubernetes),
        "kubernetes_plugin_health": _plugin_health(kubernetes),
        "kubernetes_rdma": _rdma(kubernetes, known, facts),
        "kubernetes_topology": None if not known else "none" if not any(member["in_topology"] for member in known) else "labels",
        "kubernetes_skewed": _skewed(data, run, known),
        "imex": _imex(data, run),
    }
    return {**found, **{f"{key}_reason": why(data, "kubernetes", FROM.get(key, "")) for key, value in found.items() if value is None}}


def _of_node(fact) -> dict:
    if fact is None:
        return dict.fromkeys(("heartbeat_age_s", "bad_conditions", "odd_taints", "in_topology", "clique"))
    return {
        "heartbeat_age_s": fact["heartbeat_age_s"],
        "bad_conditions": [line for condition in fact["conditions"] if (line := _bad(condition))],
        "odd_taints": sorted(
            {f"{taint['key']}:{taint['effect']}" for taint in fact["taints"] if not UNDERSTOOD.fullmatch(taint["key"] or "")}
        ),
        "in_topology": any(label.startswith(PLACES) for label in fact["labels"]),
        "clique": fact["labels"].get("nvidia.com/gpu.clique", "none"),
    }


def _bad(condition) -> str:
    """A condition that tells of trouble, in one line; Ready has a check of its own."""
    kind, status, good = condition["type"], condition["status"], condition["good"]
    if kind == "Ready" or good is None or status == str(good):
        return ""
    codes = f", Xid {', '.join(map(str, condition['codes']))}" if condition["codes"] else ""
    return f"{kind} is {status}: {condition['reason'] or condition['message'] or 'no reason'}{codes}"


def _agents(kubernetes):
    sets = kubernetes.get("daemonsets")
    if sets is None:
        return None
    return [{"name": one["name"], "purpose": one["purpose"], "runs_on": _runs_on(one)} for one in sets if one["desired"] != 0]


def _runs_on(one):
    if one["desired"] is None or one["ready"] is None:
        return None
    return "all" if one["ready"] == one["desired"] else f"{one['ready']} of {one['desired']}"


def _policies(kubernetes):
    """The operators' own word on whether they are done."""
    parts = [kubernetes.get(key) for key in ("policies", "nic_policies")]
    return None if None in parts else [{"name": one["name"], "state": one["state"]} for part in parts for one in part]


def _gpu_agent(kubernetes):
    """What makes GPUs a resource: a device plugin, or a driver of claims; managed platforms hide their plugin, and the resource tells."""
    sets = kubernetes.get("daemonsets")
    named = sorted({one["purpose"] for one in sets or () if one["purpose"] in PLUGINS and one["desired"]})
    if named:
        return ", ".join(named)
    if kubernetes.get("gpus_by") in ("device plugin", "claims"):
        return f"hidden ({kubernetes['gpus_by']})"
    return None if sets is None or kubernetes.get("gpus_by") is None else "none"


def _plugin_health(kubernetes):
    """Does the device plugin watch its GPUs? Switched off, allocatable can never fall below capacity."""
    sets = kubernetes.get("daemonsets")
    plugins = [one for one in sets or () if one["purpose"] == "nvidia_device_plugin"]
    if sets is None:
        return None
    if not plugins:
        return "none"
    off = [one["environment"].get("DP_DISABLE_HEALTHCHECKS") for one in plugins]
    return "off" if any(value and ("all" in value or "xids" in value) for value in off) else "on"


def _rdma(kubernetes, known, facts):
    """Resources by which every node gives RDMA to a pod, a device class, or none."""
    if not known:
        return None
    names = [
        {name for name, counts in facts[member["name"]]["devices"].items() if RDMA.fullmatch(name) and counts["allocatable"]}
        for member in known
    ]
    common = set.intersection(*names)
    if common:
        return ", ".join(sorted(common))
    classes = kubernetes.get("classes")
    if classes is None:
        return None
    return ", ".join(name for name in classes if name in RDMA_CLASSES) or "none"


def _skewed(data, run, known):
    """Nodes whose kubelet is newer than the API server, or too old for it."""
    server = _minor(((data.get("found") or {}).get("kubernetes") or {}).get("version"))
    oldest = run.wanted.key("kubernetes.kubelet_skew_minors").value
    minors = {member["node"]: _minor(member["version"]) for member in known}
    if server is None or oldest is None or not minors or None in minors.values():
        return None
    return [
        {"node": member["node"], "kubelet": member["version"], "server_minor": server}
        for member in known
        if not server - oldest <= minors[member["node"]] <= server
    ]


def _minor(version):
    match = re.match(r"v?1\.([0-9]+)\.", version or "")
    return int(match.group(1)) if match else None


def _imex(data, run):
    """How a job gets NVLink over several nodes."""
    kubernetes, slurm = data.get("kubernetes"), data.get("slurm")
    if kubernetes is None and slurm is None:
        return None
    if kubernetes and any(name.startswith("compute-domain") for name in kubernetes.get("classes") or ()):
        return "compute_domain"
    if slurm and "nvidia_imex" in ((slurm.get("config") or {}).get("SwitchType") or ""):
        return "switch_imex"
    if (kubernetes and kubernetes.get("classes") is None) or (slurm and slurm.get("config") is None):
        return None
    return "host_imex" if _host_imex(run) else "undocumented"


def _host_imex(run) -> bool:
    """Is the IMEX service installed on the nodes?"""
    versions = [((run.fact(host, "version_audit").data or {}).get("components") or {}).get("imex") or {} for host in run.hosts]
    return any(one.get("version") not in (None, "none") for one in versions)
