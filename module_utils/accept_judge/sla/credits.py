"""Availability -> credits, cap, claim date, termination triggers; each with its arithmetic as a line of text."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

from .definitions import SERVICES, credit
from .downtime import availability
from .figures import below, hours, percent, share_of


def lines(units, clusters, tier: dict, rules: dict) -> list[dict]:
    """One line for each node or service that falls below its guarantee, or whose month is excluded as a whole."""
    out = []
    for cluster in clusters:
        own = [unit for unit in units if unit.cluster == cluster.name]
        nodes = [unit for unit in own if unit.level == "node"]
        if rules["credit_base"] == "month_fee":
            down, base = sum(unit.down for unit in nodes), sum(unit.base for unit in nodes)
            out.append(_line("node", cluster.name, cluster.name, down, base, cluster.node_fee * len(nodes), tier))
        else:
            out += [_line("node", unit.name, cluster.name, unit.down, unit.base, cluster.node_fee, tier) for unit in nodes]
        for unit in own:
            if unit.level in SERVICES:
                fee = cluster.service_fees[unit.level]
                out.append(_line(unit.level, unit.name, cluster.name, unit.down, unit.base, fee, tier))
    return [line for line in out if line]


def _line(level, name, cluster, down, base, fee, tier) -> dict | None:
    share = availability(down, base)
    row = {"level": level, "unit": name, "cluster": cluster, "fee": str(fee)}
    if share is None:
        return {**row, "credit": "0.00", "step": f"{level} {name}: all of the month is excluded: nothing to measure, no credit"}
    band = credit(tier["guarantees"][level], share)
    if not band:
        return None
    pct, edge = band["credit_pct"]["value"], band["below_pct"]["value"]
    amount = share_of(fee, pct)
    step = (
        f"{level} {name}: {hours(base)} h counted, {hours(down)} h down: 1 − {hours(down)}/{hours(base)} = {percent(share)} %, "
        f"below {edge} %: {pct} % of {fee} = {amount}"
    )
    return {**row, "availability_pct": percent(share), "below_pct": edge, "credit_pct": pct, "credit": str(amount), "step": step}


def total(rows, clusters, tier: dict) -> dict:
    """The sum of the lines, and what the cap leaves of it."""
    fee = sum((cluster.fee for cluster in clusters), Decimal(0))
    found = sum((Decimal(row["credit"]) for row in rows), Decimal("0.00"))
    pct = tier["cap_pct"]["value"]
    cap = share_of(fee, pct)
    due = min(found, cap)
    step = f"sum {found}; cap {pct} % of {fee} = {cap}; credit {due}{' (capped)' if due < found else ''}"
    return {"sum": str(found), "month_fee": str(fee), "cap": str(cap), "credit": str(due), "capped": due < found, "step": step}


def claim(month, tier: dict, as_of: datetime.date | None) -> dict:
    """The last day on which the credit can be claimed, in the contract's time zone. Nobody credits by himself."""
    days = tier["claim_days"]["value"]
    last = month.last_day + datetime.timedelta(days=days)
    state = "unknown" if as_of is None else "open" if as_of <= last else "lapsed"
    step = f"{month.last_day} + {days} days = {last}, the end of that day in {month.zone}"
    return {"last_day": str(last), "state": state, "step": step}


def termination(shares: dict, review: dict, month, tier: dict) -> list[dict]:
    """Each trigger of the tier for each cluster. Months that nobody gives can decide it only where they cannot change the answer."""
    history = {(row["cluster"], row["month"]): Fraction(row["availability_pct"]) / 100 for row in review.get("history", ())}
    out = []
    for name, share in shares.items():
        for trigger in tier["termination"]:
            asked = [month.back(count) for count in range(trigger["within"])]
            known = {at: share if at == month.name else history.get((name, at)) for at in asked}
            bad = [at for at, value in known.items() if value is not None and below(value, trigger["below_pct"])]
            unknown = [at for at, value in known.items() if value is None]
            state = "met" if len(bad) >= trigger["months"] else "open" if len(bad) + len(unknown) >= trigger["months"] else "not met"
            step = (
                f"cluster {name}: below {trigger['below_pct']} % in {len(bad)} of the {trigger['within']} months to {month.name}"
                f"{' (' + ', '.join(bad) + ')' if bad else ''}; {trigger['months']} wanted"
                f"{'; not known: ' + ', '.join(unknown) if unknown else ''}: {state}"
            )
            out.append({"cluster": name, **trigger, "bad": bad, "unknown": unknown, "state": state, "step": step})
    return out
