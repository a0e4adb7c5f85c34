"""playbooks/review.yml with the example's file: what it writes, and that a fault leaves nothing half-written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = "id,level,unit,kind,onset,verified\n"


@pytest.fixture
def play(root, tmp_path):
    def run(ledger: str, *more: str):
        (tmp_path / "provider.csv").write_text(ledger)
        given = {
            "accept_month": "2026-11",
            "accept_provider_ledger": str(tmp_path / "provider.csv"),
            "accept_review_output": str(tmp_path / "out"),
        }
        command = [
            Path(sys.executable).with_name("ansible-playbook"),
            "playbooks/review.yml",
            "-i",
            "localhost,",
            "-e",
            json.dumps(given),
            *more,
        ]
        env = {**os.environ, "ANSIBLE_CONFIG": str(root / "ansible.cfg")}
        return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=120)

    return run


def test_a_month_is_reviewed(play, tmp_path):
    rows = [
        f"e{n},node,gb-{n:02d},down,2026-11-10T0{start}:00:00+01:00,2026-11-10T{end}:00:00+01:00\n"
        for n, start, end in ((1, 0, 10), (2, 0, 10), (3, 4, "06"))
    ]
    done = play(HEAD + "".join(rows))
    assert done.returncode == 0, done.stdout
    review = json.loads((tmp_path / "out" / "review.json").read_text())
    account = review["ledgers"]["provider"]
    assert account["groups"][0]["down_h"] == "52"
    # 10 of 720 h: 98.611 %, below 99.0 % of silver: 30 % of 10000 for two nodes
    assert account["credit"]["credit"] == "6000.00"
    assert "1 − 10/720 = 98.611 %" in (tmp_path / "out" / "review.md").read_text()


def test_a_ledger_with_a_fault_writes_nothing(play, tmp_path):
    done = play(HEAD + "e1,node,gb-01,down,2026-11-10T00:00:00+01:00,\n")
    assert done.returncode != 0
    assert "open-ended" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "out").exists()
