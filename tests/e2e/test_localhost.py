"""The machine at hand, for real: Python versions of nodes, and nothing left behind (pytest-testinfra looks)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import testinfra
from acceptance_runs import ROOT, playbook

INVENTORY = ROOT / "inventories" / "localhost"


def interpreter(version: str) -> str:
    """A Python of that version that runs; a version manager may leave names that do not."""
    candidates = [shutil.which(f"python{version}"), *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))]
    for path in filter(None, candidates):
        if subprocess.run([str(path), "-c", ""], capture_output=True, check=False).returncode == 0:
            return str(path)
    pytest.skip(f"no Python {version} on this machine")


def facts(run, concern):
    return json.loads(next(run.run_dir.glob(f"facts/*/{concern}.json")).read_text())


def test_the_machine_at_hand_is_audited_and_nothing_is_left_behind(tmp_path):
    host = testinfra.get_host("local://")
    before = {
        host.file(folder).path: set(host.file(folder).listdir())
        for folder in ("/tmp", "/root" if host.user().name == "root" else str(Path.home()))
    }
    run = playbook(tmp_path, INVENTORY, "--tags", "audit")
    assert run.rc in (10, 11), run.text
    assert run.card["decision"]["demonstration"] is False
    assert facts(run, "boot")["data"]["boot_id"] == host.file("/proc/sys/kernel/random/boot_id").content_string.strip()
    assert facts(run, "preflight")["data"]["hostname"] == host.check_output("hostname")
    for folder, names in before.items():
        left = {name for name in set(host.file(folder).listdir()) - names if "ansible" in name.lower() or "accept" in name.lower()}
        assert left <= {".ansible"}, f"left in {folder}: {left}"
    assert "accept_facts" not in host.check_output("ps -eo args")


def test_the_clock_offset_is_an_interval_around_zero(tmp_path):
    low, high = facts(playbook(tmp_path, INVENTORY), "preflight")["data"]["clock_offset_s"]
    assert low <= 0 <= high
    assert high - low < 10


def test_a_node_with_python_3_8(tmp_path):
    run = playbook(tmp_path, INVENTORY, "-e", f"ansible_python_interpreter={interpreter('3.8')}")
    if run.card["run"]["controller"]["ansible"] >= "2.20":
        pytest.skip("this ansible-core needs Python 3.9 on nodes")
    assert facts(run, "preflight")["data"]["python"].startswith("3.8.")


def test_a_node_with_too_old_a_python_says_so_in_one_line(tmp_path):
    run = playbook(tmp_path, INVENTORY, "-e", f"ansible_python_interpreter={interpreter('3.6')}")
    assert run.rc == 11, run.text
    (line,) = [line for line in run.text.splitlines() if "module did not run" in line]
    assert "Python" in line
    assert "Traceback" not in run.text
