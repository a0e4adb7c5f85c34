"""What Prometheus, Alertmanager and Grafana of a cluster answer, asked from its head; kept as the collector keeps it.

`node.control.monitoring` holds what is otherwise: access False; stopped {series: hours ago}, unheard (nodes whose exporters are not heard),
down {job: targets}, queries {panel: query}, results {panel: series, where its own ended}, without [panels], rules {name: {key: value}},
no_rules [names], firing {name: number}, receiver False, managers 0.
"""

from __future__ import annotations

import json
import time

from accept_node import monitored
from accept_node.collectors import monitoring_audit as asked
from accept_node.parsers import promql

from .model import SimNode
from .model_scheduler import is_head
from .records import command

NVIDIA = {"errors": "DCGM_FI_DEV_XID_ERRORS", "alive": "DCGM_FI_DEV_GPU_TEMP", "job": "dcgm-exporter"}
AMD = {"errors": "gpu_ecc_uncorrect_total", "alive": "gpu_junction_temperature", "job": "amd-gpu-exporter"}
CHECK, AGE = "gpu_health_check_passed", "gpu_health_check_last_run_timestamp_seconds"
SLURM = {"jobs": "slurm_jobs_running", "nodes": "slurm_nodes_drain", "down": "slurm_nodes_down > 0", "job": "slurm"}
KUBERNETES = {
    "jobs": 'kube_pod_status_phase{phase="Running"}',
    "nodes": "kube_node_spec_unschedulable",
    "down": 'kube_node_status_condition{condition="Ready",status="true"} == 0',
    "job": "kube-state-metrics",
}
OFFICE = {"title": "Office printers", "type": "stat", "targets": [{"expr": "printer_toner_level"}]}  # nobody's business


def render(node: SimNode) -> dict:
    """The commands of the monitoring collector."""
    if not is_head(node) or node.control.monitoring.get("access") is False:
        return {}
    return {"commands": list(_Monitoring(node).commands())}


class _Monitoring:
    def __init__(self, node):
        self.told, self.nodes = node.control.monitoring, len(node.control.nodes)
        self.gpus = sum(len(one.gpus) for one in node.control.nodes)
        self.at_s = node.control.at_s
        self.gpu = NVIDIA if node.vendor == "nvidia" else AMD
        self.scheduler = KUBERNETES if node.control.kind == "kubernetes" else SLURM
        self.boards = {
            title: [one for one in panels if one["title"] not in self.told.get("without", ())] for title, panels in self._boards()
        }
        self.alerts = [rule for rule in self._rules() if rule["name"] not in self.told.get("no_rules", ())]

    def _boards(self):
        gpu, scheduler = self.gpu, self.scheduler
        per_gpu = "{{Hostname}} {{gpu}}"
        yield (
            "GPU fleet",
            [
                self._panel("GPU errors", f'{gpu["errors"]}{{Hostname=~"$node"}}', "table", legendFormat=per_gpu, instant=True),
                self._panel("Temperature", f"max by (Hostname, gpu) ({gpu['alive']})", "timeseries", legendFormat=per_gpu),
                self._panel("GPUs that pass their check", f"sum({CHECK})", "stat", instant=True),
                OFFICE,
            ],
        )
        yield (
            "Jobs and nodes",
            [
                self._panel("Jobs running", f"sum({scheduler['jobs']})", "stat", instant=True),
                self._panel("Nodes out of service", f"sum({scheduler['nodes']})", "stat", instant=True),
            ],
        )
        yield (
            "Node health checks",
            [self._panel("Age of each check", f"time() - {AGE}", "bargauge", legendFormat="{{instance}}", instant=True)],
        )
        if "extra" in self.told:
            yield "GPU links", [self._panel(self.told["extra"], "last_over_time(nvlink_crc_errors_total[5m])", "stat", instant=True)]

    def _panel(self, title, expression, kind, **target):
        expression = self.told.get("queries", {}).get(title, expression)
        return {"title": title, "type": kind, "targets": [{"expr": expression, **target}], "fieldConfig": {"defaults": {}}}

    def _rules(self):
        gpu = self.gpu
        yield self._rule("GpuError", f"{gpu['errors']} > 0", 0)
        yield self._rule("GpuLost", f"count by (Hostname) ({gpu['alive']}) < {max(self.gpus // self.nodes, 1)}", 120)
        yield self._rule("NodeDown", self.scheduler["down"], 120)
        yield self._rule("HealthCheckStale", f"time() - {AGE} > 900", 300)

    def _rule(self, name, expression, duration):
        firing = self.told.get("firing", {}).get(name, 0)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.123456789Z", time.gmtime(self.at_s - 14))
        usual = {"type": "alerting", "name": name, "query": expression, "duration": duration, "health": "ok", "lastEvaluation": stamp}
        state = {"state": "firing" if firing else "inactive", "alerts": [{"state": "firing", "labels": {"Hostname": "n"}}] * firing}
        return {**usual, **state, **self.told.get("rules", {}).get(name, {})}

    def commands(self):
        yield _kept(asked.VERSION, _success({"version": "3.5.0", "revision": "x"}), monitored.keep_version)
        jobs = {self.gpu["job"]: self.nodes, "node-exporter": self.nodes, self.scheduler["job"]: 1, "office": 3}
        down = self.told.get("down", {})
        yield _kept(asked.query(asked.UP), _vector([({"job": job}, count) for job, count in jobs.items()]), monitored.keep_numbers)
        yield _kept(asked.query(asked.DOWN), _vector([({"job": job}, count) for job, count in down.items()]), monitored.keep_numbers)
        records = [{"type": "recording", "name": "office:toner:avg", "query": "avg(printer_toner_level)"}]
        groups = {"groups": [{"name": "cluster", "rules": [*self.alerts, *records]}]}
        yield _kept(asked.RULES, _success(groups), monitored.keep_rules)
        managers = [{"url": "http://alertmanager:9093/api/v2/alerts"}] * self.told.get("managers", 1)
        yield _kept(
            asked.ALERTMANAGERS, _success({"activeAlertmanagers": managers, "droppedAlertmanagers": []}), monitored.keep_alertmanagers
        )
        yield _kept(asked.ALERTMANAGER, self._alertmanager(), monitored.keep_alertmanager)
        yield from self._grafana()
        yield from self._numbers()

    def _alertmanager(self):
        sends = "  webhook_configs:\n  - send_resolved: true\n    url: <secret>\n" if self.told.get("receiver", True) else ""
        config = f"route:\n  receiver: on-call\n  group_by:\n  - alertname\nreceivers:\n- name: on-call\n{sends}templates: []\n"
        return {"config": {"original": config}, "versionInfo": {"version": "0.28.1"}, "uptime": "2026-01-01T00:00:00Z"}

    def _grafana(self):
        yield _kept(asked.HEALTH, {"version": "12.1.0", "database": "ok"}, monitored.keep_version)
        listed = [{"uid": _uid(title), "title": title, "type": "dash-db", "tags": []} for title in self.boards]
        yield _kept(asked.SEARCH, [*listed, {"uid": "office", "title": "Office", "tags": []}], monitored.keep_dashboards)
        for title, panels in self.boards.items():
            board = {
                "dashboard": {"title": title, "time": {"from": "now-6h", "to": "now"}, "panels": panels},
                "meta": {"slug": _uid(title)},
            }
            yield _kept(asked.dashboard(_uid(title)), board, monitored.keep_dashboard)
        yield _kept(asked.MANAGED, [], monitored.keep_managed)
        yield _kept(asked.CONTACTS, [{"type": "email", "settings": {"addresses": "ops@example.com"}}], monitored.keep_contact_points)

    def _numbers(self):
        """Ages of each series that is asked for, and what each panel's query gives."""
        asked_for = {}
        for panels in self.boards.values():
            for panel in panels:
                if panel is not OFFICE:
                    parsed = promql.parse(panel["targets"][0]["expr"])
                    selectors = [one["selector"] for one in parsed["selectors"]]
                    ended = any(name in selector for selector in selectors for name in self.told.get("stopped", {}))
                    count = self.told.get("results", {}).get(panel["title"], 0 if ended else 1)
                    asked_for[asked.result(parsed["query"])] = _vector([({}, count)] if count else [])
                    asked_for.update((asked.ages(selector), self._ages(selector)) for selector in selectors)
        for rule in self.alerts:
            for one in promql.parse(rule["query"])["selectors"]:
                asked_for[asked.ages(one["selector"])] = self._ages(one["selector"])
        for argv, answer in asked_for.items():
            yield _kept(argv, answer, monitored.keep_numbers)

    def _ages(self, selector):
        stopped = next((hours for name, hours in self.told.get("stopped", {}).items() if name in selector), None)
        heard = self.nodes if selector.startswith((self.gpu["errors"], self.gpu["alive"], "gpu_health")) else 1
        if stopped is not None:
            return _vector([({"minutes": str(round(stopped * 60))}, heard)] if stopped < 24 else [])
        silent = self.told.get("unheard", 0) if heard > 1 else 0
        return _vector([({"minutes": "0"}, heard - silent), *([({"minutes": "190"}, silent)] if silent else [])])


def _uid(title) -> str:
    return title.lower().replace(" ", "-")


def _success(data) -> dict:
    return {"status": "success", "data": data}


def _vector(rows) -> dict:
    return _success({"resultType": "vector", "result": [{"metric": labels, "value": [0, str(value)]} for labels, value in rows]})


def _kept(argv, answer, keep) -> dict:
    return command(list(argv), keep(json.dumps(answer)))
