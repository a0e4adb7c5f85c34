"""A check that nobody has seen fail does not exist: each has a fixture on which it passes and one on which it does not.

tests/fixtures/checks/<concern>/<check id>.yml: `context` (optional, over the default one), `pass` and `fail`, each the data of one host, or
`{hosts: {name: data}}` for checks of a rack or cluster. What the concern's analysis derives is added where the fixture does not say it.
"""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
import yaml
from accept_judge import analysis, grammar
from accept_judge import standards as standards_of
from accept_judge.evaluate import RANK, Check
from accept_judge.groups import Group
from accept_judge.wanted import Lookup

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "checks"
STANDARDS = standards_of.load(ROOT / "standards")
CHECKS = {check["id"]: check for check in STANDARDS.checks}
STARTED = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
CONTEXT = {"sku": "b200_hgx", "transport": "infiniband", "scheduler": "slurm", "tier": "none", "definition": "audit"}


def context_of(fixture: dict) -> dict:
    """The fixture's context; what a profile says of the SKU comes from there."""
    given = {**CONTEXT, **fixture.get("context", {})}
    profile = STANDARDS.profiles.get(given["sku"], {})
    return {**{key: profile.get(key) for key in ("vendor", "form", "platform")}, **given}


def enriched(check: Check, data: dict, context: dict, lookup: Lookup) -> dict:
    """The data with derived fields, as far as so little data lets them be derived. What the fixture says stands."""
    if check.scope == "run":
        return data
    module = analysis.module_of(check.concern)
    view = analysis.View(STANDARDS, context, {"status": "ok"}, lookup, STARTED, FIXTURES)
    try:
        return {**module.analyse(data, view), **data} if module else data
    except (KeyError, TypeError, AttributeError, IndexError):
        return data


def verdict_on(check_id: str, fixture: dict, data: dict) -> str:
    check, context = Check(CHECKS[check_id]), context_of(fixture)
    lookup = Lookup(STANDARDS, None, "c", context["sku"], "no profile", STARTED)
    if check.scope in ("node", "run"):
        judged = check.scoped(context) or check.judge(enriched(check, data, context, lookup), lookup.of(check.data))
        return judged.verdict
    group = Group(check, "cluster c", "c", check.scoped(context), lookup.of(check.data))
    for host, one in data["hosts"].items():
        group.add(host, enriched(check, one, context, lookup), "", "", True, False)
    return max((judged.verdict for _, judged, *_ in group.results()), key=RANK.__getitem__)


@pytest.mark.parametrize("check_id", CHECKS)
def test_seen_to_pass_and_to_fail(check_id):
    check = Check(CHECKS[check_id])
    path = FIXTURES / check.concern / f"{check_id}.yml"
    assert path.exists(), f"{path.relative_to(ROOT)}: nobody has seen this check pass or fail"
    fixture = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"pass", "fail"} <= set(fixture) <= {"context", "pass", "fail"}
    assert set(fixture.get("context", {})) <= grammar.CONTEXT_KEYS
    assert verdict_on(check_id, fixture, fixture["pass"]) == "pass"
    assert verdict_on(check_id, fixture, fixture["fail"]) == check.failure


@pytest.mark.parametrize("check_id", CHECKS)
def test_nothing_is_not_a_pass(check_id):
    check = Check(CHECKS[check_id])
    lookup = Lookup(STANDARDS, None, "c", "b200_hgx", "no profile", STARTED)
    assert check.judge({}, lookup.of(check.data)).verdict == "not_measured"


def test_no_fixture_without_a_check():
    unknown = [path for path in FIXTURES.rglob("*") if path.is_file() and path.stem not in CHECKS]
    assert not unknown
    misplaced = [path for path in FIXTURES.rglob("*.yml") if path.parent.name != CHECKS[path.stem]["concern"]]
    assert not misplaced
