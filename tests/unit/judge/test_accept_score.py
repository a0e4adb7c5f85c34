"""The module around the judge, as Ansible runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import fleet
import pytest
from fleet import check, contract


@pytest.fixture
def accept_score(root, tmp_path):
    fleet.write_standards(tmp_path / "standards", [check()])
    fleet.write_run(tmp_path / "run", {"n1": {"thing": {"count": 8}}, "n2": {"thing": {"count": 7}}})

    def run(**options):
        options = {"run_dir": str(tmp_path / "run"), "standards": str(tmp_path / "standards"), **options}
        environment = {
            **os.environ,
            "ANSIBLE_CONFIG": str(root / "ansible.cfg"),
            "ANSIBLE_LOAD_CALLBACK_PLUGINS": "0",
            "ANSIBLE_STDOUT_CALLBACK": "minimal",
        }
        ansible = Path(sys.executable).parent / "ansible"
        argv = [str(ansible), "localhost", "-i", "localhost,", "-c", "local", "-e", f"ansible_python_interpreter={sys.executable}"]
        done = subprocess.run(
            [*argv, "-m", "accept_score", "-a", json.dumps(options)], cwd=root, env=environment, capture_output=True, text=True, check=False
        )
        return json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("=> ") + 3 :])[0]

    return run


def test_writes_the_scorecard_whole(accept_score, tmp_path):
    result = accept_score()
    card = json.loads((tmp_path / "run" / "scorecard.json").read_text(encoding="utf-8"))
    assert result["scorecard"] == str(tmp_path / "run" / "scorecard.json")
    assert result["decision"] == card["decision"]
    assert (result["exit_code"], result["counts"]["fail"], result["coverage"]) == (10, 1, card["coverage"]["statement"])
    assert [path.name for path in (tmp_path / "run").glob(".*")] == []


def test_what_is_wrong_is_one_line_and_leaves_the_old_scorecard(accept_score, tmp_path):
    (tmp_path / "run" / "scorecard.json").write_text("old", encoding="utf-8")
    fleet.write_yaml(tmp_path / "run" / "contract.yml", contract(colour="blue", tier="platinum"))  # the run's own contract is taken
    result = accept_score()
    assert result["exit_code"] == 13
    assert result["msg"].startswith("no verdict: contract.yml: ")
    assert "\n" not in result["msg"]
    assert len(result["accept_errors"]) == 2
    assert (tmp_path / "run" / "scorecard.json").read_text(encoding="utf-8") == "old"
