"""The only I/O of a module: what a machine may do to it is a result with a reason, live, recorded and replayed alike."""

from __future__ import annotations

import os
import sys
import time

import pytest
from accept_node import capture as captures
from accept_node.node import LiveNode, RecordingNode, ReplayNode

PYTHON = sys.executable


def test_command_runs_in_c_locale_without_a_shell():
    result = LiveNode().run([PYTHON, "-c", "import os, sys; print(os.environ['LC_ALL'], sys.argv[1])", "$HOME;`id`"])
    assert (result.rc, result.stdout, result.reason) == (0, "C $HOME;`id`\n", "")


def test_missing_command():
    result = LiveNode().run(["no-such-tool-here"])
    assert (result.rc, result.stdout, result.reason) == (None, "", "missing")


def test_file_that_may_not_be_executed(tmp_path):
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\n")
    assert LiveNode().run([str(script)]).reason == "permission"


def test_exit_status_and_stderr_are_kept():
    result = LiveNode().run([PYTHON, "-c", "import sys; print('half'); sys.stderr.write('why'); sys.exit(3)"])
    assert (result.rc, result.stdout, result.stderr, result.reason) == (3, "half\n", "why", "")


def test_a_hang_is_a_result_and_what_was_printed_is_kept():
    start = time.monotonic()
    code = "import subprocess, sys, time; print('before', flush=True); subprocess.Popen(['sleep', '60']); time.sleep(60)"
    result = LiveNode().run([PYTHON, "-c", code], timeout_s=1.0)
    assert (result.rc, result.stdout, result.reason) == (None, "before\n", "timeout")
    assert time.monotonic() - start < 10, "a child that holds the output open must not hold us"


def test_invalid_bytes_are_replaced():
    result = LiveNode().run([PYTHON, "-c", "import sys; sys.stdout.buffer.write(b'a\\xff\\xfeb')"])
    assert result.stdout == "a\ufffd\ufffdb"


def test_files(tmp_path):
    (tmp_path / "there").write_text("text")
    node = LiveNode()
    assert node.read(str(tmp_path / "there")).text == "text"
    assert node.read(str(tmp_path / "absent"))[1:] == (None, "missing")
    assert node.read(str(tmp_path))[1:] == (None, "EISDIR")
    assert node.listdir(str(tmp_path)).names == ["there"]
    assert node.listdir(str(tmp_path / "absent")).reason == "missing"


def test_a_read_that_hangs_is_given_up(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(str(fifo))
    start = time.monotonic()
    assert LiveNode().read(str(fifo), timeout_s=0.5).reason == "timeout"
    assert time.monotonic() - start < 5


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission(tmp_path):
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    assert LiveNode().read(str(tmp_path / "secret")).reason == "permission"


@pytest.fixture
def tree(tmp_path):
    device = tmp_path / "devices" / "0000:18:00.0"
    device.mkdir(parents=True)
    (device / "numa_node").write_text("1\n")
    hca = tmp_path / "class" / "mlx5_0"
    hca.mkdir(parents=True)
    (hca / "fw_ver").write_text("28.47.1026\n")
    (hca / "device").symlink_to(device)
    return tmp_path / "class"


PATTERNS = ["*/fw_ver", "*/device", "*/device/numa_node"]


def test_tree_follows_links_and_tells_where_they_lead(tree):
    result = LiveNode().read_tree(str(tree), PATTERNS)
    assert result.files == {"mlx5_0/fw_ver": "28.47.1026\n", "mlx5_0/device/numa_node": "1\n"}
    assert result.links["mlx5_0/device"].endswith("0000:18:00.0")
    assert LiveNode().read_tree(str(tree / "absent"), PATTERNS).reason == "missing"


def ask(node, tree):
    """What a collector would ask, in one tuple."""
    return (
        node.run([PYTHON, "-c", "print(1)"]),
        node.run(["no-such-tool-here"])[:5:4],
        node.read("/proc/self/cmdline_absent"),
        node.read_tree(str(tree), PATTERNS),
        node.listdir(str(tree)),
        node.identity(),
    )


def test_a_recording_replays_to_the_same_answers(tree, tmp_path):
    recording = RecordingNode(LiveNode())
    seen = ask(recording, tree)
    captures.save(recording.capture, str(tmp_path / "capture"))
    assert ask(ReplayNode(captures.load(str(tmp_path / "capture"))), tree) == seen


def test_a_recording_asks_once(tmp_path):
    counter = tmp_path / "count"
    code = f"open({str(counter)!r}, 'a').write('x')"
    node = RecordingNode(LiveNode())
    node.run([PYTHON, "-c", code])
    node.run([PYTHON, "-c", code])
    assert counter.read_text() == "x"
    node.sleep(0)
    node.run([PYTHON, "-c", code])
    assert counter.read_text() == "xx", "after time has passed the answer may be another"


def record(at_s, stdout, **rest):
    return {"argv": ["state"], "at_s": at_s, "rc": 0, "stdout": stdout, **rest}


def test_virtual_time_chooses_the_output_and_costs_nothing():
    node = ReplayNode(
        {"schema": 1, "recorded_at_s": 100.0, "commands": [record(31200, "back"), record(0, "down"), record(60, "rebooting")]}
    )
    start, seen = time.monotonic(), []
    for seconds in (0, 59, 1, 31140):
        node.sleep(seconds)
        seen.append(node.run(["state"]).stdout)
    assert seen == ["down", "down", "rebooting", "back"]
    assert node.now() == 100.0 + 31200
    assert time.monotonic() - start < 1


def test_a_command_that_took_longer_than_its_limit_times_out_in_replay_too():
    node = ReplayNode({"schema": 1, "commands": [record(0, "partial", duration_s=500)]})
    result = node.run(["state"], timeout_s=30)
    assert (result.rc, result.stdout, result.reason) == (None, "partial", "timeout")
    assert node.now() == 30


def test_what_a_capture_does_not_hold_was_not_measured():
    node = ReplayNode({"schema": 1})
    reasons = [node.run(["x"]).reason, node.read("/x").reason, node.read_tree("/x", ["*"]).reason, node.listdir("/x").reason]
    assert reasons == ["not_recorded"] * 4


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no capture.json there"), ("{", "cannot be read as a capture"), ("[]", "schema ?"), ('{"schema": 9}', "schema 9, wanted 1")],
)
def test_a_capture_that_cannot_be_used_says_which_and_why(tmp_path, content, message):
    if content is not None:
        (tmp_path / "capture.json").write_text(content)
    with pytest.raises(captures.CaptureError, match=message) as caught:
        captures.load(str(tmp_path))
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
