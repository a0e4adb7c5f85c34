"""The kernel's log beyond its fixtures: size, repeats, what cannot be told, and who wrote a record."""

from __future__ import annotations

import pytest
from accept_node.parsers import kernel_line, kernel_log

BOOT = "kern  :notice: [    0.000000] Linux version 6.8.0-137-generic (buildd@host) #137-Ubuntu SMP\n"
XID = "NVRM: Xid (PCI:0000:1b:00): 95, pid=%d, name=python3, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No"


def test_a_storm_is_one_event():
    text = BOOT + "".join("kern  :warn  : [%12.6f] %s\n" % (100 + number * 0.01, XID % number) for number in range(5000))
    log = kernel_log.parse(text)
    assert log["records"] == 5001
    assert len(log["events"]) == 1
    event = log["events"][0]
    assert (event["count"], event["episodes"], event["first_s"], event["last_s"]) == (5000, 1, 100.0, 149.99)
    assert event["detail"] == {"reset_required": True, "drain_required": False}


def test_episodes_are_more_than_a_second_apart():
    text = "".join("[%12.6f] %s\n" % (at, XID % 7) for at in (10.0, 10.9, 11.8, 20.0, 20.1))
    assert kernel_log.parse(text)["events"][0]["episodes"] == 2


def test_distinct_events_are_bounded_and_hardware_comes_first():
    lines = ["[%12.6f] prog%d[%d]: segfault at 0 ip 0 sp 0 error 4 in lib%d.so[0+1]" % (at, at, at, at) for at in range(1, 400)]
    lines.append("[  500.000000] " + XID % 1)
    log = kernel_log.parse("\n".join(lines))
    assert len(log["events"]) == 100
    assert log["events"][0]["code"] == 95
    assert log["events_dropped"] == 300
    assert log["counts"] == {"segfault": 399, "xid": 1}


def test_long_messages_are_cut():
    log = kernel_log.parse("[    1.000000] NVRM: Xid (PCI:0000:1b:00): 31, pid=1, name=x, " + "y" * 5000)
    assert len(log["events"][0]["text"]) == 300


@pytest.mark.parametrize(
    ("text", "covers"),
    [
        (BOOT, True),
        ("[    0.000000] Booting Linux on physical CPU 0x0000000000\n", True),
        ("6,0,0,-;some early record\n", True),
        ("[   17.000000] usb 1-1: new high-speed USB device\n", False),
        (BOOT + "kern  :warn  : [    9.000000] ** 12 printk messages dropped **\n", False),
        ("[Mon Nov  2 03:14:07 2026] usb 1-1: new high-speed USB device\n", None),
    ],
)
def test_covers_boot(text, covers):
    assert kernel_log.parse(text)["covers_boot"] is covers


def test_a_record_of_a_program_and_one_of_the_kernel_stay_apart():
    text = "user  :err   : [   10.000000] %s\nkern  :err   : [   20.000000] %s\n" % (XID % 1, XID % 1)
    events = kernel_log.parse(text)["events"]
    assert [(event["facility"], event["count"], event["first_s"]) for event in events] == [("user", 1, 10.0), ("kern", 1, 20.0)]


def test_a_program_cannot_hide_the_kernels_follow_up():
    fatal = "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up"
    data = "nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Data {0x10000000}"
    events = kernel_log.parse("user  :err   : [   10.000000] %s\nkern  :err   : [   20.000000] %s\n" % (fatal, data))["events"]
    assert [event["facility"] for event in events] == ["user", "kern"]


def test_another_programs_quote_in_a_shared_log_is_none():
    text = "Nov  2 03:14:07 gpu-01 gpu-agent[99]: %s\nNov  2 03:14:08 gpu-01 kernel: %s\n" % (XID % 1, XID % 2)
    assert kernel_log.parse(text)["counts"] == {"xid": 1}


def test_facility_is_not_made_up():
    raw, plain = kernel_line.split("<3>[    1.000000] x"), kernel_line.split("[    1.000000] x")
    assert raw.facility is None
    assert plain.facility is None
    assert kernel_line.split("12,9,1000000,-;x").facility == "user"


def test_records_of_programs_and_of_a_module():
    """Recorded: records written by a program in all the ways it may try, and one of a kernel module."""
    facilities = {"user": 6, "daemon": 1, "kern": 1}
    lines = [
        "user  :err   : [  552.662511] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
        "user  :warn  : [  552.680490] NVRM: Xid (PCI:0000:3b:00): 13, no prefix",
        "user  :emerg : [  552.684186] NVRM: Xid (PCI:0000:3b:00): 48, asked for kern.emerg (prefix <0>)",
        "user  :err   : [  552.694718] NVRM: Xid (PCI:0000:3b:00): 63, prefix <11> = user.err",
        "daemon:err   : [  552.702668] NVRM: Xid (PCI:0000:3b:00): 64, prefix <27> = daemon.err",
        "user  :warn  : [  552.704542] NVRM: Xid (PCI:0000:3b:00): 92, prefix <4>",
        "user  :err   : [  552.986397] NVRM: Xid (PCI:0000:3b:00): 74, two lines",
        "                              NVRM: second line of one write",
        "kern  :err   : [  984.395062] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.",
    ]
    log = kernel_log.parse("\n".join(lines) + "\n")
    found = [event["facility"] for event in log["events"]]
    assert {name: found.count(name) for name in facilities} == facilities
    assert (log["lines"], log["records"]) == (9, 8)


@pytest.mark.parametrize("rest", ["154, GPU recovery action) changed from 0x0 (", "154 ), (", "154,", "154, pid=, name=,", "154, pid=12"])
def test_odd_and_cut_messages_keep_their_code(rest):
    event = kernel_log.parse("[    1.000000] NVRM: Xid (PCI:0000:1b:00): " + rest)["events"][0]
    assert (event["code"], event["pci"], event["detail"]) == (154, "0000:1b:00.0", {})
