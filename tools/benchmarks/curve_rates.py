"""How often the curve judge is wrong, on curves with known answers: false alarms on healthy ones, misses of dips and losses put in."""

from __future__ import annotations

import sys
import time

import numpy as np
from accept_judge import curve_stats, curves

from .measure import ROOT, at_most, row

sys.path.append(str(ROOT / "tests"))

import labelled_curves as labelled

SIMULATED, DEPTH, SEED = 40, 0.25, 20261201
FLAT = slice(-5, None)


def figures():
    """Rows of tools/benchmarks/collectives.py."""
    rng = np.random.default_rng(SEED)
    published = labelled.published() if labelled.CORPUS.is_dir() else {}
    made = labelled.simulated(SIMULATED, rng)
    yield _false("published", published, rng)
    yield _false("simulated", made, rng)
    everything, spent = {**published, **made}, []
    found, missed = _misses(everything, (0, 2), rng, spent)
    of_all = f"of {found} dips of 25 % in {len(everything)} curves"
    yield at_most("dip_misses_pct", 100 * missed / found, "%", 0, f"in two of three repeats, {of_all}")
    found, missed = _misses(everything, (0, 1, 2), rng, spent)
    yield row("dip_misses_by_shape_alone_pct", 100 * missed / found, "%", "-", True, f"in all repeats, no other to compare with, {of_all}")
    losses = [_loss(parts, rng) for parts in everything.values() if len(parts[2]) > 9 for _ in range(5)]
    lost = sum(not loss for loss, _ in losses)
    yield at_most(
        "plateau_loss_misses_pct", 100 * lost / len(losses), "%", 0, f"5 % at a spread of 1 %, three repeats, {len(losses)} pairs"
    )
    false = sum(same for _, same in losses)
    yield at_most("plateau_loss_false_alarms_pct", 100 * false / len(losses), "%", 0, f"of {len(losses)} pairs without a loss")
    yield at_most("curve_cpu", 1000 * float(np.median(spent)), "ms", 5, f"median of {len(spent)} curves of three repeats, fits and all")


def _false(name, healthy, rng):
    wrong, count = 0, 0
    for parts in healthy.values():
        for repeats in (1, 3, 3, 3, 3):
            wrong += bool(labelled.alarms(curves.judge(labelled.curve(*parts, repeats=repeats, rng=rng))))
            count += 1
    note = f"{count} curves from {len(healthy)}, as they are and three times over" if count else "no published outputs at hand"
    return row(f"false_alarms_{name}_pct", 100 * wrong / max(count, 1), "%", "<= 0", wrong == 0 and count > 0, note)


def _misses(healthy, repeats, rng, spent):
    found = missed = 0
    for parts in healthy.values():
        curve = labelled.curve(*parts, rng=rng)
        for place in range(1, len(curve.sizes)):
            dipped = labelled.dipped(curve, place, DEPTH, repeats)
            start = time.process_time()
            judged = curves.judge(dipped)
            spent.append(time.process_time() - start)
            found += 1
            missed += not labelled.covers(judged, curve.sizes[place])
    return found, missed


def _loss(parts, rng):
    """(is a loss of 5 % found, is one found where there is none)"""
    reference, other = (labelled.curve(*parts, rng=rng).busbw[0][:, FLAT] for _ in range(2))
    return tuple(curve_stats.loss(reference, factor * other)["low_pct"] > curves.LOSS for factor in (0.95, 1.0))
