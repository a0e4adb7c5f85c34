"""Simulated providers ship what their platform needs, each fault is seen, near misses stay green, and the data keeps its shape."""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema
import pytest
from accept_judge import analysis, evidence, recipe, report, scorecard, standards
from accept_judge.evaluate import Check
from accept_judge.wanted import Lookup
from accept_node.collectors import gid_check, inventory_audit, isolation_audit, nccl_recipe, roce_config, version_audit
from accept_node.envelope import collect
from accept_node.node import ReplayNode
from benchmarks import fleet
from simulation import build, faults_recipe, render

ROOT = Path(__file__).resolve().parents[3]
STANDARDS = standards.load(ROOT / "standards")
CHECKS = [Check(check) for check in STANDARDS.checks if check["concern"] == "nccl_recipe" and check["scope"] == "node"]
MODULES = (gid_check, inventory_audit, isolation_audit, nccl_recipe, roce_config, version_audit)
CLUSTERS = {
    "h100": {"sku": "h100_hgx", "transport": "infiniband", "scheduler": "slurm"},
    "b200": {"sku": "b200_hgx", "transport": "roce", "scheduler": "slurm"},
    "gb300": {"sku": "gb300_nvl72", "transport": "roce", "scheduler": "kubernetes"},
    "mi300x": {"sku": "mi300x", "transport": "roce", "scheduler": "slurm"},
}
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "standards/schema/concerns/nccl_recipe.json").read_text()))


def verdicts(cluster, tmp_path, *faults):
    """Check -> verdict of one machine with these faults."""
    made = build.build({"schema": 1, "seed": 5, "clusters": [{"name": cluster, **CLUSTERS[cluster], "nodes": 1}]})[0]
    for name, given in faults:
        getattr(faults_recipe, name)(made, random.Random(1), **given)
    replay = ReplayNode(render.capture(made, 1.8e9))
    facts = {}
    for module in MODULES:
        concern = module.__name__.rsplit(".", 1)[1]
        envelope = {**collect(concern, module.collect, replay), "host": "n1"}
        facts[concern] = evidence.Fact(concern, envelope["status"], "", envelope["data"], envelope)
    SCHEMA.validate(facts["nccl_recipe"].data)
    profile = STANDARDS.profiles[CLUSTERS[cluster]["sku"]]
    context = {**CLUSTERS[cluster], "tier": "none", "definition": "audit", **{key: profile[key] for key in ("vendor", "form", "platform")}}
    lookup = Lookup(STANDARDS, None, cluster, context["sku"], "", None)
    view = analysis.View(
        STANDARDS, context, facts["nccl_recipe"].envelope, lookup, None, tmp_path, {"inventory": {"hosts": []}}, ("n1",), facts
    )
    data = analysis.enrich("nccl_recipe", facts["nccl_recipe"].data, view)
    return {check.id: (check.scoped(context) or check.judge(data, lookup.of(check.data))).verdict for check in CHECKS}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_healthy_provider_ships_what_its_platform_needs(cluster, tmp_path):
    assert set(verdicts(cluster, tmp_path).values()) <= {"pass", "not_applicable"}


@pytest.mark.parametrize(
    ("cluster", "fault", "given", "check"),
    [
        ("b200", "exported_conf", {}, "recipe.conf_takes_effect"),
        ("h100", "lost_conf_file", {}, "recipe.conf_file_there"),
        ("h100", "two_values", {}, "recipe.no_contradiction"),
        ("h100", "setting", {}, "recipe.no_path_switched_off"),
        ("gb300", "setting", {"name": "NCCL_MNNVL_ENABLE", "value": "0"}, "recipe.no_path_switched_off"),
        ("h100", "setting", {"name": "NCCL_ALGO", "value": "Ring"}, "recipe.no_choice_forced"),
        ("h100", "setting", {"name": "NCCL_DEBUG", "value": "INFO"}, "recipe.quiet"),
        ("h100", "setting", {"name": "NCCL_IB_HCA", "value": "=mlx5_0"}, "recipe.hcas"),
        ("h100", "setting", {"name": "NCCL_IB_HCA", "value": "mlx5,bnxt_re"}, "recipe.hcas"),
        ("h100", "setting", {"name": "NCCL_NET_PLUGIN", "value": "spcx"}, "recipe.plugins_there"),
        ("h100", "topology_of_another", {}, "recipe.topology_file"),
        ("b200", "conf_not_mounted", {}, "recipe.reaches_containers"),
        ("gb300", "bare_recipe", {}, "recipe.golden"),
        ("h100", "no_peer_mapping", {}, "recipe.library_possible"),
    ],
)
def test_each_fault_is_found_by_its_check(cluster, fault, given, check, tmp_path):
    healthy, found = verdicts(cluster, tmp_path), verdicts(cluster, tmp_path, (fault, given))
    assert healthy[check] in ("pass", "not_applicable")
    assert found[check] in ("fail", "warn")
    others = {name for name in found if found[name] in ("fail", "warn")} - {check}
    assert others <= {"recipe.golden"}, "one fault, one finding"


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_near_misses_stay_green(cluster, tmp_path):
    assert set(verdicts(cluster, tmp_path, ("quoted_setting", {})).values()) <= {"pass", "not_applicable"}


def test_a_run_writes_its_recipe(tmp_path):
    """From captures to the files beside the report, and the same settings for a sweep while the run goes on."""
    both = "node-[01-02]"
    unforced = [{"fault": name, "hosts": both} for name in ("class_not_forced", "quoted_setting", "setting")]
    captures = fleet.simulate(tmp_path / "captures", 2, "b200_hgx", "roce", faults=unforced)
    run_dir = fleet.evidence(captures, tmp_path / "run")
    card = scorecard.score(run_dir, ROOT / "standards", captures / "contract.yml")
    jsonschema.Draft202012Validator(json.loads((ROOT / "standards/schema/scorecard.json").read_text())).validate(card)
    (run_dir / "scorecard.json").write_text(json.dumps(card))
    report.write(run_dir, ROOT / "roles/sla_score/templates")
    conf = (run_dir / "recipe/nccl.conf").read_text().splitlines()
    assert conf[1:] == ["NCCL_IB_TC=106", "NCCL_SOCKET_IFNAME=eno1", "NCCL_IB_DISABLE=0"]
    assert "DSCP 26 goes to priority 3" in (run_dir / "recipe/README.md").read_text()
    assert 'href="recipe/nccl.conf"' in (run_dir / "report.html").read_text()
    assert "The provider ships `/usr/share/modulefiles/nccl/old` for those who load it" in (run_dir / "recipe/README.md").read_text()
    made = recipe.of_run(run_dir, ROOT / "standards", captures / "contract.yml")["fleet"]
    assert recipe.environment(made) == {"NCCL_IB_TC": "106", "NCCL_SOCKET_IFNAME": "eno1", "NCCL_IB_DISABLE": "0"}
    assert made["provider"]["values"] == {"NCCL_IB_DISABLE": "1"}
