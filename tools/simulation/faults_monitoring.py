"""Named faults of a cluster's monitoring; they are put into its head. Near misses, which must stay green, are here too."""

from __future__ import annotations

CHECKED = "GPUs that pass their check"


def no_monitoring_access(node, rng):
    """Nobody gave access to the monitoring"""
    node.control.monitoring["access"] = False


def green_tile(node, rng, *, hours=9):
    """A tile goes on saying that all is well after its series ended: its query falls back on a number"""
    told = node.control.monitoring
    told.setdefault("queries", {})[CHECKED] = "sum(gpu_health_check_passed) or vector(0)"
    told.setdefault("results", {})[CHECKED] = 1
    told.setdefault("stopped", {})["gpu_health_check_passed"] = hours


def dead_rule(node, rng, *, hours=9):
    """The series that an alert compares ended, and nothing watches for that"""
    node.control.monitoring.setdefault("stopped", {})["gpu_health_check_last_run"] = hours


def exporter_down(node, rng, *, job="node-exporter", targets=2):
    """Targets of an exporter's job cannot be scraped"""
    node.control.monitoring.setdefault("down", {})[job] = targets


def nodes_unheard(node, rng, *, nodes=2):
    """Exporters of some nodes are not heard any more"""
    node.control.monitoring["unheard"] = nodes


def tile_missing(node, rng, *, panel="Age of each check"):
    """No dashboard shows one of the things that it has to"""
    node.control.monitoring.setdefault("without", []).append(panel)


def alert_missing(node, rng, *, rule="GpuLost"):
    """No alert rule of one of the kinds that there have to be"""
    node.control.monitoring.setdefault("no_rules", []).append(rule)


def alert_rule_fails(node, rng, *, rule="NodeDown"):
    """An alert rule whose evaluation fails"""
    node.control.monitoring.setdefault("rules", {})[rule] = {"health": "err"}


def alert_fires(node, rng, *, rule="GpuError", alerts=3):
    """An alert about the hardware fires"""
    node.control.monitoring.setdefault("firing", {})[rule] = alerts


def alerts_go_nowhere(node, rng):
    """Alertmanager's receiver has nothing that sends"""
    node.control.monitoring["receiver"] = False


def says_no_data(node, rng, *, hours=9):
    """Near miss: a tile whose series ended, and which says so"""
    node.control.monitoring.setdefault("stopped", {})["nvlink_crc_errors_total"] = hours
    node.control.monitoring["extra"] = "Link errors"
