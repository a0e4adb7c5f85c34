"""Answers of the HTTP API of Grafana: its dashboards and what their tiles ask, its own alert rules, where those go.

`parse(text)` of /api/dashboards/uid/UID -> {"title", "tiles": [{"panel", "type", "query", "keeps_s", "no_value", "legend": [labels]}]}, one
tile a query. `keeps_s`: a tile that shows the last value of a whole time range shows it for so long after the series ended; None where it
asks for the present. `no_value`: what stands there where there is nothing.
`parse_search(text)` -> {"dashboards": [{"uid", "title"}]} · `parse_rules(text)` of its own alert rules -> {"rules": [{"name", "queries",
"for_s", "no_data", "on_error", "paused"}]} · `parse_contacts(text)` -> {"kinds": ["email", ...]} · `parse_health(text)` -> {"version"}
Format: https://grafana.com/docs/grafana/latest/developers/http_api/ and the dashboards' JSON model
"""

from __future__ import annotations

import re

from . import ParseError
from .prometheus_api import loaded

SPAN = re.compile(r"(\d+)([smhdwMy])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "M": 2592000, "y": 31536000}
ONE_VALUE = ("stat", "gauge", "bargauge", "singlestat", "piechart")  # tiles that show one value of a range
DEFAULT_RANGE_S = 21600  # a dashboard without a range of its own opens on six hours
LEGEND = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def parse(text: str) -> dict:
    board = _kind(loaded(text), dict).get("dashboard")
    if not isinstance(board, dict):
        raise ParseError("not a dashboard")
    window = _range_s((board.get("time") or {}).get("from"))
    try:
        tiles = [tile for panel in board.get("panels") or () for tile in _tiles(panel, window)]
    except (AttributeError, TypeError, KeyError) as error:
        raise ParseError("a panel that cannot be read: %s" % type(error).__name__) from error
    return {"title": str(board.get("title") or "?")[:120], "tiles": tiles}


def _kind(answer, kind):
    if not isinstance(answer, kind):
        raise ParseError("not an answer of this API")
    return answer


def _range_s(start) -> int:
    found = SPAN.search(start) if isinstance(start, str) and start.startswith("now-") else None
    return int(found.group(1)) * SECONDS[found.group(2)] if found else DEFAULT_RANGE_S


def _tiles(panel, window):
    defaults = (panel.get("fieldConfig") or {}).get("defaults") or {}
    nothing = defaults.get("noValue")
    for mapping in defaults.get("mappings") or ():
        options = mapping.get("options") or {}
        if options.get("match") in ("null", "null+nan", "empty"):
            nothing = (options.get("result") or {}).get("text") or nothing
    calcs = ((panel.get("options") or {}).get("reduceOptions") or {}).get("calcs") or ["lastNotNull"]
    keeps = panel.get("type") in ONE_VALUE and calcs != ["last"]
    for target in panel["targets"]:
        legend = target.get("legendFormat")
        yield {
            "panel": str(panel.get("title") or "untitled")[:120],
            "type": str(panel.get("type") or "?")[:40],
            "query": target["expr"],
            "keeps_s": window if keeps and not target.get("instant") else None,
            "no_value": nothing if isinstance(nothing, str) and nothing else None,
            "legend": sorted(set(LEGEND.findall(legend))) if isinstance(legend, str) else [],
        }


def parse_search(text: str) -> dict:
    rows = _kind(loaded(text), list)
    if not all(isinstance(row, dict) and isinstance(row.get("uid"), str) for row in rows):
        raise ParseError("not a list of dashboards")
    return {
        "dashboards": [
            {"uid": row["uid"], "title": str(row.get("title"))[:120]} for row in rows if re.fullmatch(r"[\w-]{1,60}", row["uid"])
        ]
    }


def parse_rules(text: str) -> dict:
    rows = _kind(loaded(text), list)
    try:
        return {"rules": [_rule(row) for row in rows]}
    except (AttributeError, TypeError, KeyError) as error:
        raise ParseError("a rule that cannot be read: %s" % type(error).__name__) from error


def _rule(row) -> dict:
    found = SPAN.fullmatch(row.get("for") or "0s")
    return {
        "name": str(row["title"])[:120],
        "queries": [one["model"]["expr"] for one in row["data"] if "expr" in (one.get("model") or {})],
        "for_s": int(found.group(1)) * SECONDS[found.group(2)] if found else None,
        "no_data": row.get("noDataState"),
        "on_error": row.get("execErrState"),
        "paused": bool(row.get("isPaused")),
    }


def parse_contacts(text: str) -> dict:
    rows = _kind(loaded(text), list)
    return {"kinds": sorted({str(row.get("type")) for row in rows if isinstance(row, dict) and row.get("type")})}


def parse_health(text: str) -> dict:
    version = _kind(loaded(text), dict).get("version")
    return {"version": version if isinstance(version, str) else None}
