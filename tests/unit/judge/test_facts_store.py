"""What a node answered becomes files: whole or not at all, and under no name that a node chose unchecked."""

from __future__ import annotations

import base64
import errno
import hashlib
import json

import pytest
from accept_judge import facts_store
from accept_node.envelope import envelope


def result(**rest):
    return {"envelopes": [envelope("preflight", status="ok", data={"clock_offset_s": None})], **rest}


def test_an_envelope_is_stamped_and_written(tmp_path):
    statuses = facts_store.save(tmp_path, "run-1", "node01", result(clock=[100.2, 101.0]), 100.0, 101.5)
    written = json.loads((tmp_path / "facts/node01/preflight.json").read_text())
    assert statuses == {"preflight": "ok"}
    assert (written["host"], written["run_id"], written["observed"]) == ("node01", "run-1", [100.0, 101.5])
    assert written["data"]["clock_offset_s"] == [-0.5, 0.2]


@pytest.mark.parametrize("offset", [-7.0, 0.0, 0.3, 7.0])
def test_the_clock_interval_holds_the_true_offset(offset):
    before, start, end, after = 1000.0, 1000.4, 1002.0, 1002.3
    low, high = facts_store.clock_offset_s([start + offset, end + offset], before, after)
    assert low <= offset <= high
    assert high - low == pytest.approx((after - before) - (end - start))


def test_a_replayed_clock_is_not_measured_against_ours(tmp_path):
    replayed = {"envelopes": [envelope("preflight", mode="replay", status="ok", data={"clock_offset_s": [-0.1, 0.1]})], "clock": [1.0, 2.0]}
    facts_store.save(tmp_path, "r", "n", replayed, 1000.0, 1001.0)
    assert json.loads((tmp_path / "facts/n/preflight.json").read_text())["data"]["clock_offset_s"] == [-0.1, 0.1]


def test_attachments_lie_beside_the_facts_with_their_digest(tmp_path):
    content = base64.b64encode(b"raw").decode()
    facts_store.save(tmp_path, "r", "n", result(attachments=[{"name": "capture.json.gz", "content": content}]), 1.0, 2.0)
    (attachment,) = json.loads((tmp_path / "facts/n/preflight.json").read_text())["attachments"]
    assert (tmp_path / attachment["path"]).read_bytes() == b"raw"
    assert (attachment["bytes"], attachment["sha256"]) == (3, hashlib.sha256(b"raw").hexdigest())


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "a/b", "", ".hidden", "a\x00b", "x" * 300, None])
def test_no_name_from_a_node_leads_out_of_the_folder(tmp_path, name):
    run_dir = tmp_path / "run"
    with pytest.raises(facts_store.UnsafeName):
        facts_store.save(run_dir, "r", "n", result(attachments=[{"name": name, "content": ""}]), 1.0, 2.0)
    with pytest.raises(facts_store.UnsafeName):
        facts_store.save(run_dir, "r", name, result(), 1.0, 2.0)
    assert not list(tmp_path.rglob("passwd"))


def test_a_full_disk_leaves_what_stood_there(tmp_path, monkeypatch):
    path = tmp_path / "facts.json"
    facts_store.write(path, b"earlier")

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(facts_store.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        facts_store.write(path, b"later")
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path], "no part is left behind"


def test_what_an_earlier_round_has_seen_outlives_a_round_that_breaks():
    def told(engine, runs):
        return {"observed": [0, 1], "collected_at": "t", "sources": [], "errors": [], "attachments": [], "duration_s": 1.0,
                "concern": "nccl_sweep", "reason": "", "data": {"engine": engine, "launcher": "slurm", "runs": runs}}  # fmt: skip

    first = told({"name": "nccl-tests", "version": "2.17.6", "library": None}, [1])
    joined = facts_store.appended(first, told({"name": "nccl-tests", "version": None, "library": "2.28.9"}, [2]))
    assert joined["data"] == {
        "engine": {"name": "nccl-tests", "version": "2.17.6", "library": "2.28.9"},
        "launcher": "slurm",
        "runs": [1, 2],
    }
