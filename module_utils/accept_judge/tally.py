"""All verdicts of a run as they come, folded at once: passes of a thousand nodes are one row."""

from __future__ import annotations

from collections import Counter, defaultdict

from . import nodesets
from .evaluate import FAILED, RANK, Check, Judged
from .evidence import evidence_path
from .operators import canonical
from .wanted import source_text


class _Fold:
    """Rows that say the same."""

    def __init__(self, judged: Judged, waiver, evidence: str):
        self.judged, self.waiver, self.evidence, self.hosts, self.count = judged, waiver, evidence, [], 0
        self.low = self.high = self.judged.actual
        self.seen = []

    def add(self, hosts, actual, evidence: str, concern: str) -> None:
        if evidence != self.evidence:
            self.evidence = evidence_path("{host}", concern)
        self.hosts += hosts
        self.count += 1
        if actual not in self.seen and len(self.seen) <= 5:
            self.seen.append(actual)
        if _is_number(actual) and _is_number(self.low):
            self.low, self.high = min(self.low, actual), max(self.high, actual)
        else:
            self.low = None

    def join(self, other: _Fold) -> None:
        """The hosts of another fold that says the same. Each holds one host at least, so the evidence is each host's own."""
        if self.evidence != other.evidence:
            concern = (self.evidence or other.evidence).rsplit("/", 1)[-1].removesuffix(".json")
            self.evidence = evidence_path("{host}", concern)
        self.hosts += other.hosts
        self.count += other.count
        self.seen += [value for value in other.seen if value not in self.seen][: max(0, 6 - len(self.seen))]
        if _is_number(self.low) and _is_number(other.low):
            self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        else:
            self.low = None

    def more(self, host: str, concern: str) -> None:
        """One more host that says the very same."""
        if self.count == 1:
            self.evidence = evidence_path("{host}", concern)
        self.hosts.append(host)
        self.count += 1

    def actual(self):
        if len(self.seen) == 1:
            return self.seen[0]
        if _is_number(self.low):
            return f"{self.low} to {self.high}"
        return "more than 5 different values" if len(self.seen) > 5 else self.seen


def _is_number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Tally:
    """Takes verdicts, gives rows and counts."""

    def __init__(self, waivers: list[dict]):
        self.rows = defaultdict(list)  # check id -> rows
        self.folds = defaultdict(dict)  # check id -> key -> _Fold
        self.counts = defaultdict(Counter)  # check id -> verdicts
        self.by_host = defaultdict(Counter)
        self.worst = defaultdict(dict)  # host -> concern -> verdict
        self.counted: dict = {}  # host -> its verdict in the coverage: there a minor row that was not measured leaves a node what it is
        self.same: dict = {}  # (check id, id of a Judged) -> that Judged and its fold: a fleet says the same thing a thousand times
        self.of_group = defaultdict(Counter)  # cluster -> verdicts of its rack and cluster rows
        self.wants: dict = {}
        self.waivers = defaultdict(list)
        for waiver in waivers:
            self.waivers[waiver["check"]].append((None if waiver["hosts"] == "all" else nodesets.unfold(waiver["hosts"]), waiver))

    def add_host(self, check: Check, host: str, judged: Judged) -> None:
        """The verdict on one host."""
        waiver = self._waiver(check, host, judged)
        known = None if waiver else self.same.get((check.id, id(judged)))
        if known:
            known[1].more(host, check.concern)
            self.counts[check.id][judged.verdict] += 1
        else:
            fold = self._add(check, [host], judged, waiver, evidence_path(host, check.concern))
            if fold and not waiver and judged.verdict in ("pass", "not_applicable") and len(self.same) < 100_000:
                self.same[(check.id, id(judged))] = (judged, fold)  # kept alive, so that its id is nobody else's
        self._count_host(check, host, "waived" if waiver else judged.verdict)

    def counted_here(self) -> dict:
        """What was counted of hosts, in a form that can leave this process."""
        return {name: getattr(self, name) for name in ("rows", "folds", "counts", "by_host", "worst", "counted")}

    def join(self, other: dict) -> None:
        """Take in what another process counted of hosts that come after those counted here."""
        for check_id, rows in other["rows"].items():
            self.rows[check_id] += rows
        for check_id, folds in other["folds"].items():
            for key, fold in folds.items():
                mine = self.folds[check_id].setdefault(key, fold)
                if mine is not fold:
                    mine.join(fold)
        for check_id, counts in other["counts"].items():
            self.counts[check_id] += counts
        for name in ("by_host", "worst", "counted"):
            getattr(self, name).update(other[name])

    def add_group(self, check: Check, cluster: str, hosts: list[str], judged: Judged, evidence: str = "", blame: bool = True) -> None:
        """The verdict on a rack or cluster; `hosts` are those that it is about (all of them, or the odd ones out).

        `blame`: it is a finding of those hosts, not of the cluster that they are in.
        """
        evidence = evidence or evidence_path(hosts[0] if len(hosts) == 1 else "{host}", check.concern)
        waived = {host: waiver for host in hosts if (waiver := self._waiver(check, host, judged))}
        rest = [host for host in hosts if host not in waived]
        if waived:
            self._add(check, list(waived), judged, next(iter(waived.values())), evidence)
            self.of_group[cluster]["waived"] += 1
        if rest or not waived:
            self._add(check, rest, judged, None, evidence)
            self.of_group[cluster][judged.verdict] += 1
        if judged.verdict in FAILED and blame:
            for host in hosts:
                self._mark(check, host, "waived" if host in waived else judged.verdict)

    def add_run(self, check: Check, judged: Judged) -> None:
        """The verdict on the run itself. Only a waiver on all hosts covers it."""
        waiver = self._waiver(check, None, judged)
        self._add(check, [], judged, waiver, "run.json")

    def _waiver(self, check: Check, host: str | None, judged: Judged) -> dict | None:
        if judged.verdict in ("pass", "not_applicable") or check.id not in self.waivers:
            return None
        return next((waiver for hosts, waiver in self.waivers[check.id] if hosts is None or host in hosts), None)

    def _count_host(self, check: Check, host: str, verdict: str) -> None:
        self.by_host[host][verdict] += 1
        self._mark(check, host, verdict)

    def _mark(self, check: Check, host: str, verdict: str) -> None:
        """A host is as bad as its worst row; what only informs makes it neither better nor worse."""
        if check.severity == "info":
            return
        known = self.worst[host]
        if check.concern not in known or RANK[verdict] > RANK[known[check.concern]]:
            known[check.concern] = verdict
        minor_gap = verdict == "not_measured" and check.severity == "minor"
        if not minor_gap and RANK[verdict] > RANK.get(self.counted.get(host), -1):
            self.counted[host] = verdict

    def _add(self, check: Check, hosts: list[str], judged: Judged, waiver: dict | None, evidence: str) -> _Fold | None:
        self.counts[check.id]["waived" if waiver else judged.verdict] += 1
        if judged.wanted.value is not None or judged.verdict != "not_applicable":
            judged = judged._replace(wanted=check.shown(judged.wanted, judged.actual))
        if judged.verdict in FAILED and not waiver:
            self.rows[check.id].append(_row(judged.verdict, hosts, len(hosts) or 1, judged.actual, judged, evidence, None))
            return None
        key = (judged.verdict, self._said(judged.wanted), judged.reason, id(waiver), repr(judged.items) if judged.items else "")
        folds = self.folds[check.id]
        if key not in folds:
            folds[key] = _Fold(judged, waiver, evidence)
        folds[key].add(hosts, judged.actual, evidence, check.concern)
        return folds[key]

    def _said(self, wanted) -> tuple[str, str]:
        """A wanted value and its origin as a key. They are few and come a thousand times: kept by identity, and so kept alive."""
        known = self.wants.get(id(wanted))
        if known is None:
            known = self.wants[id(wanted)] = (wanted, (canonical(wanted.value), wanted.origin))
        return known[1]

    def rows_of(self, check: Check) -> list[dict]:
        """The rows of a check, worst first."""
        rows = list(self.rows[check.id])
        for fold in self.folds[check.id].values():
            verdict = "waived" if fold.waiver else fold.judged.verdict
            count = len(fold.hosts) or fold.count
            rows.append(_row(verdict, fold.hosts, count, fold.actual(), fold.judged, fold.evidence, _shown(fold)))
        return sorted(rows, key=lambda row: (-RANK[row["verdict"]], row["nodes"], row["reason"]))


def _shown(fold: _Fold) -> dict | None:
    """A waiver as a row shows it, with the verdict that it stands before."""
    if fold.waiver is None:
        return None
    return {**{key: fold.waiver[key] for key in ("owner", "reason", "expires")}, "verdict": fold.judged.verdict}


def _row(verdict, hosts, count, actual, judged: Judged, evidence: str, waiver) -> dict:
    return {
        "verdict": verdict,
        "nodes": nodesets.fold(hosts) if hosts else "",
        "count": count,
        "actual": actual,
        "wanted": judged.wanted.value,
        "wanted_from": judged.wanted.origin,
        "items": list(judged.items),
        "reason": judged.reason,
        "evidence": evidence,
        "waiver": waiver,
    }


def card(check: Check, tally: Tally) -> dict:
    """A check as the scorecard shows it."""
    data = check.data
    return {
        "id": check.id,
        "title": data["title"],
        "concern": check.concern,
        "scope": check.scope,
        "severity": check.severity,
        "cause": data.get("cause") or check.id,
        "remedy": data["remedy"],
        "sla": data.get("sla", []),
        "source": source_text(data),
        "counts": dict(sorted(tally.counts[check.id].items())),
        "rows": tally.rows_of(check),
    }
