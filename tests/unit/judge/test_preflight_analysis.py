"""Preflight's derived fields, and the checks on them: the interval of a clock, the two sides of a lost connection."""

from __future__ import annotations

from types import SimpleNamespace

import fleet
import pytest
from accept_judge import nodesets
from accept_judge import standards as standards_of
from accept_judge.analysis import preflight
from fleet import rows_of
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("interval", "distance"),
    [
        ([-1, 2], [0, 2]),
        ([3, 5], [3, 5]),
        ([-5, -3], [3, 5]),
        ([5, 3], [3, 5]),
        ([0, 0], [0, 0]),
        (None, None),
        ([None, 1], None),
        ([1], None),
        ("x", None),
    ],
)
def test_how_far_off_a_clock_is(interval, distance):
    assert preflight.analyse({"clock_offset_s": interval}, None)["clock_offset_abs_s"] == distance


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1))
def test_the_distance_holds_that_of_every_offset_in_the_interval(low, high, share):
    low, high = sorted((low, high))
    least, most = preflight.analyse({"clock_offset_s": [low, high]}, None)["clock_offset_abs_s"]
    assert least <= abs(min(max(low + share * (high - low), low), high)) <= most


@pytest.mark.parametrize(
    ("uid", "sudo", "privileged"),
    [(0, None, True), (0, False, True), (1000, True, True), (1000, False, False), (1000, None, None), (None, False, None)],
)
def test_privileges(uid, sudo, privileged):
    assert preflight.analyse({"uid": uid, "sudo": sudo}, None)["privileged"] is privileged


@pytest.mark.parametrize(
    ("reason", "reachable"),
    [
        ("unreachable: Connection timed out", False),
        ("unreachable: No route to host", False),
        ("unreachable: Permission denied (publickey)", None),
        ("unreachable: Host key verification failed.", None),
        ("unreachable: Could not resolve hostname n1", None),
    ],
)
def test_a_lost_connection_is_the_nodes_fault_only_where_it_is(reason, reachable):
    assert preflight.without_data(SimpleNamespace(envelope={"reason": reason}))["reachable"] is reachable


def test_another_error_says_nothing_about_reachability():
    assert preflight.without_data(SimpleNamespace(envelope={"reason": "the collector failed"})) is None


HEALTHY = {
    "python": "3.10.12",
    "uid": 0,
    "sudo": None,
    "hostname": "n1",
    "free": [{"path": "/tmp", "free_bytes": 10**12, "size_bytes": 10**13}],
    "time_sync": {"source": "chrony", "synchronised": True, "offset_s": 0.0001},
    "clock_offset_s": [-0.2, 0.3],
}


@pytest.fixture
def verdicts(root, tmp_path, judge):
    """Judge preflight envelopes by the project's own checks; check id -> verdict of n1."""
    checks = [check for check in standards_of.load(root / "standards").checks if check["concern"] == "preflight"]

    def run(data, **fields):
        card = judge(checks, {"n1": {"preflight": fleet.envelope("n1", "preflight", data, **fields)}, "n2": {"preflight": HEALTHY}})
        found = ((check["id"], row) for check in checks for row in rows_of(card, check["id"]))
        return {check_id: row["verdict"] for check_id, row in found if "n1" in nodesets.unfold(row["nodes"])}

    return run


def test_a_healthy_node_passes(verdicts):
    assert set(verdicts(HEALTHY).values()) == {"pass"}


def test_an_interval_that_straddles_the_tolerance_is_not_measured(verdicts):
    assert verdicts({**HEALTHY, "clock_offset_s": [4, 6]})["preflight.clock_offset"] == "not_measured"
    assert verdicts({**HEALTHY, "clock_offset_s": [89, 91]})["preflight.clock_offset"] == "fail"
    assert verdicts({**HEALTHY, "clock_offset_s": None})["preflight.clock_offset"] == "not_measured"


def test_a_node_that_does_not_answer_fails_for_that_and_is_not_measured_for_the_rest(verdicts):
    found = verdicts(None, reason="unreachable: no answer on port 22 within 10 s")
    assert found.pop("preflight.node_reachable") == "fail"
    assert set(found.values()) == {"not_measured"}


def test_our_own_key_that_does_not_fit_is_not_the_nodes_failure(verdicts):
    assert set(verdicts(None, reason="unreachable: Permission denied (publickey)").values()) == {"not_measured"}
