"""What is wanted: which layer speaks, and that it is named."""

from __future__ import annotations

import hashlib
import json

import fleet
import pytest
from accept_judge.documents import DocumentError
from accept_judge.scorecard import score
from fleet import PROFILE, check, contract, rows_of

COUNT = [check(want="$gpu.count", default={"value": 1, "source": "default source"}), check("thing.other", value="x", want=1)]
FACTS = {"n1": {"thing": {"count": 8, "x": 1}}}
TIER = {"id": "gold", "title": "Gold", "values": {"gpu.count": {"value": 7, "source": "tier source"}}}
BASELINE = {"as_of": "2026-11-20", "values": {"gpu.count": {"value": 5, "source": "table"}}}


def wanted(card):
    row = rows_of(card, "thing.count")[0]
    return row["wanted"], row["wanted_from"]


def test_the_contract_goes_before_all(judge):
    agreed = contract(tier="gold", overrides={"gpu.count": {"value": 6, "reason": "smaller trays"}})
    assert wanted(judge(COUNT, FACTS, agreed, **{"tiers/gold": TIER})) == (6, "contract: gpu.count: smaller trays")


def test_a_cluster_of_the_contract_goes_before_the_rest_of_it(judge):
    agreed = contract(overrides={"gpu.count": {"value": 6, "reason": "all"}})
    agreed["clusters"][0]["overrides"] = {"gpu.count": {"value": 4, "reason": "this one"}}
    assert wanted(judge(COUNT, FACTS, agreed)) == (4, "contract: gpu.count: this one")


def test_then_tier_profile_and_default(judge):
    assert wanted(judge(COUNT, FACTS, contract(tier="gold"), **{"tiers/gold": TIER})) == (7, "tier gold: tier source")
    assert wanted(judge(COUNT, FACTS, contract(), **{"baselines/t": BASELINE})) == (8, "profile b200_hgx: facts")


def test_then_the_default(judge):
    bare = {**PROFILE, "values": {"gpu.memory_mib": {"value": 1, "source": "facts", "confidence": "low"}}}
    assert wanted(judge(COUNT, FACTS, contract(), **{"profiles/b200_hgx": bare})) == (1, "default of the check: default source")
    checks = [check(want="$gpu.memory_mib"), check("thing.other", value="x", want=1)]
    assert wanted(judge(checks, FACTS, contract(), **{"profiles/b200_hgx": bare})) == (1, "profile b200_hgx: facts (confidence low)")


def test_a_table_shows_its_date_age_and_digest(judge):
    bare = {**PROFILE, "values": {"gpu.memory_mib": {"value": 1, "source": "facts"}}}
    value, origin = wanted(judge(COUNT, FACTS, contract(), **{"profiles/b200_hgx": bare, "baselines/t": BASELINE}))
    assert value == 5
    assert origin.startswith("baseline t as of 2026-11-20, 10 days old, sha256 ")
    assert len(origin.split("sha256 ")[1].split(":")[0]) == 12


def test_a_sku_without_profile_is_not_judged_by_a_default(judge):
    facts = {"n1": {"thing": {"count": 8, "x": 1}, "inventory_audit": {"gpus": [{"name": "NVIDIA R100", "memory_mib": 1}]}}}
    agreed = contract()
    agreed["clusters"][0]["sku"] = "auto"
    row = rows_of(judge(COUNT, facts, agreed), "thing.count")[0]
    assert (row["verdict"], row["reason"]) == ("not_measured", "no profile for SKU 'NVIDIA R100': add standards/profiles/nvidia_r100.yml")


@pytest.mark.parametrize("memory", [183359, 183000, None])
def test_a_sku_is_told_by_name_and_for_all_nodes_of_a_cluster(judge, memory):
    seen = {"gpus": [{"name": "NVIDIA B200", "memory_mib": memory}]}
    facts = {name: {"thing": {"count": 8, "x": 1}, "inventory_audit": seen} for name in ("n1", "n2")}
    facts["n3"] = {"thing": {"count": 0, "x": 1}, "inventory_audit": {"gpus": []}}  # its GPUs have vanished: still one of the cluster
    card = judge(COUNT, facts)
    assert card["clusters"][0]["sku"] == "b200_hgx"
    assert [(row["verdict"], row["nodes"]) for row in rows_of(card, "thing.count")] == [("fail", "n3"), ("pass", "n[1-2]")]


def test_one_name_two_profiles_are_told_apart_by_memory(judge):
    other = {
        **PROFILE,
        "id": "b200_big",
        "values": {"gpu.count": {"value": 4, "source": "facts"}, "gpu.memory_mib": {"value": 250000, "source": "facts"}},
    }
    facts = {"n1": {"thing": {"count": 4, "x": 1}, "inventory_audit": {"gpus": [{"name": "NVIDIA B200", "memory_mib": 249900}]}}}
    assert judge(COUNT, facts, **{"profiles/b200_big": other})["clusters"][0]["sku"] == "b200_big"
    facts["n1"]["inventory_audit"]["gpus"][0]["memory_mib"] = None
    row = rows_of(judge(COUNT, facts, **{"profiles/b200_big": other}), "thing.count")[0]
    assert "fits several profiles" in row["reason"]


def test_different_skus_in_one_cluster_need_a_contract(judge):
    other = {**PROFILE, "id": "h200_hgx", "smi_names": ["NVIDIA H200"]}
    facts = {
        f"n{n}": {"thing": {"count": 8, "x": 1}, "inventory_audit": {"gpus": [{"name": f"NVIDIA {sku}"}]}}
        for n, sku in enumerate(("B200", "H200"))
    }
    row = rows_of(judge(COUNT, facts, **{"profiles/h200_hgx": other}), "thing.count")[0]
    assert row["verdict"] == "not_measured"
    assert "b200_hgx on 1, h200_hgx on 1" in row["reason"]


def test_a_reference_that_leads_nowhere_is_an_error_of_the_standards(judge):
    with pytest.raises(DocumentError, match=r"checks/thing.yml: thing.count.want: \$gpu.colour stands in no profile"):
        judge([check(want="$gpu.colour")], FACTS)


def test_another_table_of_versions_takes_the_place_of_ours(tmp_path, root):
    """Judged by a published table: its floor, its date, its digest; and what it does not hold has no floor."""
    table = {
        "schemaVersion": 1,
        "generated": "2026-11-25T09:50:44Z",
        "maxAgeDays": 10,
        "components": {"docker": {"kind": "minimum", "minimum": "29.9.2", "fixAvailability": {"available": "2026-10-20T00:00:00Z"}}},
    }
    path = tmp_path / "minimum-versions.json"
    path.write_text(json.dumps(table), encoding="utf-8")
    components = {name: {"version": "29.8.0", "package": "none"} for name in ("docker", "dcgm")}
    run_dir = fleet.write_run(tmp_path / "run", {"n1": {"version_audit": {"components": components}}})
    card = score(run_dir, root / "standards", version_table=path)
    docker, dcgm = (rows_of(card, f"versions.{name}_floor")[0] for name in ("docker", "dcgm"))
    assert (docker["verdict"], docker["actual"]) == ("fail", "29.8.0")
    assert "29.9.2" in docker["wanted"]
    assert "as of 2026-11-25, 5 days old, sha256 " + hashlib.sha256(path.read_bytes()).hexdigest()[:12] in docker["wanted_from"]
    assert dcgm["verdict"] == "not_measured"
    assert rows_of(card, "versions.table_age")[0]["verdict"] == "pass"
