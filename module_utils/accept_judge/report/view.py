"""The scorecard as its readers ask for it: findings by severity, what one repair clears, what is not known, each node by concern."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from ..nodesets import fold, unfold
from .text import clean, link, say

SEVERITIES = ("blocker", "major", "minor", "info")
VERDICTS = ("fail", "not_measured", "warn", "waived", "pass", "not_applicable")
WORDS = {v: v.replace("_", " ") for v in VERDICTS}
OPEN = ("fail", "not_measured", "warn")  # what stands between the run and a clean signature


def expand(nodes: str) -> list:
    """b200-[01,03] -> both names, in the order of their names. What is no node set is taken name by name."""
    if "[" not in nodes and "," not in nodes:
        return [nodes] if nodes else []
    try:
        return sorted(unfold(nodes))
    except ValueError:
        return nodes.split(",")


def pairs(items: list) -> list:
    """(label, value and why) of each item."""
    return [(say(item["label"]), " – ".join(filter(None, (say(item["actual"]), say(item.get("reason")))))) for item in items]


def same(row: dict, *keys) -> str:
    """What rows must share to be told as one."""
    return json.dumps([row[key] for key in keys])


@dataclass
class Finding:
    """Rows that say the same, and where. For what was not measured: all checks of a concern with the same reason."""

    verdict: str
    severity: str
    concern: str
    checks: list
    title: str
    row: dict
    cause: str = ""
    remedy: str = ""
    source: str = ""
    scope: str = "node"
    hosts: list = field(default_factory=list)  # names, in order of the inventory
    evidence: str = ""

    @property
    def nodes(self) -> str:
        return fold(self.hosts)

    @property
    def items(self) -> list:
        """(label, value) pairs of what offends; why stands behind the value."""
        return pairs(self.row["items"])

    @property
    def actual(self) -> str:
        if self.row["actual"] is not None:
            return say(self.row["actual"])
        return "not measured" if "not_measured" in (self.verdict, (self.row["waiver"] or {}).get("verdict")) else "–"

    @property
    def wanted(self) -> str:
        return say(self.row.get("wanted"))

    def links(self, limit: int | None = None) -> list:
        """(name, relative path) of the evidence: of each host, or one file that speaks for all of them."""
        if "{host}" in self.evidence:
            return [(host, link(self.evidence, host)) for host in self.hosts[:limit]]
        return [(self.concern, link(self.evidence, ""))] if self.evidence else []

    def at(self, host: str) -> tuple:
        """(actual, items) of one host, where the row of a rack or cluster names the parts of several."""
        mine = [item for item in self.row["items"] if (say(item["label"]) + " ").startswith(host + " ")]
        if self.scope == "node" or not mine:
            return self.actual, self.items
        return ", ".join(dict.fromkeys(say(item["actual"]) for item in mine)), pairs(mine)


class View:
    """`card` is the scorecard; everything else is arranged from it."""

    def __init__(self, card: dict):
        self.card = card = clean(card)
        self.hosts = {host["name"]: host for host in card["hosts"]}
        self.order = {name: index for index, name in enumerate(self.hosts)}
        self.concerns = list(dict.fromkeys(check["concern"] for check in card["checks"]))
        self.findings = self._findings()
        self.tally = self._tally()

    def rack(self, host: str) -> str:
        return say(self.hosts.get(host, {}).get("rack"))

    def cluster(self, host: str) -> str:
        return say(self.hosts.get(host, {}).get("cluster"))

    def of(self, *verdicts) -> list:
        return [finding for finding in self.findings if finding.verdict in verdicts]

    def _findings(self) -> list:
        folded = {}
        for check in self.card["checks"]:
            for row in check["rows"]:
                verdict = row["verdict"]
                if verdict not in VERDICTS[:4]:
                    continue
                if verdict == "not_measured":
                    key = (check["concern"], row.get("reason"), row["nodes"])
                else:
                    key = (check["id"], verdict, same(row, "actual", "wanted", "wanted_from", "items", "reason", "waiver"))
                finding = folded.get(key)
                if finding is None:
                    finding = folded[key] = Finding(verdict, check["severity"], check["concern"], [], check["title"], row)
                    finding.cause, finding.remedy, finding.source = (say(check.get(k)) for k in ("cause", "remedy", "source"))
                    finding.scope, finding.evidence = check.get("scope", "node"), self._pattern(row)
                if check["id"] not in finding.checks:
                    finding.checks.append(check["id"])
                finding.severity = min(finding.severity, check["severity"], key=SEVERITIES.index)
                if verdict != "not_measured" or not finding.hosts:
                    finding.hosts += expand(row["nodes"])
        for finding in folded.values():
            finding.hosts = sorted(set(finding.hosts), key=self._place)
        return sorted(folded.values(), key=self._rank)

    def _place(self, host):
        return (self.order.get(host, len(self.order)), host)

    def _rank(self, finding):
        first = self._place(finding.hosts[0]) if finding.hosts else (-1, "")
        return (finding.verdict == "waived", SEVERITIES.index(finding.severity), VERDICTS.index(finding.verdict), first)

    @staticmethod
    def _pattern(row) -> str:
        """The evidence path with `{host}` where the row names a single host's own file, so that folded rows find each host's."""
        return say(row.get("evidence")).replace(f"facts/{row['nodes']}/", "facts/{host}/")

    def _tally(self) -> dict:
        """(host, concern) -> how many checks failed, warned or were not measured there."""
        tally = {}
        for finding in self.of(*OPEN):
            for host in finding.hosts:
                counts = tally.setdefault((host, finding.concern), {})
                counts[finding.verdict] = counts.get(finding.verdict, 0) + len(finding.checks)
        return tally

    def cell(self, host: str, concern: str) -> tuple:
        """(verdict, number of checks of that verdict) of one node in one concern; the judge names one wherever a check is for the node."""
        verdict = self.hosts[host]["concerns"].get(concern, "not_applicable")
        return verdict, self.tally.get((host, concern), {}).get(verdict, 0)

    def map(self) -> list:
        """Clusters with their racks, these with their nodes and the worst of each concern: (verdict, nodes of that verdict)."""
        by_rack = {}
        for host in self.hosts.values():
            by_rack.setdefault((host["cluster"], host["rack"]), []).append(host)
        clusters = []
        for cluster in self.card["clusters"]:
            racks = []
            for rack in cluster["racks"]:
                hosts = by_rack.get((cluster["name"], rack["name"]), [])
                racks.append({"rack": rack, "hosts": hosts, "worst": [self._worst(hosts, concern) for concern in self.concerns]})
            clusters.append({"cluster": cluster, "racks": racks})
        return clusters

    def _worst(self, hosts, concern):
        verdicts = [self.cell(host["name"], concern)[0] for host in hosts]
        order = ("fail", "not_measured", "warn", "waived", "pass", "not_applicable")
        worst = min(verdicts, key=order.index, default="not_applicable")
        return worst, verdicts.count(worst)

    def gaps(self) -> list:
        """What was not measured, by reason: {reason, severity, hosts, nodes, checks, concerns}; the weightiest first."""
        gaps = {}
        for finding in self.of("not_measured"):
            reason = say(finding.row.get("reason")) or "no reason given"
            gap = gaps.setdefault(reason, {"reason": reason, "severity": finding.severity, "hosts": {}, "checks": {}, "concerns": {}})
            gap["severity"] = min(gap["severity"], finding.severity, key=SEVERITIES.index)
            gap["hosts"] |= dict.fromkeys(finding.hosts)
            gap["checks"] |= dict.fromkeys(finding.checks)
            gap["concerns"] |= {finding.concern: None}
        for gap in gaps.values():
            gap |= {"nodes": fold(list(gap["hosts"])), "checks": list(gap["checks"]), "concerns": list(gap["concerns"])}
        return sorted(gaps.values(), key=lambda gap: (SEVERITIES.index(gap["severity"]), -len(gap["hosts"])))

    def causes(self) -> list:
        """The scorecard's causes, with the titles of their checks and how many nodes each is on."""
        titles = {check["id"]: check["title"] for check in self.card["checks"]}
        return [
            cause | {"count": len(expand(cause["nodes"])), "titles": [titles.get(check, check) for check in cause["checks"]]}
            for cause in self.card["causes"]
        ]

    def folded(self, check: dict, *verdicts) -> list:
        """A check's rows of these verdicts, those that say the same as one: each row with `nodes` and `count` of them all."""
        groups = {}
        for row in check["rows"]:
            if row["verdict"] in verdicts:
                groups.setdefault(same(row, "verdict", "actual", "wanted", "wanted_from", "reason"), []).append(row)
        return sorted((self._joined(rows) for rows in groups.values()), key=lambda row: VERDICTS.index(row["verdict"]))

    @staticmethod
    def _joined(rows) -> dict:
        if len(rows) == 1:
            return rows[0]
        hosts = [host for row in rows for host in expand(row["nodes"])]
        return rows[0] | {"nodes": fold(hosts), "count": sum(row["count"] for row in rows)}

    def checks_with(self, *verdicts) -> list:
        """(check, its folded rows of these verdicts), for every check that has one."""
        with_rows = ((check, self.folded(check, *verdicts)) for check in self.card["checks"])
        return [(check, rows) for check, rows in with_rows if rows]

    def versions(self) -> list:
        """The checks of the version audit with all rows that apply."""
        return [(check, rows) for check, rows in self.checks_with(*VERDICTS[:5]) if check["concern"] == "version_audit"]

    def skipped_phases(self) -> list:
        """(phase, why) of the plan's phases that did not run."""
        phases = [phase for phase in self.card["run"]["phases"] or () if phase.get("status") != "ran"]
        return [(say(phase.get("title") or phase.get("name")), say(phase.get("reason") or phase.get("status"))) for phase in phases]
