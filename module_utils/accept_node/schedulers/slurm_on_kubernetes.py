"""Slurm whose daemons are pods: a node takes a job only where both let it, and it returns only when both say so."""

from __future__ import annotations

from . import kubernetes, slurm

# API groups of operators that run Slurm on Kubernetes, by their projects: Slinky, Soperator, SUNK.
GROUPS = ("slinky.slurm.net", "slurm.nebius.ai", "sunk.coreweave.com")


def detect(gather) -> dict:
    """Both answer, and one of them says that it knows the other: an operator's API group, or Slurm nodes that name their pod."""
    below, above = kubernetes.detect(gather), slurm.detect(gather)
    if False in (below["present"], above["present"]):
        return {"present": False, "version": None, "reason": "; ".join(filter(None, (below["reason"], above["reason"])))}
    if None in (below["present"], above["present"]):
        return {"present": None, "version": None, "reason": "; ".join(filter(None, (below["reason"], above["reason"])))}
    return {"present": joined(kubernetes.survey(gather)["groups"], None), "version": above["version"], "reason": ""}


def joined(groups, in_pods):
    """Is it Slurm on Kubernetes? `groups`: API groups; `in_pods`: how many Slurm nodes name a pod. None: neither could be had."""
    if in_pods or any(name in (groups or {}) for name in GROUPS):
        return True
    return None if groups is None and in_pods is None else False


def nodes(gather):
    """Slurm's nodes, each taking jobs only where its Kubernetes node does too."""
    above, below = slurm.nodes(gather), kubernetes.nodes(gather)
    return above if above is None or below is None else merge(above, below)


def merge(above, below) -> list:
    """Slurm's view of the nodes, with what Kubernetes holds against them."""
    hosts = {name: node for node in below for name in (node["name"], node["hostname"]) if name}
    return [_both(node, hosts.get(node["name"]) or hosts.get(node["hostname"])) for node in above]


def _both(node, host):
    if host is None:
        return node
    known = [node["schedulable"], host["schedulable"]]
    return {
        **node,
        "schedulable": False if False in known else None if None in known else True,
        "against": [*(node["against"] or []), *("Kubernetes: " + word for word in host["against"] or [])],
        "reason": node["reason"] or host["reason"],
        "gpus_usable": host["gpus_usable"] if host["gpus_usable"] is not None else node["gpus_usable"],
        "boot_id": host["boot_id"],
    }


def one(gather, name):
    """One node, as both see it."""
    above = slurm.one(gather, name)
    below = above and kubernetes.one(gather, above["hostname"] or name)
    return merge([above], [below] if below else [])[0] if above else None


def survey(gather) -> dict:
    """{"slurm", "kubernetes"}: what each says of itself."""
    return {"slurm": slurm.survey(gather), "kubernetes": kubernetes.survey(gather)}


def capabilities(found) -> dict:
    """Drain in Slurm and cordon below; reboot from the Kubernetes layer, since a restarted pod is no node's return."""
    return {**slurm.capabilities(found["slurm"]), "reboot": False}
