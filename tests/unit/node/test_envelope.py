"""The account that every fact carries: what answered, what did not, and why."""

from __future__ import annotations

import re

from accept_node.envelope import Gather, collect, utc
from accept_node.node import ReplayNode
from accept_node.parsers import ParseError


def node(**capture):
    return ReplayNode({"schema": 1, **capture})


def command(argv, stdout="", rc=0, stderr="", **rest):
    return {"argv": argv, "rc": rc, "stdout": stdout, "stderr": stderr, **rest}


def number(text):
    try:
        return int(text)
    except ValueError as error:
        raise ParseError(f"no number: {text!r}") from error


def test_each_way_of_not_knowing_has_its_reason():
    gather = Gather(
        node(
            commands=[
                command(["good"], "7"),
                command(["bad"], "rubbish"),
                command(["failing"], "partial", rc=3, stderr="first\nNo devices were found\n"),
                command(["absent"], rc=None, reason="missing"),
                command(["slow"], "7", duration_s=99),
            ]
        )
    )
    values = {name: gather.command([name], number) for name in ("good", "bad", "failing", "absent", "slow", "unknown")}
    assert values == {"good": 7, "bad": None, "failing": None, "absent": None, "slow": None, "unknown": None}
    assert {error["source"]: error["reason"] for error in gather.errors} == {
        "bad": "unparsable",
        "failing": "failed",
        "absent": "missing",
        "slow": "timeout",
        "unknown": "not_recorded",
    }
    assert "exit status 3: No devices were found" in gather.errors[1]["message"]
    assert [source["what"] for source in gather.sources] == list(values)
    read = [source for source in gather.sources if source["bytes"]]  # of nothing there is no digest
    assert all(re.fullmatch("[0-9a-f]{64}", source["sha256"]) for source in read)
    assert {source["what"] for source in gather.sources if "sha256" in source} == {source["what"] for source in read} != set()


def test_optional_absence_is_no_error_and_can_be_told_from_the_rest():
    gather = Gather(node(commands=[command(["absent"], rc=None, reason="missing"), command(["denied"], rc=None, reason="permission")]))
    assert gather.command(["absent"], optional=True) is None
    assert gather.command(["denied"], optional=True) is None
    assert [error["reason"] for error in gather.errors] == ["permission"]
    assert gather.missing("absent")
    assert not gather.missing("denied")


def test_exit_statuses_that_count_as_an_answer():
    gather = Gather(node(commands=[command(["x"], "out", rc=223, stderr="err")]))
    assert gather.command(["x"], ok=(0, 223)) == "out"
    assert gather.command(["x"], ok=None, streams="both") == "outerr"
    assert gather.command(["x"], ok=None, streams="stderr") == "err"
    assert not gather.errors


def test_status_follows_from_what_was_had():
    assert collect("c", lambda gather: {"a": 1}, node())["status"] == "ok"
    assert collect("c", lambda gather: {"a": gather.file("/x")}, node())["status"] == "partial"
    lost = collect("c", lambda gather: gather.file("/x"), node())
    assert (lost["status"], lost["data"], lost["reason"]) == ("error", None, "/x: not_recorded")


def test_a_bug_in_one_collector_is_an_error_of_its_concern_alone():
    result = collect("c", lambda gather: {}["absent"], node())
    assert (result["status"], result["data"]) == ("error", None)
    assert "KeyError" in result["reason"]


def test_times_are_utc():
    assert utc(0) == "1970-01-01T00:00:00.000Z"
    assert utc(1790000000.5).endswith(".500Z")
