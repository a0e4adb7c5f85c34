"""Which of the GPUs' optional fields this platform tells at all.

A field that no GPU of the node has, without an error or with the tool's own N/A, is none of the platform's. A field that one GPU has is
wanted of all: null on its neighbour is then not measured, and never left out.
"""

from __future__ import annotations

OPTIONAL = {
    "sram_threshold": "ecc.sram_threshold_exceeded",
    "repairs": "repairs_pending",
    "pages": "retired_pages.pending",
    "recovery_action": "recovery_action",
    "fabric_health": "fabric.health",
    "fabric_bandwidth": "fabric.bandwidth",
    "temperature_headroom": "temperature_headroom_c",
}


def analyse(data: dict, run) -> dict:
    """{"gpus_telling": {name: [the node's GPUs, or none of them]}}; None where the GPUs themselves were not measured."""
    gpus = data.get("gpus")
    told = None if gpus is None else {name: gpus if _told(gpus, path) else [] for name, path in OPTIONAL.items()}
    return {"gpus_telling": told}


def _told(gpus: list, path: str) -> bool:
    reasons = [gpu.get(path + "_reason") for gpu in gpus]
    return any(_at(gpu, path) is not None for gpu in gpus) or any(reason and not reason.endswith("N/A") for reason in reasons)


def _at(gpu: dict, path: str):
    value = gpu
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value
