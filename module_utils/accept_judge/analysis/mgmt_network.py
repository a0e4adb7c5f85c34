"""Whose the bad pairs of the front-end network are: a pair counts against the end that is bad with most of its peers, and against both
where neither is."""

from __future__ import annotations

CONCERN = "mgmt_network"
# list -> (value in an item, check that says what is wanted of it, is the value good)
KINDS = {
    "loss": ("loss_pct", "mgmt.packet_loss", lambda value, want: value <= want),
    "delay": ("rtt_avg_ms", "mgmt.round_trip", lambda value, want: value <= want),
    "mtu": ("full_mtu", "mgmt.full_mtu", lambda value, want: value in want),
    "tcp": ("tcp_pct_of_cap", "mgmt.tcp_bandwidth", lambda value, want: value >= want),
}


def analyse(data: dict, run) -> dict:
    """loss, delay, mtu, tcp: the pairs [{peer, <value>, <value>_reason}] of this node less those that are their peer's; null where nothing
    was measured. [] for a node outside the sample."""
    if data.get("peers") is None:
        return dict.fromkeys(KINDS)
    wanted = {check["id"]: run.wanted.of(check).value for check in run.standards.checks if check["concern"] == CONCERN}
    bad = {host: _bad(run.fact(host, CONCERN).data, wanted) for host in {peer["peer"] for peer in _suspects(data, wanted)}}
    own, facts = _bad(data, wanted), {}
    for name, (key, _, _) in KINDS.items():
        facts[name] = []
        for item in data["peers"]:
            if item["peer"] in own[name] and _guilty(bad.get(item["peer"]), name) and not _guilty(own, name):
                continue
            kept = {part: item[part] for part in ("peer", key, key + "_reason") if part in item}
            facts[name].append(kept)
    return facts


def _suspects(data, wanted):
    bad = _bad(data, wanted)
    return [item for item in data["peers"] if any(item["peer"] in bad[name] for name in KINDS)]


def _bad(data, wanted) -> dict:
    """list -> peers with which this is bad; and how many there are of them all."""
    found: dict = {"of": len((data or {}).get("peers") or ())}
    for name, (key, check, good) in KINDS.items():
        items, want = (data or {}).get("peers") or (), wanted.get(check)
        found[name] = {i["peer"] for i in items if want is not None and i[key] is not None and not good(i[key], want)}
    return found


def _guilty(bad, name) -> bool:
    return bool(bad and bad["of"]) and 2 * len(bad[name]) > bad["of"]
