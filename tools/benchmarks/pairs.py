"""The pair plan of a large cluster: how many rounds a pass takes until planted slow rails are named, and how long the planning takes."""

from __future__ import annotations

import math
import random
import time

from accept_judge import pairs

from .measure import at_most

NODES, RAILS, SLOW, FLOOR = 1024, 8, 16, 384.0


def figures():
    """Rows of tools/benchmarks/fabric.py."""
    nodes, rails, rng = [f"n{number:04d}" for number in range(NODES)], [f"mlx5_{number}" for number in range(RAILS)], random.Random(7)
    planted = {(rng.choice(nodes), rng.choice(rails)) for _ in range(SLOW)}
    outcomes, rounds, spent = [], 0, 0.0
    while True:
        start = time.process_time()
        chosen = pairs.next_round(nodes, outcomes, rounds, FLOOR)
        spent += time.process_time() - start
        if not chosen:
            break
        for sender, receiver in chosen:
            for rail in rails:
                slow = {(sender, rail), (receiver, rail)} & planted
                outcomes.append(pairs.Outcome(rounds, sender, receiver, rail, 190.0 if slow else 391.0))
        rounds += 1
    named = {(row["node"], row["rail"]) for row in pairs.verdict(nodes, outcomes, FLOOR)["culprits"]}
    if named != planted:
        raise RuntimeError(f"the plan named {sorted(named ^ planted)} wrongly")
    limit = 4 + int(math.log2(NODES))
    yield at_most(
        "pair_plan_rounds", rounds, "rounds", limit, f"{NODES} nodes, {RAILS} rails, {len(planted)} slow rails, all named and no other"
    )
    yield at_most("pair_plan_cpu", spent, "s", 5, "controller's CPU time of all rounds")
