"""How far apart the runs of a schedule are."""

from __future__ import annotations

import pytest
from accept_node.agents import flags, is_unit, named_so, program
from accept_node.recurrence import calendar_s, members, span_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1h 32.020246s", 3632.020246), ("5min", 300), ("2m30s", 150), ("15s", 15), ("1w 2d", 777_600), ("0", 0), ("500ms", 0.5)],
)
def test_span(text, seconds):
    assert span_s(text) == seconds


@pytest.mark.parametrize("text", ["infinity", "n/a", "", None, "five", "1h banana", "-5s"])
def test_no_span(text):
    assert span_s(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("*-*-* *:00/5:00", 300),
        ("*-*-* *:05,35:00", 1800),
        ("hourly", 3600),
        ("*-*-* 00:00:00", 86_400),
        ("*-*-* *:*:00/15", 15),
        ("Mon *-*-* 00:00:00", 604_800),
        ("Mon..Fri *-*-* 02:30:00", 259_200),
        ("*-*-* 06..18/6:00:00 UTC", 43_200),
    ],
)
def test_calendar(text, seconds):
    assert calendar_s(text) == seconds


@pytest.mark.parametrize("text", ["*-*-01 04:00:00", "2026-12-24 00:00:00", "whenever", "", "*:*:*:*", "25:00:00"])
def test_no_calendar(text):
    assert calendar_s(text) is None


def test_members():
    assert members("*/20", 0, 59) == {0, 20, 40}
    assert members("22-2/2", 0, 23) == {22, 0, 2}
    assert members("0-99", 0, 59) is None
    assert members("*/0", 0, 59) is None


@pytest.mark.parametrize(
    "name", ["gpu-healthcheck", "node-health", "xid_monitor", "check-gpus", "healthagent", "ib-link-watch", "hpc.node.drainer"]
)
def test_calls_itself_a_health_check(name):
    assert named_so(name)


@pytest.mark.parametrize(
    "name",
    [
        "nvidia-persistenced",
        "mdmonitor",
        "mdcheck_start",
        "fwupd-refresh",
        "smartmontools",
        "libvirtd",
        "nodejs",
        "slurmd",
        "raid-check",
        "systemd-network-health",
    ],
)
def test_does_not(name):
    assert not named_so(name)


def test_units_and_templates():
    assert is_unit("nhc.timer")
    assert is_unit("gpu-check.service")
    assert not is_unit("gpu-check@.service")
    assert not is_unit("gpu-check.socket")


def test_command_lines():
    assert flags("/npd --config.system-log-monitor=/a,/b --port 20 -v") == {"config.system-log-monitor": "/a,/b", "port": "20", "v": ""}
    assert program("/usr/bin/timeout 30 /bin/bash -x /opt/x/check.sh --all") == "/opt/x/check.sh"
    assert program('/bin/sh -c "dmesg | grep Xid"') is None
    assert program("FOO=1 /usr/bin/python3.11 /opt/x.py") == "/opt/x.py"
    assert program("relative/path") is None
