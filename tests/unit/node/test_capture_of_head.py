"""A head that is a node too is read twice in a run: both captures in its folder replay as one."""

from __future__ import annotations

import gzip
import json

import pytest
from accept_node import capture as captures
from accept_node.node import LiveNode, RecordingNode, ReplayNode


def record(argv, stdout):
    return {"at_s": 0.0, "argv": argv, "rc": 0, "stdout": stdout, "stderr": "", "duration_s": 0.0, "reason": ""}


def write(path, *records, unpacked=True):
    text = json.dumps({"schema": 1, "recorded_at_s": 1.0, "commands": list(records)}).encode()
    path.write_bytes(text if unpacked else gzip.compress(text))


def test_both_captures_of_a_head_are_joined(tmp_path):
    write(tmp_path / "capture.json", record(["uname"], "Linux"))
    write(tmp_path / "capture.cluster.json.gz", record(["sdiag"], "jobs"), unpacked=False)
    node = ReplayNode(captures.load(str(tmp_path)))
    assert (node.run(["uname"]).stdout, node.run(["sdiag"]).stdout) == ("Linux", "jobs")


def test_that_of_the_cluster_alone_is_a_capture(tmp_path):
    write(tmp_path / "capture.cluster.json.gz", record(["sdiag"], "jobs"), unpacked=False)
    assert ReplayNode(captures.load(str(tmp_path))).run(["sdiag"]).stdout == "jobs"


def test_a_damaged_one_is_an_error_and_not_left_out(tmp_path):
    write(tmp_path / "capture.json", record(["uname"], "Linux"))
    (tmp_path / "capture.cluster.json.gz").write_bytes(b"no gzip")
    with pytest.raises(captures.CaptureError, match=r"capture\.cluster\.json\.gz"):
        captures.load(str(tmp_path))


def test_what_is_kept_instead_is_all_that_is_kept():
    node = RecordingNode(LiveNode())
    result = node.run(["echo", "team-blue"])
    node.keep_instead(result._replace(stdout="-"))
    assert node.run(["echo", "team-blue"]).stdout == "-"
    assert [one["stdout"] for one in node.capture["commands"]] == ["-"]
