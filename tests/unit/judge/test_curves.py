"""The curve judge on curves with known answers: published healthy ones, simulated ones, and the same with a dip put in."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from accept_judge import curve_dips, curve_fits, curve_stats, curves
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import labelled_curves as labelled

COLUMNS = ["bytes"] + [
    f"{key}_{side}{unit}" for side in ("out", "in") for key, unit in (("time", "_us"), ("busbw", "_gbytes_s"), ("wrong", ""))
]


def run(rows, **said):
    return {"collective": "all_reduce", "mode": "bare", "nodes": ["n1", "n2"], "ranks": 16, "status": "ok", "rows": rows, **said}


@pytest.fixture
def rng():
    return np.random.default_rng(20261201)


@pytest.fixture(scope="session")
def published(corpus):
    return labelled.published(corpus)


def test_published_healthy_curves_raise_no_alarm_as_published_and_repeated(published, rng):
    assert len(published) == len(labelled.HEALTHY)
    for name, parts in published.items():
        for repeats in (1, 3):
            found = curves.judge(labelled.curve(*parts, repeats=repeats, rng=rng))
            assert labelled.alarms(found) == [], (name, repeats, found["dips"], found["sag"])


def test_every_dip_of_a_quarter_in_two_of_three_repeats_of_published_curves_is_found(published, rng):
    for name, parts in published.items():
        healthy = labelled.curve(*parts, rng=rng)
        for place in range(1, len(healthy.sizes)):
            found = curves.judge(labelled.dipped(healthy, place, 0.25, (0, 2)))
            assert labelled.covers(found, healthy.sizes[place]), (name, healthy.sizes[place])
            dip = next(dip for dip in found["dips"] if dip["from_bytes"] <= healthy.sizes[place] <= dip["to_bytes"])
            assert (dip["times"], dip["of"]) == (2, 3)


def test_the_published_dip_and_the_published_collapse_are_found(corpus, rng):
    for name, first, last in (
        ("iss1244_h20_dip_128M_noheader.txt", 134217728, 134217728),
        ("iss1453_rank_prefix_midline_collapse.txt", 67108864, 536870912),
    ):
        rows = labelled.table(corpus / "a_nccl" / name)
        found = curves.judge(labelled.curve("all_reduce", 16, rows[:, 0], rows[:, 1], rows[:, 2], repeats=1))
        assert [(dip["from_bytes"], dip["to_bytes"]) for dip in found["dips"]][-1] == (first, last)
    assert found["dips"][-1]["to_the_end"]


def test_a_dip_in_one_repeat_of_three_is_passing(rng):
    (parts,) = labelled.simulated(1, rng).values()
    found = curves.judge(labelled.dipped(labelled.curve(*parts, rng=rng), 20, 0.4, [1]))
    assert found["dips"] == []
    assert [(dip["times"], dip["of"]) for dip in found["passing"]] == [(1, 3)]


def test_what_one_placement_alone_shows_is_jitter(rng):
    (parts,) = labelled.simulated(1, rng).values()
    healthy = labelled.curve(*parts, rng=rng)
    busbw = healthy.busbw.copy()
    busbw[0, :, 20] *= 0.6
    assert curves.judge(healthy._replace(busbw=busbw))["dips"] == []


def test_a_plateau_loss_of_five_per_cent_is_found_and_no_loss_is_not(rng):
    missed = false = 0
    for parts in labelled.simulated(60, rng).values():
        reference, same = labelled.curve(*parts, rng=rng), labelled.curve(*parts, rng=rng)
        flat = slice(-5, None)
        less = curve_stats.loss(reference.busbw[0][:, flat], 0.95 * same.busbw[0][:, flat])
        none = curve_stats.loss(reference.busbw[0][:, flat], same.busbw[0][:, flat])
        missed += less["low_pct"] < 2
        false += none["low_pct"] > 2
    assert (missed, false) == (0, 0)


def test_a_fall_behind_the_peak_is_a_sag(rng):
    (parts,) = labelled.simulated(1, rng).values()
    healthy = labelled.curve(*parts, rng=rng)
    worse = labelled.dipped(healthy, 29, 0.07, range(3), wide=3)
    assert curves.judge(worse)["sag"]["low_pct"] > 1.5


def test_times_that_fall_with_size_and_a_jagged_stretch_are_told():
    sizes = 2.0 ** np.arange(10, 24)
    times = 20 + sizes / 100e3
    jag = np.where(np.arange(14) % 2, 1.25, 0.8)
    steady = curves.judge(labelled.curve("broadcast", 8, sizes, times, times, repeats=1))
    rough = curves.judge(labelled.curve("broadcast", 8, sizes, times * jag, times * jag, repeats=1))
    assert (steady["jagged"], steady["time_falls"]) == ([], [])
    assert rough["jagged"]
    out = labelled.curve("broadcast", 8, sizes, times * jag, times, repeats=1)
    assert curves.judge(out)["time_falls"], "a placement that the other does not bear out is no dip, and not passed over"


def test_noise_that_hides_dips_is_said(corpus):
    rows = labelled.table(corpus / "a_nccl" / "deepops_allreduce_old_error_column.txt")
    found = curves.judge(labelled.curve("all_reduce", 2, rows[:, 0], rows[:, 1], rows[:, 2], repeats=1))
    assert found["resolution_pct"] > curves.COARSEST


def test_assembly_keeps_worlds_apart_repeats_together_and_unfinished_runs_out():
    rows = [[1024, 10.0, 0.19, 0, 10.0, 0.19, 0], [2048, 10.5, 0.36, 0, 10.4, 0.36, 0]]
    runs = [run(rows), run(rows), run(rows, nodes=["n1"]), run(rows[:1], status="partial"), run([], status="hang")]
    found = curves.assemble(COLUMNS, runs)
    assert sorted((len(curve.nodes), curve.busbw.shape) for curve in found) == [(1, (2, 1, 2)), (2, (2, 2, 2))]
    assert found[0].busbw[0, 0, 0] == pytest.approx(1.875 * 1024 / 10 / 1000)


def test_missing_sizes_are_told_and_rounded_small_ones_are_not():
    rows = [[size, 10.0, 0.1, 0, None, None, None] for size in (0, 480, 1024, 4096)]
    (curve,) = curves.assemble(COLUMNS, [run(rows)])
    assert curves.missing(curve, [8, 256, 512, 1024, 2048, 4096]) == [2048]


def test_a_size_without_time_in_one_repeat_is_missing_and_does_not_break_the_rest():
    whole = [[2**power, 10.0 + 2**power / 1e4, 1.0, 0, None, None, None] for power in range(10, 20)]
    hole = [[*row[:1], None, None, *row[3:]] if row[0] == 2**14 else row for row in whole]
    (curve,) = curves.assemble(COLUMNS, [run(whole), run(hole)])
    assert curves.missing(curve, [2**power for power in range(10, 20)]) == [2**14]
    assert curves.judge(curve)["dips"] == []


@given(st.lists(st.floats(0.001, 1e4), min_size=1, max_size=40))
def test_the_isotonic_fit_never_falls_keeps_the_mean_and_leaves_a_rising_curve_alone(values):
    fitted = curve_fits.isotonic(values)
    assert np.all(np.diff(fitted) >= -1e-9)
    assert np.mean(fitted) == pytest.approx(np.mean(values))
    assert curve_fits.isotonic(sorted(values)).tolist() == sorted(values)


@given(st.floats(5, 900), st.floats(14, 28), st.floats(0.4, 1.2))
@settings(deadline=None, max_examples=50)
def test_the_logistic_fit_finds_what_made_the_curve(plateau, middle, slope):
    sizes = 2.0 ** np.arange(10, 35)
    made = {"plateau_gbytes_s": plateau, "half_bytes": 2**middle, "slope": slope}
    found = curve_fits.logistic(sizes, curve_fits.value(made, sizes))
    assert found["plateau_gbytes_s"] == pytest.approx(plateau, rel=0.05)
    assert found["slope"] == pytest.approx(slope, rel=0.05)


@given(st.lists(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=12), min_size=1, max_size=4))
@settings(deadline=None, max_examples=80)
def test_any_times_are_judged_without_a_traceback(repeats):
    shortest = min(map(len, repeats))
    runs = [run([[2 ** (10 + n), took, None, 0, None, None, None] for n, took in enumerate(times[:shortest])]) for times in repeats]
    for curve in curves.assemble(COLUMNS, runs):
        assert curves.judge(curve)["plateau"]["mean"] > 0


def test_an_interval_of_one_repeat_has_no_bounds():
    assert curve_stats.interval([[100.0, 100.0]])["low"] is None
    assert curve_stats.loss([[100.0]], [[90.0]]) is None
    assert curve_stats.t95(0) == float("inf")


def test_depths_of_a_hand_made_curve():
    sizes = 2.0 ** np.arange(20, 27)
    busbw = np.array([100, 200, 300, 150, 380, 390, 395.0])[None, None]
    fallen, _ = curve_dips.depths(busbw, sizes)
    assert fallen[0, 3] == pytest.approx(0.5)
    assert (fallen[0] < 1e-9).sum() == 6
