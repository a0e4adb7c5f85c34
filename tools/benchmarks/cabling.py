"""The fabric: naming every wrong cable of a large cluster. Figures of the group fabric."""

from __future__ import annotations

import json
import random
import tempfile
import time
import types
from pathlib import Path

from accept_judge import fabric, rail_map
from accept_judge.analysis import cabling
from accept_node import discreet

from .measure import at_most

NODES, RAILS, GROUP = 1024, 8, 32


def figures():
    """1,024 nodes of 8 rails on InfiniBand, from evidence and map on disk to each node's list of wrong cables."""
    with tempfile.TemporaryDirectory(prefix="accept-bench-") as folder:
        run_dir, wrong = _run(Path(folder))
        began = time.perf_counter()
        named = 0
        for number in range(NODES):
            host = _name(number)
            envelope = json.loads((run_dir / f"facts/{host}/cabling.json").read_bytes())
            said = cabling.analyse(envelope["data"], types.SimpleNamespace(run_dir=run_dir, envelope=envelope))
            named += sum(len(said[name] or ()) for name in ("swapped", "wrong_leaf", "wrong_port", "missing", "extra"))
        elapsed = time.perf_counter() - began
    note = f"{NODES * RAILS} cables, {wrong} wrong, {named} named"
    yield at_most("cabling_1024_nodes_seconds", elapsed if named == wrong else float("inf"), "s", 5, note)


def _name(number):
    return f"gpu{number + 1:04d}"


def _guid(number, rail):
    return f"0x9c63c003{number:05x}{rail:03x}"


def _run(folder):
    """A run's folder with a map, a sweep and the nodes' ports; pairs of rails are swapped on every tenth node, some have a dead cable."""
    rng, plan, at, wrong = random.Random(7), ["node,port,switch,switch_port,rail"], {}, 0
    for number in range(NODES):
        group, slot = divmod(number, GROUP)
        for rail in range(RAILS):
            at[(number, rail)] = (f"leaf{group * RAILS + rail + 1:03d}", slot + 1)
            plan.append(f"{_name(number)},mlx5_{rail},{at[(number, rail)][0]},{slot + 1},{rail}")
    for number in range(0, NODES, 10):
        one, other = rng.sample(range(RAILS), 2)
        at[(number, one)], at[(number, other)] = at[(number, other)], at[(number, one)]
        wrong += 1
    for number in range(5, NODES, 50):
        del at[(number, rng.randrange(RAILS))]
        wrong += 1
    links = [
        {
            "host": f"{_name(number)} mlx5_{rail}",
            "guid": discreet.guid(_guid(number, rail)),
            "switch": None,
            "switch_name": f"MF0;{leaf}:MQM9700/U1",
        }
        | {"switch_port": port}
        for (number, rail), (leaf, port) in at.items()
    ]
    hosts = [{"name": _name(number), "cluster": "c", "rack": "r", "groups": ["gpu_nodes"]} for number in range(NODES)]
    run = {"schema": 1, "run_id": "bench", "started_at": "2026-11-30T12:00:00.000Z", "inventory": {"hosts": hosts}}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / fabric.MAP).write_text("\n".join(plan) + "\n")
    assert len(rail_map.load(folder / fabric.MAP)) == NODES * RAILS
    _put(folder, _name(0), "ib_fabric", {"subnets": [{"listed": True, "listed_reason": "", "host_links": links}]})
    for number in range(NODES):
        _put(folder, _name(number), "cabling", {"ports": [_port(number, rail, (number, rail) in at) for rail in range(RAILS)]})
    return folder, wrong


def _port(number, rail, up):
    name, guid = f"mlx5_{rail}", _guid(number, rail)
    port = {"name": name + "/1", "device": name, "port": 1, "netdev": f"ib{rail}", "link_layer": "InfiniBand", "rail": True, "vf": False}
    state = {"state": "active", "phys_state": "linkup"} if up else {"state": "down", "phys_state": "polling"}
    return {**port, **state, "guid": guid, "node_guid": guid, "neighbour": None}


def _put(folder, host, concern, data):
    path = folder / "facts" / host / f"{concern}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    envelope = {"schema": 1, "concern": concern, "host": host, "run_id": "bench", "status": "ok", "data": data}
    path.write_text(json.dumps(envelope))
