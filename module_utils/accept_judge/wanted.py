"""What is wanted of a cluster: contract, tier, SKU profile, baseline, default of the check. The first that speaks wins, and is named."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import documents
from .grammar import references


class Wanted(NamedTuple):
    """A value and the layer that it is from; `reason` says why there is none."""

    value: Any
    origin: str = ""
    reason: str = ""


class Lookup:
    """Answers for one cluster. `sku_reason` says why there is no profile, where there is none."""

    def __init__(self, standards, contract, cluster: str, sku: str | None, sku_reason: str, started_at):
        self.standards, self.started_at = standards, started_at
        self.profile = standards.profiles.get(sku)
        self.sku_reason = sku_reason
        self.overrides = contract.overrides_of(cluster) if contract else {}
        self.tier = standards.tiers.get(contract.tier) if contract and contract.tier else None
        self._known = {}

    def of(self, check: dict) -> Wanted:
        """What the check wants here, its references looked up."""
        if check["id"] not in self._known:
            self._known[check["id"]] = self._of(check)
        return self._known[check["id"]]

    def _of(self, check: dict) -> Wanted:
        if "want" not in check:
            return Wanted(None)
        if not references(check["want"]):
            return Wanted(check["want"], f"check: {source_text(check)}")
        found: dict[str, Wanted] = {key: self.key(key, check.get("default")) for key in references(check["want"])}
        for answer in found.values():
            if answer.reason:
                return answer
        return Wanted(_filled(check["want"], found), "; ".join(dict.fromkeys(answer.origin for answer in found.values())))

    def key(self, key: str, default: dict | None = None) -> Wanted:
        """The value of one key. Public: the analysis step of a concern asks it too."""
        if key in self.overrides:
            entry = self.overrides[key]
            return Wanted(entry["value"], f"contract: {key}: {entry['reason']}")
        if self.tier and key in self.tier["values"]:
            return self._entry(self.tier["values"][key], f"tier {self.tier['id']}")
        if self.profile is None and self.standards.needs_profile(key):
            return Wanted(None, reason=self.sku_reason)
        if self.profile and key in self.profile["values"]:
            return self._entry(self.profile["values"][key], f"profile {self.profile['id']}")
        for name, baseline in self.standards.baselines.items():
            if key in baseline.get("values", ()):
                return self._entry(baseline["values"][key], self.baseline_origin(name))
        if default is not None:
            return self._entry(default, "default of the check")
        profile = f"profile {self.profile['id']}" if self.profile else "no profile"
        return Wanted(None, reason=f"nothing says what {key} should be: no contract override, tier or baseline, and not {profile}")

    def baseline_origin(self, name: str) -> str:
        """A table with its date, its age when the run began, and its digest."""
        as_of = self.standards.baselines[name]["as_of"]
        age = age_days(as_of, self.started_at)
        return f"baseline {name} as of {as_of}, {age} days old, sha256 {self.standards.digests[f'baselines/{name}'][:12]}"

    @staticmethod
    def _entry(entry: dict, layer: str) -> Wanted:
        doubt = f" (confidence {entry['confidence']})" if entry.get("confidence", "high") != "high" else ""
        return Wanted(entry["value"], f"{layer}: {source_text(entry)}{doubt}")


def age_days(as_of: str, started_at) -> int | None:
    """Whole days from a table's date to the start of the run."""
    day = documents.date(as_of)
    return (started_at.date() - day).days if day and started_at else None


def source_text(entry: dict) -> str:
    """The sources of a number or a check in one line."""
    source = entry.get("source", "")
    return "; ".join(source) if isinstance(source, list) else source


def _filled(want, found: dict[str, Wanted]):
    if isinstance(want, str):
        return found[want[1:]].value if want.startswith("$") else want
    if isinstance(want, dict):
        return {key: _filled(part, found) for key, part in want.items()}
    return [_filled(part, found) for part in want] if isinstance(want, list) else want
