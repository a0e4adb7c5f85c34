"""The punch list as CSV: by node, the node with the weightiest finding first, its findings in order of severity."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from .text import link, say
from .view import OPEN, SEVERITIES, View

COLUMNS = "cluster rack node severity check title actual wanted wanted_from items cause remedy evidence".split()
FORMULA = re.compile("^[ \t\r\n]*[=+@\uff1d\uff0b\uff0d\uff20-]|^[\t\r\n]")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def cell(value) -> str:
    """A cell that a spreadsheet shows as text: what would start a formula gets an apostrophe in front; numbers stay numbers."""
    text = say(value)
    return "'" + text if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def render(view: View, _templates: Path) -> str:
    """One line for each finding of each node. Checks of one concern that were not measured for one reason share a line."""
    by_node = {}
    for finding in view.of(*OPEN):
        for host in finding.hosts or [""]:
            by_node.setdefault(host, []).append(finding)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    # findings are already in order of severity; sorting is stable, and names not in the inventory come last
    places = {host: index for index, host in enumerate(view.hosts)}
    for host in sorted(by_node, key=lambda name: (SEVERITIES.index(by_node[name][0].severity), places.get(name, len(places)), name)):
        for finding in by_node[host]:
            writer.writerow([cell(value) for value in _line(view, host, finding)])
    return out.getvalue()


def _line(view, host, finding):
    row, lost = finding.row, finding.verdict == "not_measured"
    actual, items = finding.at(host)
    return (
        view.cluster(host),
        view.rack(host),
        host,
        finding.severity,
        " ".join(finding.checks),
        finding.title if len(finding.checks) == 1 else f"{len(finding.checks)} checks of {finding.concern}",
        f"not measured: {say(row.get('reason'))}" if lost else actual,
        finding.wanted if len(finding.checks) == 1 else "",
        row.get("wanted_from") if len(finding.checks) == 1 else "",
        "; ".join(f"{label}: {value}" if value else label for label, value in items),
        "" if lost else finding.cause,
        "Make it measurable and audit again." if lost else finding.remedy,
        link(finding.evidence, host) if finding.evidence else "",
    )
