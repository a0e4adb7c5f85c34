"""Definitions and tiers of standards/sla, and the file that says what a review is about."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from .. import documents
from ..documents import DocumentError
from . import months

SERVICES = ("control_plane", "storage", "fabric")


@dataclass(frozen=True)
class Standards:
    definitions: dict  # id -> definition
    tiers: dict  # id -> tier, the laxest first
    swaps: list

    def rules(self, review: dict, other: dict | None = None) -> dict:
        """rule -> value of the review's definition, its overrides, and then those of a what-if."""
        rules = {name: rule["value"] for name, rule in self.definitions[review["definition"]]["rules"].items()}
        return {**rules, **review.get("overrides", {}), **(other or {})}


@dataclass(frozen=True)
class Cluster:
    """racks: name -> nodes; fees in money a month."""

    name: str
    racks: dict
    node_fee: Decimal
    service_fees: dict

    @property
    def nodes(self) -> list:
        return [node for nodes in self.racks.values() for node in nodes]

    @property
    def fee(self) -> Decimal:
        return self.node_fee * len(self.nodes) + sum(self.service_fees.values(), Decimal(0))


def load(folder: Path) -> Standards:
    """`folder` is standards/; DocumentError tells all that is wrong."""
    paths = sorted((folder / "sla").glob("*.yml"))
    found, errors = {}, []
    for path in paths:
        data, faults = _read(path, folder / "schema" / ("sla_tiers.json" if path.stem == "tiers" else "sla_definition.json"))
        found[path.stem], errors = data, errors + faults
        if not faults and path.stem != "tiers" and data["id"] != path.stem:
            errors.append(f"{path.name}: id: {data['id']} is not the file's name")
    if "tiers" not in found:
        errors.append(f"{folder / 'sla'}: tiers.yml: is missing")
    if not errors:
        errors = _tier_faults(found["tiers"]["tiers"])
    if errors:
        raise DocumentError(errors)
    tiers = found.pop("tiers")
    return Standards(found, {tier["id"]: tier for tier in tiers["tiers"]}, tiers["swaps"])


def credit(bands, share: Fraction) -> dict | None:
    """The deepest band that the availability is below. Bands are not cumulative."""
    reached = [band for band in bands if share * 100 < Fraction(band["below_pct"]["value"])]
    return min(reached, key=lambda band: Fraction(band["below_pct"]["value"])) if reached else None


def _tier_faults(tiers) -> list[str]:
    errors, laxer = [], None
    for tier in tiers:
        for level, bands in tier["guarantees"].items():
            where = f"tiers.yml: {tier['id']}.{level}"
            steps = [(Fraction(band["below_pct"]["value"]), Fraction(band["credit_pct"]["value"])) for band in bands]
            if any(b[0] >= a[0] or b[1] <= a[1] for a, b in itertools.pairwise(steps)):
                errors.append(f"{where}: thresholds must fall and credits rise from band to band")
            for edge, _ in _steps(laxer["guarantees"][level]) if laxer else ():
                just_below = edge / 100 - Fraction(1, 10**9)
                if _pct(bands, just_below) < _pct(laxer["guarantees"][level], just_below):
                    errors.append(f"{where}: just below {float(edge)} % it credits less than the laxer {laxer['id']}")
        laxer = tier
    return errors


def _steps(bands):
    return [(Fraction(band["below_pct"]["value"]), Fraction(band["credit_pct"]["value"])) for band in bands]


def _pct(bands, share) -> Fraction:
    band = credit(bands, share)
    return Fraction(band["credit_pct"]["value"]) if band else Fraction(0)


def load_review(path: Path, folder: Path, standards: Standards) -> tuple[dict, list[Cluster]]:
    """The review's file and its clusters; DocumentError tells all that is wrong."""
    review, errors = _read(path, folder / "schema" / "sla_review.json")
    if not errors:
        errors = [f"{path}: {line}" for line in _review_faults(review, standards)]
    if errors:
        raise DocumentError(errors)
    clusters = [
        Cluster(
            one["name"],
            {rack["name"]: rack["nodes"] for rack in one["racks"]},
            Decimal(one["node_fee"]),
            {service: Decimal(one.get("service_fees", {}).get(service, 0)) for service in SERVICES},
        )
        for one in review["clusters"]
    ]
    return review, clusters


def _review_faults(review, standards) -> list[str]:
    errors = []
    for key, known in (("definition", standards.definitions), ("tier", standards.tiers)):
        if review[key] not in known:
            errors.append(f"{key}: {review[key]} is none of {', '.join(known)}")
    if errors:
        return errors
    try:
        months.month("2000-01", review["timezone"])
    except ValueError:
        errors.append(f"timezone: {review['timezone']} is unknown")
    own = standards.rules({"definition": review["definition"]})
    for title, given in [("overrides", review.get("overrides", {})), *((one["title"], one["rules"]) for one in review.get("what_if", ()))]:
        errors += [f"{title}: {rule}: definition {review['definition']} has no such rule" for rule in given if rule not in own]
    names = [("cluster", one["name"]) for one in review["clusters"]]
    racks = [rack for one in review["clusters"] for rack in one["racks"]]
    names += [("rack", rack["name"]) for rack in racks] + [("node", node) for rack in racks for node in rack["nodes"]]
    errors += [f"{what} {name}: stands twice" for what, name in sorted({name for name in names if names.count(name) > 1})]
    months_of = [(row["month"], row["cluster"]) for row in review.get("history", ())]
    errors += [f"history: {month} of {name}: stands twice" for month, name in sorted({k for k in months_of if months_of.count(k) > 1})]
    errors += [f"history: {name}: no such cluster" for _, name in months_of if ("cluster", name) not in names]
    trays = standards.rules(review).get("nvl64_trays")
    errors += [f"rack {r['name']}: {len(r['nodes'])} nodes, nvl64_trays says {trays}" for r in racks if trays and len(r["nodes"]) != trays]
    return errors


def _read(path: Path, schema: Path) -> tuple:
    try:
        data = documents.read(path.read_bytes(), path.name)
    except OSError as error:
        return None, [f"{path}: cannot be read: {error.strerror}"]
    except DocumentError as error:
        return None, error.errors
    return data, documents.validate(data, schema, path.name)
