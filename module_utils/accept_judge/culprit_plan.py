"""The plan of a search for the node that spoils a world: its stages by where the nodes stand, its cost, its file in the run."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path

from . import culprit
from .facts_store import write

NOT_THE_CLUSTER = ("launcher_missing", "pending", "not_started", "output")  # causes of a launch's end that say nothing of its nodes
# stage -> mode of its launches; `default` is that of the sweep
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


def make(nodes: dict, floors: dict | None = None, rails=(), racks_share_nvlink: bool = False, domains: dict | None = None) -> dict:
    """nodes: name -> {"rack", "leaf"} (null: not known). floors: stage -> GB/s, where known. domains: node -> NVLink domain, where
    that is known better than by rack. -> the plan: `nodes`, `stages` (name, units,
    groups, floor_gbytes_s), `rails`, `kinds` of units."""
    floors, leaves = floors or {}, defaultdict(list)
    for name, place in nodes.items():
        leaves[place.get("leaf") or place.get("rack") or "all"].append(name)
    shared = defaultdict(list)
    for name, place in nodes.items():
        shared[(domains or {}).get(name) or place.get("rack") or "all"].append(name)
    by_leaf = any(place.get("leaf") for place in nodes.values())
    singly = {name: [name] for name in nodes}
    stages = [
        _stage("nvlink", singly, shared.values(), floors)
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
    rounds = culprit.budget(plan)
    lines = []
    for stage in plan["stages"]:
        widest, count = max(map(len, stage["groups"])), len(stage["groups"])
        usual = 1 if stage["name"] == "alone" else 1 + math.ceil(math.log2(max(widest, 1))) + culprit.TIMES
        lines.append(f"  culprit search, {TITLES[stage['name']]}: {count} launches at once; 1 round, or about {usual} where one is slow")
    least, most = (count * launch_s / 60 for count in (len(plan["stages"]), rounds))
    lines.append(
        f"  culprit search: {len(plan['nodes'])} nodes, at most {rounds} rounds of {launch_s:.0f} s: {least:.0f} to {most:.0f} min"
    )
    return lines


def load(run_dir: Path) -> dict:
    """{"searches": [{"cluster", "plan", "rounds": [[name of each launch]]}]}; none yet where there is no file."""
    path = path_of(run_dir)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"searches": []}


def save(run_dir: Path, searches: dict) -> None:
    path = path_of(run_dir)
    path.parent.mkdir(exist_ok=True)
    write(path, json.dumps(searches, indent=1).encode())


def of_nodes(run_dir: Path, nodes) -> dict | None:
    """The search among these nodes, if there was one."""
    return next((one for one in load(run_dir)["searches"] if set(one["plan"]["nodes"]) <= set(nodes)), None)


def outcomes(search: dict, columns: list, runs: list) -> list:
    """What the launches of each round amount to: GB/s at the largest size, None for a hang or a failure, NOT_RUN for what did not begin."""
    told = {run["name"]: run for run in runs}
    return [[_outcome(told.get(name), columns) for name in names] for names in search["rounds"]]


def _outcome(run, columns):
    if run is None:
        return culprit.NOT_RUN
    wrong = any(row[columns.index(side)] for row in run["rows"] for side in ("wrong_out", "wrong_in"))
    # wrong values have a row of their own, and say nothing of speed; what else ends with an output that is not whole says nothing of nodes
    if run["rows"] and (run["status"] == "ok" or (wrong and run["status"] == "partial" and run.get("cause") == "output")):
        return run["rows"][-1][columns.index("busbw_out_gbytes_s")]
    return culprit.NOT_RUN if run["status"] != "ok" and run.get("cause") in NOT_THE_CLUSTER else None
