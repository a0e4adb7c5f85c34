"""`ping` of iputils or busybox (its report; stderr joined to it). `parse(text)` returns::

    {"address": "10.0.0.2" | None, "bytes": 56 | None,     bytes of payload
     "sent": 20, "received": 19, "loss_pct": 5.0, "duplicates": 0, "unreachable": 0,   `unreachable`: replies that were errors
     "rtt_min_ms", "rtt_avg_ms", "rtt_max_ms", "rtt_mdev_ms",    None where nothing came back
     "mtu_bytes": 1400 | None,    the path's, where a router or the own stack said that the packet is too long for it
     "too_long": bool,            somebody said so: the sender is told, and no black hole
     "error": ""}                 why nothing was sent: a name without address, no route, no right

Loss is counted from packets sent and received, not from the rounded percentage.
Format: https://github.com/iputils/iputils, ping/ping_common.c.
"""

from __future__ import annotations

import re

from . import ParseError

HEAD = re.compile(r"^PING [^(\n]{0,300}\(([^)\s]{1,100})\):? (\d{1,6})", re.M)
COUNTS = re.compile(
    r"^(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received(?:, \+(\d{1,9}) duplicates)?(?:, \+(\d{1,9}) errors)?", re.M
)
NUMBER = r"(\d{1,9}(?:\.\d{1,6})?)"
RTT = re.compile(rf"^(?:rtt|round-trip) min/avg/max(?:/(?:mdev|stddev))? = {NUMBER}/{NUMBER}/{NUMBER}(?:/{NUMBER})? ms", re.M)
TOO_LONG = re.compile(r"message too long|Frag needed|Packet too big|Message too long", re.I)
MTU = re.compile(r"mtu ?= ?(\d{2,6})", re.I)
ERROR = re.compile(r"^(?:ping\d?: .*|connect: .*|bash: ping: .*)$", re.M)


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: ping has printed nothing")
    head, counts, rtt = HEAD.search(text), COUNTS.search(text), RTT.search(text)
    told = [line for line in ERROR.findall(text) if not TOO_LONG.search(line)]
    too_long = bool(TOO_LONG.search(text))
    if not (head or counts or told or too_long):
        raise ParseError(f"not the report of ping: {' '.join(text.split())[:80]!r}")
    sent, received = (int(counts[1]), int(counts[2])) if counts else (None, None)
    mtu = MTU.search(text)
    times = [float(part) if part else None for part in rtt.groups()] if rtt else [None] * 4
    return {
        "address": head[1] if head else None,
        "bytes": int(head[2]) if head else None,
        "sent": sent,
        "received": received,
        "loss_pct": round(100 * max(0, sent - received) / sent, 3) if sent else None,
        "duplicates": int(counts[3] or 0) if counts else None,
        "unreachable": int(counts[4] or 0) if counts else None,
        "rtt_min_ms": times[0],
        "rtt_avg_ms": times[1],
        "rtt_max_ms": times[2],
        "rtt_mdev_ms": times[3],
        "mtu_bytes": int(mtu[1]) if mtu and too_long else None,
        "too_long": too_long,
        "error": " ".join(told[0].split())[:200] if told and not sent else "",
    }
