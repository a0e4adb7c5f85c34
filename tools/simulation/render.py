"""Simulated nodes -> captures: all renderers' parts, tools that hang or print rubbish, nodes that do not answer."""

from __future__ import annotations

from pathlib import Path

import yaml
from accept_node import capture as captures

from . import (
    common,
    edits,
    render_burn,
    render_collectives,
    render_compute,
    render_fabric,
    render_gpu,
    render_hardware,
    render_health,
    render_isolation,
    render_kernel,
    render_load,
    render_monitoring,
    render_pods,
    render_rdma,
    render_recipe,
    render_scheduler,
    render_tenancy,
    render_versions,
)
from .model import SimNode
from .model_fabric import rail_map, switch_ports
from .model_scheduler import is_head
from .records import command, hung, merge

RENDERERS = (
    render_burn.render,
    render_compute.render,
    render_collectives.render,
    render_fabric.render,
    render_gpu.render,
    render_hardware.render,
    render_isolation.render,
    render_kernel.render,
    render_load.render,
    render_monitoring.render,
    render_pods.render,
    render_rdma.render,
    render_recipe.render,
    render_scheduler.render,
    render_tenancy.render,
    render_versions.render,
)
ATTESTED = ("ufm_secure_profile", "nvlink_domain_exclusive", "bmc_network", "nfs_exports")
WORD = {"holds": True, "by": "the provider", "date": "2026-11-20", "document": "isolation of tenants, version 3"}
# what a contract takes of a spec
SAID = ("name", "sku", "transport", "scheduler", "nodes", "tenancy", "tenant_access", "attestations", "overrides")


def capture(node: SimNode, recorded_at_s: float) -> dict:
    """The capture of one node (docs/evidence.md)."""
    head = {"schema": captures.SCHEMA, "recorded_at_s": recorded_at_s, "identity": common.identity(node)}
    if node.unreachable:
        return {**head, **merge([]), "unreachable": node.unreachable}
    parts = merge([common.render(node, recorded_at_s), render_health.render(node, recorded_at_s), *(render(node) for render in RENDERERS)])
    edits.apply(parts, node)
    parts["commands"] = [_spoiled(node, record) for record in parts["commands"]]
    return {**head, **parts}


def _spoiled(node, record) -> dict:
    """A command as a hung or broken tool answers it. One that is not installed stays so."""
    tool = record["argv"][0]
    if record["reason"] == "missing":
        return record
    if tool in node.hung_tools:
        return hung(record["argv"])
    if tool in node.broken_tools:
        return command(record["argv"], node.broken_tools[tool] + "\n", rc=1, stderr="")
    return record


def write(nodes, spec, recorded_at_s, out, progress=lambda done: None) -> None:
    """OUT/<host>/capture.json of each node; OUT/hosts.yml, OUT/contract.yml, OUT/rail_map.csv and, of RoCE, OUT/switch_ports.csv,
    to run an acceptance on them.
    """
    for done, node in enumerate(nodes, 1):
        captures.save(capture(node, recorded_at_s), str(Path(out) / node.name))
        progress(done)
    Path(out, "rail_map.csv").write_text(rail_map(nodes), encoding="utf-8")
    if any(node.transport == "roce" for node in nodes):
        Path(out, "switch_ports.csv").write_text(switch_ports(nodes), encoding="utf-8")
    for name, content in (("hosts.yml", inventory(nodes)), ("contract.yml", contract(nodes, spec))):
        (Path(out) / name).write_text(yaml.safe_dump(content, sort_keys=False, width=140), encoding="utf-8")


def inventory(nodes) -> dict:
    """An inventory of the captures: they lie beside it."""
    replayed = {
        "ansible_connection": "local",
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        "accept_replay": "{{ inventory_dir }}/{{ inventory_hostname }}",
    }
    hosts = {node.name: {"accept_cluster": node.cluster, "accept_rack": node.rack} for node in nodes}
    heads = {node.name: {} for node in nodes if is_head(node)}
    return {"all": {"vars": replayed, "children": {"gpu_nodes": {"hosts": hosts}, "head": {"hosts": heads}}}}


def contract(nodes, spec) -> dict:
    """A contract on what the spec says was delivered."""
    clusters = []
    for cluster in spec["clusters"]:
        racks = {}
        for node in nodes:
            if node.cluster == cluster["name"]:
                racks[node.rack] = racks.get(node.rack, 0) + 1
        said = {key: cluster[key] for key in SAID if key in cluster}
        usual = {"tenant_access": "pod" if cluster["scheduler"] == "kubernetes" else "user", "attestations": dict.fromkeys(ATTESTED, WORD)}
        clusters.append({**usual, **said, "racks": racks})
    return {
        "schema": 1,
        "id": "simulated",
        "title": "Simulated cluster",
        "tier": "gold",
        "definition": "audit",
        "agreed_date": "2026-12-15",
        "walk_away_date": "2027-01-31",
        "clusters": clusters,
    }
