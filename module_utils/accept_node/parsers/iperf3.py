"""`iperf3 --json` of a client or a server. `parse(text)` returns::

    {"version": "3.12" | None, "error": "" | "unable to connect to server: Connection refused", "refused": bool, "busy": bool,
     "protocol": "TCP", "reverse": bool, "streams": 1, "seconds": 3.0, "target_gbps": 1.0 | None,
     "sent_gbps", "received_gbps", "retransmits", "lost_pct", "local": "10.0.0.1", "remote": "10.0.0.2"}    None where it does not say

`error` may stand beside figures, and the exit status beside either. Text before the document (warnings) is passed over.
Format: https://github.com/esnet/iperf, src/iperf_api.c.
"""

from __future__ import annotations

from .. import loose_json
from ..loose_json import real, whole
from . import ParseError


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: iperf3 has printed nothing")
    document = loose_json.load(text, "iperf3")
    if not {"start", "end", "error", "intervals"} & set(document):
        raise ParseError("iperf3: a JSON document that is none of its own")
    start, end = _dict(document.get("start")), _dict(document.get("end"))
    test = _dict(start.get("test_start"))
    connected = start.get("connected")
    peers = _dict(connected[0]) if isinstance(connected, list) and connected else {}
    sent, received, both = (_dict(end.get(key)) for key in ("sum_sent", "sum_received", "sum"))
    error = " ".join(str(document.get("error") or "").split())[:200]
    version = str(start.get("version") or "").split()
    target = real(test.get("target_bitrate"))
    udp = test.get("protocol") == "UDP"
    return {
        "version": version[1] if len(version) > 1 else None,
        "error": error,
        "refused": "refused" in error or "unable to connect" in error,
        "busy": "busy" in error,
        "protocol": test.get("protocol") if test.get("protocol") in ("TCP", "UDP", "SCTP") else None,
        "reverse": bool(whole(test.get("reverse"))) if "reverse" in test else None,
        "streams": whole(test.get("num_streams")),
        "seconds": real(sent.get("seconds") if sent else both.get("seconds")),
        "target_gbps": _gbps(target) if target else None,
        "sent_gbps": _gbps(sent.get("bits_per_second")),
        "received_gbps": _gbps((received or (both if udp else {})).get("bits_per_second")),
        "retransmits": whole(sent.get("retransmits")),
        "lost_pct": real(both.get("lost_percent")) if udp else None,
        "local": peers.get("local_host") if isinstance(peers.get("local_host"), str) else None,
        "remote": peers.get("remote_host") if isinstance(peers.get("remote_host"), str) else None,
    }


def _dict(value) -> dict:
    return value if isinstance(value, dict) else {}


def _gbps(bits):
    number = real(bits)
    return None if number is None or number < 0 else round(number / 1e9, 6)
