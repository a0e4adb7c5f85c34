"""JUnit XML: a suite for each concern, a case for each row. What was not measured is an error: consumers take `skipped` for fine."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

from .text import say
from .view import View


def render(view: View, _templates: Path) -> str:
    """The root carries the sums; a first suite holds the decision itself, since coverage alone can make a run incomplete."""
    root = ET.Element("testsuites", name="GPU cluster acceptance")
    _decision(root, view.card)
    for concern in view.concerns:
        checks = [check for check in view.card["checks"] if check["concern"] == concern]
        if checks:
            suite = _suite(root, concern, view.card)
            for check in checks:
                for row in check["rows"]:
                    _case(suite, check, row)
    for suite in root:
        _count(suite, suite.iter("testcase"))
    _count(root, list(root.iter("testcase")))
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root, name, card):
    suite = ET.SubElement(root, "testsuite", name=name, timestamp=say(card.get("generated_at")).rstrip("Z"), time="0")
    properties = ET.SubElement(suite, "properties")
    facts = {"run_id": card["run_id"], "definition": card["definition"]["id"], "demonstration": card["decision"]["demonstration"]}
    for key, value in facts.items():
        ET.SubElement(properties, "property", name=key, value=say(value))
    return suite


def _decision(root, card):
    decision = card["decision"]
    case = ET.SubElement(_suite(root, "verdict", card), "testcase", classname="verdict", name="decision", time="0")
    text = "\n".join(map(say, decision["reasons"]))
    if decision["exit_code"] == 10:
        _outcome(case, "failure", decision["verdict"], decision["verdict"], text)
    elif decision["exit_code"] != 0:
        _outcome(case, "error", decision["verdict"], decision["verdict"], text)
    else:
        ET.SubElement(case, "system-out").text = "\n".join([say(decision["verdict"]), text])


def _case(suite, check, row):
    verdict, severity = row["verdict"], check["severity"]
    case = ET.SubElement(suite, "testcase", classname=check["concern"], name=f"{check['id']} [{row['nodes'] or check['scope']}]", time="0")
    items = "; ".join(f"{say(item.get('label'))}: {say(item.get('actual'))}" for item in row.get("items") or [])
    lines = [
        f"{severity}: {check['title']}",
        f"actual: {say(row.get('actual'))}",
        f"wanted: {say(row.get('wanted'))} ({say(row.get('wanted_from'))})",
        *([f"items: {items}"] if items else []),
        *([f"reason: {say(row['reason'])}"] if row.get("reason") else []),
        *([f"remedy: {say(check['remedy'])}"] if check.get("remedy") and verdict in ("fail", "warn") else []),
        f"evidence: {say(row.get('evidence'))}",
    ]
    reason = say(row.get("reason"))
    if verdict in ("fail", "warn"):
        message = f"{severity}: actual {say(row.get('actual'))}, wanted {say(row.get('wanted'))}"
        _outcome(case, "failure", verdict, message, "\n".join(lines))
    elif verdict == "not_measured" and severity in ("blocker", "major"):
        _outcome(case, "error", verdict, f"{severity} not measured: {reason}", "\n".join(lines))
    elif verdict != "pass":
        waiver = row.get("waiver") or {}
        why = ", ".join(f"{key}: {say(waiver[key])}" for key in ("owner", "reason", "expires") if waiver.get(key)) or reason
        ET.SubElement(case, "skipped", message=f"{verdict.replace('_', ' ')}: {why}")


def _outcome(case, tag, kind, message, text):
    ET.SubElement(case, tag, type=say(kind), message=say(message)).text = text


def _count(element, cases):
    cases = list(cases)
    element.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
