"""The tools as modules: scripts without extension are loaded by their path."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"

SPEC = {
    "schema": 1,
    "seed": 3,
    "clusters": [
        {"name": "b200", "sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 2},
        {"name": "gb300", "sku": "gb300_nvl72", "transport": "roce", "scheduler": "kubernetes", "nodes": 2},
        {"name": "mi300x", "sku": "mi300x", "transport": "roce", "scheduler": "slurm", "nodes": 1},
    ],
}


@pytest.fixture(scope="session")
def tool():
    """tool("parse") is the script's module; its main() takes the arguments."""

    def load(name):
        loader = SourceFileLoader("tool_" + name, str(TOOLS / name))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        return module

    return load


@pytest.fixture
def spec() -> dict:
    """A small spec of each form; a test may add faults to it."""
    return {**SPEC, "clusters": [dict(cluster) for cluster in SPEC["clusters"]], "faults": []}


@pytest.fixture
def captures_of():
    """Spec -> {host: capture}."""
    from simulation import build, render

    def captures(spec):
        return {node.name: render.capture(node, build.recorded_at_s(spec)) for node in build.build(spec)}

    return captures


@pytest.fixture
def facts_of():
    """Capture -> {concern: envelope}, by the collectors, as the node module runs them."""
    collectors = {}
    for name in ("accept_facts", "accept_cluster_facts"):
        loader = SourceFileLoader(name, str(TOOLS.parent / f"library/{name}.py"))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        collectors |= module.COLLECTORS
    # Of the modules' own package: its ParseError is another class than that of accept_node.
    from accept_node.node import ReplayNode
    from ansible.module_utils.accept_node.facts import read

    def facts(capture):
        return {envelope["concern"]: envelope for envelope in read(list(collectors), ReplayNode(capture), collectors)}

    return facts
