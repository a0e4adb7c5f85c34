"""The standards as they are shipped: schemas are schemas, every number has a source, every reference leads somewhere."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from accept_judge import grammar
from accept_judge import standards as standards_of

ROOT = Path(__file__).resolve().parents[2]
STANDARDS = standards_of.load(ROOT / "standards")
SCHEMAS = sorted((ROOT / "standards" / "schema").rglob("*.json"))


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_schema_is_a_schema(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_concern_with_checks_has_a_schema_of_its_data():
    concerns = {check["concern"] for check in STANDARDS.checks}
    assert {path.stem for path in SCHEMAS if path.parent.name == "concerns"} >= concerns


def test_every_number_has_a_source():
    entries = [(name, key, entry) for name, layer in layers() for key, entry in layer.get("values", {}).items()]
    assert entries
    assert not [(name, key) for name, key, entry in entries if not entry["source"]]
    assert not [check["id"] for check in STANDARDS.checks if not check["source"] or not check.get("default", check)["source"]]


def layers():
    for kind in (STANDARDS.profiles, STANDARDS.tiers, STANDARDS.baselines):
        yield from kind.items()


def test_definitions_judge_what_there_is():
    concerns = {check["concern"] for check in STANDARDS.checks}
    for definition in STANDARDS.definitions.values():
        assert definition["concerns"] == "all" or set(definition["concerns"]) <= concerns, definition["id"]


def test_a_profile_for_each_of_the_nine_platforms():
    assert len(STANDARDS.profiles) >= 9
    names = [
        (name, profile["values"].get("gpu.memory_mib", {}).get("value"))
        for profile in STANDARDS.profiles.values()
        for name in profile["smi_names"]
    ]
    assert len(names) == len(set(names)), "two profiles could not be told apart"


def test_every_check_says_what_to_do():
    assert not [check["id"] for check in STANDARDS.checks if len(check["remedy"]) < 15]


def test_every_reference_is_used_as_one():
    """A want that begins with a dollar is looked up; one that is meant as text would never be compared."""
    for check in STANDARDS.checks:
        for key in grammar.references(check.get("want")):
            assert "." in key, check["id"]


def test_the_audit_with_probes_is_the_audit_and_the_probes():
    audit, both = STANDARDS.definitions["audit"], STANDARDS.definitions["audit_probe"]
    assert both["concerns"] == [*audit["concerns"], "tenancy_probe"]
    assert all(both[key] == audit[key] for key in ("reject", "exceptions", "incomplete", "coverage"))


def test_the_audit_with_collectives_is_the_audit_and_the_sweep():
    audit, both = STANDARDS.definitions["audit"], STANDARDS.definitions["audit_collectives"]
    assert both["concerns"] == [*audit["concerns"], "nccl_sweep"]
    assert all(both[key] == audit[key] for key in ("reject", "exceptions", "incomplete", "coverage"))
