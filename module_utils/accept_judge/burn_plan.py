"""The plan of a burn-in: who is loaded when, who exchanges with whom, and when each node is asked again. `plans/burn_in.json`.

Racks begin one after the other and end in the same order: synchronous load on many racks is a step of megawatts. All nodes count from one
beginning. The all-to-all begins when the last rack is loaded, and the soak when the last one has ended.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from .facts_store import write

CONCERN = "burn_in"
# By accept_depth: a look, a night's part of 8 hours, and what contracts ask for, 48 hours and more.
DURATIONS_S = {"quick": 900, "standard": 28800, "full": 172800}
SOAKS_S = {"quick": 60, "standard": 1200, "full": 3600}  # of each operation
SOAK = ["all_to_all", "all_gather", "reduce_scatter"]
WARM_UP = (12, 600)  # this part of the duration, and no more than so many seconds
BLOCK = 65536  # bytes to each rank: 64 KiB between cores; GPUs have 1 GiB for all ranks together, and no less than this
BEGIN_S = 30.0  # from the plan to the beginning, so that most nodes have heard of it by then
SLACK_S = 300.0  # between the planned end and the hard deadline on the node
SAMPLES = 28800  # of one series: every second for eight hours, every sixth for two days
SILENT = "the node did not say what it has"
POLLS, POLL_S = 40, (5.0, 600.0)


def path_of(run_dir: Path) -> Path:
    return run_dir / "plans" / f"{CONCERN}.json"


def load(run_dir: Path) -> dict | None:
    """The plan of a run that has one."""
    try:
        return json.loads(path_of(run_dir).read_bytes())
    except OSError:
        return None


def save(run_dir: Path, plan: dict) -> None:
    write(path_of(run_dir), (json.dumps(plan, indent=1, sort_keys=True) + "\n").encode())


def make(run_id: str, hosts: dict, facts: dict, settings: dict, depth: str, now_s: float, refused: dict) -> dict:
    """{"begin_at_s", "ends_at_s", "settings", "hosts": {host: plan}, "racks": [[cluster, rack, offset]], "refused": {host: reason}}

    `hosts`: name -> {cluster, rack, address}; `facts`: name -> what discover found, or None.
    """
    duration = settings["duration_s"] or DURATIONS_S[depth]
    soak_s = SOAKS_S[depth] if settings["soak_s"] is None else settings["soak_s"]
    refused = {**refused, **{host: _unready(facts.get(host)) for host in hosts if host not in refused and _unready(facts.get(host))}}
    taking = [host for host in hosts if host not in refused]
    racks = list(dict.fromkeys((hosts[host]["cluster"], hosts[host]["rack"]) for host in taking))
    offsets = {rack: place * settings["rack_stagger_s"] for place, rack in enumerate(racks)}
    last = max(offsets.values(), default=0)
    warm_up = min(duration / WARM_UP[0], WARM_UP[1]) if settings["warm_up_s"] is None else settings["warm_up_s"]
    made = {}
    for members in _groups(hosts, facts, taking, settings["exchange"]).values():
        peers = [
            [hosts[host]["address"], settings["port"] + place] for host in members for place in range(len(facts[host]["devices_found"]))
        ]
        ranks, first = len(peers), 0
        for host in members:
            offset = offsets[(hosts[host]["cluster"], hosts[host]["rack"])]
            found = facts[host]
            made[host] = {
                "slurm_job": settings["slurm_job"],
                "settings": {
                    "engine": found["engine"],
                    "python": found["python"],
                    "devices": found["devices_found"],
                    "offset_s": offset,
                    # a rack's own warm-up; and the all-to-all is there only when the last rack is loaded
                    "warm_up_s": warm_up + last - offset,
                    "gemm_end_s": offset + duration,
                    "exchange_end_s": last + duration,
                    "soak": SOAK if soak_s else [],
                    "soak_s": soak_s,
                    "resolution_s": max(settings["resolution_s"], -(-duration // SAMPLES)),
                    "nvlink_every_s": 60,
                    "matrix": settings["matrix"],
                    "exchange": settings["exchange"] != "none" and ranks > 1,
                    "exchange_bytes": settings["exchange_bytes"] or (BLOCK if found["engine"] == "cpu" else max(BLOCK, 2**30 // ranks)),
                    "cap_mbps": settings["cap_mbps"] if found["engine"] == "cpu" else 0,
                    "join_s": last + settings["join_s"],
                    "timeout_s": settings["timeout_s"],
                    "first_rank": first,
                    "ranks": ranks,
                    "peers": peers if found["engine"] == "cpu" else peers[:1],  # NCCL needs to know where the first one is
                    "token": hashlib.sha256(f"{run_id} burn_in".encode()).hexdigest()[:32],  # keeps other runs out
                },
            }
            first += len(found["devices_found"])
    total = last + duration + len(SOAK if soak_s else []) * soak_s
    for plan in made.values():
        plan["deadline_s"] = round(BEGIN_S + total + settings["timeout_s"] + SLACK_S)
        plan["begin_at_s"] = now_s + BEGIN_S
    return {
        "begin_at_s": now_s + BEGIN_S,
        "ends_at_s": now_s + BEGIN_S + total,
        "gives_up_at_s": now_s + BEGIN_S + total + settings["timeout_s"] + 2 * SLACK_S,
        "duration_s": duration,
        "soak_s": soak_s,
        "poll_s": max(POLL_S[0], min(POLL_S[1], total / POLLS)),
        "settings": settings,
        "hosts": made,
        "racks": [[*rack, offset] for rack, offset in offsets.items()],
        "refused": refused,
    }


def _unready(found) -> str:
    """Why a node cannot take part."""
    if not found:
        return SILENT
    return "" if found.get("ready") else found.get("ready_reason") or "nothing to load"


def _groups(hosts, facts, taking, exchange) -> dict:
    """Who exchanges with whom. Engines do not mix: each has its own way."""
    groups: dict = {}
    for host in taking:
        one = {"cluster": (), "rack": (hosts[host]["rack"],), "node": (host,), "none": (host,)}[exchange]
        groups.setdefault((hosts[host]["cluster"], facts[host]["engine"], *one), []).append(host)
    return groups


def late(plan: dict, facts: dict, now_s: float) -> dict:
    """The plan, moved to now where its beginning is over and no node has begun."""
    behind = now_s + BEGIN_S - plan["begin_at_s"]
    if behind <= BEGIN_S or any((facts.get(host) or {}).get("job") for host in plan["hosts"]):
        return plan
    moved = {**plan, **{key: plan[key] + behind for key in ("begin_at_s", "ends_at_s", "gives_up_at_s")}}
    moved["hosts"] = {host: {**own, "begin_at_s": moved["begin_at_s"]} for host, own in plan["hosts"].items()}
    return moved


def turn(plan: dict, facts: dict, now_s: float) -> dict:
    """{"attend": hosts to ask, "collect": hosts that have ended, "plans", "wait_s": seconds until the next turn, "done"}"""
    attend, collect, plans = [], [], {}
    for host, own in plan["hosts"].items():
        job = (facts.get(host) or {}).get("job") or {}
        if job.get("collected") or job.get("state") == "not_begun":
            continue
        if job.get("state") in ("ended", "lost", "absent"):
            collect.append(host)
        elif now_s < plan["gives_up_at_s"]:
            attend.append(host)
        begun = bool(job)
        plans[host] = {"begun": True} if begun else own
    fresh = [host for host in attend if not plans[host].get("begun")]
    wait = 0.0 if collect or fresh or not attend else min(plan["poll_s"], max(POLL_S[0], plan["ends_at_s"] - now_s + 2))
    return {"attend": attend, "collect": collect, "plans": plans, "wait_s": round(wait, 1), "done": not attend and not collect}


def text(plan: dict, begun: bool, again: str) -> list[str]:
    """The plan as a user reads it."""
    lines = []
    taking, loaded = len(plan["hosts"]), sum(len(own["settings"]["devices"]) for own in plan["hosts"].values())
    if taking:
        hours = f"{plan['duration_s'] / 3600:.1f} h" if plan["duration_s"] >= 3600 else f"{plan['duration_s'] / 60:.1f} min"
        ramp = plan["racks"][-1][2] if plan["racks"] else 0
        lines.append(
            f"  {CONCERN}: {taking} nodes, {loaded} devices, products and all-to-all at once for {hours}, "
            f"{len(plan['racks'])} racks one after the other within {ramp:.0f} s, then {len(SOAK)} operations of {plan['soak_s']:.0f} s"
        )
        how = "goes on" if begun else "begins"
        lines.append(f"  {CONCERN}: {how} detached on the nodes; Ctrl-C leaves it running, the same command goes on with it")
        lines.append(f"  {CONCERN}: {again}")
        lines.append(f"  {CONCERN}: playbooks/stop.yml ends it everywhere at once; tell the facility before a load of many racks begins")
    for reason in dict.fromkeys(plan["refused"].values()):
        lines.append(f"  {CONCERN}: {sum(why == reason for why in plan['refused'].values())} nodes not run: {reason}")
    return lines
