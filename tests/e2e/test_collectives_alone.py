"""playbooks/collectives.yml by itself: it reads what it needs, says minutes before and after it has read, and names a node's bad rail."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import yaml
from acceptance_runs import ROOT, playbook


def test_it_reads_its_facts_runs_the_recipe_and_names_a_rail(tmp_path):
    cluster = {"name": "small", "prefix": "node", "sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 4}
    faults = [{"fault": "slow_rail_in_collectives", "hosts": "node-03", "rail": 5}]
    (tmp_path / "spec.yml").write_text(
        yaml.safe_dump({"schema": 1, "seed": 3, "clusters": [{**cluster, "collectives": True}], "faults": faults})
    )
    subprocess.run([sys.executable, ROOT / "tools/simulate", tmp_path / "spec.yml", tmp_path / "in"], check=True, stdout=subprocess.DEVNULL)
    run = playbook(tmp_path / "evidence", tmp_path / "in", play="playbooks/collectives.yml", accept_risk="load", accept_gate=False)
    plan = json.loads((run.run_dir / "plans/nccl_sweep.json").read_text())["clusters"]["small"]
    assert set(plan["modes"]) == {"bare", "ours", "scale_out", "cross_domain"}, "there was a recipe to run"
    assert len(plan["rails"]) == 8

    (told,) = re.findall(r"collectives +([\d.]+) min", run.text)  # before anything was read, from the contract alone
    assert abs(float(told) - plan["plan"]["minutes"]) < 0.5
    for name in ("plan.json", "run.json"):
        (phase,) = [one for one in json.loads((run.run_dir / name).read_text())["phases"] if one["name"] == "collectives"]
        assert phase["minutes"] == plan["plan"]["minutes"]

    (row,) = [row for check in run.card["checks"] if check["id"] == "nccl.culprits" for row in check["rows"]]
    assert (row["verdict"], row["nodes"]) == ("fail", "node-03")
    assert row["actual"].startswith(f"its rail {plan['rails'][5]}, without NVLink between nodes"), row["actual"]
