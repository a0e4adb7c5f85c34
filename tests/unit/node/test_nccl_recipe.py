"""What a provider ships for the collective library, as a node is asked for it; no other line of a searched file leaves the node."""

from __future__ import annotations

import re
import subprocess

import pytest
from accept_node.collectors import nccl_recipe as asked
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode
from accept_node.parsers import nccl_files


def listing(path, names):
    return {"at_s": 0.0, "path": path, "names": list(names), "reason": "" if names else "missing"}


def node(settings="", found="", files=(), enroot=False, kubernetes=(), maps=(), **rest):
    def command(argv, stdout, rc=0):
        return {"at_s": 0.0, "argv": argv, "rc": rc, "stdout": stdout, "stderr": "", "duration_s": 0.01, "reason": ""}

    texts = dict.fromkeys((*asked.CONFS, *asked.MODULE_PATHS, *asked.MCA, asked.PARAMETERS))
    texts.update(files)
    return ReplayNode(
        {
            "schema": 1,
            "recorded_at_s": 0.0,
            "identity": {},
            "commands": [command(asked.SETTINGS, settings), command(asked.FIND, found), *(command(*one) for one in maps)],
            "files": [
                {"at_s": 0.0, "path": path, "text": text, "reason": "" if text is not None else "missing"} for path, text in texts.items()
            ],
            "trees": [],
            "listings": [listing("/etc/enroot", ["mounts.d"] * enroot), listing("/etc/kubernetes", kubernetes), listing("/root/.kube", [])],
            **rest,
        }
    )


def read(**given):
    envelope = collect("nccl_recipe", asked.collect, node(**given))
    return envelope["data"], envelope


def test_nothing_shipped_is_a_measured_absence():
    data, envelope = read()
    assert envelope["status"] == "ok"
    assert (data["settings"], data["conf_file"], data["topology"], data["plugins"], data["containers"]) == ([], "none", "none", [], "none")


def test_precedence_is_kept_in_the_order_of_conf_files():
    data, _ = read(
        settings="/etc/profile.d/a.sh:export NCCL_CONF_FILE=/opt/site/nccl.conf\n",
        files={"/opt/site/nccl.conf": "NCCL_IB_TC=106\n", "/etc/nccl.conf": "NCCL_IB_TC=41\n export NCCL_ALGO=Ring\n"},
    )
    assert [file["from"] for file in data["settings"]] == ["/opt/site/nccl.conf", "/etc/nccl.conf", "/etc/profile.d/a.sh"]
    assert data["conf_file"] == {"path": "/opt/site/nccl.conf", "there": True}
    assert data["ignored"] == ["/etc/nccl.conf: export NCCL_ALGO=Ring"]


@pytest.mark.parametrize("path", ["/proc/1/environ", "/etc/../etc/shadow", "relative", "/dev/mem", "/a b"])
def test_a_path_from_an_answer_is_not_followed_anywhere(path):
    """What stands in a file of the node names no file for us to read but a plain path."""
    data, envelope = read(settings=f'/etc/environment:NCCL_CONF_FILE="{path}"\n/etc/environment:NCCL_TOPO_FILE="{path}"\n')
    assert path not in [source["what"] for source in envelope["sources"]]
    assert data["conf_file"] == {"path": path, "there": None}
    assert data["topology"]["there"] is None


def test_topology_is_read_where_it_is_named_or_lies_where_the_library_looks():
    xml = '<system version="1"><pci busid="0:1" class="0x030200"/><pci busid="0:2" class="0x020700"/></system>'
    named, _ = read(settings="/etc/nccl.sh:export NCCL_TOPO_FILE=/etc/t.xml\n", files={"/etc/t.xml": xml})
    assert named["topology"] == {"path": "/etc/t.xml", "from": "/etc/nccl.sh", "there": True, "gpus": 1, "nics": 1}
    lost, _ = read(settings="/etc/nccl.sh:export NCCL_TOPO_FILE=/etc/t.xml\n", files={"/etc/t.xml": None})
    assert lost["topology"]["there"] is False
    lying, _ = read(found=f"{asked.TOPOLOGYD}\t\n", files={asked.TOPOLOGYD: xml})
    assert lying["topology"]["from"] == "nvidia-topologyd"


def test_plugins_and_libraries():
    found = "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so\t\n/usr/lib/libnccl.so.2\tlibnccl.so.2.27.3\n/usr/lib/libnccl.so.2.27.3\t\n"
    data, _ = read(found=found + "/usr/local/gib/lib64/libnccl-tuner.so\tlibnccl-tuner-1.so\n")
    assert [(plugin["kind"], plugin["target"]) for plugin in data["plugins"]] == [("net", ""), ("tuner", "libnccl-tuner-1.so")]
    assert data["libraries"] == ["/usr/lib/libnccl.so.2.27.3"]


def test_a_search_that_failed_is_not_nothing():
    broken = node()
    broken.capture["commands"][0].update(rc=None, reason="timeout")
    data = collect("nccl_recipe", asked.collect, broken)["data"]
    assert data["unread"] == ["shell, module and container files"]
    assert data["mounts"] is None


SECRETS = """\
# NCCL_IB_TC=1 in a comment
export AWS_SECRET_ACCESS_KEY=abcdefghijklmnop
PASSWORD=hunter2 NCCL_X=1
HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz
CONFI_VALUE=7
"""
WANTED = """\
NCCL_IB_TC=106
export NCCL_SOCKET_IFNAME="eth0"
setenv UCX_TLS rc
setenv("NCCL_ALGO", "Ring")
echo "export NCCL_MNNVL_ENABLE=1"
Environment="NCCL_IB_SL=1"
    - NCCL_IB_QPS_PER_CONNECTION=4
/etc/nccl.conf /etc/nccl.conf none bind
"""


def test_the_search_takes_these_lines_and_no_others(tmp_path):
    """The real grep on a real file: what it lets through is all that leaves a node."""
    (tmp_path / "shell").write_text(SECRETS + WANTED)
    argv = [*asked.SETTINGS[: asked.SETTINGS.index(asked.LINES) + 1], str(tmp_path)]
    printed = subprocess.run(argv, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}, check=False).stdout
    assert [line.split(":", 1)[1] for line in printed.splitlines()] == WANTED.splitlines()
    values = {name: value for file in nccl_files.parse(printed)["files"].values() for name, value in file.items()}
    assert values == {
        "NCCL_IB_TC": "106",
        "NCCL_SOCKET_IFNAME": "eth0",
        "UCX_TLS": "rc",
        "NCCL_ALGO": "Ring",
        "NCCL_MNNVL_ENABLE": "1",
        "NCCL_IB_SL": "1",
        "NCCL_IB_QPS_PER_CONNECTION": "4",
    }


def test_the_commands_only_read():
    assert asked.SETTINGS[0] == "grep"
    assert asked.FIND[0] == "find"
    assert not re.search(r"-(?:exec|delete|ok|fprint|fls)", " ".join(asked.FIND))


KUBECTL = ["kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf"]
ONE = [*KUBECTL, "get", "configmap", "nccl-recipe", "-n", "nvidia", "-o", "json"]


def test_maps_for_pods_are_read_where_an_administrators_access_lies():
    secret = '{"data": {"NCCL_IB_TC": "106", "password": "hunter2", "x.sh": "export TOKEN=abc\\nexport NCCL_IB_SL=1"}}'
    replay = RecordingNode(
        node(kubernetes=["admin.conf"], maps=[([*KUBECTL, *asked.MAPS], "team-a payroll\nnvidia nccl-recipe\n"), (ONE, secret)])
    )
    data = collect("nccl_recipe", asked.collect, replay)["data"]
    assert data["settings"] == [{"from": "ConfigMap nvidia/nccl-recipe", "values": {"NCCL_IB_SL": "1", "NCCL_IB_TC": "106"}}]
    kept = str(replay.capture)
    assert "payroll" not in kept
    assert "hunter2" not in kept
    assert "TOKEN" not in kept


def test_no_access_no_question():
    _, envelope = read()
    assert not [source for source in envelope["sources"] if source["what"].startswith("kubectl")]
