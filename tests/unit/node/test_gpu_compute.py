"""A quick look at a node's GPUs: jobs with their deadlines, and a reason for whatever is not there."""

from __future__ import annotations

import json
import os

import pytest
from accept_node import jobs
from accept_node.collectors import gpu_compute
from accept_node.envelope import Gather
from accept_node.node import LiveNode
from accept_node.work import LiveWork

SETTINGS = {"python": "", "matrix": 64, "seconds": 0.1, "bytes": 1 << 20, "limit_s": 5, "dcgm_level": 0}
TOLD = {"torch": "2.9", "runtime": None, "gpus": [{"index": 0, "pci": None, "name": "x", "results": {}}]}


@pytest.fixture
def looked(tmp_path, monkeypatch):
    folder = tmp_path / "jobs"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(jobs, "base", lambda: str(folder))
    monkeypatch.setattr(jobs, "SEARCH_PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + ":/usr/bin:/bin")

    def look(tools=None, **settings):
        for name, text in (tools or {}).items():
            path = tmp_path / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("#!/bin/sh\n" + text)
            path.chmod(0o755)
        gather = Gather(LiveNode())
        given = {**SETTINGS, **settings}
        if given["python"]:
            given["python"] = str(tmp_path / "bin" / given["python"])
        found = gpu_compute.collect(gather, LiveWork("run", "gpu_compute"), given, "n1.example")
        assert not os.listdir(str(folder)), "something was left on the node"
        return found, gather.errors

    return look


def test_nothing_is_there(looked):
    found, errors = looked()
    assert (found["gpus"], found["copies"], found["dcgm"]) == (None, {"h2d": None, "d2h": None}, None)
    assert "gpu_compute_python" in found["gpus_reason"]
    assert found["copies_reason"] == "nvbandwidth is not installed"
    assert not errors


def test_an_interpreter_that_is_not_there(looked):
    found, _ = looked(python="python-of-torch")
    assert found["gpus_reason"].endswith("is not there")


def test_the_engine_gets_its_settings_and_is_read(looked):
    engine = """test -s "$1" && echo "$2" | grep -q nvfp4 && echo noise && echo '%s'""" % json.dumps(TOLD)
    found, errors = looked({"torchpython": engine}, python="torchpython")
    assert found["gpus"] == TOLD["gpus"], errors
    assert found["torch"] == "2.9"


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("echo 'ModuleNotFoundError: No module named torch' >&2; exit 1", "No module named torch"),
        ("exec sleep 60", "timeout"),
        ("echo rubbish", "no result of the engine but: rubbish"),
        ("kill -9 $$", "exit status -9"),
    ],
)
def test_an_engine_that_breaks_is_a_reason(looked, engine, words):
    found, errors = looked({"torchpython": engine}, python="torchpython", limit_s=1)
    assert found["gpus"] is None
    assert words in found["gpus_reason"]
    assert len(errors) == 1


def test_nvbandwidth_fills_the_copies(looked):
    case = {"name": "host_to_device_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["55.1", "N/A"]]}
    bad = {"name": "device_to_host_memcpy_ce", "status": "Error", "error": "out of memory"}
    text = json.dumps({"nvbandwidth": {"git_version": "v0.8", "testcases": [case, bad]}})
    found, _ = looked({"nvbandwidth": f"echo '{text}'"})
    assert found["copies"] == {"h2d": [55.1, None], "d2h": None}
    assert "device_to_host_memcpy_ce: error out of memory" in found["copies_reason"]


def test_as_a_step_of_the_allocation(looked):
    found, _ = looked({"srun": """echo '%s'""" % json.dumps(TOLD)}, python="any", slurm_job="77")
    assert found["gpus"] == TOLD["gpus"]
