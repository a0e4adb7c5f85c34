"""What the rounds of RDMA traffic say of this node, rail by rail.

A rail is as fast as with its best partner, of sending and receiving the worse: with the others the other end, or the path, was slow. What a
slow pair of two good rails says is a path's, and what one failed test says while a rail worked with others is its partner's.
"""

from __future__ import annotations

from ..pairs import NEAR_MEDIAN
from ..rdma_plan import PASSES

CONCERN = "rdma_bandwidth"
RATES = {"loopback": "loopback_gbps", "together": "together_gbps", "alone": "alone_gbps", "read": "read_gbps", "gpu": "gpu_gbps"}
OTHER = {"client": "server", "server": "client"}
NOT_BEGUN = ("refused", "peer_lost", "no_client", "not_run")


def analyse(data: dict, run) -> dict:
    """rails: [{name, state, loopback_gbps, together_gbps, alone_gbps, read_gbps, read_pct_of_write, gpu_gbps, latency_us, finding,
        partners}]; null with `<key>_reason`. `finding` is "none", or what breaks this rail with every partner; null where that cannot be
        told from the partner.
    rails_tested: rails on which a pair has worked. slow_paths, passing: lines on pairs of good rails that were slow, at last or only once.
    incasts: [{name, senders, failed, gbps}] of ports that many sent to; null where that was not run. recipe: the traffic class, "none"
    """
    if data.get("devices") is None:
        return {"rails": None, "rails_tested": None, "slow_paths": None, "passing": None, "incasts": None, "recipe": None}
    tests = data["tests"]
    names = {entry["device"] for entry in tests} or _fastest(data["devices"])
    rails = [_rail(device, data, run) for device in data["devices"] if device["name"] in names]
    paired = [entry for entry in tests if entry["kind"] == "pair"]
    paths, passing = _paths(data, run)
    worked = any(entry["pass"] == "together" and entry["status"] == "ok" for entry in paired)  # else no rail is known good
    facts = {
        "rails": rails,
        "rails_tested": sum(rail["partners"] > 0 for rail in rails) if paired else None,
        "slow_paths": paths if worked else None,
        "passing": passing if worked else None,
        "incasts": _incasts(tests),
        "recipe": None if not tests else "none" if tests[0]["traffic_class"] is None else str(tests[0]["traffic_class"]),
    }
    why = _why_nothing(data, "together", None)
    return {
        **facts,
        **{key + "_reason": why for key in ("rails_tested", "slow_paths", "passing", "recipe") if facts[key] is None},
        **_unrun(tests),
    }


def _fastest(devices):
    most = max((device["rate_gbps"] or 0 for device in devices), default=0)
    return {device["name"] for device in devices if device["rate_gbps"] == most}


def _unrun(tests):
    ran = any(entry["kind"] == "incast" for entry in tests)
    return {} if ran else {"incasts_reason": "incast was not run: it belongs to accept_depth standard, and needs three nodes"}


def _rail(device, data, run) -> dict:
    told = {"name": device["name"], "state": device["state"]}
    tests = [entry for entry in data["tests"] if entry["device"] == device["name"]]
    for name, key in RATES.items():
        best = _best([entry for entry in tests if entry["pass"] == name])
        told[key] = min(best.values(), default=None)
        if not best:
            told[key + "_reason"] = _why_nothing(data, name, device)
    latencies = [entry["latency_us"] for entry in tests if entry["latency_us"] is not None and entry["status"] == "ok"]
    told["latency_us"] = min(latencies, default=None)
    if not latencies:
        told["latency_us_reason"] = _why_nothing(data, "latency", device)
    both = told["read_gbps"] and told["together_gbps"]
    told["read_pct_of_write"] = round(100 * told["read_gbps"] / told["together_gbps"], 1) if both else None
    if not both:
        told["read_pct_of_write_reason"] = told.get("read_gbps_reason") or told.get("together_gbps_reason")
    told["partners"] = len({entry["peer"] for entry in tests if entry["kind"] == "pair" and entry["status"] == "ok"})
    told["finding"], reason = _finding(device["name"], tests, run)
    return {**told, **({"finding_reason": reason} if reason else {})}


def _why_nothing(data, name, device) -> str:
    """Why there is no figure of a pass."""
    if not data["perftest"]["installed"]:
        return "perftest is not installed" if data["perftest"]["installed"] is False else "perftest could not be asked"
    if device is not None and device["state"] != "ACTIVE":
        return f"the port is {device['state'] or 'in no known state'}: no traffic"
    said = [entry for entry in data["tests"] if entry["pass"] == name and (device is None or entry["device"] == device["name"])]
    if said:
        return "; ".join(dict.fromkeys(f"{entry['status']} with {entry['peer']}: {entry['reason']}" for entry in said[:2]))
    if name == "gpu":
        if data["perftest"]["gpu_memory"] in (None, "none"):
            return "this perftest was built without GPU memory (--use_cuda, --use_rocm), or the node has no GPU that it knows"
        if device is not None and device["gpu"] is None:
            return "no GPU is nearest to this adapter"
    return f"no test of the pass {name}: it was not part of this depth, or there was no partner" if name in PASSES else "not run"


def _finding(rail, tests, run):
    """("none" | what breaks the rail | None, why it cannot be told)"""
    pairs = [entry for entry in tests if entry["kind"] == "pair" and entry["memory"] == "host"]
    broken = [entry for entry in pairs if entry["status"] in ("failed", "hung")]
    if not any(entry["status"] not in NOT_BEGUN for entry in pairs):
        return None, "no pair has begun on this rail"
    if not broken or any(entry["status"] == "ok" and entry["verb"] == "write_bw" for entry in pairs):
        return "none", ""
    partners = {entry["peer"] for entry in broken}
    good = [peer for peer in sorted(partners) if any(side[0] == rail for side in _peer(run, peer))]
    line = f"{broken[0]['status']} with {', '.join(sorted(partners))}: {broken[0]['reason']}"
    return (line, "") if len(good) >= 2 else (None, f"{line}; not known whether the partners' rail is good")


def _best(tests) -> dict:
    """(rail, role) -> best rate."""
    best: dict = {}
    for entry in tests:
        if entry["status"] == "ok" and entry["gbps"] is not None:
            side = entry["device"], entry["role"]
            best[side] = max(best.get(side, 0.0), entry["gbps"])
    return best


def _peer(run, host) -> dict:
    """The same of another node's pairs, all rails at once."""
    return _best(entry for entry in (run.fact(host, CONCERN).data or {}).get("tests") or () if entry["pass"] == "together")


def _paths(data, run):
    """(lines on slow paths, lines on pairs that were slow and then were not). Both ends of such a pair are fast with others."""
    wanted = run.wanted.key("nic.ib_write_bw_min_gbps").value
    together = [entry for entry in data["tests"] if entry["pass"] == "together" and entry["status"] not in NOT_BEGUN]
    own, pairs = _best(together), {}
    for entry in sorted(together, key=lambda entry: entry["number"]):
        pairs.setdefault((entry["device"], entry["peer"], entry["role"]), []).append(entry)
    paths, passing = [], []
    for (rail, peer, role), entries in sorted(pairs.items()):
        limit = wanted or NEAR_MEDIAN * own.get((rail, role), 0.0)
        slow = [entry for entry in entries if (entry["gbps"] or 0.0) < limit]
        if not slow or own.get((rail, role), 0.0) < limit or _peer(run, peer).get((rail, OTHER[role]), 0.0) < limit:
            continue  # fast; or a rail is slow, this one or the other, and its own row says so
        way, last = ("to" if role == "client" else "from"), entries[-1]
        rates = ", then ".join(f"{entry['gbps']:.0f} Gb/s" if entry["gbps"] is not None else entry["status"] for entry in entries)
        (paths if last in slow else passing).append(f"{rail} {way} {peer}: {rates}")
    return paths, passing


def _incasts(tests):
    if not any(entry["kind"] == "incast" for entry in tests):
        return None
    ports: dict = {}
    for entry in tests:
        if entry["kind"] == "incast" and entry["role"] == "server":
            ports.setdefault(entry["device"], []).append(entry)
    return [
        {
            "name": name,
            "senders": len(entries),
            "failed": sum(entry["status"] in ("failed", "hung", "peer_lost") for entry in entries)
            if any(entry["status"] not in NOT_BEGUN for entry in entries)
            else None,
            "gbps": round(sum(entry["gbps"] or 0.0 for entry in entries), 2),
        }
        for name, entries in sorted(ports.items())
    ]
