"""Run collectors on the host that this runs on and print their envelopes: collect_here.py CONCERNS PAUSE_S WINDOW_S. No test."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "module_utils"))

from accept_node.collectors import cabling, ib_config, ib_fabric
from accept_node.envelope import collect
from accept_node.node import LiveNode, RecordingNode

COLLECTORS = {"cabling": cabling.collect, "ib_config": ib_config.collect, "ib_fabric": ib_fabric.collect}

ib_fabric.PAUSE_S, ib_fabric.WINDOW_S = float(sys.argv[2]), float(sys.argv[3])
node = RecordingNode(LiveNode())
found = {name: collect(name, COLLECTORS[name], node) for name in sys.argv[1].split(",")}
json.dump({**found, "capture": node.capture}, sys.stdout)
