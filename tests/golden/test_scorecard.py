"""A small fleet with one of everything, byte for byte. To take over a change that is meant: ACCEPT_GOLDEN=write pytest tests/golden."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "judge"))
import fleet
from accept_judge.scorecard import score

GOLDEN = Path(__file__).parent / "scorecard_small.json"
CHECKS = [
    fleet.check("thing.count", want="$gpu.count", cause="gpu_lost", sla=["acceptance.hardware"]),
    fleet.check("thing.width", each="gpus", label="index", value="width", op="ge", want=16, cause="pcie_link", severity="major"),
    fleet.check("thing.version", value="version", op="version_ge", want="$thing.version_min", severity="minor", absent="fail"),
    fleet.check("thing.driver_same", scope="cluster", value="driver", op="all_equal", want=None, severity="major"),
    fleet.check("thing.domain_same", scope="rack", value="domain", op="all_equal", want=None, applies="form == 'nvl72'"),
    fleet.check("thing.table_age", scope="run", value="tables.table.age_days", op="le", want=10, severity="info"),
    fleet.check("other.clock", value="offset_s", op="le", want=5),
]
TABLE = {"as_of": "2026-08-19", "values": {"thing.version_min": {"value": "1.19.1", "source": "bulletin 5850", "confidence": "high"}}}


def node(number: int) -> dict:
    gpus = [{"index": index, "width": 8 if (number, index) == (2, 5) else 16} for index in range(8)]
    gpus[3]["width"] = None if number == 5 else 16
    return {
        "count": 7 if number in (3, 17) else 8,
        "gpus": gpus,
        "version": "none" if number == 6 else "1.17.0" if number == 7 else "1.19.2",
        "driver": "570.1" if number == 9 else "580.2",
        "domain": "x",
    }


def small_fleet(tmp_path: Path) -> tuple:
    names = [f"node{number:02d}" for number in range(1, 19)]
    facts = {name: {"thing": node(number), "other": {"offset_s": [0, 0.4]}} for number, name in enumerate(names, 1)}
    facts["node11"] = {concern: fleet.envelope("node11", concern, None, reason="unreachable: no answer") for concern in ("thing", "other")}
    facts["node12"]["other"] = "{ damaged"
    facts["node13"]["other"] = fleet.envelope("node13", "other", {"offset_s": 0}, run_id="r0")
    facts["node14"]["other"]["offset_s"] = [4.9, 5.1]
    hosts = [{"name": name, "cluster": "c", "rack": "r1" if name < "node10" else "r2", "replay": name == "node01"} for name in names]
    waivers = [
        {"check": "thing.count", "hosts": "node17", "owner": "buyer", "reason": "spare on its way", "expires": "2026-12-31"},
        {"check": "thing.count", "hosts": "node03", "owner": "buyer", "reason": "too late", "expires": "2026-11-01"},
    ]
    agreed = fleet.contract(tier="silver", agreed_date="2026-12-18", waivers=waivers)
    agreed["clusters"][0] |= {"nodes": 19, "racks": {"r1": 9, "r2": 10}}
    contract = fleet.write_yaml(tmp_path / "contract.yml", agreed)
    tier = {"id": "silver", "title": "Silver", "values": {}}
    standards = fleet.write_standards(tmp_path / "standards", CHECKS, **{"baselines/table": TABLE, "tiers/silver": tier})
    began = {"path": "contract.yml", "sha256": hashlib.sha256(contract.read_bytes()).hexdigest()}
    return fleet.write_run(tmp_path / "run", facts, hosts, contract=began), standards, contract


def test_small_fleet(tmp_path):
    card = score(*small_fleet(tmp_path), generated_at="2026-11-30T09:00:00Z")
    jsonschema.validate(card, json.loads((fleet.SCHEMA / "scorecard.json").read_text(encoding="utf-8")))
    text = json.dumps(card, indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("ACCEPT_GOLDEN") == "write":
        GOLDEN.write_text(text, encoding="utf-8")
        pytest.skip("golden file written")
    assert text == GOLDEN.read_text(encoding="utf-8")
