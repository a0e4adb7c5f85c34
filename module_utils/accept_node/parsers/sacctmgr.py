"""`sacctmgr -P show cluster` and `show event`: is there accounting, and which nodes were out of service when."""

from __future__ import annotations

import re

from . import ParseError, slurm_table


def parse(text: str) -> dict:
    """{"clusters": [{name, control_host, control_port}]}; control_host None: registered, no controller connected."""
    rows = slurm_table.records(text, ("Cluster", "ControlHost"))
    return {
        "clusters": [
            {"name": row["Cluster"], "control_host": row["ControlHost"] or None, "control_port": _port(row.get("ControlPort", ""))}
            for row in rows
        ]
    }


def parse_event(text: str) -> dict:
    """{"events": [{node, start, end, state, reason}], "bad_rows": N}. `end` None: still out; events of the cluster itself have no node.

    Columns: NodeName, TimeStart, TimeEnd, State, Reason. Times are Slurm's own local ones. No events is a table of names alone.
    """
    rows = slurm_table.records(text, ("NodeName", "TimeStart", "TimeEnd", "State"))
    events = [
        {
            "node": row["NodeName"] or None,
            "start": _time(row["TimeStart"]),
            "end": _time(row["TimeEnd"]),
            "state": row["State"] or None,
            "reason": row.get("Reason") or None,
        }
        for row in rows
    ]
    if any(event["start"] is None for event in events):
        raise ParseError("an event without its start: %r" % text.strip()[:60])
    return {"events": events, "bad_rows": slurm_table.parse(text)["bad_rows"]}


def _time(text):
    return text if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text) else None


def _port(text):
    return int(text) if re.fullmatch(r"[0-9]{1,5}", text) and int(text) else None
