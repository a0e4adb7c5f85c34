"""Answers of the HTTP API of Prometheus, and of what keeps to it: an instant query's numbers, rules, Alertmanagers, the version.

`parse(text)`: a vector -> {"values": [{"job": str | None, "minutes": int | None, "value": float}]}; a scalar is one value.
`parse_rules(text)` -> {"rules": [{"type": "alerting" | "recording", "name", "query", "for_s", "health", "state", "firing",
"evaluated_s"}]};
`evaluated_s`: seconds since the epoch, None where it never was. `parse_alertmanagers(text)` -> {"active": 1, "dropped": 0}
`parse_version(text)` -> {"version": "3.5.0" | None}
Format: https://prometheus.io/docs/prometheus/latest/querying/api/
"""

from __future__ import annotations

import calendar
import json
import re
import time

from . import ParseError

STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")


def data_of(text, kind=dict):
    """What an answer holds. Raises ParseError where it is no answer, or one that says no."""
    answer = loaded(text)
    if not isinstance(answer, dict) or answer.get("status") != "success":
        said = answer.get("error") if isinstance(answer, dict) else None
        raise ParseError(f"the API says no: {str(said)[:120]}" if said else "not an answer of the API")
    if not isinstance(answer.get("data"), kind):
        raise ParseError("an answer without data")
    return answer["data"]


def loaded(text):
    if not text.strip():
        raise ParseError("empty: no answer")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError("not JSON (a page for people?): %r" % text.strip()[:40]) from error


def parse(text: str) -> dict:
    data = data_of(text)
    rows = data.get("result")
    if data.get("resultType") == "scalar":
        rows = [{"metric": {}, "value": rows}]
    elif data.get("resultType") != "vector":
        raise ParseError("not a vector: %r" % str(data.get("resultType"))[:40])
    try:
        return {"values": [_value(row) for row in rows]}
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ParseError("a vector that cannot be read: %s" % type(error).__name__) from error


def _value(row) -> dict:
    minutes = row["metric"].get("minutes")
    return {"job": row["metric"].get("job"), "minutes": None if minutes is None else int(float(minutes)), "value": float(row["value"][1])}


def parse_rules(text: str) -> dict:
    groups = data_of(text).get("groups")
    try:
        return {"rules": [_rule(rule) for group in groups for rule in group["rules"]]}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ParseError("rules that cannot be read: %s" % type(error).__name__) from error


def _rule(rule) -> dict:
    alerts = rule.get("alerts") or ()
    return {
        "type": str(rule.get("type") or "alerting"),
        "name": str(rule["name"])[:120],
        "query": str(rule["query"]),
        "for_s": float(rule.get("duration") or 0),
        "health": rule.get("health"),
        "state": rule.get("state"),
        "firing": sum(1 for alert in alerts if alert.get("state") == "firing"),
        "evaluated_s": seconds(rule.get("lastEvaluation")),
    }


def seconds(stamp):
    """Seconds since the epoch of an RFC 3339 time; None of year 1, which stands for never."""
    match = STAMP.fullmatch(stamp) if isinstance(stamp, str) else None
    if not match or stamp.startswith("0001-"):
        return None
    try:
        whole = calendar.timegm(time.strptime(match.group(1), "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None
    zone = match.group(3)
    shift = 0 if zone == "Z" else (int(zone[1:3]) * 60 + int(zone[4:])) * (60 if zone[0] == "+" else -60)
    return round(whole + float(match.group(2) or 0) - shift, 3)


def parse_alertmanagers(text: str) -> dict:
    data = data_of(text)
    active, dropped = data.get("activeAlertmanagers"), data.get("droppedAlertmanagers")
    if not isinstance(active, list):
        raise ParseError("no list of Alertmanagers")
    return {"active": len(active), "dropped": len(dropped or ())}


def parse_version(text: str) -> dict:
    version = data_of(text).get("version")
    return {"version": version if isinstance(version, str) else None}
