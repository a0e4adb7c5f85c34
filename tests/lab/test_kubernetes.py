"""The real kubectl against a stand-in of the API server: 1,200 nodes in pages, rights, denials, a slow server, answers that are broken."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "lab" / "kubernetes"))

import api_server  # noqa: E402
import kube_world  # noqa: E402

pytestmark = [pytest.mark.lab, pytest.mark.skipif(shutil.which("kubectl") is None, reason="not installed: kubectl (kubernetes-client)")]
BIN = Path(sys.executable).parent
NODES = 1200
ALL = f"gpu-[0001-{NODES}]"
DISCOVERY = ("/api", "/apis")
CONTRACT = {
    "schema": 1,
    "id": "lab-kubernetes",
    "title": "A stand-in of an API server",
    "definition": "audit",
    "agreed_date": "2026-12-15",
    "walk_away_date": "2027-01-31",
}
CLUSTER = {"name": "lab", "sku": "h200_hgx", "transport": "infiniband", "scheduler": "kubernetes", "tenancy": "shared"}


@pytest.fixture
def lab(tmp_path):
    """lab(user, concern, world) -> the run's rows, envelope, calls; its inventory is what the plugin lists from the same server."""
    with api_server.Server(kube_world.World()) as server:

        def run(user="audit", concern="scheduler_audit", **world):
            world = {"nodes": 6, **world}
            server.http.world = kube_world.World(**world)
            folder = tmp_path / f"{user}-{len(list(tmp_path.iterdir()))}"
            env = access(server, user, folder)
            write_inventory(folder, world["nodes"])
            words = [BIN / "ansible-playbook", f"playbooks/{concern}.yml", "-i", folder / "inventory"]
            words += ["-e", json.dumps({"accept_evidence": str(folder / "evidence")})]
            server.calls()
            done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
            return read(done, folder, [call for call in server.calls() if call["user"] == user], concern)

        run.server = server
        yield run


def access(server, user, folder):
    server.kubeconfig(user, folder / "home" / ".kube" / "config")
    server.kubeconfig("admin", folder / "plugin.kubeconfig")
    kept = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    more = {"HOME": str(folder / "home"), "ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_NOCOLOR": "1"}
    return {**kept, **more, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PATH": f"{BIN}:{os.environ['PATH']}"}


def write_inventory(folder, nodes):
    """The nodes as the plugin lists them with an administrator's access; asked once, so that it stands beside what the audit asks."""
    (folder / "inventory").mkdir()
    asked = {"plugin": "accept_scheduler", "scheduler": "kubernetes", "kubeconfig": str(folder / "plugin.kubeconfig")}
    asked |= {"rack_from": "label", "rack_label": "topology.kubernetes.io/rack"}
    (folder / "inventory" / "nodes.accept.yml").write_text(json.dumps(asked))
    (folder / "inventory" / "contract.yml").write_text(json.dumps({**CONTRACT, "clusters": [{**CLUSTER, "nodes": nodes}]}))


def read(done, folder, calls, concern):
    latest = (folder / "evidence" / "latest").resolve()
    assert (latest / "scorecard.json").exists(), done.stdout[-3000:] + done.stderr[-3000:]
    rows, reasons = {}, {}
    for check in json.loads((latest / "scorecard.json").read_text())["checks"]:
        for row in check["rows"]:
            rows.setdefault(check["id"], {}).setdefault(row["verdict"], {})[row["nodes"]] = row["actual"]
            reasons.setdefault(check["id"], []).append(row["reason"])
    (envelope,) = [json.loads(path.read_text()) for path in (latest / "facts").glob(f"*/{concern}.json")]
    return SimpleNamespace(rows=rows, reasons=reasons, envelope=envelope, calls=calls, run=latest, text=done.stdout + done.stderr)


def verdicts(found, prefix):
    kinds = {check: set(rows) for check, rows in found.rows.items() if check.startswith(prefix)}
    return {check: verdict for check, verdict in kinds.items() if verdict != {"not_applicable"}}


def test_twelve_hundred_nodes_in_at_most_ten_calls(lab):
    found = lab(nodes=NODES, cordoned=("gpu-0007",), lost=("gpu-0700",))
    asked = [(call["method"], call["path"]) for call in found.calls]
    assert len(asked) <= 10, asked
    assert asked.count(("GET", "/api/v1/nodes")) == 3
    assert {method for method, _ in asked} == {"GET"}
    assert len(found.envelope["data"]["nodes"]) == NODES
    assert found.rows["scheduler.node_placeable"]["fail"] == {"gpu-0007": "cordoned"}
    assert found.rows["kubernetes.gpus_allocatable"]["fail"] == {"gpu-0700": "7 of 8"}
    assert set(found.rows["scheduler.node_known"]) == {"pass"}
    assert found.rows["scheduler.gpus_offered"] == {"pass": {ALL: 8}}
    passed = ("scheduler.as_contracted", "scheduler.questions_answered", "kubernetes.gpu_agent", "kubernetes.agents_everywhere")
    passed += ("kubernetes.operators_ready", "kubernetes.rdma_resource", "kubernetes.topology_labels")
    assert {check: set(found.rows[check]) for check in passed} == {check: {"pass"} for check in passed}
    everything = "".join(path.read_text() for path in found.run.rglob("*.json"))
    assert "somebody-else" not in everything
    assert "their-secret-agent" not in everything


def test_each_denial_is_a_row_of_its_own(lab):
    found = lab(denied=("daemonsets", "nicclusterpolicies"))
    (said,) = [rows for rows in found.rows["scheduler.questions_answered"].values() if rows != {"gpu-[0001-0006]": True}]
    denied = [one for one in found.envelope["data"]["questions"] if one["answered"] is False]
    assert [one["what"].split()[3].split("?")[0] for one in denied] == [
        "/apis/apps/v1/daemonsets",
        "/apis/mellanox.com/v1alpha1/nicclusterpolicies",
    ], said
    assert all('User "audit" cannot list resource' in one["answered_reason"] for one in denied)
    assert set(found.rows["kubernetes.agents_everywhere"]) == {"not_measured"}
    assert "daemonsets.apps is forbidden" in found.reasons["kubernetes.agents_everywhere"][0]
    assert set(found.rows["kubernetes.operators_ready"]) == {"not_measured"}
    assert set(found.rows["scheduler.node_placeable"]) == {"pass"}


def test_nodes_that_may_not_be_read_pass_nothing(lab):
    found = lab(users={**kube_world.World().users, "audit": (["auditors"], [])})
    of_nodes = ("scheduler.node_known", "scheduler.node_placeable", "scheduler.gpus_offered", "kubernetes.gpus_allocatable")
    assert {check: set(found.rows[check]) for check in of_nodes} == {check: {"not_measured"} for check in of_nodes}
    assert 'nodes is forbidden: User "audit"' in found.reasons["scheduler.node_known"][0]


BROKEN = {
    "a page that expired": ({"pages_expire": True}, "continue parameter is too old"),
    "an answer that is cut": ({"cut": ("/api/v1/nodes",)}, "nodes"),
    "bytes that are no text": ({"garbled": ("/api/v1/nodes",)}, "nodes"),
}


def test_a_list_that_breaks_is_never_taken_for_the_whole(lab, tmp_path):
    """The inventory was typed before: the plugin would refuse the same answers."""
    folder = tmp_path / "typed"
    env = access(lab.server, "audit", folder)
    (folder / "inventory").mkdir()
    hosts = {f"gpu-{number:04d}": {} for number in (1, 600, 1100)}
    local = {"localhost": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}
    (folder / "inventory" / "hosts.yml").write_text(
        json.dumps({"all": {"children": {"gpu_nodes": {"hosts": hosts}, "head": {"hosts": local}}}})
    )
    (folder / "inventory" / "contract.yml").write_text(json.dumps({**CONTRACT, "clusters": [{**CLUSTER, "nodes": 3}]}))
    for name, (world, why) in BROKEN.items():
        lab.server.http.world = kube_world.World(nodes=NODES, **world)
        evidence = {"accept_evidence": str(folder / name.replace(" ", "-"))}
        words = [BIN / "ansible-playbook", "playbooks/scheduler_audit.yml", "-i", folder / "inventory", "-e", json.dumps(evidence)]
        done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300, check=False)
        assert "Traceback" not in done.stdout + done.stderr, name
        latest = Path(evidence["accept_evidence"]) / "latest"
        rows = {}
        for check in json.loads((latest / "scorecard.json").read_text())["checks"]:
            for row in check["rows"]:
                rows.setdefault(check["id"], {})[row["nodes"]] = (row["verdict"], row["reason"])
        last = [verdict for nodes, verdict in rows["scheduler.node_known"].items() if "1100" in nodes]
        assert last, rows["scheduler.node_known"]
        assert {verdict for verdict, _ in last} == {"not_measured"}, name
        errors = json.loads(next((latest / "facts").glob("*/scheduler_audit.json")).read_text())["errors"]
        assert any(why in error["message"] for error in errors), (name, errors)


def test_a_tenant_that_may_little_and_an_administrator_who_may_all(lab):
    tenant = lab("tenant", "tenancy_audit")
    asked = [
        call["path"]
        for call in tenant.calls
        if (call["path"] not in DISCOVERY and not call["path"].startswith("/apis/")) or "self" in call["path"]
    ]
    assert len(asked) <= 10, asked
    well = (
        "tenancy.nodes_proxy",
        "tenancy.secrets",
        "tenancy.pods_exec",
        "tenancy.impersonate",
        "tenancy.namespaces",
        "tenancy.privileged_pods",
    )
    assert {check: set(tenant.rows[check]) for check in well} == {check: {"pass"} for check in well}
    assert set(tenant.rows["tenancy.pods_create"]) == {"fail"}
    assert set(tenant.rows["tenancy.pods_read"]) == {"fail"}
    admin = lab("admin", "tenancy_audit")
    assert {check: set(admin.rows[check]) for check in well[:5]} == {check: {"not_measured"} for check in well[:5]}
    told = admin.reasons["tenancy.secrets"][0]  # kubectl before 1.27 cannot say who we are
    assert "administrator's credentials (system:masters)" in told or "credentials that may do everything" in told
    assert "somebody-else" not in "".join(path.read_text() for path in admin.run.rglob("*.json"))


def test_a_server_that_is_slower_than_its_limit(lab, tmp_path, monkeypatch):
    """Asked once, not ten times; one reason; within the limit of one question."""
    sys.path.insert(0, str(ROOT / "module_utils"))
    from accept_node.collectors import scheduler_audit
    from accept_node.envelope import collect
    from accept_node.node import LiveNode
    from accept_node.schedulers import kubernetes

    lab.server.http.world = kube_world.World(nodes=6, slow_s=6)
    lab.server.kubeconfig("audit", tmp_path / "slow" / ".kube" / "config")
    monkeypatch.setenv("HOME", str(tmp_path / "slow"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr(kubernetes, "TIMEOUT_S", 2)
    lab.server.calls()
    envelope = collect("scheduler_audit", scheduler_audit.collect, LiveNode(), "cluster")
    assert envelope["data"]["found"]["kubernetes"]["present"] is None
    assert "timeout" in envelope["data"]["found"]["kubernetes"]["reason"]
    assert envelope["data"]["nodes"] is None
    assert [call["path"] for call in lab.server.calls()] == ["/version"]
