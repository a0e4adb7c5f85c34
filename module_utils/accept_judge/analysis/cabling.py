"""A node's cables against the planned rail map; without a map, which leaf each rail is on, to compare within a rack."""

from __future__ import annotations

from collections import defaultdict

from .. import fabric as fabrics
from ..cabling import LISTS


def analyse(data: dict, run) -> dict:
    """swapped, wrong_leaf, wrong_port, missing, extra: lists of texts, each naming port, switch port and what was planned; null with a
    reason where links are not known; planned_links, right_links: counts; leaf_of_rails: {port: leaf}, "none" where a map says it better.
    """
    fabric, host = fabrics.of(run), str(run.envelope.get("host", ""))
    result = fabric.results.get(host)
    if fabric.problem or result is None or not result.planned:
        why = fabric.problem or ("the rail map has no row of this node" if fabric.results else "the node is not in the run's record")
        facts = dict.fromkeys(LISTS) | {f"{name}_reason": why for name in LISTS}
        leaves = fabric.leaves.get(host)
        counts = {"planned_links": None, "right_links": None, "leaf_of_rails": leaves}
        return {**facts, **counts, "leaf_of_rails_reason": "" if leaves else "what some rails are plugged into is not known"}
    why = _why(result.unknown)
    facts = {"planned_links": result.planned, "right_links": result.right, "leaf_of_rails": "none"}
    for name, found in result.lists.items():
        facts[name] = found or (None if why and name != "extra" else [])
        if facts[name] is None:
            facts[name + "_reason"] = why
    return facts


def _why(unknown) -> str:
    """Each reason once, with the ports that it is about."""
    ports = defaultdict(list)
    for port, reason in unknown:
        ports[reason].append(port)
    return "; ".join(f"{', '.join(names[:4])}{' and more' if len(names) > 4 else ''}: {reason}" for reason, names in ports.items())


def without_data(run) -> dict | None:
    """A node that did not answer may still be known to the fabric."""
    if not str(run.envelope.get("host", "")):
        return None
    found = analyse({}, run)
    return found if found["planned_links"] else None
