"""Spread between repeats, and intervals from it. All in logarithms of the rate: ratios are what is compared."""

from __future__ import annotations

import math

import numpy as np

# Student's t, two-sided 95 %, by degrees of freedom
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093)


def t95(freedom: int) -> float:
    """The factor of a 95 % interval; beyond the table the first terms of its expansion."""
    if freedom < 1:
        return math.inf
    return T95[freedom - 1] if freedom <= len(T95) else 1.96 + 2.37 / freedom + 2.8 / freedom**2


def spread(rates) -> tuple[float | None, int]:
    """(standard deviation of log rate between repeats, degrees of freedom), pooled over the sizes of rates[repeat, size].

    A repeat that is slower as a whole counts: the pooling is of variances, not of differences between neighbours."""
    logs = np.log(np.asarray(rates, float))
    counts = np.isfinite(logs).sum(axis=0)
    freedom = int(np.maximum(counts - 1, 0).sum())
    if freedom < 1:
        return None, 0
    means = np.nanmean(np.where(counts > 0, logs, 0.0), axis=0)
    return float(np.sqrt(np.nansum((logs - means) ** 2) / freedom)), freedom


def interval(rates) -> dict | None:
    """{"mean", "low", "high", "repeats", "spread_pct"} of the rate of a stretch, from rates[repeat, size]: the repeats' means are the
    samples, so that what is common to the sizes of one repeat is not counted as many. `low` and `high` are null with one repeat."""
    logs = np.log(np.asarray(rates, float))
    each = np.array([np.mean(row[np.isfinite(row)]) for row in logs if np.isfinite(row).any()])
    if not len(each):
        return None
    mean = float(each.mean())
    found = {"mean": math.exp(mean), "low": None, "high": None, "repeats": len(each), "spread_pct": None}
    if len(each) > 1:
        deviation = float(each.std(ddof=1))
        reach = t95(len(each) - 1) * deviation / math.sqrt(len(each))
        found.update(low=math.exp(mean - reach), high=math.exp(mean + reach), spread_pct=100 * deviation)
    return found


def loss(reference, measured) -> dict | None:
    """{"pct", "low_pct", "high_pct"}: by how much `measured` is below `reference`, both rates[repeat, size] of the same sizes, with its
    95 % interval (Welch's; the spread is pooled over the sizes first). None where either has a single repeat."""
    sides = []
    for rates in (reference, measured):
        logs = np.log(np.asarray(rates, float))
        each = logs.mean(axis=1)
        if len(each) < 2:
            return None
        # the spread of a repeat's mean: never taken for smaller than what its sizes say
        within, _ = spread(rates)
        deviation = max(float(each.std(ddof=1)), (within or 0.0) / math.sqrt(logs.shape[1]))
        freedom = (len(each) - 1) * (logs.shape[1] if deviation > each.std(ddof=1) else 1)
        sides.append((float(each.mean()), deviation**2 / len(each), freedom))
    (mean, variance, freedom), (other, more, others) = sides
    total = variance + more
    joint = max(1, int(total**2 / (variance**2 / freedom + more**2 / others))) if total > 0 else freedom + others
    reach = t95(joint) * math.sqrt(total)
    return {
        "pct": 100 * (1 - math.exp(other - mean)),
        "low_pct": 100 * (1 - math.exp(other - mean + reach)),
        "high_pct": 100 * (1 - math.exp(other - mean - reach)),
    }
