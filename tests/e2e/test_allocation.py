"""Live hosts behind a scheduler: one allocation is asked for, used, and given back, also where it never comes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml
from acceptance_runs import playbook

# A Slurm of one folder: jobs are files that hold "state name"; every call is noted.
TOOL = """#!/bin/sh
cd {folder} || exit 1
echo "$(basename "$0") $*" >> calls
case "$(basename "$0") $*" in
sbatch*) for one; do case "$one" in --job-name=*) echo "{state} ${{one#--job-name=}}" > job.4711;; esac; done; echo 4711;;
scancel*) rm -f job.4711;;
*--me*) [ -f job.4711 ] && read -r state name < job.4711 && echo "4711|$state|$name"; exit 0;;
*--jobs=*) read -r state name < job.4711 && echo "4711|$state|Resources|n[1-2]";;
esac
"""


# The hosts' interpreter sees the folder as the first of the search path, and nobody else does.
INTERPRETER = """#!/bin/sh
exec unshare -m sh -c 'mount --bind {folder} /usr/local/sbin && exec {python} "$@"' sh "$@"
"""


@pytest.fixture
def cluster(tmp_path):
    """Two live hosts of this machine, the first of them the head."""
    if subprocess.run(["unshare", "-m", "mount", "--bind", tmp_path, "/usr/local/sbin"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespaces here (root is needed)")

    def make(state):
        folder = tmp_path / "slurm"
        folder.mkdir()
        for name in ("sbatch", "squeue", "scancel"):
            (folder / name).write_text(TOOL.format(folder=folder, state=state))
            (folder / name).chmod(0o755)
        (tmp_path / "python").write_text(INTERPRETER.format(folder=folder, python=sys.executable))
        (tmp_path / "python").chmod(0o755)
        local = {"ansible_connection": "local", "ansible_python_interpreter": str(tmp_path / "python")}
        groups = {"gpu_nodes": {"hosts": {"n1": {}, "n2": {}}}, "head": {"hosts": {"n1": {}}}}
        (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"vars": {**local, "accept_cluster": "c"}, "children": groups}}))
        one = {"name": "c", "sku": "h200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 2}
        head = {"schema": 1, "id": "c", "title": "c", "tier": "gold", "definition": "fabric", "clusters": [one]}
        dates = {"agreed_date": "2026-12-15", "walk_away_date": "2027-01-31"}
        (tmp_path / "contract.yml").write_text(yaml.safe_dump({**head, **dates}))
        return folder

    return make


def fabric(tmp_path, **more):
    wanted = {"accept_concerns": ["rdma_bandwidth"], "accept_risk": "load", "accept_gate": False, **more}
    return playbook(tmp_path / "evidence", tmp_path / "hosts.yml", play="playbooks/fabric.yml", **wanted)


def test_it_is_taken_once_and_given_back(cluster, tmp_path):
    folder = cluster("RUNNING")
    run = fabric(tmp_path)
    calls = (folder / "calls").read_text().splitlines()
    (submitted,) = [call for call in calls if call.startswith("sbatch")]
    assert f"--job-name=accept.{run.run_dir.name}.rdma_bandwidth" in submitted, run.text
    assert "--nodelist=n1,n2" in submitted
    assert "scancel 4711" in calls
    assert not (folder / "job.4711").exists()
    plan = json.loads((run.run_dir / "plans/rdma_bandwidth.json").read_text())
    assert (plan["clusters"]["c"]["job"], plan["refused"]) == ("4711", {})


def test_one_that_never_comes_is_a_reason_and_is_not_left(cluster, tmp_path):
    folder = cluster("PENDING")
    run = fabric(tmp_path, accept_slurm={"wait_s": 3})
    assert not (folder / "job.4711").exists(), run.text
    for host in ("n1", "n2"):
        envelope = json.loads((run.run_dir / f"facts/{host}/rdma_bandwidth.json").read_text())
        assert envelope["status"] == "not_run"
        assert "no allocation: job 4711 is pending (Resources) after 3 s and was cancelled" in envelope["reason"]


def test_the_emergency_stop_gives_back_what_is_left(cluster, tmp_path):
    folder = cluster("RUNNING")
    (folder / "job.4711").write_text("RUNNING accept.20261201T000000Z-ab12.rdma_bandwidth\n")
    run = playbook(tmp_path / "evidence", tmp_path / "hosts.yml", play="playbooks/stop.yml")
    assert run.rc == 0, run.text
    assert not (folder / "job.4711").exists()
