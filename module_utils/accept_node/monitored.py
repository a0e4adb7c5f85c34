"""What of a monitoring system is looked at and kept: panels and rules about nodes, GPUs, fabric, health checks and schedulers.

Each `keep_<answer>(text)` takes the answer of an API and returns it in the same form without what is nobody's business: labels of series,
names of targets, panels and rules about anything else, values of labels in queries, credentials of receivers. Only that is recorded.
Doing it twice changes nothing. What is no JSON is kept as its first sign, so that a parser can say so.
"""

from __future__ import annotations

import json
import re

from .parsers import ParseError, promql

# Metrics of exporters that GPU clusters run; standards/catalogs/monitoring.yml says what they show.
METRIC = re.compile(
    r"^(?:DCGM_|nvidia_|nvlink|nvswitch|gpu_|GPU_|amd_|rocm_|pcie_|slurm_|kube_(?:node|pod|job|cronjob|daemonset)_|node_|infiniband_|rdma_"
    r"|ib_|nhc_|up$|ALERTS$|[a-z0-9_:]*(?:health|xid|_check_))"
)
JOB = re.compile(r"dcgm|gpu|nvidia|amd|node|kube|slurm|infiniband|ufm|nvlink|fabric|health|prometheus|alertmanager|ipmi|redfish", re.I)
DASHBOARD = re.compile(
    r"gpu|dcgm|nvidia|rocm|xid|health|node|cluster|slurm|scheduler|job|infiniband|\bib\b|rdma|nvlink|fabric|hpc|kube|compute|fleet", re.I
)
MOST_DASHBOARDS, MOST_PANELS, MOST_RULES = 24, 60, 120
PANEL, TARGET = ("title", "type"), ("expr", "instant", "legendFormat", "format", "range")
RULE = ("type", "name", "query", "duration", "health", "state", "lastEvaluation")
MANAGED = ("title", "noDataState", "execErrState", "isPaused", "for")
INTEGRATION = re.compile(r"^  ([a-z0-9]+)_configs:\s*(.*)$")


def known(expression) -> bool:
    """Does an expression read a metric that is looked at?"""
    try:
        return any(METRIC.search(one["metric"]) for one in promql.parse(expression)["selectors"])
    except ParseError:
        return False


def _json(text, change, kind=dict):
    try:
        answer = json.loads(text)
        return json.dumps(change(answer), sort_keys=True) if isinstance(answer, kind) else "{}"
    except (ValueError, RecursionError):
        return text.lstrip()[:1]
    except (AttributeError, KeyError, TypeError):
        return "{}"


def keep_numbers(text) -> str:
    """A vector's values without their labels; of labels only `job` where it names an exporter, and `minutes` of our own making."""

    def change(answer):
        rows = [{"metric": _own(row["metric"]), "value": row["value"]} for row in answer["data"]["result"] if isinstance(row, dict)]
        return {
            "status": answer["status"],
            "data": {"resultType": answer["data"]["resultType"], "result": rows or answer["data"]["result"]},
        }

    return _json(text, change)


def _own(labels) -> dict:
    found = {"minutes": labels["minutes"]} if "minutes" in labels else {}
    return {**found, "job": labels["job"] if JOB.search(labels["job"]) else "other"} if "job" in labels else found


def keep_rules(text) -> str:
    """Rules about what is looked at; of their alerts only how many there are."""

    def change(answer):
        rules = [rule for group in answer["data"]["groups"] for rule in group["rules"] if known(rule.get("query") or "")]
        kept = [
            {
                **{key: rule[key] for key in RULE if key in rule},
                "query": promql.reduced(rule["query"]),
                "alerts": [{"state": alert.get("state")} for alert in rule.get("alerts") or ()],
            }
            for rule in rules[:MOST_RULES]
        ]
        return {"status": answer["status"], "data": {"groups": [{"rules": kept}]}}

    return _json(text, change)


def keep_alertmanagers(text) -> str:
    def change(answer):
        there = {key: [{} for _ in answer["data"].get(key) or ()] for key in ("activeAlertmanagers", "droppedAlertmanagers")}
        return {"status": answer["status"], "data": there}

    return _json(text, change)


def keep_dashboards(text) -> str:
    """Of those that speak of hardware or its scheduler by title or tag."""

    def change(answer):
        kept = [one for one in answer if DASHBOARD.search(" ".join([str(one.get("title")), *map(str, one.get("tags") or ())]))]
        return [{"uid": one.get("uid"), "title": one.get("title")} for one in kept]

    return _json(text, change, list)


def keep_dashboard(text) -> str:
    def change(answer):
        found = answer["dashboard"]
        panels = [one for one in (_panel(panel) for panel in _panels(found)) if one][:MOST_PANELS]
        head = {"title": found.get("title"), "time": {"from": (found.get("time") or {}).get("from")}}
        return {"dashboard": {**head, "panels": panels}}

    return _json(text, change)


def _panels(holder):
    """Panels, those in rows among them, and the rows of dashboards of old."""
    for panel in holder.get("panels") or ():
        yield panel
        yield from _panels(panel)
    for row in holder.get("rows") or ():
        yield from _panels(row)


def _panel(panel):
    targets = [
        {**{key: one[key] for key in TARGET if key in one}, "expr": promql.reduced(one["expr"])}
        for one in panel.get("targets") or ()
        if isinstance(one.get("expr"), str) and known(one["expr"]) and not one.get("hide")
    ]
    if not targets:
        return None
    defaults = (panel.get("fieldConfig") or {}).get("defaults") or {}
    kept = {"noValue": defaults["noValue"]} if isinstance(defaults.get("noValue"), str) else {}
    special = [one for one in defaults.get("mappings") or () if one.get("type") == "special"]
    calcs = ((panel.get("options") or {}).get("reduceOptions") or {}).get("calcs")
    return {
        **{key: panel[key] for key in PANEL if key in panel},
        "targets": targets,
        "fieldConfig": {"defaults": {**kept, "mappings": [{"type": "special", "options": one.get("options")} for one in special]}},
        "options": {"reduceOptions": {"calcs": calcs}},
    }


def keep_managed(text) -> str:
    """Grafana's own alert rules about what is looked at."""

    def change(answer):
        kept = []
        for rule in answer:
            models = [one.get("model") or {} for one in rule.get("data") or ()]
            queries = [model["expr"] for model in models if isinstance(model.get("expr"), str) and known(model["expr"])]
            if queries:
                data = [{"model": {"expr": promql.reduced(query)}} for query in queries]
                kept.append({**{key: rule[key] for key in MANAGED if key in rule}, "data": data})
        return kept[:MOST_RULES]

    return _json(text, change, list)


def keep_contact_points(text) -> str:
    return _json(text, lambda answer: [{"type": one.get("type")} for one in answer], list)


def keep_alertmanager(text) -> str:
    """Of the configuration: whether a receiver has anything that sends, under a number for its name."""

    def change(answer):
        lines, names, part = [], {}, ""
        for line in answer["config"]["original"].splitlines():
            part = line.rstrip(":") if line[:1].isalpha() else part
            named = re.match(r"^(- name:|  receiver:) (.+)$", line)
            if part in ("route", "receivers") and named:
                lines.append(f"{named.group(1)} r{names.setdefault(named.group(2).strip(), len(names) + 1)}")
            elif part == "receivers" and INTEGRATION.match(line):
                lines.append(line if line.endswith("[]") else line.split(":")[0] + ":")
            elif line.rstrip() in ("route:", "receivers:"):
                lines.append(line.rstrip())
        version = (answer.get("versionInfo") or {}).get("version")
        return {"config": {"original": "\n".join(lines) + "\n"}, "versionInfo": {"version": version}}

    return _json(text, change)


def keep_version(text) -> str:
    """Of Prometheus' buildinfo and Grafana's health."""

    def change(answer):
        data = answer.get("data")
        return {"status": answer["status"], "data": {"version": data["version"]}} if data else {"version": answer["version"]}

    return _json(text, change)
