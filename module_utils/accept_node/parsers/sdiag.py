"""`sdiag` and `sdiag --json`: how busy the controller is, and how many jobs there are; nothing of any job."""

from __future__ import annotations

import re

from ..loose_json import strict
from . import ParseError, sinfo

KEYS = {
    "server_thread_count": "Server thread count",
    "agent_queue_size": "Agent queue size",
    "dbd_agent_queue_size": "DBD Agent queue size",
    "jobs_pending": "Jobs pending",
    "jobs_running": "Jobs running",
}


def parse(text: str) -> dict:
    """{server_thread_count, agent_queue_size, dbd_agent_queue_size, jobs_pending, jobs_running, last_cycle_us, mean_cycle_us}

    None for what a release does not print. The cycle is the main scheduler's; the backfill scheduler's, further down, has the same names.
    """
    found = {key: _number(text, name) for key, name in KEYS.items()}
    if found["server_thread_count"] is None:
        raise ParseError("not sdiag: %r" % text.strip()[:60])
    return {**found, "last_cycle_us": _number(text, "Last cycle"), "mean_cycle_us": _number(text, "Mean cycle")}


def _number(text, name):
    match = re.search(r"^[ \t]*%s:[ \t]*([0-9]{1,15})[ \t]*$" % name, text, re.MULTILINE | re.IGNORECASE)
    return int(match.group(1)) if match else None


def parse_json(text: str) -> dict:
    """The same, and `release` and `req_time_s`, from the JSON of 21.08 and newer."""
    document = strict(text)
    statistics = document.get("statistics")
    if not isinstance(statistics, dict):
        raise ParseError("no statistics in this JSON")
    values = {key: sinfo.number(statistics.get(key)) for key in KEYS}
    cycles = {short + "_cycle_us": sinfo.number(statistics.get("schedule_cycle_" + short)) for short in ("last", "mean")}
    return {**values, **cycles, "release": sinfo.release(document), "req_time_s": sinfo.number(statistics.get("req_time"))}
