"""The first concern: who answers, with which rights, room and clock."""

from __future__ import annotations

from accept_node.collectors import preflight
from accept_node.envelope import collect
from accept_node.node import LiveNode, ReplayNode

DF = "Filesystem 1-blocks Used Available Capacity Mounted on\n/dev/sda2 1000 400 600 40% /\n/dev/sda2 1000 400 600 40% /\n"
TRACKING = "50505330,PPS,1,1790000000.1,0.0001,-0.000001,0.000004,-12.5,0.001,0.02,0.0001,0.00002,16.1,Normal\n"


def data(uid=0, **records):
    commands = [
        {"argv": argv, "rc": rc, "stdout": stdout, "reason": reason}
        for argv, rc, stdout, reason in (
            (preflight.DF, *records.get("df", (0, DF, ""))),
            (["sudo", "-n", "true"], *records.get("sudo", (0, "", ""))),
            (["chronyc", "-c", "tracking"], *records.get("chronyc", (0, TRACKING, ""))),
            (["timedatectl", "show"], *records.get("timedatectl", (None, "", "missing"))),
        )
    ]
    capture = {"schema": 1, "identity": {"python": "3.8.10", "uid": uid, "hostname": "n1", "machine": "x86_64"}, "commands": commands}
    return collect("preflight", preflight.collect, ReplayNode(capture))["data"]


def test_healthy():
    assert data() == {
        "python": "3.8.10",
        "uid": 0,
        "hostname": "n1",
        "machine": "x86_64",
        "sudo": None,
        "free": [{"path": "/", "free_bytes": 600, "size_bytes": 1000}],
        "time_sync": {"source": "chrony", "synchronised": True, "offset_s": 0.0001},
        "clock_offset_s": None,
    }


def test_rights():
    assert data(uid=1000)["sudo"] is True
    assert data(uid=1000, sudo=(1, "", ""))["sudo"] is False
    assert data(uid=1000, sudo=(None, "", "missing"))["sudo"] is False
    assert data(uid=1000, sudo=(None, "", "timeout"))["sudo"] is None, "a hang is not a refusal"


def test_time_service():
    show = (0, "NTPSynchronized=no\nTimezone=UTC\n", "")
    absent = (None, "", "missing")
    assert data(chronyc=absent, timedatectl=show)["time_sync"] == {"source": "timedatectl", "synchronised": False, "offset_s": None}
    assert data(chronyc=absent, timedatectl=absent)["time_sync"] == {"source": "none", "synchronised": None, "offset_s": None}
    assert data(chronyc=(1, "506 Cannot talk to daemon", ""))["time_sync"] == {"source": None, "synchronised": None, "offset_s": None}


def test_free_space_unknown_is_not_none_left():
    assert data(df=(None, "", "timeout"))["free"] is None
    assert data(df=(1, DF, ""))["free"] == data()["free"], "df tells the others when one path does not exist"


def test_on_this_machine():
    found = collect("preflight", preflight.collect, LiveNode())["data"]
    assert found["python"]
    assert any(fs["free_bytes"] for fs in found["free"])
