"""Does the fabric work on pressing Enter? From runs without any recipe (bare), with what the provider ships, and with ours.

recipe_verdict: out_of_the_box | provider_recipe | undocumented | none, or null with recipe_verdict_reason
recipe_needs: ["NCCL_IB_TC=106"]: what our settings add to what is in force otherwise, where they are needed
recipe_judged: [{name, verdict, verdict_reason}]: the same for a row, whose name says why
"""

from __future__ import annotations

from collections import defaultdict
from statistics import median

MODES = ("bare", "provider", "ours")
BUSBW_OUT, BUSBW_IN = 3, 7  # columns of a row, accept_node/collective_rows.py
OF_THE_RUN = ("NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE")


def judge(seen: list, context: dict) -> dict:
    """The verdict, and a row of it."""
    found = verdict(seen, context)
    why = found["recipe_verdict_reason"]
    needs = f"; it needs {', '.join(found['recipe_needs'])}" if found["recipe_needs"] else ""
    name = "the largest world of several nodes" + (f": {why}" if why and found["recipe_verdict"] else "") + needs
    return {**found, "recipe_judged": [{"name": name, "verdict": found["recipe_verdict"], "verdict_reason": why}]}


def verdict(seen: list, context: dict) -> dict:
    """`seen`: (run, verdict on its transport). The largest world that was run in more than one mode decides."""
    if context.get("gain_pct") is None:
        return _unknown("nothing says how much more bandwidth counts (nccl.recipe_gain_pct)")
    worlds = defaultdict(list)
    for run, transport in seen:
        if run["mode"] in MODES and len(run["nodes"]) > 1:
            worlds[len(run["nodes"])].append((run, transport))
    wanted = {"bare"} if context.get("nothing_to_set") else {"bare", "ours"}  # where our recipe is empty, bare is ours
    compared = [size for size, runs in worlds.items() if wanted <= {run["mode"] for run, _ in runs}]
    if not compared:
        return _unknown("there is no world of several nodes that was run both bare and with our recipe")
    runs = worlds[max(compared)]
    speed = {mode: _speeds([run for run, _ in runs if run["mode"] == mode]) for mode in MODES}
    works, why = {}, {}
    for mode in MODES:
        works[mode], why[mode] = _works(mode, runs, speed, context["gain_pct"])
    said = next((word for mode, word in zip(MODES, ("out_of_the_box", "provider_recipe", "undocumented")) if works[mode]), None)
    if works["bare"] is None or (
        said == "undocumented" and works["provider"] is None and any(run["mode"] == "provider" for run, _ in runs)
    ):
        return _unknown(why["bare"] or why["provider"])
    if said is None:
        return {"recipe_verdict": "none", "recipe_verdict_reason": "; ".join(filter(None, why.values())), "recipe_needs": []}
    reason = "; ".join(f"{mode}: {why[mode]}" for mode in MODES if works[mode] is False and why[mode])
    return {"recipe_verdict": said, "recipe_verdict_reason": reason, "recipe_needs": _needs(runs) if said == "undocumented" else []}


def _unknown(reason) -> dict:
    return {"recipe_verdict": None, "recipe_verdict_reason": reason, "recipe_needs": []}


def _works(mode, runs, speed, gain_pct) -> tuple:
    """(True, False or None for not known, why not) of one mode."""
    own = [(run, transport) for run, transport in runs if run["mode"] == mode]
    if not own:
        return None, f"{mode} was not run"
    failed = [(run, transport) for run, transport in own if run["status"] in ("error", "hang")]
    if failed:
        run = failed[0][0]
        return False, f"{run['collective']}: {run.get('reason') or run['status']}"
    wrong = [transport["finding"] for _, transport in own if transport["finding"] not in ("none", None)]
    if wrong:
        return False, wrong[0]
    for collective, rate in speed[mode].items():
        best = max(speed[other].get(collective, 0.0) for other in MODES)
        if rate < best * (1 - gain_pct / 100):
            return False, f"{collective}: {rate:.1f} GB/s where {best:.1f} are had"
    if not speed[mode] or any(transport["finding"] is None for _, transport in own):
        return None, next((transport["reason"] for _, transport in own if transport["finding"] is None), "no bandwidth was measured")
    return True, ""


def _speeds(runs) -> dict:
    """Collective -> bus bandwidth at its largest size, the median of the repeats."""
    found = defaultdict(list)
    for run in runs:
        for row in reversed(run.get("rows") or []):
            rate = row[BUSBW_OUT] if row[BUSBW_OUT] is not None else row[BUSBW_IN]
            if rate:
                found[run["collective"]].append((row[0], rate))
                break
    return {name: median(rate for size, rate in pairs if size == max(pairs)[0]) for name, pairs in found.items()}


def _needs(runs) -> list:
    """Settings in force with our recipe and not without it, as the library's log tells them."""
    settings = {mode: set() for mode in MODES}
    for run, _ in runs:
        for name, values in ((run.get("transport") or {}).get("env") or {}).items():
            if name not in OF_THE_RUN:
                settings[run["mode"]].update(f"{name}={value}" for value in values)
    return sorted(settings["ours"] - settings["provider"] - settings["bare"])
