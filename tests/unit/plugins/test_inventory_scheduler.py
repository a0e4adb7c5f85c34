"""The inventory plugin, as ansible-inventory runs it: scheduler commands are stand-ins that print recorded text."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import yaml

SLURM_NODES = "".join(
    f"NodeName=node-a0{1 + n // 3}-{n:02d} Gres={gres} NodeAddr=10.0.0.{n} State=IDLE Partitions={part} CfgTRES=cpu=2\n"
    for n, gres, part in [
        (1, "gpu:h100:8(S:0-1)", "gpu"),
        (2, "gpu:h100:8", "gpu"),
        (3, "gpu:h100:8", "test"),
        (4, "gpu:h100:8", "gpu"),
        (5, "(null)", "cpu"),
    ]
)
TREE = (
    "SwitchName=s0 Level=1 Nodes=node-a0[1-2]-0[1-4] Switches=l1,l2\nSwitchName=l1 Level=0 Nodes=node-a01-0[1-2]\n"
    "SwitchName=l2 Level=0 Nodes=node-a02-0[3-4]\n"
)


def kube_node(number, gpus, **labels):
    return {
        "metadata": {"name": f"t{number}", "labels": {"example.com/rack": f"r{number // 2}", **labels}},
        "status": {
            "capacity": {"cpu": "8", **({"nvidia.com/gpu": str(gpus)} if gpus else {})},
            "addresses": [{"type": "InternalIP", "address": f"10.1.0.{number}"}],
        },
    }


PAGES = {
    "/version": {"gitVersion": "v1.36.2"},
    "/api/v1/nodes?limit=500": {"kind": "NodeList", "metadata": {"continue": "abc="}, "items": [kube_node(1, 4), kube_node(2, 4)]},
    "/api/v1/nodes?limit=500&continue=abc%3D": {"kind": "NodeList", "metadata": {}, "items": [kube_node(3, 4), kube_node(9, 0)]},
}


def plain(value):
    """What came from outside is marked as such by Ansible: text that is never a template."""
    return value.get("__ansible_unsafe", {key: one for key, one in value.items() if key != "ansible_local"})


@pytest.fixture
def listed(tmp_path, root):
    """listed(options, tool=text or {argv: text}) -> (inventory as ansible-inventory gives it, stderr)."""

    def run(options, **tools):
        commands = tmp_path / "bin"
        commands.mkdir(exist_ok=True)
        for name, body in tools.items():
            (commands / name).write_text("#!/bin/sh\n" + body)
            (commands / name).chmod(0o755)
        path = tmp_path / "scheduler.accept.yml"
        path.write_text(yaml.safe_dump({"plugin": "accept_scheduler", **options}) if isinstance(options, dict) else options)
        env = {
            **os.environ,
            "PATH": f"{commands}:{os.environ['PATH']}",
            "ANSIBLE_CONFIG": str(root / "ansible.cfg"),
            "ANSIBLE_INVENTORY_UNPARSED_FAILED": "1",
        }
        command = [os.path.join(os.path.dirname(sys.executable), "ansible-inventory"), "-i", str(path), "--list"]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, env=env, timeout=60, check=False)
        return (json.loads(done.stdout, object_hook=plain) if done.returncode == 0 else None), done.stderr

    return run


def scontrol(nodes=SLURM_NODES, topology=TREE):
    return f"case \"$*\" in\n*topology*) cat <<'E'\n{topology}E\n;;\n*) cat <<'E'\n{nodes}E\n;;\nesac\n"


def kubectl(pages=PAGES):
    cases = "".join(f"'get --raw {path} --request-timeout=30s') cat <<'E'\n{json.dumps(page)}\nE\n;;\n" for path, page in pages.items())
    return f'case "$*" in\n{cases}*) echo "Error from server (Forbidden): nodes is forbidden" >&2; exit 1;;\nesac\n'


def test_slurm_with_racks_from_the_topology(listed):
    found, stderr = listed({"scheduler": "slurm", "rack_from": "topology", "cluster": "main"}, scontrol=scontrol())
    assert found["gpu_nodes"]["hosts"] == ["node-a01-01", "node-a01-02", "node-a02-03", "node-a02-04"], "the node without GPUs is left out"
    variables = found["_meta"]["hostvars"]
    assert {name: variables[name]["accept_rack"] for name in found["gpu_nodes"]["hosts"]} == {
        "node-a01-01": "l1",
        "node-a01-02": "l1",
        "node-a02-03": "l2",
        "node-a02-04": "l2",
    }
    assert {one["accept_cluster"] for one in variables.values()} == {"main"}
    assert found["head"]["hosts"] == ["localhost"]
    assert "WARNING" not in stderr


def test_one_partition_racks_by_name_and_addresses_of_the_scheduler(listed):
    options = {
        "scheduler": "slurm",
        "partition": "gpu",
        "rack_from": "name",
        "rack_pattern": r"node-(?P<rack>\w+)-",
        "address": "scheduler",
        "head": "login01",
    }
    found, _ = listed(options, scontrol=scontrol())
    assert found["gpu_nodes"]["hosts"] == ["node-a01-01", "node-a01-02", "node-a02-04"]
    assert found["_meta"]["hostvars"]["node-a02-04"] == {"accept_rack": "a02", "ansible_host": "10.0.0.4"}
    assert found["head"]["hosts"] == ["login01"]


def test_kubernetes_in_pages_with_racks_from_a_label(listed):
    found, _ = listed({"scheduler": "kubernetes", "rack_from": "label", "rack_label": "example.com/rack"}, kubectl=kubectl())
    assert found["gpu_nodes"]["hosts"] == ["t1", "t2", "t3"]
    assert [found["_meta"]["hostvars"][name]["accept_rack"] for name in ("t1", "t2", "t3")] == ["r0", "r1", "r1"]


def test_ssh_gets_one_quoted_word(listed):
    found, _ = listed(
        {"scheduler": "slurm", "command_prefix": ["ssh", "login01"]}, ssh=f'[ "$2" = "scontrol -a -o show node" ] || exit 9\n{scontrol()}'
    )
    assert len(found["gpu_nodes"]["hosts"]) == 4


def test_a_thousand_nodes(listed):
    nodes = "".join(f"NodeName=n{n:04d} Gres=gpu:8 NodeAddr=n{n:04d} State=IDLE Partitions=gpu\n" for n in range(1000))
    found, _ = listed({"scheduler": "slurm", "nodes": "n[0000-0899]"}, scontrol=scontrol(nodes))
    assert len(found["gpu_nodes"]["hosts"]) == 900


def test_none_lists_nothing(listed, root):
    found, stderr = listed((root / "inventories/example/scheduler.accept.yml").read_text())
    assert found == {"_meta": found["_meta"], "all": {"children": ["ungrouped"]}}
    assert "WARNING" not in stderr


@pytest.mark.parametrize(
    ("options", "tools", "said"),
    [
        ({"scheduler": "pbs"}, {}, "scheduler"),
        ({"scheduler": "slurm", "racks": "x"}, {"scontrol": scontrol()}, None),
        ({"scheduler": "slurm", "command_prefix": ["/no/such/program"]}, {}, "not found"),
        (
            {"scheduler": "slurm"},
            {"scontrol": "echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1"},
            "Unable to contact",
        ),
        ({"scheduler": "slurm"}, {"scontrol": "echo rubbish"}, "no node in what scontrol said"),
        ({"scheduler": "slurm"}, {"scontrol": "echo NodeName=../x Gres=gpu:8"}, "cannot be a file name"),
        ({"scheduler": "slurm", "nodes": "n[1"}, {"scontrol": scontrol()}, "no node set"),
        ({"scheduler": "slurm", "nodes": "other[1-2]"}, {"scontrol": scontrol()}, "does not have other[1-2]"),
        ({"scheduler": "slurm", "partition": "none"}, {"scontrol": scontrol()}, "none of the 0 nodes"),
        ({"scheduler": "slurm", "rack_from": "name", "rack_pattern": "("}, {"scontrol": scontrol()}, "no regular expression"),
        ({"scheduler": "slurm", "rack_from": "name"}, {"scontrol": scontrol()}, "no pattern is given"),
        ({"scheduler": "kubernetes"}, {"kubectl": kubectl({"/version": PAGES["/version"]})}, "Forbidden"),
        ({"scheduler": "slurm", "timeout_s": 1}, {"scontrol": "sleep 20"}, "timeout"),
    ],
)
def test_bad_input_is_one_line(listed, options, tools, said):
    found, stderr = listed(options, **tools)
    if said is None:  # an option that there is not is left alone by Ansible
        assert found
        return
    assert found is None
    assert "Traceback" not in stderr
    assert [line for line in stderr.splitlines() if said in line], stderr


def test_its_documentation_renders(root):
    command = [os.path.join(os.path.dirname(sys.executable), "ansible-doc"), "-t", "inventory", "accept_scheduler"]
    env = {**os.environ, "ANSIBLE_CONFIG": str(root / "ansible.cfg")}
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, env=env, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "rack_pattern" in done.stdout
    assert "ERROR" not in done.stderr
