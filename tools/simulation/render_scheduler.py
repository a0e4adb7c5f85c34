"""What a cluster's scheduler answers on its head: Slurm's tools or kubectl, and that the other's are not there."""

from __future__ import annotations

from accept_node.schedulers import kubernetes, slurm

from . import render_kubernetes, render_slurm
from .model import SimNode
from .model_scheduler import is_head
from .records import missing


def render(node: SimNode) -> dict:
    """The commands of the scheduler collector. Nodes other than the head are not asked."""
    if not is_head(node):
        return {}
    control = node.control
    kubectl = render_kubernetes.commands(control) if control.kind == "kubernetes" or control.second else None
    of_slurm = render_slurm.commands(control) if control.kind == "slurm" else None
    return {
        "commands": [
            *(of_slurm or [missing(slurm.VERSION)]),
            *(kubectl or [missing(kubernetes.Client(None).argv(kubernetes.VERSION))]),
        ]
    }
