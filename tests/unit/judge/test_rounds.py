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
        ("slurm", {"slurm": {}}, "group head"),
        ("kubernetes", {"pod": {}}, "accept_pod"),
        ("kubernetes", {"pod": {"image": "x"}}, "group head"),
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


@pytest.mark.parametrize(
    ("held", "pod", "word"),
    [
        ({"state": "held", "job": "7"}, None, ""),
        ({"state": "refused", "reason": "job 7 is pending (Resources)"}, None, "Resources"),
        ({"state": "held", "pods": {}}, {"container": "c", "reason": ""}, ""),
        ({"state": "held", "pods": {}}, {"container": None, "reason": "ImagePullBackOff"}, "ImagePullBackOff"),
        ({"state": "refused", "reason": ""}, None, "no reason"),
    ],
)
def test_with_an_allocation_of_ours(rounds, held, pod, word):
    scheduler = "slurm" if pod is None else "kubernetes"
    said = rounds._refusal("rdma_bandwidth", {"scheduler": scheduler}, {"slurm": {}, "pod": {"image": "x"}}, held, pod)
    assert bool(said) == bool(word)
    assert word in said


def test_a_head_that_does_not_answer_is_a_reason(rounds):
    assert rounds._lost({"msg": "Failed to connect"}) == {
        "state": "refused",
        "reason": "the cluster's head could not be asked: Failed to connect",
    }


def test_shares(rounds):
    plans = {"a": {"tests": [{"role": "client"}]}, "b": {"tests": [{"role": "server"}]}, "c": {"tests": [{"role": "both"}]}}
    plans["d"] = {"servers": [{"port": 1}], "tests": [{"peer": "a"}]}
    assert (rounds._shares(plans)["servers"], rounds._shares(plans)["clients"]) == (["b", "d"], ["a", "c", "d"])
