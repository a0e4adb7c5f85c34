"""One check on the data of one host: which items, what they say, what that amounts to."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import paths
from .operators import ABSENT, COLLECTIVE, DESCRIBED, OPERATORS, WITHOUT_WANT, canonical
from .wanted import Wanted, source_text

ORDER = ("not_applicable", "pass", "waived", "warn", "not_measured", "fail")  # from best to worst
RANK = {verdict: rank for rank, verdict in enumerate(ORDER)}
FAILED = ("fail", "warn")
NOTHING_WANTED = Wanted(None)


class Judged(NamedTuple):
    """What a check says of one host. `items` are the offending ones: {label, actual, reason?}."""

    verdict: str
    actual: Any = None
    wanted: Wanted = NOTHING_WANTED
    items: tuple = ()
    reason: str = ""


class Reading(NamedTuple):
    """One value read for a check; `verdict` is set where it is settled before any operator (absent, unknown)."""

    label: str
    value: Any
    verdict: str = ""
    reason: str = ""


class Check:
    """A check with its paths compiled."""

    def __init__(self, check: dict):
        self.data = check
        self.id, self.concern, self.scope, self.severity, self.op = (check[key] for key in ("id", "concern", "scope", "severity", "op"))
        self.failure = "warn" if self.severity in ("minor", "info") else "fail"
        self.applies = paths.truth(check["applies"]) if "applies" in check else None
        self.items = paths.lister(check["each"]) if "each" in check else None
        self.members = paths.members(check["each"]) if "each" in check else lambda data: [data]
        self.value = paths.getter(check["value"]) if "value" in check else None
        self.label = paths.getter(check["label"]) if "label" in check else None
        self.compared: dict = {}
        self.wants: dict = {}
        self.held: dict = {}  # values of all items -> the pass of a host that has them, or None
        self.described: dict = {}  # a want as people read it
        self.of_items = self.op in WITHOUT_WANT and self.items is not None and self.value is None  # judges whether there are items at all

    def scoped(self, context: dict) -> Judged | None:
        """None where the check applies; else what is to be said instead."""
        if self.applies is None:
            return None
        applies = self.applies(context)
        if applies:
            return None
        shown = ", ".join(f"{key} is {context.get(key) or 'not known'}" for key in sorted(paths.fields(self.data["applies"])))
        verdict = "not_measured" if applies is None else "not_applicable"
        return Judged(verdict, reason=f"applies where {self.data['applies']}; here {shown}")

    def shown(self, wanted: Wanted, actual) -> Wanted:
        """The want as people read it: a row of the table of versions is said as the floor that applies."""
        if self.op not in DESCRIBED:
            return wanted
        key = (id(wanted), actual if isinstance(actual, str) else None)
        if key not in self.described:
            self.wants[id(wanted)] = wanted  # kept alive, so that its id is nobody else's
            origin = wanted.origin or f"check: {source_text(self.data)}"
            self.described[key] = Wanted(DESCRIBED[self.op](wanted.value, key[1]), origin, wanted.reason)
        return self.described[key]

    def readings(self, data: dict, blame: str) -> list[Reading] | Judged:
        """What the data holds for the check, or a verdict where there is nothing to read. `blame` says what else went wrong on the node."""
        if self.items is None:
            return [self._reading("", data, blame)]
        items = self.items(data)
        if items is None:
            said = data.get(self.data["each"] + "_reason") if isinstance(data, dict) else None
            return Judged("not_measured", reason=str(said) if said else _because(f"{self.data['each']} was not measured", blame))
        if not items and not self.of_items:
            verdict = self.data.get("empty", "not_measured")
            verdict = self.failure if verdict == "fail" else verdict
            return Judged(verdict, actual=[], reason=f"there is nothing in {self.data['each']}")
        return [
            Reading("?", None, "not_measured", _because(item.reason, blame))
            if isinstance(item, paths.Unknown)
            else self._reading(self._label(item), item.value, blame)
            for item in items
        ]

    def _label(self, item: paths.Item) -> str:
        name = self.label(item.value) if self.label else None
        return item.label if name is None else str(name)

    def _reading(self, label: str, item, blame: str) -> Reading:
        if self.value is None:
            return Reading(label, item)
        value = self.value(item)
        if value is None:
            path = self.data["value"]
            said = item.get(path + "_reason") if isinstance(item, dict) else None
            return Reading(label, None, "not_measured", str(said) if said else _because(f"{path} was not measured", blame))
        if value == ABSENT and "absent" in self.data:
            verdict = self.data["absent"]
            return Reading(label, value, self.failure if verdict == "fail" else verdict, "it is not there")
        return Reading(label, value)

    def judge(self, data: dict, wanted: Wanted, blame: str = "") -> Judged:
        """The verdict on one host's data."""
        if wanted.reason:
            return Judged("not_measured", wanted=wanted, reason=wanted.reason)
        if self.value and self.op not in COLLECTIVE and (held := self._all_hold(data, wanted)):
            return held
        readings = self.readings(data, blame)
        if isinstance(readings, Judged):
            return readings._replace(wanted=wanted)
        if self.of_items:
            return self._judge_items(readings, wanted)
        if self.op in COLLECTIVE:
            return self.judge_alike(readings, wanted)
        return self.summary([(reading, *self._verdict(reading, wanted)) for reading in readings], wanted)

    def _all_hold(self, data: dict, wanted: Wanted) -> Judged | None:
        """The pass of a host on which every item holds, as nearly all do; None where there is more to say: items, labels, reasons."""
        items = self.members(data)
        if not items:
            return None
        values, key = [], [id(wanted)]
        for item in items:
            value = self.value(item)
            many = isinstance(value, list | dict)
            if value is None or value == ABSENT or (many and value):
                return None
            values.append(value)
            key += (value.__class__, () if many else value)
        key = tuple(key)
        if key not in self.held:
            outcomes = [self._compared(value, wanted) for value in values]
            holds = all(verdict == "pass" for verdict, _ in outcomes)
            reason = outcomes[0][1] if len(values) == 1 else ""
            held = Judged("pass", _common(values), wanted, (), reason) if holds else None
            if len(self.held) > 10_000:
                return held
            self.held[key] = held
            self.wants[id(wanted)] = wanted
        return self.held[key]

    def _verdict(self, reading: Reading, wanted: Wanted) -> tuple[str, str]:
        """(verdict, reason) of one reading."""
        if reading.verdict:
            return reading.verdict, reading.reason
        return self._compared(reading.value, wanted) if isinstance(reading.value, list | dict) else self._known(reading.value, wanted)

    def _known(self, value, wanted: Wanted) -> tuple[str, str]:
        """A fleet gives the same few values a thousand times: those are compared once."""
        key = (value.__class__, value, id(wanted))
        known = self.compared.get(key)
        if known is None:
            known = self._compared(value, wanted)
            if len(self.compared) < 10_000:
                self.compared[key] = known
                self.wants[id(wanted)] = wanted
        return known

    def _compared(self, value, wanted: Wanted) -> tuple[str, str]:
        ok, reason = OPERATORS[self.op](value, wanted.value)
        return ("pass" if ok else "not_measured" if ok is None else self.failure), reason

    def _judge_items(self, readings, wanted: Wanted) -> Judged:
        """empty and non_empty of the list of items itself."""
        there = [reading for reading in readings if not reading.verdict]
        unknown = [reading for reading in readings if reading.verdict]
        if self.op == "empty" and there:
            return Judged(self.failure, len(there), wanted, tuple(_shown(reading, "") for reading in there))
        if self.op == "non_empty" and there:
            return Judged("pass", len(there), wanted)
        if unknown:
            return Judged("not_measured", None, wanted, reason=unknown[0].reason)
        return Judged("pass" if self.op == "empty" else self.failure, 0, wanted)

    def judge_alike(self, readings: list[Reading], wanted: Wanted) -> Judged:
        """all_equal or all_distinct among the items of one owner."""
        if len(readings) == 1 and isinstance(readings[0].value, list):
            readings = [
                Reading(str(number), value, "" if value is not None else "not_measured") for number, value in enumerate(readings[0].value)
            ]
        if not readings:
            return Judged("not_measured", [], wanted, reason="there is nothing to compare")
        common, results = self.alike(readings, wanted)
        judged = self.summary(results, wanted)
        return judged if "want" in self.data else judged._replace(wanted=Wanted(common, f"most of {len(readings)} items"))

    def alike(self, readings, wanted: Wanted) -> tuple[Any, list]:
        """(the value of most, each reading with its verdict). A tie has no majority: all of them fail.

        all_distinct fails whoever is not alone.
        """
        counts: dict = {}
        values: dict = {}
        for reading in readings:
            if not reading.verdict:
                key = canonical(reading.value)
                counts[key] = counts.get(key, 0) + 1
                values[key] = reading.value
        if self.op == "all_distinct":
            seen = [(reading, canonical(reading.value)) for reading in readings]
            twice = [(r, r.verdict or (self.failure if counts[key] > 1 else "pass"), r.reason or "") for r, key in seen]
            return None, twice
        ranking = sorted(counts.items(), key=lambda pair: -pair[1])
        tie = len(ranking) > 1 and ranking[0][1] == ranking[1][1]
        most = canonical(wanted.value) if "want" in self.data else ranking[0][0] if ranking and not tie else None
        results = []
        for reading in readings:
            if reading.verdict:
                results.append((reading, reading.verdict, reading.reason))
            else:
                ok = canonical(reading.value) == most
                results.append((reading, "pass" if ok else self.failure, "no majority" if tie and "want" not in self.data else ""))
        return values.get(most), results

    def summary(self, results, wanted: Wanted) -> Judged:
        """The worst of all items. (not_applicable items count only where there is nothing else.)"""
        worst = max((verdict for _, verdict, _ in results), key=RANK.__getitem__)
        if worst in ("pass", "not_applicable"):
            reason = results[0][2] if len(results) == 1 else ""
            return Judged(worst, _common([reading.value for reading, verdict, _ in results if verdict == worst]), wanted, (), reason)
        # A failure outranks what was not measured: "warn" too, although an unmeasured item is the worse news of a passing host.
        failed = [result for result in results if result[1] == self.failure]
        bad = failed or [result for result in results if result[1] == "not_measured"]
        verdict = self.failure if failed else "not_measured"
        unread = sum(1 for _, verdict, _ in results if verdict == "not_measured") if failed else 0
        reasons = list(dict.fromkeys(reason for _, _, reason in bad if reason))
        if unread:
            reasons.append(f"{unread} of {len(results)} items not measured")
        single = self.items is None and self.op not in COLLECTIVE
        items = () if single else tuple(_shown(reading, reason if len(reasons) > 1 else "") for reading, _, reason in bad)
        return Judged(verdict, _common([reading.value for reading, _, _ in bad]), wanted, items, "; ".join(reasons[:3]))


def _shown(reading: Reading, reason: str) -> dict:
    item = {"label": reading.label, "actual": reading.value}
    return {**item, "reason": reason} if reason else item


def _common(values: list):
    """The one value of all items, or the different ones (five of them at most)."""
    seen = []
    for value in values:
        if value not in seen:
            seen.append(value)
            if len(seen) > 5:
                return f"{len(values)} items, more than 5 different values"
    return seen[0] if len(seen) == 1 else seen or None


def _because(reason: str, blame: str) -> str:
    return f"{reason} ({blame})" if blame else reason
