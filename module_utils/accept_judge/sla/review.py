"""One month's review: files in, one dict out that holds every figure and the steps to it."""

from __future__ import annotations

import datetime
import hashlib
from pathlib import Path

from ..documents import DocumentError
from . import compare, credits, definitions, downtime, ledger, months, tolerance
from .definitions import SERVICES
from .figures import hours, percent

SCHEMA = 1
SIDES = ("provider", "customer")


def build(file: Path, folder: Path, month: str, ledgers: dict, as_of: datetime.date | None = None) -> dict:
    """The review of `month` ("YYYY-MM"). `ledgers`: provider and customer -> path or None. DocumentError tells all that is wrong."""
    standards = definitions.load(folder)
    review, clusters = definitions.load_review(file, folder, standards)
    try:
        when = months.month(month, review["timezone"])
    except ValueError as error:
        raise DocumentError([f"month: {error}"]) from error
    given = {side: Path(ledgers[side]) for side in SIDES if ledgers.get(side)}
    if not given:
        raise DocumentError(["ledgers: neither a provider's nor a customer's is given"])
    events, errors = {}, []
    for side, path in given.items():
        try:
            events[side] = ledger.load(path, _units(review, clusters), when)
        except DocumentError as error:
            errors += error.errors
    if errors:
        raise DocumentError(errors)
    rules, tier = standards.rules(review), standards.tiers[review["tier"]]
    shown = {side: account(found, review, clusters, when, rules, tier, as_of) for side, found in events.items()}
    return {
        "schema": SCHEMA,
        "id": review["id"],
        "title": review["title"],
        "month": {"name": when.name, "timezone": when.zone, "start": months.text(when.start), "end": months.text(when.end),
                  "hours": hours(when.end - when.start)},
        "definition": review["definition"],
        "tier": review["tier"],
        "currency": review["currency"],
        "terms": {key: standards.definitions[review["definition"]][key] for key in ("levels", "classes", "exclusions")},
        "rules": _rules(review, standards),
        "inputs": _inputs({"review": file, **given}, folder),
        "ledgers": shown,
        "comparison": _comparison(events, review, clusters, when, rules),
        "what_if": _what_if(events, review, clusters, when, standards, as_of),
        "tolerance": tolerance.rows(standards.tiers, standards.swaps, when),
    }  # fmt: skip


def account(events, review, clusters, month, rules: dict, tier: dict, as_of=None) -> dict:
    """Availability of every unit and group, credits, claim and triggers by one ledger."""
    units = downtime.units(events, clusters, review["id"], month, rules)
    nodes = [unit for unit in units if unit.level == "node"]
    groups = [_group("site", review["id"], nodes)]
    shares, racks = {}, []
    for cluster in clusters:
        own = [unit for unit in nodes if unit.cluster == cluster.name]
        groups.append(_group("cluster", cluster.name, own))
        shares[cluster.name] = downtime.availability(sum(u.down for u in own), sum(u.base for u in own))
        for rack in cluster.racks:
            trays = [unit for unit in own if unit.rack == rack]
            groups.append(_group("rack", rack, trays))
            if "nvl64_down_at" in rules:
                racks.append({"rack": rack, "switches": downtime.tray_hours(trays, rules)})
    rows = credits.lines(units, clusters, tier, rules)
    return {
        "events": len(events),
        "groups": groups,
        "units": [_unit_row(unit) for unit in units],
        "nvl64": racks,
        "credit_lines": rows,
        "credit": credits.total(rows, clusters, tier),
        "claim": credits.claim(month, tier, as_of),
        "termination": credits.termination(shares, review, month, tier),
    }


def _inputs(files: dict, folder: Path) -> list[dict]:
    files = [*files.items(), *(("standards", path) for path in sorted((folder / "sla").glob("*.yml")))]
    return [{"what": what, "file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()} for what, path in files]


def _units(review, clusters) -> dict:
    names = [cluster.name for cluster in clusters]
    found = {"node": {n for c in clusters for n in c.nodes}, "rack": {rack for c in clusters for rack in c.racks}}
    return {**found, "cluster": names, "site": [review["id"]], **dict.fromkeys(SERVICES, names)}


def _figures(down: int, base: int) -> dict:
    share = downtime.availability(down, base)
    exact = None if share is None else f"{share.numerator}/{share.denominator}"
    return {
        "down_us": down,
        "base_us": base,
        "down_h": hours(down),
        "base_h": hours(base),
        "availability_pct": percent(share),
        "exact": exact,
    }


def _group(level, name, nodes) -> dict:
    return {"level": level, "name": name, "nodes": len(nodes), **_figures(sum(n.down for n in nodes), sum(n.base for n in nodes))}


def _unit_row(unit) -> dict:
    soft, excluded = downtime.length(unit.soft), downtime.length(unit.excluded)
    row = {"level": unit.level, "name": unit.name, "cluster": unit.cluster, "rack": unit.rack, **_figures(unit.down, unit.base)}
    return {**row, "degraded_h": hours(soft), "excluded_h": hours(excluded), "rack_down_h": hours(downtime.length(unit.rack_down))}


def _rules(review, standards) -> dict:
    own, given = standards.definitions[review["definition"]]["rules"], review.get("overrides", {})
    return {name: {"value": given[name], "source": "the review's overrides"} if name in given else rule for name, rule in own.items()}


def _comparison(events, review, clusters, month, rules) -> dict | None:
    if len(events) < len(SIDES):
        return None
    rows = compare.events(events["provider"], events["customer"], rules)
    units = [downtime.units(events[side], clusters, review["id"], month, rules) for side in SIDES]
    return {
        "counts": {s: sum(r["state"] == s for r in rows) for s in ("agreed", "disputed", "missing")},
        "events": rows,
        "times": compare.times(*units),
    }


def _what_if(events, review, clusters, month, standards, as_of) -> list[dict]:
    """The same ledgers under every other tier, definition and set of rules asked for."""
    cases = [(f"tier {tier['title']}", review, tier, {}) for tier in standards.tiers.values() if tier["id"] != review["tier"]]
    own = standards.tiers[review["tier"]]
    for name in standards.definitions:
        if name != review["definition"]:
            cases.append((f"definition {name}, without overrides", {**review, "definition": name, "overrides": {}}, own, {}))
    cases += [(one["title"], review, own, one["rules"]) for one in review.get("what_if", ())]
    out = []
    for title, under, tier, other in cases:
        rules = standards.rules(under, other)
        row = {"title": title, "not_possible": _misfit(rules, clusters)}
        for side, found in events.items() if not row["not_possible"] else ():
            result = account(found, review, clusters, month, rules, tier, as_of)
            met = [trigger["step"] for trigger in result["termination"] if trigger["state"] == "met"]
            row[side] = {"availability_pct": result["groups"][0]["availability_pct"], "credit": result["credit"]["credit"],
                         "step": result["credit"]["step"], "claim_last_day": result["claim"]["last_day"], "triggers_met": met}  # fmt: skip
        out.append(row)
    return out


def _misfit(rules, clusters) -> str | None:
    trays = rules.get("nvl64_trays")
    odd = [rack for cluster in clusters for rack, nodes in cluster.racks.items() if trays and len(nodes) != trays]
    return f"rack {odd[0]} has not {trays} trays" if odd else None
