"""One collective in one world: bus bandwidth over message size, its repeats, and what the shape of the curve says.

`assemble` makes curves of a sweep's runs, `judge` reads one curve, curve_worlds.py compares worlds. Bandwidths are computed from the time,
which the tools print with four digits at every size, where they print 0.01 GB/s for a small message.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import curve_dips, curve_fits, curve_stats

FACTORS = {  # busbw of algbw, by ranks: the tools' own definition (nccl-tests doc/PERFORMANCE.md)
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "alltoall": lambda ranks: (ranks - 1) / ranks,
    "alltoallv": lambda ranks: (ranks - 1) / ranks,
    "gather": lambda ranks: (ranks - 1) / ranks,
    "scatter": lambda ranks: (ranks - 1) / ranks,
}
PLATEAU = 0.95  # of the peak
LATENCY = 1.25  # times the shortest time: messages that take so long are short
SHORT = 64 * 1024
ALIGNED = 32  # bytes a rank: below, the tools round a size down to another, or to none
LOSS = 1.5  # per cent: the least that the lower bound of a loss must exceed; placement of ranks alone makes that difference
COARSEST = 25.0  # per cent: a spread that hides a dip as deep hides what matters


class Curve(NamedTuple):
    collective: str
    mode: str
    nodes: tuple
    ranks: int
    sizes: np.ndarray  # [size], bytes
    busbw: np.ndarray  # [placement, repeat, size], GB/s; NaN where there is none
    times: np.ndarray  # the same, microseconds


def factor(collective: str, ranks: int) -> float:
    """busbw / algbw; 1 for send/recv, broadcast and reduce."""
    return FACTORS.get(collective, lambda _: 1.0)(max(ranks, 2))


def world_of(run: dict) -> tuple:
    """What the repeats of one curve have in common."""
    return run["collective"], run["mode"], tuple(run["nodes"]), run["ranks"]


def assemble(columns: list, runs: list) -> list[Curve]:
    """The curves of runs that came to their end. What ended early is kept elsewhere, and is never judged as whole."""
    worlds: dict = {}
    for run in runs:
        if run["status"] == "ok" and run["rows"]:
            worlds.setdefault(world_of(run), []).append(run["rows"])
    return [curve for world, repeats in worlds.items() if (curve := _curve(world, columns, repeats)) is not None]


def _curve(world, columns, repeats):
    place = {name: number for number, name in enumerate(columns)}
    sizes = sorted({row[place["bytes"]] for rows in repeats for row in rows if row[place["bytes"]]})
    if not sizes:
        return None
    at = {size: number for number, size in enumerate(sizes)}
    shape = (2, len(repeats), len(sizes))
    times, busbw = np.full(shape, np.nan), np.full(shape, np.nan)
    bus = factor(world[0], world[3])
    for repeat, rows in enumerate(repeats):
        for row in rows:
            size = row[place["bytes"]]
            for placement, side in enumerate(("out", "in")):
                took, rate = row[place[f"time_{side}_us"]], row[place[f"busbw_{side}_gbytes_s"]]
                if size and took and took > 0:
                    times[placement, repeat, at[size]] = took
                    busbw[placement, repeat, at[size]] = bus * size / took / 1000
                elif size and rate and rate > 0:
                    busbw[placement, repeat, at[size]] = rate
    measured = np.isfinite(busbw).any(axis=(1, 2))
    return Curve(*world, np.array(sizes), busbw[measured], times[measured]) if measured.any() else None


def missing(curve: Curve, asked: list) -> list[int]:
    """Sizes asked for that some repeat has no time for. Small ones that the tools round to others, or to none, are not missed."""
    have = curve.sizes[np.isfinite(curve.busbw[0]).all(axis=0)]
    return [size for size in asked if size >= ALIGNED * curve.ranks and not ((have > size / 2) & (have <= size)).any()]


def judge(curve: Curve) -> dict:
    """{"fit": {"isotonic_gbytes_s": [by size], "logistic": curve_fits.logistic}, "plateau": curve_stats.interval with "from_bytes" and
    "reached", "knee_bytes", "latency": interval in microseconds, "dips", "passing", "notches", "resolution_pct", "jagged", "time_falls":
    [bytes], "sag": curve_stats.loss | None, "spread_pct", "spread_small_pct"}; shape and fits are null below four sizes."""
    out = curve.busbw[0]
    whole = np.isfinite(out).all(axis=0)
    sizes, busbw, times = curve.sizes[whole], curve.busbw[:, :, whole], curve.times[0][:, whole]
    if not whole.any():
        return {"plateau": None, "sizes_judged": 0}
    middle = np.median(busbw[0], axis=0)
    rising = curve_fits.isotonic(middle)
    flat = rising >= PLATEAU * rising[-1]
    small = middle < curve_dips.SMALL * middle.max()
    plateau = curve_stats.interval(busbw[0][:, flat])
    plateau.update(from_bytes=int(sizes[flat][0]), reached=bool(flat.sum() > 1))
    found = {
        "sizes_judged": len(sizes),
        "plateau": plateau,
        "knee_bytes": curve_fits.knee_bytes(sizes, rising),
        "latency": _latency(sizes, times),
        "sag": _sag(busbw),
        "spread_pct": _pct(curve_stats.spread(busbw[0][:, ~small])[0]),
        "spread_small_pct": _pct(curve_stats.spread(busbw[0][:, small])[0]) if small.any() else None,
        "fit": {"isotonic_gbytes_s": rising.tolist(), "sizes": sizes.tolist(), "logistic": curve_fits.logistic(sizes, middle)},
    }
    if len(sizes) < 4:
        return {**found, "dips": None, "passing": None, "notches": None, "resolution_pct": None, "jagged": None, "time_falls": None}
    dips = curve_dips.find(busbw, sizes)
    told = [(dip["from_bytes"], dip["to_bytes"]) for kind in ("dips", "passing") for dip in dips[kind]]
    rest = np.array([not any(low <= size <= high for low, high in told) for size in sizes])  # a dip is no news twice
    falls = _falls(sizes[rest], np.median(times, axis=0)[rest])
    return {**found, **dips, "jagged": curve_dips.jagged(busbw, sizes), "time_falls": falls}


def _pct(deviation):
    return None if deviation is None else round(100 * deviation, 2)


def _latency(sizes, times):
    """Of short messages: those that take hardly longer than the shortest."""
    if not np.isfinite(times).all():
        return None
    middle = np.median(times, axis=0)
    short = (middle <= LATENCY * middle.min()) & (sizes <= SHORT)
    return curve_stats.interval(times[:, short]) if short.any() else None


def _sag(busbw):
    """By how much the bandwidth falls again behind its peak; of the placements the lesser."""
    found = []
    for rates in busbw:
        if not np.isfinite(rates).all():
            continue
        peak = int(np.argmax(np.median(rates, axis=0)))
        behind = rates.shape[1] - 1 - peak
        found.append(curve_stats.loss(rates[:, [peak] * behind], rates[:, peak + 1 :]) if behind else None)
    return None if not found or None in found else min(found, key=lambda loss: loss["low_pct"])


def _falls(sizes, times):
    """Sizes that take less time than a smaller one."""
    if not np.isfinite(times).all():
        return None
    least = np.maximum.accumulate(times)
    return [int(size) for size, took, before in zip(sizes[1:], times[1:], least[:-1]) if took < (1 - curve_dips.FALL) * before]
