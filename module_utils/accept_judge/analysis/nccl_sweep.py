"""What a sweep of collectives says: which launches came through, what carried them, the shape of each curve, worlds beside each other, and
who spoils a slow one. Bandwidth that went another way than meant is not judged, nor are launches that ended early.
"""

from __future__ import annotations

from .. import culprit, culprit_plan, curve_worlds, curves, transport
from ..nodesets import fold
from ..text_sizes import size_text

WRONG = ("wrong_out", "wrong_in")
PLOTTED = ("dips", "passing", "notches", "switches", "jagged")
SETTLED = 8 * 2**30  # bytes: at such messages published floors were measured, and below them a curve may still rise
RECIPES = ("provider", "ours")
NO_WORLD = "no launch came through that could show it"
FEW = "fewer than four sizes: no shape to judge"


def analyse(data: dict, run) -> dict:
    """launches: [{name, finding}]: "none" or what kept a launch from its end; null where that was not the cluster's doing
    corruption: [{name, wrong}] of each world: wrong values; null where they were not checked
    sizes: [{name, missing}] of each launch that came through: sizes asked for without a result
    worlds: [{name, scope, nodes, repeats, dips, passing, notches, jagged, time_falls, spread_pct, sag_at_least_pct,
        plateau_gbytes_s, expected_gbytes_s, expected_from, pct_of_expected, latency_us, knee_bytes}]; texts
        where people read them, null with `<key>_reason`
    plots: one for each collective and mode, as the report draws them
    peers: [{name, behind_at_least_pct}] of worlds that have others of their size; growth: [{name, lost_per_doubling_pct}] of those that
        have smaller ones
    unexpected: [{name}] of collectives and scopes for which nothing says what they should reach
    slow_worlds: names of worlds that a search should look at; culprits: [{name, finding}] of that search, null where there was none
    and what transport.judge returns
    """
    sweep = [one for one in data["runs"] if not one.get("round")]
    carried = transport.judge(sweep, transport.surroundings(run))
    judged = _judged(data, sweep)
    worlds = [_world(curve, found, data, carried["transport_unjudged"], sweep) for curve, found in judged]
    beside = _beside(worlds, judged, run)
    launches = [_launch(one, data["columns"]) for one in sweep]
    slow = _slow(worlds, beside["peers"], launches, sweep)
    unknown = {
        f"{world['collective']} {world['scope']}"
        for world in worlds
        if world["scope"] and not world["expected_from"] and not world["compared"]
    }
    return {
        **carried,
        "launches": launches,
        "sizes": [_sizes(one) for one in sweep if one["status"] == "ok" or (one.get("cause") == "output" and one["rows"])],
        "corruption": _corruption(data["columns"], data["runs"]),
        "worlds": worlds,
        "plots": _plots(worlds, judged),
        "unexpected": [{"name": name} for name in sorted(unknown)],
        **beside,
        "slow_worlds": slow,
        **_culprits(data, run, slow),
        **({} if worlds or slow else {"unexpected": None, "unexpected_reason": NO_WORLD, "culprits": None, "culprits_reason": NO_WORLD}),
    }


def _judged(data, sweep):
    found = [(curve, curves.judge(curve)) for curve in curves.assemble(data["columns"], sweep)]
    whole = [(curve, shape) for curve, shape in found if shape["plateau"]]
    for _, shape in whole:
        for key in ("dips", "notches", "passing"):
            shape.setdefault(key, None)
    curve_worlds.switches(whole)
    return whole


def name_of(one) -> str:
    """A run or a world, as people call it."""
    return f"{one['collective']} on {one['node_set']}, {one['mode']}"


def _launch(one, columns) -> dict:
    told = {"name": f"{name_of(one)}, repeat {one['repeat'] + 1}", "finding": "none"}
    whole = one["rows"] and one["rows"][-1][0] == one.get("max_bytes") and one.get("cause") == "output"
    if one["status"] == "ok" or (whole and _wrong(one, columns)):  # wrong values to the last size: it came through, and has its own row
        return told
    at = one.get("unfinished_bytes")
    what = f"{one['status']}{f' at {size_text(at)}' if at else ''}: {one['reason']}"
    if one.get("cause") in culprit_plan.NOT_THE_CLUSTER:
        return {**told, "finding": None, "finding_reason": what}
    return {**told, "finding": what}


def _sizes(one) -> dict:
    """Sizes that a launch was asked for and has no time for. Small ones that the tools round to others, or to none, are not missed."""
    have = [row[0] for row in one["rows"] if row[1] is not None or row[3] is not None]
    low, high = one.get("min_bytes") or 1, one.get("max_bytes") or 0
    asked = [low << power for power in range(64) if max(low, curves.ALIGNED * one["ranks"]) <= low << power <= high]
    lacking = [size for size in asked if not any(size / 2 < there <= size for there in have)]
    return {"name": f"{name_of(one)}, repeat {one['repeat'] + 1}", "missing": [size_text(size) for size in lacking]}


def _wrong(one, columns) -> int | None:
    """How many values were wrong; None where they were not checked."""
    places = [columns.index(name) for name in WRONG]
    counts = [row[place] for row in one["rows"] for place in places if row[place] is not None]
    return int(sum(counts)) if counts else None


def _corruption(columns, runs) -> list:
    """Wrong values of each set of nodes. A larger world with wrong values tells nothing new beside a smaller one inside it."""
    wrong: dict = {}
    for one in runs:
        if not one["rows"]:
            continue  # why there are none is said elsewhere
        count = _wrong(one, columns)
        key = one["collective"], frozenset(one["nodes"])
        known = wrong.setdefault(key, {"name": f"{one['collective']} on {one['node_set']}", "wrong": None})
        if count is not None:
            known["wrong"] = (known["wrong"] or 0) + count
    bad = {nodes for (_, nodes), known in wrong.items() if known["wrong"]}
    return [
        known if known["wrong"] is not None else {**known, "wrong_reason": "values were not checked (#wrong is N/A)"}
        for (_, nodes), known in wrong.items()
        if not known["wrong"] or not any(smaller < nodes for smaller in bad)
    ]


def _world(curve, shape, data, refused, sweep) -> dict:
    mine = [one for one in sweep if curves.world_of(one) == curve[:4]]
    whys = [refused[one["name"]] for one in mine if one["name"] in refused and one.get("transport")]
    silent = [refused[one["name"]] for one in mine if one["name"] in refused and not one.get("transport")]
    plateau, latency, sag = shape["plateau"], shape["latency"], shape["sag"]
    told = {
        "name": name_of({**curve._asdict(), "node_set": fold(curve.nodes)}),
        "collective": curve.collective,
        "mode": curve.mode,
        "nodes": len(curve.nodes),
        "ranks": curve.ranks,
        "repeats": curve.busbw.shape[1],
        "knee_bytes": shape["knee_bytes"],
        "latency_us": latency and round(latency["mean"], 2),
        "plateau_gbytes_s": _interval(plateau),
    }
    values = {key: _texts(shape[key]) for key in ("dips", "passing", "jagged")}
    values["notches"] = None if shape["notches"] is None else _texts([dip for dip in shape["notches"] if dip["one_world"]])
    values["time_falls"] = shape["time_falls"] and [size_text(size) for size in shape["time_falls"]]
    values["spread_pct"] = shape["spread_pct"]
    values["sag_at_least_pct"] = sag and round(sag["low_pct"], 1)
    if shape.get("resolution_pct") and shape["resolution_pct"] > curves.COARSEST and not values["dips"]:
        values.update(dips=None, dips_reason=f"repeats differ by so much that a dip below {shape['resolution_pct']:.0f} % cannot be told")
    reasons = {"spread_pct": "one repeat: there is no spread", "sag_at_least_pct": "it needs two repeats, and a size behind the peak"}
    for key in ("dips", "passing", "jagged", "notches", "time_falls", "spread_pct", "sag_at_least_pct"):
        if whys:
            values[key] = None
        if values[key] is None:
            values.setdefault(key + "_reason", f"not judged: {whys[0]}" if whys else reasons.get(key, FEW))
    return {**told, **values, "refused": (whys or [""])[0], "silent": (silent or [""])[0]}


def _beside(worlds, judged, run) -> dict:
    """Adds scope and expectation to each world; returns peers and growth."""
    beside: dict = {"peers": [], "growth": []}
    domains, rate = _domains(run), _rate(run.wanted)
    scopes = [curve_worlds.scope_of(curve, domains) for curve, _ in judged]
    peers = curve_worlds.behind_peers(judged, scopes)
    growth = curve_worlds.lost_per_doubling([(curve, shape, scope and scope[0]) for (curve, shape), scope in zip(judged, scopes)])
    recipe = any(world["mode"] in RECIPES for world in worlds)
    for place, (world, (curve, shape), scope) in enumerate(zip(worlds, judged, scopes)):
        wanted = scope and curve_worlds.expected(run.wanted, curve, *scope, rate, run.context.get("transport"))
        if recipe and curve.mode == "bare":
            wanted = None
        world["compared"] = recipe and curve.mode == "bare"  # with the recipe's runs: what jobs get is what the recipe gives
        world["scope"] = scope and scope[0]
        world["expected_gbytes_s"], world["expected_from"] = (wanted.gbytes_s, wanted.origin) if wanted else (None, None)
        wrong, silent = world.pop("refused"), world.pop("silent")
        settled = shape["plateau"]["reached"] or curve.sizes[-1] >= SETTLED
        short = "" if settled else f"its largest message, {size_text(int(curve.sizes[-1]))}, is short of its plateau"
        why = wrong or silent or short
        world["pct_of_expected"] = _pct(shape["plateau"], wanted.gbytes_s) if wanted and not why else None
        if world["pct_of_expected"] is None:
            world["pct_of_expected_reason"] = f"not judged: {why}" if why else "nothing says what it should reach"
        if place in peers:
            loss = peers[place] if not wrong else None
            why = f"not judged: {wrong}" if wrong else "one repeat: nothing says how far worlds differ by chance"
            beside["peers"].append({"name": world["name"], **_told("behind_at_least_pct", loss and round(loss["low_pct"], 1), why)})
        if place in growth:
            value, why = (None if wrong or short else growth[place]), f"not judged: {wrong or short}"
            beside["growth"].append({"name": world["name"], **_told("lost_per_doubling_pct", value, why)})
    return beside


def _told(key, value, why) -> dict:
    return {key: value, **({key + "_reason": why} if value is None else {})}


def _domains(run) -> dict:
    """Node -> NVLink domain, where NVLink joins nodes; empty where it does not."""
    if run.context.get("form") != "nvl72":
        return {}
    return transport.surroundings(run)["domains"] or {"": None}


def _rate(wanted) -> int | None:
    """Gb/s of network that each GPU has: of a rack with half the adapters no full figure holds."""
    rate, adapters, gpus = (wanted.key(key).value for key in ("nic.rate_gbps", "nic.count", "gpu.count"))
    return int(rate * adapters / gpus) if rate and adapters and gpus else None


def _pct(plateau, wanted):
    if plateau["low"] is None:
        return round(100 * plateau["mean"] / wanted, 1)
    return [round(100 * plateau[key] / wanted, 1) for key in ("low", "high")]


def _interval(found):
    if found["low"] is None:
        return round(found["mean"], 2)
    return [round(found[key], 2) for key in ("low", "high")]


def _texts(dips):
    """Dips and jagged stretches as a reader finds them in the curve."""
    if dips is None:
        return None
    found = []
    for dip in dips:
        where = size_text(dip["from_bytes"])
        if dip["to_bytes"] != dip["from_bytes"]:
            where += " and on" if dip.get("to_the_end") else f" to {size_text(dip['to_bytes'])}"
        deep = f"{dip['depth_pct']:.0f} % below" if "depth_pct" in dip else f"swings by {dip['swing_pct']:.0f} %"
        found.append(f"{where}: {deep}" + (f", in {dip['times']} of {dip['of']} repeats" if "times" in dip else ""))
    return found


def _plots(worlds, judged) -> list:
    """{"kind": "curves", "title", "curves": [{"label", "sizes", "busbw": [repeat][size], "fit", "fit_sizes", "marks": [{"kind",
    "from_bytes", "to_bytes", "text"}], "expected_gbytes_s", "facts": {title: text}}]}, GB/s and bytes"""
    plots: dict = {}
    for world, (curve, shape) in sorted(zip(worlds, judged), key=lambda pair: (pair[0]["nodes"], pair[0]["name"])):
        plot = plots.setdefault(
            (curve.collective, curve.mode), {"kind": "curves", "title": f"{curve.collective}, {curve.mode}", "curves": []}
        )
        plot["curves"].append(_drawn(world, curve, shape))
    return [plot for _, plot in sorted(plots.items())]


def _drawn(world, curve, shape) -> dict:
    plateau, spread = world["plateau_gbytes_s"], world["spread_pct"]
    expected = world["expected_gbytes_s"]
    facts = {
        "Plateau": " to ".join(dict.fromkeys(f"{rate:.4g}" for rate in (plateau if isinstance(plateau, list) else [plateau]))) + " GB/s",
        "Expected": f"{expected:g} GB/s" if expected else "nothing published",
        "Knee": size_text(world["knee_bytes"]),
        "Latency": f"{world['latency_us']:g} µs" if world["latency_us"] else "not measured",
        "Spread": f"{spread:g} %" if spread is not None else "not measured",
        "Repeats": str(world["repeats"]),
    }
    marks = [
        {"kind": kind, "from_bytes": dip["from_bytes"], "to_bytes": dip["to_bytes"], "text": _texts([dip])[0]}
        for kind in PLOTTED
        for dip in shape.get(kind) or ()
    ]
    return {
        "label": f"{world['nodes']} {'node' if world['nodes'] == 1 else 'nodes'}, {fold(curve.nodes)}",
        "sizes": curve.sizes.tolist(),
        "busbw": [[_short(value) for value in repeat] for repeat in curve.busbw[0].tolist()],
        "fit": [_short(value) for value in shape["fit"]["isotonic_gbytes_s"]],
        "fit_sizes": shape["fit"]["sizes"],
        "marks": marks,
        "expected_gbytes_s": expected,
        "facts": facts,
    }


def _short(value):
    return float(f"{value:.4g}") if value == value else None


def _slow(worlds, peers, launches, sweep) -> list:
    """Worlds of more than one node that hang, break, or are slower than they should be."""
    named = [name_of(one) for one, launch in zip(sweep, launches) if launch["finding"] not in ("none", None) and len(one["nodes"]) > 1]
    behind = {one["name"] for one in peers if (one["behind_at_least_pct"] or 0) > curves.LOSS}
    for world in worlds:
        pct = world["pct_of_expected"]
        short = pct is not None and (pct[1] if isinstance(pct, list) else pct) < 100
        if world["nodes"] > 1 and (short or world["name"] in behind):
            named.append(world["name"])
    return list(dict.fromkeys(named))


def _culprits(data, run, slow) -> dict:
    """Of the search, replayed from its plan and the launches that it made."""
    search = culprit_plan.of_nodes(run.run_dir, data["placement"])
    if search is None:
        return {"culprits": None, "culprits_reason": f"nobody was looked for in {slow[0]}"} if slow else {"culprits": []}
    _, found = culprit.next_round(search["plan"], culprit_plan.outcomes(search, data["columns"], data["runs"]))
    if found is None:
        return {"culprits": None, "culprits_reason": "the search did not come to its end"}
    left = sorted({*found["unsettled"], *found["untested"]})
    if left and not found["culprits"]:
        return {"culprits": None, "culprits_reason": f"the search could not settle {fold(left)}"}
    return {
        "culprits": [
            {"name": one["nodes"][0] if one["kind"] in ("node", "rail") else one["name"], **_said(one)} for one in found["culprits"]
        ]
    }


def _said(one) -> dict:
    speed = "hangs" if one["hangs"] else f"{one['busbw_gbytes_s']:.0f} GB/s where {one['reference_gbytes_s']:.0f} are usual"
    partners = f", with {' and '.join(one['partners'])}" if one["partners"] else ""
    what = f"its rail {one['rail']}" if one["rail"] else f"the {one['kind']}"
    return {"finding": f"{what}, {culprit_plan.TITLES[one['stage']]}: {speed}{partners}"}
