"""The plan of a search for the node that spoils a world: its stages by where the nodes stand, its cost, its file in the run."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path

from . import culprit
from .facts_store import write

# stage -> (mode of its launches, what is compared there)
MODES = {"alone": "default", "nvlink": "default", "scale_out": "scale_out", "across": "scale_out", "rails": "scale_out"}
TITLES = {
    "alone": "each node by itself",
    "nvlink": "inside each NVLink domain",
    "scale_out": "without NVLink between nodes, inside each leaf",
    "across": "without NVLink between nodes, across leaves",
    "rails": "named nodes rail by rail",
}


def path_of(run_dir: Path) -> Path:
    return Path(run_dir) / "plans" / "culprit.json"


def make(nodes: dict, floors: dict | None = None, rails=(), racks_share_nvlink: bool = False) -> dict:
    """nodes: name -> {"rack", "leaf"} (null: not known). floors: stage -> GB/s, where known. -> the plan: `nodes`, `stages` (name, units,
    groups, floor_gbytes_s), `rails`, `kinds` of units."""
    floors, racks, leaves = floors or {}, defaultdict(list), defaultdict(list)
    for name, place in nodes.items():
        racks[place.get("rack") or "all"].append(name)
        leaves[place.get("leaf") or place.get("rack") or "all"].append(name)
    by_leaf = any(place.get("leaf") for place in nodes.values())
    singly = {name: [name] for name in nodes}
    stages = [
        _stage("nvlink", singly, racks.values(), floors)
        if racks_share_nvlink
        else _stage("alone", singly, ([name] for name in nodes), floors)
    ]
    stages.append(_stage("scale_out", singly, leaves.values(), floors))
    if len(leaves) > 1:
        stages.append(_stage("across", dict(leaves), [list(leaves)], floors))
    kinds = {**dict.fromkeys(leaves, "leaf" if by_leaf else "rack"), **dict.fromkeys(nodes, "node")}
    return {"nodes": dict(nodes), "stages": stages, "rails": list(rails), "kinds": kinds}


def _stage(name, units, groups, floors) -> dict:
    return {"name": name, "units": units, "groups": [list(group) for group in groups], "floor_gbytes_s": floors.get(name)}


def text(plan: dict, launch_s: float) -> list[str]:
    """The plan as a user reads it before it runs: stages, rounds, minutes."""
    rounds = culprit.budget(len(plan["nodes"]))
    lines = []
    for stage in plan["stages"]:
        widest = max(map(len, stage["groups"]))
        usual = 1 if stage["name"] == "alone" else 1 + (math.ceil(math.log2(widest)) if widest > 1 else 0) + culprit.TIMES
        lines.append(
            f"  culprit search, {TITLES[stage['name']]}: {len(stage['groups'])} launches at once; 1 round if all are well, else about {usual}"
        )
    least, most = (count * launch_s / 60 for count in (len(plan["stages"]), rounds))
    lines.append(
        f"  culprit search: {len(plan['nodes'])} nodes, at most {rounds} rounds of {launch_s:.0f} s: {least:.0f} to {most:.0f} min"
    )
    return lines


def load(run_dir: Path) -> dict:
    return json.loads(path_of(run_dir).read_text(encoding="utf-8"))


def save(run_dir: Path, plan: dict) -> None:
    path = path_of(run_dir)
    path.parent.mkdir(exist_ok=True)
    write(path, json.dumps(plan, indent=1).encode())
