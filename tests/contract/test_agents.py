"""The names that a node is searched for are those of the catalogue of agents; its codes and words are known."""

from __future__ import annotations

from pathlib import Path

from accept_judge import standards as standards_of
from accept_node import agents

STANDARDS = standards_of.load(Path(__file__).resolve().parents[2] / "standards")
CATALOGUE = STANDARDS.catalogs["agents"]


def named(key):
    return [name for entry in CATALOGUE["agents"] for name in entry.get(key, ())]


def test_names_of_the_node_and_of_the_catalogue_are_the_same():
    assert sorted(named("processes")) == sorted(agents.PROCESSES)
    assert sorted(named("units")) == sorted(agents.UNITS)
    assert sorted(named("containers")) == sorted(agents.CONTAINERS)


def test_no_two_agents_are_taken_for_each_other():
    ids = [entry["id"] for entry in CATALOGUE["agents"]]
    assert len(set(ids)) == len(ids)
    assert len({name[: agents.COMM] for name in agents.PROCESSES}) == len(agents.PROCESSES)


def test_words_are_known():
    for entry in CATALOGUE["agents"]:
        assert entry["kind"] in CATALOGUE["kinds"]
        assert entry["effect"] in CATALOGUE["effects"]
        assert set(entry.get("wires", ())) <= set(CATALOGUE["wires"])
        assert {effect.removesuffix("_all_but") for effect in entry.get("xids", ())} <= set(CATALOGUE["effects"])


def test_codes_are_in_the_catalogue_of_xids():
    known = {entry["code"] for entry in STANDARDS.catalogs["xid"]["xids"]}
    for entry in CATALOGUE["agents"]:
        for codes in entry.get("xids", {}).values():
            assert set(codes) <= known, entry["id"]
