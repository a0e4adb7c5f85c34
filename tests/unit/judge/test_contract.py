"""Contracts: every error named by file and key, all at once; waivers and overrides only where they hold."""

from __future__ import annotations

import datetime

import fleet
import pytest
from accept_judge import contract as contracts
from accept_judge import standards as standards_of
from accept_judge.documents import DocumentError


@pytest.fixture
def standards(tmp_path):
    checks = [
        fleet.check(want="$gpu.count"),
        fleet.check("thing.size", op="ge", want="$thing.size_min", default={"value": 1, "source": "test"}),
    ]
    return standards_of.load(fleet.write_standards(tmp_path / "standards", checks))


def errors_of(tmp_path, standards, data, on=None):
    path = tmp_path / "contract.yml"
    path.write_text(data, encoding="utf-8") if isinstance(data, str) else fleet.write_yaml(path, data)
    with pytest.raises(DocumentError) as caught:
        contracts.load(path, standards, on)
    assert all("\n" not in error and error.startswith("contract.yml: ") for error in caught.value.errors)
    return caught.value.errors


def waiver(**fields):
    return {"check": "thing.count", "hosts": "n[01-02]", "owner": "buyer", "reason": "spare on its way", "expires": "2026-12-31", **fields}


def test_a_sound_contract(tmp_path, standards):
    racks = {"r1": 1, "r2": 1}
    data = fleet.contract(tier=None, definition="audit", agreed_date="2026-12-01", walk_away_date="2027-02-01", waivers=[waiver()])
    data["clusters"][0] |= {"racks": racks, "overrides": {"gpu.count": {"value": 4, "reason": "trays"}}}
    contract = contracts.load(fleet.write_yaml(tmp_path / "contract.yml", data), standards, datetime.date(2026, 11, 30))
    assert contract.cluster("c")["racks"] == racks
    assert contract.overrides_of("c") == {"gpu.count": {"value": 4, "reason": "trays"}}
    assert contract.overrides_of("other") == {}
    assert len(contract.sha256) == 64


def test_all_errors_at_once(tmp_path, standards):
    data = fleet.contract(colour="blue", agreed_date="2026-12-01", walk_away_date="2026-11-01", definition="nothing", tier="platinum")
    data["clusters"][0] |= {"racks": {"r1": 1, "r2": 4}, "sku": "x100", "transport": "pigeon"}
    data["overrides"] = {"gpu.colour": {"value": 1, "reason": "why not"}, "thing.size_min": {"value": "big", "reason": "text"}}
    data["waivers"] = [
        waiver(check="thing.nothing"),
        waiver(hosts="n[01"),
        waiver(owner="  "),
        waiver(expires="2026-02-30"),
        waiver(reason=None),
    ]
    del data["waivers"][4]["reason"]
    errors = "\n".join(errors_of(tmp_path, standards, data))
    for part in (
        "top level: unknown key colour (known: agreed_date",
        "walk_away_date: 2026-11-01 is before the agreed date 2026-12-01",
        "definition: nothing is none of audit",
        "tier: platinum is none of bronze, silver, gold",
        "clusters.c.racks: they hold 5 nodes, and nodes says 2",
        "clusters.c.sku: no profile for SKU x100: add standards/profiles/x100.yml",
        "clusters.c.transport: pigeon is none of infiniband, roce, efa, none",
        "overrides.gpu.colour: no check, profile, tier or baseline knows this key",
        "overrides.thing.size_min.value: ge wants a number",
        "waivers.0.check: there is no check thing.nothing",
        "waivers.1.hosts: 'n[01' is no node set",
        "waivers.2.owner: a waiver needs one who answers for it",
        "waivers.3.expires: 2026-02-30 is no date of the calendar",
        "waivers.4: 'reason' is a required property",
    ):
        assert part in errors, part


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "top level: None is not of type 'object'"),
        ("[1, 2]", "is not of type 'object'"),
        ("schema: 1\nschema: 1\n", "line 2: key 'schema' stands twice"),
        ("a: [", "line 2: did not find expected node content"),
        ("\x00", "text: "),
        ("schema: 1\nid: a\ntitle: b\nclusters: 5\nwaivers: 7\noverrides: x\n", "clusters: 5 is not of type 'array'"),
        ("schema: 2\nid: a\ntitle: b\nclusters: []\n", "schema: 1 was expected"),
    ],
)
def test_rubbish_is_one_line(tmp_path, standards, text, part):
    assert part in "\n".join(errors_of(tmp_path, standards, text))


def test_no_file(tmp_path, standards):
    with pytest.raises(DocumentError, match=r"nowhere\.yml: file: cannot be read"):
        contracts.load(tmp_path / "nowhere.yml", standards)


def test_dates_need_no_quotes(tmp_path, standards):
    text = "schema: 1\nid: a\ntitle: b\nagreed_date: 2026-12-01\n"
    text += "clusters: [{name: c, sku: auto, transport: none, scheduler: none, nodes: 1}]\n"
    path = tmp_path / "contract.yml"
    path.write_text(text, encoding="utf-8")
    assert contracts.load(path, standards).data["agreed_date"] == "2026-12-01"


def test_a_waiver_that_has_run_out(tmp_path, standards):
    data = fleet.contract(waivers=[waiver(expires="2026-11-29"), waiver(expires="2026-11-30")])
    today = datetime.date(2026, 11, 30)
    assert errors_of(tmp_path, standards, data, today) == [
        "contract.yml: waivers.0.expires: expired on 2026-11-29: renew it or take it out"
    ]
    kept, expired = contracts.load(tmp_path / "contract.yml", standards).waivers(
        today
    )  # to judge old evidence it is no error, and not applied
    assert [one["expires"] for one in kept] == ["2026-11-30"]
    assert expired == ["waiver of thing.count on n[01-02] (buyer) expired on 2026-11-29: not applied"]


def test_inventory_and_contract_must_agree(tmp_path, standards):
    data = fleet.contract()
    data["clusters"][0]["racks"] = {"r1": 2}
    contract = contracts.load(fleet.write_yaml(tmp_path / "contract.yml", data), standards)
    hosts = [
        {"name": "a", "cluster": "c", "rack": "r1"},
        {"name": "b", "cluster": "c", "rack": "r9"},
        {"name": "d", "cluster": "e", "rack": ""},
    ]
    assert contracts.inventory_faults(contract, hosts) == [
        "contract.yml: clusters: the inventory's cluster 'e' is not named here",
        "contract.yml: clusters.c.racks: the inventory has 'r9', not named here",
    ]
