"""Can this fabric run a library that sends from the GPU by itself? What each needs is a catalogue; what is there, facts of the node.

A need is a function of Facts: True, False, or None where it was not measured.
"""

from __future__ import annotations

from typing import NamedTuple


class Facts(NamedTuple):
    """The data of three concerns of one node; None where one was not measured."""

    recipe: dict
    inventory: dict | None
    versions: dict | None


def _adapters(facts) -> list | None:
    nics = (facts.inventory or {}).get("nics")
    return None if nics is None else [nic for nic in nics if nic.get("fabric")]


def _mellanox(facts):
    rails = _adapters(facts)
    if rails is None or any(not nic.get("hca_type") for nic in rails):
        return None
    return bool(rails) and all(nic["hca_type"].startswith("MT") for nic in rails)


def _module(facts, name):
    state = ((facts.versions or {}).get("modules") or {}).get(name)
    return None if state is None else state != "none"


def _gpudirect(facts):
    """By dma-buf, which the open kernel modules give, or by nvidia_peermem."""
    driver = ((facts.versions or {}).get("components") or {}).get("nvidia_driver") or {}
    if driver.get("flavour") == "open":
        return True
    peermem = _module(facts, "nvidia_peermem")
    return peermem if peermem or driver.get("flavour") else None


def _peer_mapping(facts):
    parameters = facts.recipe.get("driver_params")
    if not isinstance(parameters, dict):
        return None if parameters is None else False
    return "PeerMappingOverride=1" in (parameters.get("registry_dwords") or "").replace(" ", "")


def _nvlink(facts):
    gpus = (facts.inventory or {}).get("gpus")
    links = [(gpu.get("nvlink") or {}).get("active") for gpu in gpus or ()]
    return None if not links or None in links else all(links)


NEEDS = {
    "mellanox_adapter": ("adapters of NVIDIA (mlx5)", _mellanox),
    "efa_adapter": ("EFA adapters", lambda facts: _module(facts, "efa")),
    "gpudirect": ("GPUDirect RDMA (dma-buf or nvidia_peermem)", _gpudirect),
    "gdrcopy": ("the GDRCopy module (gdrdrv)", lambda facts: _module(facts, "gdrdrv")),
    "peer_mapping": ("the driver's PeerMappingOverride=1 (NVreg_RegistryDwords)", _peer_mapping),
    "nvlink": ("NVLink between the GPUs of a node", _nvlink),
}


def judge(libraries: list, facts: Facts, vendor: str | None, wanted=()) -> list:
    """[{name, key, wanted, finding, finding_reason}]: "none", what is missing, or null with what was not measured."""
    return [_one(library, facts, wanted) for library in libraries if vendor == library["vendor"] and _concerns(library, facts, wanted)]


def _concerns(library, facts, wanted) -> bool:
    """What is made for one cloud's adapters is asked for there, or where somebody wants it."""
    return "efa_adapter" not in library["needs"] or bool(_module(facts, "efa")) or library["key"] in wanted


def _one(library, facts, wanted) -> dict:
    entry = {"name": library["name"], "key": library["key"], "wanted": library["key"] in wanted, "finding": None, "finding_reason": ""}
    state = {need: NEEDS[need][1](facts) for need in [*library["needs"], *library.get("one_of", ())]}
    missing = [NEEDS[need][0] for need in library["needs"] if state[need] is False]
    choice = library.get("one_of", ())
    if choice and all(state[need] is False for need in choice):
        missing.append(" or ".join(NEEDS[need][0] for need in choice))
    unknown = [NEEDS[need][0] for need in library["needs"] if state[need] is None]
    if choice and not any(state[need] for need in choice) and any(state[need] is None for need in choice):
        unknown.append(" or ".join(NEEDS[need][0] for need in choice))
    if missing:
        return {**entry, "finding": "missing: " + "; ".join(missing)}
    if unknown:
        return {**entry, "finding_reason": "not measured: " + "; ".join(unknown)}
    return {**entry, "finding": "none"}
