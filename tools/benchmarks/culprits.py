"""The search for bad nodes in a large simulated cluster: how many rounds of parallel launches until all are named, and nobody else."""

from __future__ import annotations

import random
import time

from accept_judge import culprit, culprit_plan

from .measure import at_most

NODES, LEAF, SEEDS, SPREAD = 1024, 32, 8, 0.01
RATES = {"alone": 450.0, "scale_out": 390.0, "across": 380.0}


def figures():
    """Rows of tools/benchmarks/collectives.py."""
    nodes = {f"n{number:04d}": {"rack": None, "leaf": f"leaf{number // LEAF:02d}"} for number in range(NODES)}
    plan = culprit_plan.make(nodes)
    limit = culprit.budget(plan)
    for planted in (1, 3):
        rounds, spent = [], 0.0
        for seed in range(SEEDS):
            share = None if seed % 2 else 0.5
            count, cpu = _search(plan, random.Random(seed), planted, share)
            rounds.append(count)
            spent = max(spent, cpu)
        note = f"{NODES} nodes, {planted} bad, slow and hanging in turn, {SEEDS} draws: all named and no other; {spent:.2f} s of planning"
        yield at_most(f"culprit_rounds_{planted}_bad", max(rounds), "rounds", limit, note)


def _search(plan, rng, planted, share):
    bad, outcomes, spent = set(rng.sample(sorted(plan["nodes"]), planted)), [], 0.0
    while True:
        start = time.process_time()
        launches, found = culprit.next_round(plan, outcomes)
        spent += time.process_time() - start
        if found is not None:
            break
        outcomes.append([_rate(launch, bad, share, rng) for launch in launches])
    named = {node for one in found["culprits"] for node in one["nodes"]}
    if named != bad:
        raise RuntimeError(f"the search named {sorted(named ^ bad)} wrongly")
    return found["rounds"], spent


def _rate(launch, bad, share, rng):
    if bad & set(launch.nodes) and launch.stage != "alone":
        return share if share is None else share * RATES[launch.stage]
    return RATES[launch.stage] * (1 + rng.gauss(0, SPREAD))
