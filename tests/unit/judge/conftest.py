"""The judge's tests build small worlds; see fleet.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def judge(tmp_path):
    """judge(checks, facts, contract=None, run={}, **files) -> scorecard."""
    import fleet
    from accept_judge.scorecard import score

    def run(checks, facts, contract=None, run=None, **files):
        standards = fleet.write_standards(tmp_path / "standards", checks, **files)
        run_dir = fleet.write_run(tmp_path / "run", facts, **(run or {}))
        path = fleet.write_yaml(tmp_path / "contract.yml", contract) if contract else None
        return score(run_dir, standards, path, generated_at="2026-11-30T09:00:00Z")

    return run
