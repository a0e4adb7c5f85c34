"""A review as Markdown for people. Only what the review holds is shown."""

from __future__ import annotations

from .figures import hours as _hours

WORDS = {"provider": "Provider's ledger", "customer": "Customer's ledger"}


def render(review: dict) -> str:
    month = review["month"]
    out = [
        f"# {_cell(review['title'])}: {month['name']}",
        "",
        f"Tier {review['tier']}, definition {review['definition']}. {month['hours']} h, from {month['start']} to {month['end']} "
        f"({month['timezone']}). Money in {review['currency']}.",
        "Availability is cut after three decimals, never rounded up; comparisons are exact.",
    ]
    for side, account in review["ledgers"].items():
        out += ["", f"## {WORDS[side]}", "", *_account(account)]
    out += ["", "## Two ledgers", "", *_comparison(review["comparison"])]
    out += ["", "## What if", "", *_what_if(review)]
    out += ["", "## Events a month that a tier tolerates", ""]
    tolerated = [
        [row["tier"], row["level"], row["guarantee_pct"], row["event"], row["tolerated"], row["step"]] for row in review["tolerance"]
    ]
    out += _table(["tier", "level", "guarantee %", "event", "tolerated", "arithmetic"], tolerated)
    out += ["", "## Terms", ""]
    out += _table(["kind", "term", "means"], [[kind, *term] for kind, terms in review["terms"].items() for term in terms.items()])
    out += ["", "## Rules", ""]
    out += _table(["rule", "value", "source"], [[name, rule["value"], rule["source"]] for name, rule in review["rules"].items()])
    out += ["", "## Inputs", "", *_table(["what", "file", "SHA-256"], [list(one.values()) for one in review["inputs"]])]
    return "\n".join(out) + "\n"


def _account(account) -> list[str]:
    total, claim = account["credit"], account["claim"]
    out = [
        f"{account['events']} events. Credit: {total['step']}.",
        f"Claim by {claim['last_day']} ({claim['state']}): {claim['step']}.",
        "",
    ]
    head = ["level", "name", "down h", "counted h", "availability %"]
    hit = [
        unit
        for unit in account["units"]
        if unit["level"] != "node" or unit["down_us"] or unit["degraded_h"] != "0" or unit["excluded_h"] != "0"
    ]
    out += _table(head, [[row["level"], row["name"], row["down_h"], row["base_h"], _pct(row)] for row in account["groups"]])
    out += ["", "Services, and nodes with any downtime, degradation or exclusion:", ""]
    cells = [[u["level"], u["name"], u["down_h"], u["base_h"], _pct(u), u["degraded_h"], u["excluded_h"], u["rack_down_h"]] for u in hit]
    out += _table([*head, "degraded h", "excluded h", "rack down h"], cells)
    if account["nvl64"]:
        out += ["", "NVL64+, under each setting of its switches:", ""]
        head = ["rack", "excluded tray counts", "degraded tray counts", "rack down h", "tray-hours down", "the contract's"]
        out += _table(head, [_switch(one["rack"], row) for one in account["nvl64"] for row in one["switches"]])
    out += ["", "Credits, step by step:", "", *(_items(row["step"] for row in account["credit_lines"]) or ["- none"])]
    return out + ["", "Termination triggers:", "", *(_items(row["step"] for row in account["termination"]) or ["- none in this tier"])]


def _switch(rack, row) -> list:
    flags = ["yes" if row[key] else "no" for key in ("nvl64_excluded_counts", "nvl64_degraded_counts", "chosen")]
    return [rack, *flags[:2], _hours(row["rack_down_us"]), _hours(row["tray_us"]), flags[2]]


def _comparison(comparison) -> list[str]:
    if comparison is None:
        return ["Only one ledger was given: nothing can be called agreed."]
    counts = comparison["counts"]
    out = [f"{counts['agreed']} agreed, {counts['disputed']} disputed, {counts['missing']} missing.", ""]
    keys = ("state", "ledger", "id", "level", "unit", "kind", "start", "end", "detail")
    out += _table(keys, [[row[key] for key in keys] for row in comparison["events"]])
    keys = ("agreed_us", "provider_only_us", "customer_only_us")
    out += ["", "Downtime by unit, in hours:", ""]
    cells = [[row["level"], row["unit"], *(_hours(row[key]) for key in keys)] for row in comparison["times"]]
    return out + _table(["level", "unit", "both", "provider's only", "customer's only"], cells)


def _what_if(review) -> list[str]:
    rows = []
    for case in review["what_if"]:
        if case["not_possible"]:
            rows.append([case["title"], "", "", case["not_possible"], "", ""])
        for side in review["ledgers"]:
            if side in case:
                one = case[side]
                triggers = "; ".join(one["triggers_met"]) or "none"
                rows.append(
                    [case["title"], side, one["availability_pct"] or "not measurable", one["step"], one["claim_last_day"], triggers]
                )
    return _table(["case", "ledger", "site availability %", "credit", "claim by", "triggers met"], rows)


def _pct(row) -> str:
    return row["availability_pct"] or "not measurable"


def _items(texts) -> list[str]:
    return [f"- {_cell(text)}" for text in texts]


def _table(head, rows) -> list[str]:
    if not rows:
        return ["none"]
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *(f"| {' | '.join(map(_cell, row))} |" for row in rows)]


def _cell(value) -> str:
    """One line that can neither end a cell nor begin markup of its own."""
    text = "yes" if value is True else "no" if value is False else str(value)
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
