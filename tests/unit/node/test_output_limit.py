"""What a tool prints, or a file holds, beyond the limit is no answer: half of it would be judged as the whole."""

from __future__ import annotations

import sys
import time

import pytest
from accept_node import live
from accept_node.envelope import Gather
from accept_node.node import LiveNode


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(live, "MAX_OUTPUT_BYTES", 1 << 20)


def printed(megabytes, end=""):
    return [sys.executable, "-c", "import sys, time; sys.stdout.write('x' * (%d << 20)); sys.stdout.flush(); %s" % (megabytes, end)]


def test_a_tool_that_prints_too_much_is_a_reason():
    gather = Gather(LiveNode())
    assert gather.command(printed(2)) is None
    assert gather.errors[0]["reason"] == "EFBIG"
    assert LiveNode().run(printed(1)).reason == ""


def test_it_is_stopped_before_it_fills_the_disk():
    start = time.monotonic()
    result = LiveNode().run(printed(2, "time.sleep(60)"), timeout_s=60.0)
    assert (result.rc, result.reason) == (None, "EFBIG")
    assert time.monotonic() - start < 30


def test_a_file_that_is_too_large(tmp_path):
    for size, reason in ((1 << 20, ""), ((1 << 20) + 1, "EFBIG")):
        (tmp_path / "log").write_bytes(b"x" * size)
        assert LiveNode().read(str(tmp_path / "log")).reason == reason
