"""What the cluster's monitoring shows, and whether its series still come: asked of Prometheus, Alertmanager and Grafana by their APIs.

Counts, ages and queries only: no series of anybody is read by its labels (monitored.py). A few dozen small questions, whatever the size of
the cluster: each adds up on the server. Nothing is set, silenced or acknowledged.
"""

from __future__ import annotations

from .. import monitored
from ..fetch import question
from ..parsers import ParseError, alertmanager_api, grafana_api, prometheus_api, promql

TIMEOUT_S = 30
QUERY = "/api/v1/query"
UP, DOWN = "count by (job) (up)", "count by (job) (up == 0)"
MOST_TILES, MOST_SELECTORS, DEPTH = 40, 40, 4
VERSION = question("prometheus", "/api/v1/status/buildinfo")
RULES = question("prometheus", "/api/v1/rules")
ALERTMANAGERS = question("prometheus", "/api/v1/alertmanagers")
ALERTMANAGER = question("alertmanager", "/api/v2/status")
HEALTH = question("grafana", "/api/health")
SEARCH = question("grafana", "/api/search", "type=dash-db&limit=1000")
MANAGED = question("grafana", "/api/v1/provisioning/alert-rules")
CONTACTS = question("grafana", "/api/v1/provisioning/contact-points")


def query(expression) -> tuple:
    return question("prometheus", QUERY, "query=" + expression)


def ages(selector) -> tuple:
    """How many instances have had their newest sample of a day how many minutes ago."""
    newest = f"max by (instance) (max_over_time(timestamp({selector})[1d:5m]))"
    return query(f'count_values("minutes", floor((time() - {newest}) / 60))')


def result(expression) -> tuple:
    return query(f"count({expression})")


def dashboard(uid) -> tuple:
    return question("grafana", "/api/dashboards/uid/" + uid)


def collect(gather, given=("prometheus", "alertmanager", "grafana")) -> dict | None:
    """The data of the concern; standards/schema/concerns/monitoring_audit.json is its shape. `given`: the services that may be asked."""
    found = {
        "asked": list(given),
        "prometheus": _prometheus(gather) if "prometheus" in given else None,
        "alertmanager": _ask(gather, ALERTMANAGER, alertmanager_api.parse, monitored.keep_alertmanager)
        if "alertmanager" in given
        else None,
        "grafana": _grafana(gather) if "grafana" in given else None,
    }
    if not any(found[name] for name in given):
        return None
    asks = found["prometheus"] is not None
    records = {rule["name"]: rule["query"] for rule in (asks and found["prometheus"].pop("records")) or ()}
    expressions = _Expressions(gather, records, asks)
    tiles = (found["grafana"] or {}).pop("tiles", None)
    rules = [*((found["prometheus"] or {}).pop("rules", None) or ()), *((found["grafana"] or {}).pop("rules", None) or ())]
    told = (asks and found["prometheus"]["rules_read"]) or (found["grafana"] or {}).get("rules_read")
    found["tiles"] = None if tiles is None else [expressions.of_tile(tile) for tile in tiles[:MOST_TILES]]
    found["tiles_left_out"] = max(0, len(tiles or ()) - MOST_TILES)
    found["rules"] = [expressions.of_rule(rule) for rule in rules] if told else None
    found["series"] = expressions.series()
    return found


def _ask(gather, argv, parse, keep):
    return gather.command(argv, parse, timeout_s=TIMEOUT_S, strip=keep)


def _numbers(gather, argv):
    return _ask(gather, argv, prometheus_api.parse, monitored.keep_numbers)


def _prometheus(gather):
    """None where it does not answer: it is asked once."""
    version = _ask(gather, VERSION, prometheus_api.parse_version, monitored.keep_version)
    up = _numbers(gather, query(UP))
    if up is None:
        return None
    down = _numbers(gather, query(DOWN))
    lost = {row["job"]: int(row["value"]) for row in down["values"]} if down else None
    targets = {}
    for row in up["values"]:
        targets[row["job"] or "other"] = targets.get(row["job"] or "other", 0) + int(row["value"])
    rules = _ask(gather, RULES, prometheus_api.parse_rules, monitored.keep_rules)
    managers = _ask(gather, ALERTMANAGERS, prometheus_api.parse_alertmanagers, monitored.keep_alertmanagers)
    alerting = [rule for rule in (rules and rules["rules"]) or () if rule["type"] == "alerting"]
    return {
        "version": version and version["version"],
        "targets": [
            {"job": job, "targets": count, "down": None if lost is None else lost.get(job, 0)} for job, count in sorted(targets.items())
        ],
        "alertmanagers": managers and managers["active"],
        "rules_read": rules is not None,
        "rules": [{**_rule("prometheus"), **_of_prometheus(rule, gather.node.now())} for rule in alerting],
        "records": [rule for rule in (rules and rules["rules"]) or () if rule["type"] == "recording"],
    }


def _rule(by) -> dict:
    return {"by": by, "health": None, "state": None, "firing": None, "evaluated_age_s": None, "no_data": None, "paused": False}


def _of_prometheus(rule, now):
    told = {key: rule[key] for key in ("name", "query", "for_s", "health", "state", "firing")}
    return {**told, "evaluated_age_s": None if rule["evaluated_s"] is None else round(now - rule["evaluated_s"], 1)}


def _grafana(gather):
    health = _ask(gather, HEALTH, grafana_api.parse_health, monitored.keep_version)
    listed = _ask(gather, SEARCH, grafana_api.parse_search, monitored.keep_dashboards)
    if health is None and listed is None:
        return None
    boards, tiles = [], []
    for one in (listed["dashboards"] if listed else [])[: monitored.MOST_DASHBOARDS]:
        board = _ask(gather, dashboard(one["uid"]), grafana_api.parse, monitored.keep_dashboard)
        if board and board["tiles"]:
            boards.append(board["title"])
            tiles += [{"dashboard": board["title"], **tile} for tile in board["tiles"]]
    managed = _ask(gather, MANAGED, grafana_api.parse_rules, monitored.keep_managed)
    contacts = _ask(gather, CONTACTS, grafana_api.parse_contacts, monitored.keep_contact_points)
    return {
        "version": health and health["version"],
        "dashboards": listed and boards,
        "dashboards_left_out": max(0, len((listed and listed["dashboards"]) or ()) - monitored.MOST_DASHBOARDS),
        "contacts": contacts and contacts["kinds"],
        "rules_read": managed is not None,
        "tiles": tiles if listed else None,
        "rules": [_managed(rule) for rule in (managed and managed["rules"]) or ()],
    }


def _managed(rule):
    told = {key: rule[key] for key in ("name", "for_s", "no_data", "paused")}
    return {**_rule("grafana"), **told, "query": " or ".join(rule["queries"])}


class _Expressions:
    """Expressions of tiles and rules, down to the series that they come from, and how old those are."""

    def __init__(self, gather, records, asks):
        self.gather, self.records, self.asks, self.known = gather, records, asks, {}

    def of_tile(self, tile) -> dict:
        told = {**tile, **self._told(tile["query"])}
        evaluable = told.pop("evaluable") and self.asks
        counted = _numbers(self.gather, result(told["query"])) if evaluable else None
        told["result"] = None if counted is None else int(sum(row["value"] for row in counted["values"]))
        labels = {*told["labels"], *told.pop("legend")}
        return {**told, "labels": sorted(labels)}

    def of_rule(self, rule) -> dict:
        told = {**rule, **self._told(rule["query"])}
        told.pop("evaluable")
        return told

    def _told(self, expression) -> dict:
        """What an expression reads, recording rules taken apart: a rule goes on recording what has ended."""
        try:
            parsed = promql.parse(expression)
        except ParseError as error:
            self.gather.error("expression", "unparsable", f"expression: {error}")
            return {
                "query": expression[:300],
                "series": [],
                "labels": [],
                "aggregated": None,
                "masks": [],
                "joins": "",
                "absent": False,
                "evaluable": False,
            }
        series, masks = self._roots(parsed, DEPTH)
        for selector in sorted(series):
            self._ages(selector)
        return {
            "query": parsed["query"][:600],
            "series": sorted(series),
            "labels": parsed["labels"],
            "aggregated": bool({"sum", "count", "avg", "max", "min"} & set(parsed["functions"])),
            "masks": masks,
            "joins": parsed["joins"],
            "absent": parsed["absent"],
            "evaluable": parsed["evaluable"],
        }

    def _roots(self, parsed, depth):
        """(selectors at the root, masks on the way)"""
        series, masks = set(), list(parsed["masks"])
        for one in parsed["selectors"]:
            recorded = self.records.get(one["metric"])
            try:
                inner = promql.parse(recorded) if recorded and depth else None
            except ParseError:
                inner = None
            if inner is None:
                series.add(one["selector"])
            else:
                deeper, hidden = self._roots(inner, depth - 1)
                series |= deeper
                masks += [f"{one['metric']} records {mask}" for mask in hidden]
        return series, masks

    def _ages(self, selector):
        if selector not in self.known and self.asks and len(self.known) < MOST_SELECTORS and "$" not in selector:
            found = _numbers(self.gather, ages(selector))
            rows = (
                None
                if found is None
                else sorted((row["minutes"], int(row["value"])) for row in found["values"] if row["minutes"] is not None)
            )
            self.known[selector] = None if rows is None else [list(row) for row in rows]

    def series(self) -> list:
        """[{"selector", "narrowed", "ages": [[minutes since the newest sample, instances], ...] | None}]; []: no sample in a day."""
        return [
            {"selector": selector, "narrowed": promql.REMOVED in selector, "ages": rows} for selector, rows in sorted(self.known.items())
        ]
