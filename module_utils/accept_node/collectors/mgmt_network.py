"""The front-end network from this node to some peers: packet loss, round-trip time, the path's MTU, TCP bandwidth below a cap.

A plan is what the controller says of this node::

    {"settings": {"pings", "ping_interval_s", "seconds", "cap_mbps", "server_s"}, "tests": [{"peer", "address", "port"}],
     "servers": [{"peer", "port"}]}

serve() starts an iperf3 server for each peer that will come, measure() asks the peers one after the other, finish() ends the servers. Data:
{"sampled": true, "peers": [{peer, address, interface, mtu_bytes, loss_pct, sent, received, rtt_avg_ms, rtt_max_ms, full_mtu: "passes" |
"dropped" | "told" | null, tcp_gbps, reverse_tcp_gbps, cap_gbps, tcp_pct_of_cap, retransmits}]}, with `<key>_reason` beside what is null.
`full_mtu`: packets as long as the interface allows, unfragmented, either pass, or are dropped without a word (a black hole), or somebody
on the way tells the sender to send shorter ones.
"""

from __future__ import annotations

import json

from ..parsers import ParseError, iperf3, ping

ROUTE = ["ip", "-j", "route", "get"]
HEADERS = 28, 48  # headers of IPv4 and IPv6 with ICMP


def serve(work, plan) -> None:
    for server in plan["servers"]:
        work.start(f"server.{server['port']}", ["iperf3", "-s", "-p", str(server["port"])], plan["settings"]["server_s"])


def finish(work, plan) -> None:
    for server in plan["servers"]:
        work.result(f"server.{server['port']}", 0.0)


def measure(gather, work, plan) -> dict:
    """The data of the concern."""
    return {"sampled": True, "peers": [_peer(gather, work, plan["settings"], test) for test in plan["tests"]]}


def _peer(gather, work, settings, test):
    interface, mtu = _interface(gather, work, test)
    found = {"peer": test["peer"], "address": test["address"], "interface": interface, "mtu_bytes": mtu}
    for part in (_ping(work, settings, test), _full_mtu(work, test, mtu), _tcp(work, settings, test)):
        found.update(part)
    return found


def _interface(gather, work, test):
    """By which interface the kernel sends there, and its MTU."""
    route, _ = _ask(work, f"route.{test['peer']}", ROUTE, 10, test, _device)
    mtu = route and gather.file(f"/sys/class/net/{route}/mtu")
    return route, int(mtu) if mtu and mtu.strip().isdigit() else None


def _device(text):
    try:
        return str(json.loads(text)[0]["dev"])
    except (ValueError, LookupError, TypeError) as error:
        raise ParseError("ip route get: no route") from error


def _ask(work, what, argv, limit_s, test, parse):
    """(what was parsed, why not)"""
    work.start(what, [*argv, test["address"]], limit_s)
    result = work.result(what, limit_s + 5, argv, test["peer"])
    if result.reason:
        return None, f"{argv[0]}: {result.reason}"
    try:
        return parse(result.stdout + result.stderr), ""
    except ParseError as error:
        return None, str(error)


def pings(settings) -> list:
    return ["ping", "-n", "-q", "-c", str(settings["pings"]), "-i", str(settings["ping_interval_s"]), "-W", "2"]


def _ping(work, settings, test):
    limit = settings["pings"] * settings["ping_interval_s"] + 15
    found, reason = _ask(work, f"ping.{test['peer']}", pings(settings), limit, test, ping.parse)
    told = {"sent": None, "received": None, "loss_pct": None, "rtt_avg_ms": None, "rtt_max_ms": None}
    if found:
        told = {key: found[key] for key in told}
        reason = found["error"] or ("nothing came back" if not found["received"] else "")
    return {**told, **({"loss_pct_reason": reason, "rtt_avg_ms_reason": reason} if reason else {})}


def full(mtu_bytes, address) -> list:
    size = mtu_bytes - HEADERS[":" in address]
    return ["ping", "-n", "-q", "-c", "3", "-i", "0.2", "-W", "2", "-M", "do", "-s", str(size)]


def _full_mtu(work, test, mtu):
    if mtu is None:
        return {"full_mtu": None, "full_mtu_reason": "the interface's MTU is not known"}
    found, reason = _ask(work, f"mtu.{test['peer']}", full(mtu, test["address"]), 15, test, ping.parse)
    if found is None or found["error"] or not (found["sent"] or found["too_long"]):
        return {"full_mtu": None, "full_mtu_reason": reason or (found or {}).get("error") or "nothing was sent"}
    return {"full_mtu": "passes" if found["received"] else "told" if found["too_long"] else "dropped"}


def bandwidth(settings, reverse=False) -> list:
    cap = ["-b", f"{settings['cap_mbps']}M"] if settings["cap_mbps"] else []
    return ["iperf3", "-J", "-t", str(settings["seconds"]), *cap, *(["-R"] if reverse else []), "-c"]


def _tcp(work, settings, test):
    """There and back: the way back is not the same path, nor the same load."""
    told, cap = {"retransmits": None}, settings["cap_mbps"] / 1000 or None
    for name, reverse in (("tcp_gbps", False), ("reverse_tcp_gbps", True)):
        argv = bandwidth(settings, reverse)
        limit = settings["seconds"] + 15
        what = f"{name}.{test['peer']}"
        work.start(what, [*argv, test["address"], "-p", str(test["port"])], limit)
        result = work.result(what, limit + 5, argv, test["peer"])
        found, reason = None, f"iperf3: {result.reason}" if result.reason else ""
        if not result.reason:
            try:
                found = iperf3.parse(result.stdout or result.stderr)
                reason = found["error"]
            except ParseError as error:
                reason = str(error)
        told[name] = found["received_gbps"] if found and not found["error"] else None
        if told[name] is None:
            told[name + "_reason"] = reason or "iperf3 does not say"
        elif not reverse:
            told["retransmits"] = found["retransmits"]
    slower = [told[key] for key in ("tcp_gbps", "reverse_tcp_gbps")]
    known = cap and None not in slower
    told.update(cap_gbps=cap, tcp_pct_of_cap=round(100 * min(slower) / cap, 2) if known else None)
    if not known:
        told["tcp_pct_of_cap_reason"] = told.get("tcp_gbps_reason") or told.get("reverse_tcp_gbps_reason") or "measured without a cap"
    return told
