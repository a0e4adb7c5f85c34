"""Checks of a rack or a cluster: the values of all its nodes at once, and who does not fit."""

from __future__ import annotations

from collections import defaultdict

from . import nodesets
from .evaluate import FAILED, RANK, Check, Judged, Reading
from .evidence import evidence_path
from .operators import COLLECTIVE
from .wanted import Wanted


class Group:
    """What one check has read on the hosts of one rack or cluster."""

    def __init__(self, check: Check, title: str, cluster: str, settled: Judged | None, wanted: Wanted):
        self.check, self.title, self.cluster, self.wanted = check, title, cluster, wanted
        self.settled = settled  # what is said where the check does not apply
        if self.settled is None and wanted.reason:
            self.settled = Judged("not_measured", wanted=wanted, reason=wanted.reason)
        self.hosts: list[str] = []
        self.readings: dict[str, list[Reading] | Judged] = {}
        self.owners: list[str] = []  # hosts whose envelope speaks for the whole cluster

    def add(self, host: str, data: dict | None, reason: str, blame: str, member: bool, of_cluster: bool) -> None:
        """One host's data, or the reason why there is none. A head that is no node of the group only speaks for the cluster."""
        if member:
            self.hosts.append(host)
        if self.settled:
            return
        if data is None:
            self.readings[host] = Judged("not_measured", reason=reason)
        elif self.check.op in COLLECTIVE:
            self.readings[host] = self.check.readings(data, blame)
        else:
            self.readings[host] = self.check.judge(data, self.wanted, blame)
        if of_cluster:
            self.owners.append(host)

    def results(self):
        """(hosts, Judged, evidence path or "", is it those hosts' own finding) of each row of the group."""
        if self.settled:
            yield self.hosts, self.settled, "", True
        elif self.owners:  # a fact of the cluster itself, read once: the other hosts have none of it
            for host in self.owners:
                judged = self.readings[host]
                if not isinstance(judged, Judged):
                    judged = self.check.judge_alike(judged, self.wanted)
                named = self._named(judged)
                yield named or self.hosts, judged, evidence_path(host, self.check.concern), bool(named)
        elif self.check.op in COLLECTIVE:
            yield (*self._alike(), "", True)
        else:
            yield (*self._worst(), "", True)

    def _named(self, judged: Judged) -> list[str]:
        """The nodes that a fact of the cluster is about: its items bear their names. None where it is about the cluster itself."""
        named = [item["label"] for item in judged.items]
        return named if set(named) <= set(self.hosts) else []

    def _alike(self):
        flat, of_host, settled = [], [], defaultdict(list)
        for host in self.hosts:
            read = self.readings[host]
            if isinstance(read, Judged):  # nothing to compare on this host
                settled[read.verdict].append((host, read.reason))
                continue
            for reading in read:
                flat.append(reading)
                of_host.append((host, f"{host} {reading.label}".rstrip()))
        common, results = self.check.alike(flat, self.wanted) if flat else (None, [])
        distinct = self.check.op == "all_distinct"
        origin = f"no two alike in {self.title}" if distinct else f"most of {self.title}"
        wanted = self.wanted if "want" in self.check.data else Wanted(common, origin)
        for (host, _), (_, verdict, reason) in zip(of_host, results):
            settled[verdict].append((host, reason))
        odd = [(host, label, reading.value) for (host, label), (reading, verdict, _) in zip(of_host, results) if verdict in FAILED]
        odd += [
            (host, host, self.readings[host].actual)
            for verdict in FAILED
            for host, _ in settled[verdict]
            if isinstance(self.readings[host], Judged)
        ]
        if odd:
            agree = sum(1 for _, verdict, _ in results if verdict == "pass")
            tie = not agree and "want" not in self.check.data
            reason = f"{self.title}: no majority" if tie else f"{self.title}: {agree} of {len(results)} values agree"
            reason = f"{self.title}: {len(odd)} values are not alone" if distinct else reason
            items = tuple({"label": label, "actual": value} for _, label, value in odd)
            values = self._values(value for _, _, value in odd)
            return list(dict.fromkeys(host for host, *_ in odd)), Judged(
                self.check.failure, values, wanted, items, self._with_unread(reason, settled)
            )
        if settled["not_measured"]:
            return self._unread(settled, wanted)
        verdict = "pass" if settled["pass"] else "not_applicable"
        return self.hosts, Judged(verdict, common, wanted)

    @staticmethod
    def _values(values):
        """The different values of the odd ones out."""
        different = []
        for value in values:
            if value not in different:
                different.append(value)
        return different[0] if len(different) == 1 else different

    def _worst(self):
        """Each host by itself against what is wanted; the group is as good as its worst host."""
        settled = defaultdict(list)
        for host in self.hosts:
            settled[self.readings[host].verdict].append((host, self.readings[host].reason))
        failed = [host for verdict in FAILED for host, _ in settled[verdict]]
        if failed:
            items = []
            for host in failed:
                judged = self.readings[host]
                inner = judged.items or ({"label": "", "actual": judged.actual},)
                items += [{**item, "label": f"{host} {item['label']}".rstrip()} for item in inner]
            values = self._values(self.readings[host].actual for host in failed)
            reason = self._with_unread(f"{self.title}: {len(failed)} of {len(self.hosts)} nodes", settled)
            return failed, Judged(self.check.failure, values, self.wanted, tuple(items), reason)
        if settled["not_measured"]:
            return self._unread(settled, self.wanted)
        worst = max(settled, key=RANK.__getitem__)
        actual = self.readings[settled[worst][0][0]].actual if len(settled[worst]) == 1 else None
        return self.hosts, Judged("pass" if settled["pass"] else worst, actual, self.wanted)

    def _unread(self, settled, wanted: Wanted):
        hosts = list(dict.fromkeys(host for host, _ in settled["not_measured"]))
        reasons = list(dict.fromkeys(reason for _, reason in settled["not_measured"] if reason))
        reason = f"{self.title}: {len(hosts)} of {len(self.hosts)} nodes not measured: {'; '.join(reasons[:3])}"
        return hosts, Judged("not_measured", None, wanted, reason=reason)

    def _with_unread(self, reason: str, settled) -> str:
        hosts = {host for host, _ in settled["not_measured"]}
        return f"{reason}; not measured: {nodesets.fold(hosts)}" if hosts else reason
