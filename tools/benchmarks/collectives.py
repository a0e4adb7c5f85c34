"""Collectives: how right the curve judge is and what a curve costs; how fast a bad node is found, a log and its table are read, and a real
sweep is done."""

from __future__ import annotations

from . import culprits, curve_rates, library_logs, live_sweep, sweep_tables


def figures():
    yield from curve_rates.figures()
    yield from culprits.figures()
    yield from library_logs.figures()
    yield from sweep_tables.figures()
    yield from live_sweep.figures()
