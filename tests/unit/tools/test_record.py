"""tools/record: a capture of this machine replays to the same facts; redacted ones keep what parsers read."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from accept_node import capture as captures
from accept_node.redact import redact_capture


@pytest.fixture
def record(root):
    def run(*arguments, python=sys.executable):
        return subprocess.run([python, str(root / "tools/record"), *map(str, arguments)], capture_output=True, text=True, timeout=120)

    return run


def test_what_was_recorded_replays_to_the_same_facts(record, facts_of, tmp_path):
    done = record(tmp_path / "here")
    assert done.returncode == 0, done.stderr
    capture = captures.load(str(tmp_path / "here"))
    once, again = facts_of(capture), facts_of(capture)
    assert {concern: envelope["data"] for concern, envelope in once.items()} == {
        concern: envelope["data"] for concern, envelope in again.items()
    }
    for concern, envelope in once.items():
        assert envelope["data"] is not None, concern
        assert not [source for source in envelope["sources"] if source["reason"] == "not_recorded"], concern
    # and the same as read live, in what does not move
    from accept_node.node import LiveNode

    assert once["preflight"]["data"]["hostname"] == LiveNode().identity()["hostname"]


def test_bad_input_is_one_line(record, tmp_path):
    (tmp_path / "file").write_text("")
    for arguments, said in (
        ([tmp_path / "out", "--concerns", "gremlins"], "--concerns: gremlins unknown"),
        ([tmp_path / "out", "--from", tmp_path / "none"], "no capture.json there"),
        ([tmp_path / "file" / "out", "--concerns", "preflight"], "Not a directory"),
    ):
        done = record(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert said in done.stderr


def test_one_key_redacts_to_the_same_bytes(record, tmp_path):
    assert record(tmp_path / "here", "--concerns", "preflight").returncode == 0
    for out in ("a", "b"):
        assert record(tmp_path / out, "--from", tmp_path / "here", "--redact", "--key", "k").returncode == 0
    assert (tmp_path / "a/capture.json").read_bytes() == (tmp_path / "b/capture.json").read_bytes()
    assert captures.load(str(tmp_path / "a"))["redacted"] is True


def outline(value):
    """A fact without its texts: keys, types, numbers, and the shape of strings. A short IPv6 address leaves out its zeros."""
    if isinstance(value, dict):
        return sorted(((outline(key), outline(item)) for key, item in value.items()), key=repr)
    if isinstance(value, list):
        return [outline(item) for item in value]
    return re.sub("[a-f0-9]+" if "::" in str(value) else "[A-Za-z0-9]", "x", value) if isinstance(value, str) else value


@pytest.mark.parametrize("host", ["b200-01", "gb300-02", "mi300x-01"])
def test_a_redacted_node_is_the_same_node_to_every_parser(host, spec, captures_of, facts_of):
    spec["faults"] = [{"fault": "gpu_fallen_off_bus", "hosts": host}, {"fault": "mlx5_link_flap", "hosts": host}]
    capture = captures_of(spec)[host]
    before, after = facts_of(capture), facts_of(redact_capture(capture, b"key"))
    for subnet in [one for facts in (before, after) for one in (facts["ib_fabric"]["data"] or {}).get("subnets", ())]:
        subnet["switch_links"] = len(subnet["switch_links"])  # rows name switches by place in the order of their new GUIDs
    for concern in before:
        assert after[concern]["status"] == before[concern]["status"], concern
        assert outline(after[concern]["data"]) == outline(before[concern]["data"]), concern


def test_no_identity_of_a_simulated_node_is_left(spec, captures_of):
    from simulation import build

    nodes, captured = build.build(spec), captures_of(spec)
    for node in nodes:
        text = json.dumps(redact_capture(captured[node.name], b"key"))
        found = [gpu.uuid[4:] for gpu in node.gpus] + [gpu.serial for gpu in node.gpus] + [drive.serial for drive in node.nvmes]
        left = [value for value in [*found, node.name, node.boot_id, node.machine_id, node.chassis_serial] if value in text]
        assert not left, (node.name, left)
        for gpu in node.gpus:
            assert (gpu.pci in text) == (gpu.pci in json.dumps(captured[node.name]))
