"""What DCGM's host engine says of itself: GPUs, groups, health watches, health and policy. Questions only: no watch or policy is set."""

from __future__ import annotations

from ..parsers import dcgmi

DISCOVERY, GROUPS = ["dcgmi", "discovery", "-l"], ["dcgmi", "group", "-l"]
MAX_GROUPS = 8
USABLE = (0, 223)  # 223: a module of the engine is switched off, what it printed is good


def watches(group):
    return ["dcgmi", "health", "-g", str(group), "-f"]


def health(group):
    return ["dcgmi", "health", "-g", str(group), "-c", "-j"]


def policy(group):
    return ["dcgmi", "policy", "-g", str(group), "--get"]


def read(gather):
    """{"installed", "connected", "rc", "gpus_found", "gpus_named", "groups": [{"id", "name", "watches", "health", "policy"}] | None}

    None where dcgmi is there and could not be understood; not installed on the host says nothing of an engine in a container.
    """
    found = gather.command(DISCOVERY, dcgmi.parse, timeout_s=30, ok=None, streams="both", optional=True)
    what = " ".join(DISCOVERY)
    if found is None:
        if gather.missing(what):
            return {"installed": False, "connected": None, "rc": None, "gpus_found": None, "gpus_named": None, "groups": None}
        return None
    rc = next(source.get("rc") for source in reversed(gather.sources) if source["what"] == what)
    told = {"installed": True, "connected": found["connected"], "rc": rc, "gpus_found": found["gpus_found"]}
    told["gpus_named"] = found["gpus"] and sum(1 for gpu in found["gpus"] if gpu["name"])
    if not found["connected"]:
        return {**told, "groups": None}
    if rc not in USABLE:
        gather.error(what, "failed", f"{what}: exit status {rc}")
    listed = gather.command(GROUPS, dcgmi.parse_groups, ok=None, streams="both")
    groups = [{"id": 0, "name": "all GPUs"}, *(one for one in (listed and listed["groups"]) or [] if one["id"] != 0)]
    return {**told, "groups": [_group(gather, one) for one in groups[:MAX_GROUPS]]}


def _group(gather, one) -> dict:
    number = one["id"]
    on = gather.command(watches(number), dcgmi.parse_watches, ok=None, streams="both")
    any_on = bool(on and on["watches"] and any(on["watches"].values()))
    report = gather.command(health(number), dcgmi.parse_health, ok=None, streams="both") if any_on else None
    set_policy = gather.command(policy(number), dcgmi.parse_policy, ok=None, streams="both")
    return {
        **one,
        "watches": on and on["watches"],
        "health": report and {key: report[key] for key in ("overall", "gpus")},
        "policy": set_policy and {key: set_policy[key] for key in ("conditions", "action", "validation", "mixed")},
    }
