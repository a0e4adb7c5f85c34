"""A real Slurm, audited by acceptance.yml over real ssh: what is well passes, what is seeded is found, what is down has a reason."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lab" / "slurm"))

import cluster as slurm  # noqa: E402

pytestmark = pytest.mark.lab
BIN = Path(sys.executable).parent
ALL = "gpu-[01-04]"
ASKED = ["preflight", "inventory_audit", "scheduler_audit", "tenancy_audit"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    reason = slurm.lacking()
    if reason:
        pytest.skip(reason)
    made = slurm.Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        try:
            made.up()
            made.until("ctl", "[ $(sinfo -h -N -t idle | wc -l) = 4 ]")
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"Slurm did not start here: {error}")
        # A job of somebody else: daemon's, in the middle of the cluster.
        made.on("ctl", "setpriv --reuid daemon --regid daemon --clear-groups sbatch -D / -o /dev/null -J secret-work --wrap 'sleep 600'")
        made.until("ctl", "squeue -h -t R | grep -q .")
        yield made
    finally:
        made.down()


def ansible(lab, name, *words, inventory=None):
    env = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": f"{BIN}:{os.environ['PATH']}", "ANSIBLE_NOCOLOR": "1"}
    env["ANSIBLE_INVENTORY_UNPARSED_FAILED"] = "1"
    return lab.inside([BIN / name, "-i", inventory or lab.folder / "inventory", *words], cwd=ROOT, env=env)


def accept(lab, folder, concerns=ASKED, inventory=None):
    """A run of acceptance.yml: rc, text, rows of each check {verdict: {nodes: actual}}, reasons of its rows, envelopes of the head."""
    extra = json.dumps({"accept_evidence": str(folder), "accept_concerns": concerns})
    done = ansible(lab, "ansible-playbook", "acceptance.yml", "-e", extra, inventory=inventory)
    path = folder / "latest" / "scorecard.json"
    assert path.exists(), done.stdout[-3000:] + done.stderr[-3000:]
    card = json.loads(path.read_text())
    rows, reasons = {}, {}
    for check in card["checks"]:
        for row in check["rows"]:
            rows.setdefault(check["id"], {}).setdefault(row["verdict"], {})[row["nodes"]] = row["actual"]
            reasons.setdefault(check["id"], []).append(row["reason"])
    head = {one.stem: json.loads(one.read_text()) for one in (folder / "latest" / "facts" / "ctl").glob("*.json")}
    text = done.stdout + done.stderr
    return SimpleNamespace(
        rc=done.returncode, text=text, card=card, rows=rows, reasons=reasons, head=head, run=(folder / "latest").resolve()
    )


def of_scheduler(found):
    """check -> its rows, of what the scheduler's concerns judge and what is about Slurm."""
    mine = ("scheduler.", "slurm.", "tenancy.")
    return {check: rows for check, rows in found.rows.items() if check.startswith(mine) and set(rows) != {"not_applicable"}}


@pytest.fixture(scope="module")
def healthy(lab, tmp_path_factory):
    return accept(lab, tmp_path_factory.mktemp("healthy"))


@pytest.fixture(scope="module")
def broken(lab, healthy, tmp_path_factory):
    """A GPU that the driver lost, a device that slurmd lost, a node that is drained; nothing private, no accounting, no health check."""
    lab.lose_gpu("gpu-02")
    lab.lose_device("gpu-03")
    lab.on("ctl", "scontrol update nodename=gpu-04 state=drain reason='fan 3 is loud'")
    lab.configure(health_interval_s=0, private="none", accounting=False, return_to_service=2)
    lab.until("ctl", "sinfo -h -N -o '%N %t' | grep -q 'gpu-01 mix'")
    lab.until("ctl", "scontrol show node gpu-03 | grep -q INVALID_REG")
    return accept(lab, tmp_path_factory.mktemp("broken"))


@pytest.fixture(scope="module")
def stopped(lab, broken, tmp_path_factory):
    """The controller is down; the nodes are those that it listed before."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "hosts.yml").write_text(ansible(lab, "ansible-inventory", "--list", "--yaml", "--export").stdout)
    (folder / "contract.yml").write_text((lab.folder / "inventory" / "contract.yml").read_text())
    lab.stop_controller()
    asked = ["preflight", "scheduler_audit", "tenancy_audit"]
    return accept(lab, tmp_path_factory.mktemp("stopped"), asked, inventory=folder)


def test_the_inventory_is_what_slurm_lists(lab):
    done = ansible(lab, "ansible-inventory", "--list")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)
    assert sorted(listed["gpu_nodes"]["hosts"]) == list(slurm.NODES)
    assert listed["head"]["hosts"] == ["ctl"]
    racks = {name: values.get("accept_rack", {}) for name, values in listed["_meta"]["hostvars"].items()}
    leaves = {name: rack.get("__ansible_unsafe") for name, rack in racks.items()}
    assert leaves == {"gpu-01": "leaf01", "gpu-02": "leaf01", "gpu-03": "leaf02", "gpu-04": "leaf02", "ctl": None}


# What is not so on this Slurm, and why.
KNOWN = {
    "scheduler.release_supported": {"warn": "22.05 ended before 2024-11-30"},  # Debian's release
    "slurm.controller_backup": {"warn": 1},
    "slurm.devices_constrained": {"fail": False},  # no cgroups of its own in a namespace
    "tenancy.bmc_network": {"not_measured": None},  # asks for evidence
}
OF_ACCOUNTING = {"slurm.accounting", "slurm.gpus_accounted", "tenancy.accounting_visible"}


def test_what_slurmd_runs_is_read_on_the_node_and_is_roots_alone(lab, tmp_path):
    """The health program of the real slurm.conf, by the real grep, stat and head; then anybody may change it."""
    asked = ["preflight", "inventory_audit", "health_audit"]
    done = accept(lab, tmp_path / "well", asked)
    for check in ("health.slurm_programs_kept", "health.slurm_programs_run", "health.slurm_program_works"):
        assert set(done.rows[check]) == {"pass"}, done.text
    facts = json.loads(next((done.run / "facts").glob("gpu-01/health_audit.json")).read_text())["data"]["slurm_programs"]
    program = next(one for one in facts["programs"] if one["setting"] == "HealthCheckProgram")
    assert (program["state"], program["writable_by"], program["data"]["interpreter"]) == ("there", "root", "sh")
    lab.on("gpu-02", f"chmod 777 {program['path']}")
    try:
        rows = accept(lab, tmp_path / "open", asked).rows["health.slurm_programs_kept"]
    finally:
        lab.on("gpu-02", f"chmod 755 {program['path']}")
    assert "everyone" in str(rows["fail"])


def test_what_is_well_passes_and_no_other_finding_stands(healthy, lab):
    assert (healthy.card["coverage"]["live_hosts"], healthy.rc) == (4, 10), healthy.text
    rows = of_scheduler(healthy)
    found = {
        check: {verdict: next(iter(of.values())) for verdict, of in kinds.items()}
        for check, kinds in rows.items()
        if set(kinds) != {"pass"}
    }
    unaccounted = set() if lab.accounting else OF_ACCOUNTING
    assert {check: kinds for check, kinds in found.items() if check not in unaccounted} == KNOWN
    assert len(rows) >= 25
    nodes = {node["name"]: node for node in healthy.head["scheduler_audit"]["data"]["nodes"]}
    assert {name: (node["gpus"], node["gpus_usable"], node["gpu_types"]) for name, node in nodes.items()} == {
        name: (8, 8, {"h200": 8}) for name in slurm.NODES
    }
    assert sorted(node["state"] for node in nodes.values()) == ["IDLE", "IDLE", "IDLE", "MIXED"]
    assert rows["slurm.topology_configured"] == {"pass": {ALL: "tree"}}
    assert rows["slurm.health_program"] == {"pass": {ALL: "every 60 s"}}


def test_a_job_of_somebody_else_stays_private_and_its_name_is_nowhere(healthy, broken):
    assert healthy.rows["tenancy.jobs_private"] == {"pass": {ALL: ["accounts", "events", "jobs", "reservations", "usage", "users"]}}
    assert healthy.rows["tenancy.jobs_visible"] == {"pass": {ALL: 0}}
    for found in (healthy, broken):
        for path in found.run.rglob("*"):
            text = b"" if path.is_dir() else path.read_bytes()
            assert b"secret-work" not in (gzip.decompress(text) if path.suffix == ".gz" else text), path


def test_accounting_that_is_on(healthy, lab):
    if not lab.accounting:
        pytest.skip("no slurmdbd or MariaDB here: accounting was not tried")
    assert healthy.rows["slurm.accounting"] == {"pass": {ALL: "on"}}
    assert healthy.rows["slurm.gpus_accounted"] == {"pass": {ALL: True}}
    assert healthy.rows["tenancy.accounting_visible"] == {"pass": {ALL: 0}}
    assert healthy.head["scheduler_audit"]["data"]["capabilities"]["history"] is True


def test_slurm_is_asked_at_most_ten_questions(healthy):
    asked = [
        one["what"] for one in healthy.head["scheduler_audit"]["sources"] if not one["what"].startswith(("kubectl", "scontrol --version"))
    ]
    assert 5 <= len(asked) <= 10, asked


def test_each_fault_is_found_by_the_node_that_has_it(broken):
    out = broken.rows["scheduler.node_placeable"]["fail"]
    (nodes,) = out
    assert nodes == "gpu-[03-04]"
    lost, drained = out[nodes]
    assert lost.startswith("registered with less than is configured")
    assert "(7 < 8), by root" in lost
    assert drained.startswith("drained: fan 3 is loud, by root")
    assert broken.rows["scheduler.gpus_as_in_hardware"]["fail"] == {"gpu-02": "scheduler 8, node 7"}
    assert broken.rows["slurm.reason_told"] == {"pass": {ALL: True}}


def test_each_fault_of_the_configuration_is_found(broken, healthy):
    seeded = {
        "slurm.accounting": {"fail": {ALL: "none"}},
        "slurm.gpus_accounted": {"warn": {ALL: False}},
        "slurm.health_program": {"warn": {ALL: "never runs"}},
        "slurm.return_checked": {"warn": {ALL: "unchecked"}},
        "tenancy.jobs_private": {"fail": {ALL: "none"}},
        "tenancy.jobs_visible": {"fail": {ALL: 1}},
    }
    assert {check: broken.rows[check] for check in seeded} == seeded
    same = {check for check, rows in of_scheduler(broken).items() if rows == healthy.rows.get(check)}
    others = {"scheduler.node_placeable", "scheduler.gpus_as_in_hardware", "tenancy.accounting_visible"}
    assert set(of_scheduler(broken)) - same <= {*seeded, *others}


def test_without_accounting_the_records_have_a_reason(broken):
    assert broken.rows["tenancy.accounting_visible"] == {"not_measured": {ALL: None}}
    assert "sacct" in broken.reasons["tenancy.accounting_visible"][0]


def test_a_controller_that_is_down_gives_a_reason_and_no_pass(stopped):
    rows = of_scheduler(stopped)
    assert len(rows) >= 25
    assert {verdict for kinds in rows.values() for verdict in kinds} == {"not_measured"}
    told = [
        reason for check in ("scheduler.as_contracted", "scheduler.node_placeable", "slurm.accounting") for reason in stopped.reasons[check]
    ]
    assert all("Unable to contact slurm controller" in reason for reason in told), told
    assert stopped.rc == 11, stopped.text
    assert "Traceback" not in stopped.text


def test_a_controller_that_is_down_lists_no_nodes(stopped, lab):
    done = ansible(lab, "ansible-inventory", "--list")
    assert done.returncode != 0
    assert (
        "accept_scheduler: scontrol -a -o show node: exit status 1: slurm_load_node error: Unable to contact slurm controller"
        in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_nothing_of_it_is_left(lab):
    """The last test: the lab ends, and with it its processes and mounts; links and addresses were never this machine's."""
    lab.down()
    folder = str(lab.folder)
    left = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if folder in (process / "cmdline").read_text().replace("\0", " "):
                left.append((process / "cmdline").read_text())
        except OSError:
            continue
    assert not left
    assert folder not in Path("/proc/mounts").read_text()
