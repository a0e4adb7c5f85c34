"""How many events a month a guarantee tolerates."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from .figures import hours, percent


def rows(tiers: dict, swaps: list, month) -> list[dict]:
    """For each tier and level with a guarantee, and each length of event: how many fit before the first credit."""
    whole, out = month.end - month.start, []
    for tier in tiers.values():
        for level, bands in tier["guarantees"].items():
            edge = bands[0]["below_pct"]["value"]
            budget = (1 - Fraction(edge) / 100) * whole
            for swap in swaps:
                lost = swap["minutes"] * 60_000_000
                after = percent(1 - Fraction(lost, whole))
                step = (
                    f"{100 - Decimal(edge)} % of {hours(whole)} h = {hours(int(budget))} h; {hours(lost)} h each: {int(budget // lost)}; "
                    f"one leaves {after} %"
                )
                row = {"tier": tier["id"], "level": level, "guarantee_pct": edge, "event": swap["title"], "minutes": swap["minutes"]}
                out.append({**row, "one_leaves_pct": after, "tolerated": int(budget // lost), "step": step})
    return out
