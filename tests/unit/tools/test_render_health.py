"""A simulated node answers all that the health audit asks; each fault is seen where it was put, and near misses stay green."""

from __future__ import annotations

import datetime
import json

import jsonschema
import pytest
from accept_judge import analysis, standards
from accept_judge.wanted import Lookup
from accept_node.collectors import health_audit
from accept_node.envelope import collect
from accept_node.node import ReplayNode
from simulation import build, render

MACHINES = [("b200_hgx", "slurm"), ("gb300_nvl72", "kubernetes"), ("h200_hgx", "none"), ("mi300x", "slurm"), ("mi300x", "kubernetes")]
SLURM, KUBERNETES = ("b200_hgx", "slurm"), ("gb300_nvl72", "kubernetes")
LISTS = ("timers_off", "xid_false_drains", "xid_needless_drains", "xid_unknown")


@pytest.fixture(scope="module")
def kept(root):
    return standards.load(root / "standards")


@pytest.fixture
def seen(root, kept, tmp_path):
    schema = jsonschema.Draft202012Validator(json.loads((root / "standards/schema/concerns/health_audit.json").read_text(encoding="utf-8")))

    def seen(sku, scheduler, *seeded):
        cluster = {"name": "c", "sku": sku, "nodes": 1, "transport": "infiniband", "scheduler": scheduler}
        spec = {"schema": 1, "clusters": [cluster], "faults": [{"hosts": "c-01", **fault} for fault in seeded]}
        envelope = collect("health_audit", health_audit.collect, ReplayNode(render.capture(build.build(spec)[0], 1_790_000_000.0)))
        schema.validate(envelope["data"])
        assert len(json.dumps(envelope["data"])) < 64 * 1024
        context = {"sku": sku, "scheduler": scheduler, "vendor": kept.profiles[sku]["vendor"]}
        view = analysis.View(
            kept, context, {"host": "c-01"}, Lookup(kept, None, "c", sku, "", None), datetime.datetime.now(datetime.UTC), tmp_path
        )
        return envelope, analysis.module_of("health_audit").analyse(envelope["data"], view)

    return seen


@pytest.mark.parametrize(("sku", "scheduler"), MACHINES)
def test_a_healthy_node(seen, sku, scheduler):
    envelope, facts = seen(sku, scheduler)
    assert (envelope["status"], envelope["errors"]) == ("ok", [])
    assert [name for name in LISTS if facts[name]] == []
    assert not facts["xid_missed"]
    if scheduler != "kubernetes" or sku.startswith("gb"):
        assert facts["agents_count"] >= 1
        assert facts["detection_worst_s"] <= 120
        assert facts["trippable_by"]


FAULTS = [
    (SLURM, {"fault": "health_check_never_ran"}, lambda facts: max(one["age_intervals"] or 0 for one in facts["periodic"]) > 1000),
    (
        SLURM,
        {"fault": "health_check_stale", "hours": 30.0},
        lambda facts: max(one["age_intervals"] or 0 for one in facts["periodic"]) == 1800,
    ),
    (SLURM, {"fault": "health_check_fails"}, lambda facts: "exit-code, exit status 2" in [one["result"] for one in facts["periodic"]]),
    (SLURM, {"fault": "health_timer_off"}, lambda facts: facts["timers_off"] == ["gpu-healthcheck.timer"]),
    (SLURM, {"fault": "slow_health_check"}, lambda facts: facts["detection_worst_s"] == 945),
    (SLURM, {"fault": "deadlocked_recovery"}, lambda facts: False in [one["can_recover"] for one in facts["recoveries"]]),
    (
        SLURM,
        {"fault": "drains_for_xids", "codes": "13,45"},
        lambda facts: facts["xid_false_drains"][0].startswith("Xid 13,45: gpu-healthcheck"),
    ),
    (KUBERNETES, {"fault": "drains_for_xids"}, lambda facts: [line[:6] for line in facts["xid_false_drains"]] == ["Xid 45"]),
    (SLURM, {"fault": "drains_for_xids", "codes": "92,250"}, lambda facts: facts["xid_needless_drains"] and facts["xid_unknown"]),
    (
        SLURM,
        {"fault": "misses_xids", "codes": "79,119"},
        lambda facts: [line[:7] for line in facts["xid_missed"]] == ["Xid 79:", "Xid 119"],
    ),
    (KUBERNETES, {"fault": "broken_agent_config"}, lambda facts: False in [one["readable"] for one in facts["config_files"]]),
    (("h200_hgx", "none"), {"fault": "no_health_agent"}, lambda facts: facts["agents_count"] == 0),
    (("h200_hgx", "none"), {"fault": "only_dcgm"}, lambda facts: facts["agents_count"] is None),
    (("h200_hgx", "none"), {"fault": "deaf_health_check"}, lambda facts: facts["trippable_by"] == []),
    (KUBERNETES, {"fault": "agent_failed"}, lambda facts: "failed" in [agent["state"] for agent in facts["agents"]]),
    (
        SLURM,
        {"fault": "dcgm_down"},
        lambda facts: (facts["dcgm_engine"], facts["dcgm_exporter"], facts["dcgm_health"]) == ("none", False, None),
    ),
    (SLURM, {"fault": "dcgm_watches_off"}, lambda facts: len(facts["dcgm_watches_off"]) == 6 and facts["dcgm_health"] is None),
    (SLURM, {"fault": "dcgm_unhealthy"}, lambda facts: facts["dcgm_health"] == "Failure"),
    (SLURM, {"fault": "dcgm_reset_policy"}, lambda facts: facts["dcgm_policy_action"] == "Reset GPU"),
    (
        SLURM,
        {"fault": "slurm_program_open"},
        lambda facts: (
            [one["what"] for one in facts["slurm_scripts"] if one["kept_by"] == "everyone"]
            == ["Prolog /etc/slurm/prolog.d/10-gpu (/etc/slurm/prolog.d/10-gpu may be changed by everyone)"]
        ),
    ),
    (
        SLURM,
        {"fault": "slurm_program_missing"},
        lambda facts: (
            [one["what"] for one in facts["slurm_scripts"] if one["runs"] == "missing"] == ["HealthCheckProgram /opt/fleet/bin/node-check"]
        ),
    ),
    (SLURM, {"fault": "slurm_epilog_drains"}, lambda facts: facts["xid_false_drains"][0].startswith("Xid 45: Slurm Epilog does drain")),
    (
        SLURM,
        {"fault": "slurm_program_slow"},
        lambda facts: [one["can_work"] for one in facts["slurm_health"]] == [False] and "120 s" in facts["slurm_health"][0]["what"],
    ),
    (SLURM, {"fault": "dcgm_sees_fewer"}, lambda facts: facts["dcgm_gpus_found"] == 4),
]


@pytest.mark.parametrize(("machine", "fault", "found"), FAULTS, ids=lambda value: value.get("fault") if isinstance(value, dict) else None)
def test_a_fault_is_seen(seen, machine, fault, found):
    _, facts = seen(*machine, fault)
    assert found(facts)


@pytest.mark.parametrize(("machine", "fault"), [(SLURM, "fresh_timer"), (KUBERNETES, "label_only_agent"), (SLURM, "slurm_near_misses")])
def test_a_near_miss_stays_green(seen, machine, fault):
    _, facts = seen(*machine, {"fault": fault})
    assert [name for name in LISTS if facts[name]] == []
    assert all((one["age_intervals"] or 0) <= 2 for one in facts["periodic"])
    assert all(one["kept_by"] in ("root", "slurm") and one["runs"] == "there" for one in facts["slurm_scripts"])


def test_one_configuration_differs(seen):
    assert seen(*SLURM)[1]["configs_sha256"] != seen(*SLURM, {"fault": "nhc_config_drift"})[1]["configs_sha256"]


def test_hung_and_broken_tools_are_reasons(seen):
    for fault in (
        {"fault": "hung_tool", "tool": "systemctl"},
        {"fault": "rubbish_tool", "tool": "systemctl"},
        {"fault": "rubbish_tool", "tool": "ps"},
    ):
        envelope, facts = seen(*SLURM, fault)
        assert envelope["status"] == "partial"
        assert facts["agents_running"] is None
    envelope, facts = seen(*SLURM, {"fault": "rubbish_tool", "tool": "dcgmi"})
    assert (facts["dcgm_health"], facts["dcgm_watches_off"]) == (None, None)
