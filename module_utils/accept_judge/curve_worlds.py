"""Curves of several worlds beside each other: what the library does everywhere, what a world should reach, who is behind its like.

A world's bandwidth depends on the platform, on how many nodes and NVLink domains it spans, on NVLink between nodes being used or not, on
the rate of the network adapters and on the transport. What is expected is a value of the SKU's profile (or the contract) keyed by these:
`nccl.<collective>.<scope>[_<n>racks][_<rate>g][_<transport>]_min_gbytes_s`, a published floor, or `..._measured_gbytes_s`, what somebody
published of a system of this kind. Scopes: one_node, one_rack (one NVLink domain), scale_out (no NVLink between nodes), cross_rack.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from . import curve_stats
from .curves import Curve

KEY = re.compile(
    r"nccl\.(?P<collective>[a-z_]+)\.(?P<scope>one_node|one_rack|scale_out|cross_rack)(?:_(?P<racks>\d+)racks)?(?:_(?P<rate>\d+)g)?"
    r"(?:_(?P<transport>infiniband|roce|efa))?_(?P<kind>min|measured)_gbytes_s"
)
MEASURED_SHARE = 0.9  # of what others measured: nccl-tests itself accepts so much of its NCCL_TESTS_MIN_BW
LEAST = 2.5  # per cent: below that a curve is smooth
SWITCH = 20.0  # per cent: the library's own switches of algorithm and protocol cost less


class Expected(NamedTuple):
    gbytes_s: float
    key: str
    origin: str


def scope_of(curve: Curve, domains: dict) -> tuple[str, int] | None:
    """(scope, NVLink domains that it spans) of a world; None where it is not known which domains its nodes are of."""
    if len(curve.nodes) == 1:
        return "one_node", 1
    if not domains:  # NVLink ends at the node; without it inside, too, nothing published compares
        return ("scale_out" if curve.mode != "scale_out" else "network_alone"), len(curve.nodes)
    if curve.mode == "scale_out":
        return "scale_out", len(curve.nodes)
    found = {domains.get(node) for node in curve.nodes}
    if None in found:
        return None
    return ("one_rack", 1) if len(found) == 1 else ("cross_rack", len(found))


def expected(wanted, curve: Curve, scope: str, racks: int, rate_gbps: int | None, transport: str | None) -> Expected | None:
    """What this world should reach. `wanted` is a Lookup. A figure of fewer NVLink domains holds nothing for more."""
    fitting = []
    for key in {*wanted.overrides, *((wanted.tier or {}).get("values", ())), *((wanted.profile or {}).get("values", ()))}:
        found = KEY.fullmatch(key)
        if not found or (found["collective"], found["scope"]) != (curve.collective, scope):
            continue
        given = (found["rate"], str(rate_gbps)), (found["transport"], transport)
        if any(says and says != ours for says, ours in given) or (found["racks"] and int(found["racks"]) < racks):
            continue
        fitting.append((found["transport"] is None, found["kind"] != "min", int(found["racks"] or 10**6), key, found["kind"]))
    if not fitting:
        return None
    *_, key, kind = min(fitting)
    answer = wanted.key(key)
    share = 1.0 if kind == "min" else MEASURED_SHARE
    origin = answer.origin if kind == "min" else f"90 % of what was measured elsewhere: {answer.origin}"
    return Expected(share * answer.value, key, origin)


def switches(worlds: list[tuple[Curve, dict]]) -> None:
    """Tell the library's own switches from faults: small, and at the same size in all worlds of a collective. Such dips move from `dips`
    to `switches`; the other small ones stay in `notches`, as `one_world` where another world was measured and does not have them."""
    for curve, judged in worlds:
        judged["switches"] = []
        others = [
            other for peer, other in worlds if peer.collective == curve.collective and peer is not curve and other["dips"] is not None
        ]
        for kind in ("dips", "notches"):
            kept = []
            for dip in judged[kind] or ():
                small = dip["depth_pct"] < SWITCH and not dip["to_the_end"]
                everywhere = bool(others) and all(_near(dip, other) for other in others)
                if small and everywhere:
                    judged["switches"].append(dip)
                else:
                    kept.append({**dip, "one_world": bool(others) and not any(_near(dip, other) for other in others)})
            if judged[kind] is not None:
                judged[f"{kind}_left"] = kept
    for _, judged in worlds:
        for kind in ("dips", "notches"):
            if judged[kind] is not None:
                judged[kind] = judged.pop(f"{kind}_left")


def _near(dip, other) -> bool:
    """Is another world below its own curve, too, within one step of this dip? It may be less so: its knee stands elsewhere."""
    steps = (below for size, below in other["below_pct"].items() if dip["from_bytes"] / 2 <= size <= 2 * dip["to_bytes"])
    return max(steps, default=0.0) >= max(LEAST, dip["depth_pct"] / 3)


def behind_peers(worlds: list[tuple[Curve, dict]], scopes: list) -> dict:
    """Place in the list -> curve_stats.loss of a world against the others of its size, mode, scope and collective on other nodes, at the
    sizes of its plateau. The reference is the middle one of them; worlds without such peers are left out."""
    found = {}
    for place, (curve, judged) in enumerate(worlds):
        peers = [
            other
            for (other, _), scope in zip(worlds, scopes)
            if other is not curve
            and scope == scopes[place]
            and (other.collective, other.mode, other.ranks, other.sizes.tolist()) == (*_kind(curve), curve.sizes.tolist())
            and not set(other.nodes) & set(curve.nodes)
        ]
        if not peers or not judged["plateau"]:
            continue
        flat = curve.sizes >= judged["plateau"]["from_bytes"]
        ranked = sorted(peers, key=lambda other: float(other.busbw[0][:, flat].mean()))
        found[place] = curve_stats.loss(ranked[len(ranked) // 2].busbw[0][:, flat], curve.busbw[0][:, flat])
    return found


def _kind(curve):
    return curve.collective, curve.mode, curve.ranks


def lost_per_doubling(worlds: list[tuple[Curve, dict, str]]) -> dict:
    """Place in the list -> per cent of bandwidth lost by each doubling of the world, against the smallest one of its scope."""
    found = {}
    for place, (curve, judged, scope) in enumerate(worlds):
        smaller = [
            (len(other.nodes), other_judged["plateau"]["mean"])
            for other, other_judged, other_scope in worlds
            if other_scope == scope and _same(other, curve) and len(other.nodes) < len(curve.nodes) and other_judged["plateau"]
        ]
        if smaller and judged["plateau"]:
            nodes, rate = min(smaller)
            doublings = (len(curve.nodes) / nodes - 1) if len(curve.nodes) < 2 * nodes else math.log2(len(curve.nodes) / nodes)
            found[place] = round(100 * (1 - (judged["plateau"]["mean"] / rate) ** (1 / doublings)), 1)
    return found


def _same(one, other):
    return (one.collective, one.mode) == (other.collective, other.mode)
