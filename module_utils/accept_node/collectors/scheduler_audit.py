"""What a cluster's scheduler says of itself, its nodes and agents. Asked once, on the head, for the whole cluster; nothing of any job.

At most ten calls of Slurm's or Kubernetes' servers for a thousand nodes. A server that does not answer is asked once, not ten times.
"""

from __future__ import annotations

from ..schedulers import kubernetes, slurm, slurm_on_kubernetes


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/scheduler_audit.json is its shape."""
    found = {"slurm": slurm.detect(gather)}
    errors = list(gather.errors)
    client, version, present, reason = kubernetes.connect(gather)
    found["kubernetes"] = {"present": present, "version": version, "reason": reason}
    _forget(gather, found, errors)
    slurm_says = slurm.survey(gather) if found["slurm"]["present"] else None
    kubernetes_says = _kubernetes(gather, client) if client else None
    above = slurm.nodes(gather) if slurm_says else None
    below = kubernetes_says.pop("normal") if kubernetes_says else None
    in_pods = None if above is None else sum(1 for node in above if node["in_pod"])
    joined = slurm_says and kubernetes_says and slurm_on_kubernetes.joined(kubernetes_says["groups"], in_pods)
    scheduler, why = _which(found, joined)
    nodes = _nodes(scheduler, above, below)
    return {
        "scheduler": scheduler,
        "scheduler_reason": why,
        "found": found,
        "nodes": nodes,
        "nodes_reason": "" if nodes is not None else why or _why_no_nodes(gather),
        "capabilities": _capabilities(scheduler, slurm_says, kubernetes_says),
        "slurm": slurm_says,
        "kubernetes": kubernetes_says,
        "questions": _questions(gather),
    }


def _forget(gather, found, of_slurm):
    """That a second scheduler's tools find nothing is no error where the first answers, nor that tools without a cluster find none."""
    if found["slurm"]["present"] is False:
        gather.errors[: len(of_slurm)] = []
    elif found["slurm"]["present"] and found["kubernetes"]["present"] is None and "no access" in found["kubernetes"]["reason"]:
        gather.errors[len(of_slurm) :] = []


def _which(found, joined):
    """(slurm | kubernetes | slurm_on_kubernetes | slurm and kubernetes | none | None, why not known)"""
    there = [name for name in ("slurm", "kubernetes") if found[name]["present"]]
    if len(there) == 2:
        return ("slurm_on_kubernetes" if joined else "slurm and kubernetes"), ""
    if there:
        return there[0], ""
    unknown = [found[name]["reason"] for name in ("slurm", "kubernetes") if found[name]["present"] is None]
    return (None, "; ".join(unknown)) if unknown else ("none", "")


def _kubernetes(gather, client):
    """Its survey, its nodes, and the condition, labels and resources of each that checks are about."""
    found = kubernetes.survey(gather, client)
    records = kubernetes.records_of(client)
    normal = records and [kubernetes.normalise(record) for record in records["nodes"]]
    if normal and all(node["gpus"] in (0, None) for node in normal):  # no device plugin's resource anywhere: by claims, perhaps
        claimed = kubernetes.slices(client, found["groups"])
        for node in normal if claimed else ():
            node["gpus"] = node["gpus_usable"] = claimed.get(node["name"], 0)
        found["gpus_by"] = (
            "claims" if claimed else "none" if claimed is not None or not (found["groups"] or {}).get("resource.k8s.io") else None
        )
    else:
        found["gpus_by"] = "device plugin" if normal else None
    for record, node in zip(records["nodes"], normal) if found["gpus_by"] else ():
        if node["gpus"] is None and not record["gpus_capacity"]:  # it is known how GPUs are offered, and this node offers none
            node["gpus"] = node["gpus_usable"] = 0
    now = gather.node.now()
    found["complete"] = records and records["complete"]
    found["node_facts"] = records and [_facts(record, now) for record in records["nodes"]]
    return {**found, "normal": normal}


def _facts(record, now):
    beats = [kubernetes.age_s(c["heartbeat_at"], now) for c in record["conditions"] if c["type"] == "Ready"]
    return {
        "name": record["name"],
        "heartbeat_age_s": beats[0] if beats else None,
        "conditions": [
            {
                **{key: condition[key] for key in ("type", "status", "reason", "message", "codes")},
                "good": kubernetes.positive(condition["type"]),
            }
            for condition in record["conditions"]
            if condition["status"] != str(kubernetes.positive(condition["type"]))
        ],
        "taints": record["taints"],
        "labels": {key: value for key, value in record["labels"].items() if key.startswith(KEPT_LABELS)},
        "gpus_capacity": record["gpus_capacity"],
        "gpus_allocatable": record["gpus_allocatable"],
        "devices": record["devices"],
    }


# What the analysis reads; the rest stands in the capture.
KEPT_LABELS = (
    "topology.",
    "network.topology.",
    "nvidia.com/gpu.clique",
    "nvidia.com/mig.",
    "nvidia.com/gpu.sharing-strategy",
    "nvidia.com/gpu.replicas",
    "cloud.google.com/gce-topology",
    "oci.oraclecloud.com/rdma",
    "backend.coreweave.cloud/",
    "dgxc.nvidia.com/",
    "k8saas.nvidia.com/",
    "sagemaker.amazonaws.com/",
)


def _nodes(scheduler, above, below):
    if scheduler == "none":
        return []
    if scheduler == "slurm_on_kubernetes":
        return above if above is None or below is None else slurm_on_kubernetes.merge(above, below)
    if scheduler == "slurm and kubernetes":
        both = [*(above or []), *(below or [])]
        return both if above is not None and below is not None else None
    return above if scheduler == "slurm" else below


def _capabilities(scheduler, slurm_says, kubernetes_says):
    if scheduler == "slurm":
        return slurm.capabilities(slurm_says)
    if scheduler == "slurm_on_kubernetes":
        return slurm_on_kubernetes.capabilities({"slurm": slurm_says, "kubernetes": kubernetes_says})
    return kubernetes.capabilities(kubernetes_says) if scheduler == "kubernetes" else None


def _why_no_nodes(gather):
    return "; ".join(error["message"] for error in gather.errors if "node" in error["source"])[:300] or "the nodes could not be read"


def _questions(gather):
    """What was asked, each once, and whether it was answered; a denial says who was denied what."""
    failed = {error["source"]: error for error in gather.errors}
    asked = dict.fromkeys(source["what"] for source in gather.sources if source["reason"] != "missing")
    return [
        {
            "what": what[:200],
            "answered": True if what not in failed else False if failed[what]["reason"] == "denied" else None,
            "answered_reason": failed[what]["message"][-300:] if what in failed else "",
        }
        for what in asked
    ]
