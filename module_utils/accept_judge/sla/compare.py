"""Two ledgers of one month: what they agree on, what they dispute, and what one of them lacks."""

from __future__ import annotations

from . import months
from .intervals import intersect, length, subtract


def events(provider, customer, rules: dict) -> list[dict]:
    """Each event of either ledger as agreed (once), disputed (with what differs) or missing (from which ledger)."""
    rows, paired = [], set()
    for side, own, other in (("provider", provider, customer), ("customer", customer, provider)):
        places = {}
        for event in other:
            places.setdefault((event.level, event.unit), []).append(event)
        for event in sorted(own, key=lambda event: (event.span(), event.id)):
            near = [one for one in places.get((event.level, event.unit), ()) if _touch(event, one)]
            same = [one for one in near if one.kind == event.kind and one.span(rules) == event.span(rules)]
            if same and side == "customer":
                continue  # told with the provider's
            if same:
                state, detail = "agreed", f"as {same[0].id}"
            elif near:
                near = [one for one in near if one.kind == event.kind] or near
                if (near[0].id, event.id) in paired:
                    continue
                paired.add((event.id, near[0].id))
                state, detail = "disputed", "; ".join(_difference(event, one, rules) for one in near)
            else:
                state, detail = "missing", f"the {'customer' if side == 'provider' else 'provider'}'s ledger has nothing there"
            start, end = event.span(rules)
            row = {"state": state, "ledger": side, "id": event.id, "level": event.level, "unit": event.unit, "kind": event.kind}
            rows.append({**row, "start": months.text(start), "end": months.text(end), "detail": detail})
    return rows


def times(provider, customer) -> list[dict]:
    """Downtime of each unit by both ledgers, by the provider's alone, by the customer's alone; units without any left out."""
    rows = []
    for one, two in zip(provider, customer):
        both = length(intersect(one.counted, two.counted))
        alone = [length(subtract(a.counted, b.counted)) for a, b in ((one, two), (two, one))]
        if both or any(alone):
            rows.append(
                {"level": one.level, "unit": one.name, "agreed_us": both, "provider_only_us": alone[0], "customer_only_us": alone[1]}
            )
    return rows


def _touch(one, two) -> bool:
    return one.span()[0] < two.span()[1] and two.span()[0] < one.span()[1]


def _difference(one, two, rules) -> str:
    found = [f"kind {one.kind} against {two.kind}"] if one.kind != two.kind else []
    for what, left, right in zip(("start", "end"), one.span(rules), two.span(rules)):
        if left != right:
            found.append(f"{what} {months.text(left)} against {months.text(right)}")
    return f"{two.id}: {', '.join(found)}"
