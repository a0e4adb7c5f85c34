"""Who may be loaded: inside an allocation, beside a scheduler only when told to."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

PLUGIN = Path(__file__).resolve().parents[3] / "action_plugins" / "accept_rounds.py"


@pytest.fixture(scope="module")
def rounds():
    spec = importlib.util.spec_from_file_location("accept_rounds", PLUGIN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("scheduler", "settings", "word"),
    [
        ("none", {}, ""),
        ("slurm", {}, "rdma_bandwidth_slurm_job"),
        ("slurm", {"slurm_job": "4711"}, ""),
        ("slurm", {"outside_scheduler": True}, ""),
        ("kubernetes", {}, "pods"),
        ("kubernetes", {"slurm_job": "4711"}, "pods"),
        ("kubernetes", {"outside_scheduler": True}, ""),
    ],
)
def test_refusal(rounds, scheduler, settings, word):
    said = rounds._refusal("rdma_bandwidth", {"scheduler": scheduler}, settings)
    assert bool(said) == bool(word)
    assert word in said


def test_shares(rounds):
    plans = {"a": {"tests": [{"role": "client"}]}, "b": {"tests": [{"role": "server"}]}, "c": {"tests": [{"role": "both"}]}}
    plans["d"] = {"servers": [{"port": 1}], "tests": [{"peer": "a"}]}
    assert (rounds._shares(plans)["servers"], rounds._shares(plans)["clients"]) == (["b", "d"], ["a", "c", "d"])
