"""What a cluster's head sees of other tenants: Slurm asked as nobody or as ourselves, our rights in Kubernetes, a probe's counts.

`node.isolation` holds what is otherwise: jobs_of_others, records_of_others, own_jobs, rights [(resource, verbs)], namespaces, pod_security,
groups, probe {open, exports}.
"""

from __future__ import annotations

import json

from accept_node.collectors import tenancy_audit as asked
from accept_node.probe import EXPORTS, PORTS

from .model import SimNode
from .model_scheduler import is_head
from .records import command, missing

# What any account has, and what a tenant has of its own; in kube-system only the first.
EVERYBODY = [
    ("selfsubjectreviews.authentication.k8s.io", [], ["create"]),
    ("selfsubjectaccessreviews.authorization.k8s.io", [], ["create"]),
    ("selfsubjectrulesreviews.authorization.k8s.io", [], ["create"]),
    ("", ["/api/*", "/api", "/healthz", "/livez", "/readyz", "/version"], ["get"]),
]
DENIED = 'Error from server (Forbidden): namespaces is forbidden: User "tenant" cannot list resource "namespaces" in API group ""\n'
OWN = "training"


def render(node: SimNode) -> dict:
    """The commands of the tenancy collector; `scontrol show config` is the scheduler's renderer's."""
    if not is_head(node):
        return {}
    slurm, kubernetes = node.control.kind == "slurm", node.control.kind == "kubernetes"
    return {
        "commands": [
            *(_slurm(node) if slurm else [missing(asked.CONFIG)]),
            *(_kubernetes(node) if kubernetes else [missing(asked.RIGHTS)]),
            *_probe(node),
        ]
    }


def _probe(node):
    """What a probe from the head counted; asked only by written authority."""
    found = node.isolation.get("probe", {})
    there = found.get("open", 0)
    rows = [{"port": port, "asked": 12, "open": there, "refused": 12 - there, "silent": 0} for port in (9100, 9400)]
    yield command(PORTS, json.dumps({"ports": rows}) + "\n")
    exports = {"servers": 1, "answered": 1, "exports": 4, "open_to_all": found.get("exports", 0)}
    yield command(EXPORTS, json.dumps(exports) + "\n")


def _slurm(node):
    told = node.isolation
    others, own = told.get("jobs_of_others", 0), told.get("own_jobs", 0) if node.uid else 0
    prefix = [] if node.uid else asked.AS_NOBODY
    yield command([*prefix, *asked.JOBS], "RUNNING\n" * (others + own))
    yield command([*prefix, *asked.RECORDS], "0:0\n" * (told.get("records_of_others", 9 * others) + own))
    if node.uid:
        yield command(asked.OWN_JOBS, "RUNNING\n" * own)
        yield command(asked.OWN_RECORDS, "0:0\n" * own)


def _kubernetes(node):
    told = node.isolation
    if node.control.down or node.control.slow:
        yield command(asked.RIGHTS, rc=1, stderr=(node.control.down or "Unable to connect to the server: i/o timeout") + "\n")
        return
    rules = [*((resource, [], verbs) for resource, verbs in told.get("rights", [])), *EVERYBODY]
    rows = [("Resources", "Non-Resource URLs", "Resource Names", "Verbs")]
    rows += [(resource, f"[{' '.join(urls)}]", "[]", f"[{' '.join(verbs)}]") for resource, urls, verbs in rules]
    widths = [max(len(row[place]) for row in rows) + 3 for place in range(4)]
    yield command(asked.RIGHTS, "".join("".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows))
    who = {"username": "tenant", "groups": told.get("groups", ["tenants", "system:authenticated"])}
    answer = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}, "status": {"userInfo": who}}
    yield command(asked.WHOAMI, json.dumps(answer, indent=4) + "\n")
    seen = told.get("namespaces", 0)
    yield command(asked.NAMESPACES, "Active\n" * seen) if seen else command(asked.NAMESPACES, rc=1, stderr=DENIED)
    yield command(asked.OWN_NAMESPACE, OWN)
    labels = {"kubernetes.io/metadata.name": OWN, "pod-security.kubernetes.io/enforce": told.get("pod_security", "baseline")}
    yield command(asked.labels_of(OWN), json.dumps(labels, separators=(",", ":")))
