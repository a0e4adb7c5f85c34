"""What a node does in a round: its commands, what comes of what perftest prints, live jobs and all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from accept_node import jobs
from accept_node.collectors import mgmt_network, rdma_bandwidth
from accept_node.envelope import Gather
from accept_node.node import CommandResult, ReplayNode
from accept_node.work import LiveWork

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "perftest"
SETTINGS = {
    "bytes": 1048576,
    "qps": 4,
    "duration_s": 5,
    "iterations": 5000,
    "gid_index": None,
    "traffic_class": None,
    "vrf": "",
    "slurm_job": "",
}
SETTINGS.update(client_s=4, server_s=6)
TEST = {"id": "mlx5_0.0", "kind": "pair", "role": "client", "peer": "n2", "address": "127.0.0.1", "port": 18599, "device": "mlx5_0"}
TEST.update(verb="write_bw", memory="host", gpu=None, together=True)
PLAN = {"round": "together-1", "settings": SETTINGS, "tests": [TEST]}


def test_commands():
    recipe = {**SETTINGS, "gid_index": 3, "traffic_class": 106}
    assert " ".join(rdma_bandwidth.command(TEST, SETTINGS)) == "ib_write_bw -d mlx5_0 -F -s 1048576 -q 4 -D 5 --report_gbits"
    assert " ".join(rdma_bandwidth.command(TEST, recipe)).endswith("--report_gbits -x 3 --tclass=106")
    assert " ".join(rdma_bandwidth.command({**TEST, "verb": "write_lat"}, SETTINGS)) == "ib_write_lat -d mlx5_0 -F -s 2 -n 5000"
    assert "-q 1" in " ".join(rdma_bandwidth.command({**TEST, "kind": "incast"}, SETTINGS))
    on_gpu = rdma_bandwidth.command({**TEST, "memory": "gpu", "gpu": 5}, SETTINGS)
    assert on_gpu[:2] == ["env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"]
    assert on_gpu[-1] == "--use_cuda=5"


def test_in_a_vrf_and_in_an_allocation():
    assert rdma_bandwidth.wrapped(["x"], SETTINGS, 30, "n1") == ["stdbuf", "-oL", "x"]
    assert rdma_bandwidth.wrapped(["x"], {**SETTINGS, "vrf": "rail"}, 30, "n1") == ["stdbuf", "-oL", "ip", "vrf", "exec", "rail", "x"]
    step = rdma_bandwidth.wrapped(["x"], {**SETTINGS, "slurm_job": "4711"}, 30.5, "n1.cluster.example")
    assert " ".join(step) == "srun --jobid=4711 --overlap --quiet -N1 -n1 --nodelist=n1 timeout -k 5 30 stdbuf -oL x"


def turned_out(stdout, rc=0, reason="", stderr=""):
    found = rdma_bandwidth.entry(PLAN, TEST, CommandResult((), rc, stdout, stderr, 5.0, reason))
    assert (found["pass"], found["number"]) == ("together", 1)
    return found["status"], found["gbps"], found["reason"]


@pytest.mark.parametrize(
    ("case", "rc", "reason", "status", "gbps"),
    [
        ("cx7/ib_duration", 0, "", "ok", 392.61),
        ("cx7/ib_duration", 1, "", "failed", None),
        ("cx7/ib_duration", None, "timeout", "hung", None),
        ("cx7/all_sizes_cut", None, "timeout", "hung", None),
        ("corner/nothing_moved", 0, "", "failed", None),
        ("corner/completion_error_after_rows", 0, "", "failed", None),
        ("corner/refused", 1, "", "refused", None),
        ("corner/driver_warnings_then_waiting", None, "timeout", "no_client", None),
        ("corner/no_devices", 1, "", "failed", None),
        ("corner/unknown_option", 1, "", "failed", None),
        ("corner/other_text", 0, "", "failed", None),
        ("corner/empty", 0, "", "failed", None),
        ("corner/empty", None, "timeout", "hung", None),
        ("corner/empty", None, "missing", "not_run", None),
        ("corner/other_text", 127, "", "not_run", None),
        ("rxe_6.06/write_bw_gid0_dropped_retry3_client", None, "timeout", "hung", None),
        ("rxe_6.06/write_bw_gid0_dropped_retry3_server", 1, "", "peer_lost", None),
        ("rxe_6.06/write_bw_gid7_empty_client", 1, "", "failed", None),
    ],
)
def test_what_comes_of_what_perftest_prints(case, rc, reason, status, gbps):
    found = turned_out((FIXTURES / (case + ".txt")).read_text(), rc, reason)
    assert found[:2] == (status, gbps)
    assert bool(found[2]) == (status != "ok")


def test_reasons_are_plain():
    told = turned_out((FIXTURES / "corner/completion_error_after_rows.txt").read_text(), 0)[2]
    assert told == "completion: Completion with error at client (status 12, syndrome 0x81)"
    assert turned_out("", 127, "", "stdbuf: failed to run command 'ib_write_bw': No such file or directory")[0] == "not_run"


def capture(gpus=("0000:1b:00.0", "0000:43:00.0"), help_text="  --use_cuda=<id>\n"):
    files = {
        "mlx5_0/ports/1/state": "4: ACTIVE\n",
        "mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
        "mlx5_0/ports/1/link_layer": "Ethernet\n",
    }
    files["mlx5_0/ports/1/gids/3"] = "0000:0000:0000:0000:0000:ffff:0a00:0107\n"
    files.update({"mlx5_10/ports/1/state": "1: DOWN\n", "mlx5_2/ports/1/state": "4: ACTIVE\n"})
    root = "/sys/devices/pci0000:15/0000:15:01.0/"
    bus = {gpu: f"{root}{place}/{gpu}" for place, gpu in enumerate(gpus)}
    links = {"mlx5_0/device": root + "1/0000:44:00.0"}
    return {
        "commands": [
            {"argv": ["ib_write_bw", "--help"], "rc": 0, "stdout": help_text},
            {"argv": ["ib_write_bw", "--version"], "rc": 0, "stdout": "Version: 6.23\n"},
        ],
        "trees": [
            {"root": "/sys/class/infiniband", "files": files, "links": links},
            {"root": "/sys/bus/pci/devices", "files": {f"{gpu}/class": "0x030200\n" for gpu in gpus}, "links": bus},
        ],
    }


def test_devices_with_the_recipes_address_and_the_nearest_gpu():
    found = rdma_bandwidth.discover(Gather(ReplayNode(capture())), 3)
    assert [device["name"] for device in found["devices"]] == ["mlx5_0", "mlx5_2", "mlx5_10"]
    first = {"name": "mlx5_0", "state": "ACTIVE", "rate_gbps": 400.0, "link_layer": "Ethernet", "address": "10.0.1.7", "gpu": 1}
    assert found["devices"][0] == {**first, "gid": "0000:0000:0000:0000:0000:ffff:0a00:0107"}
    assert found["devices"][1]["gpu"] is None
    assert found["perftest"] == {"installed": True, "version": "6.23", "cuda": True}


def test_no_rdma_at_all():
    node = ReplayNode({"trees": [{"root": "/sys/class/infiniband", "files": {}, "reason": "missing"}]})
    assert rdma_bandwidth.discover(Gather(node))["devices"] == []
    gone = {"commands": [{"argv": ["ib_write_bw", "--help"], "rc": None, "reason": "missing"}], **{"trees": capture()["trees"]}}
    assert rdma_bandwidth.discover(Gather(ReplayNode(gone)))["perftest"] == {"installed": False, "version": None, "cuda": False}


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Programs of our own first in the jobs' search path."""
    (tmp_path / "jobs").mkdir()
    monkeypatch.setattr(jobs, "base", lambda: str(tmp_path / "jobs"))
    monkeypatch.setattr(jobs, "SEARCH_PATH", "%s:%s" % (tmp_path, jobs.SEARCH_PATH))

    def put(name, text):
        (tmp_path / name).write_text("#!/bin/sh\n" + text)
        os.chmod(str(tmp_path / name), stat.S_IRWXU)

    yield put
    assert jobs.names() == [], "a job was left"


def test_live_jobs_of_a_round(tools):
    tools("ib_write_bw", 'for last; do :; done\ncase "$last" in 127.*) cat %s;; *) sleep 60;; esac\n' % (FIXTURES / "cx7/ib_duration.txt"))
    server = {**TEST, "role": "server", "id": "s"}
    plan = {**PLAN, "settings": {**SETTINGS, "server_s": 1}, "tests": [TEST, server]}
    work = LiveWork("run", "rdma_bandwidth")
    assert rdma_bandwidth.serve(work, plan, "n1") == []
    assert jobs.names() == ["run.rdma_bandwidth.together-1.s"]
    assert [(e["status"], e["gbps"]) for e in rdma_bandwidth.measure(work, plan, "n1")] == [("ok", 392.61)]
    assert [e["status"] for e in rdma_bandwidth.finish(LiveWork("run", "rdma_bandwidth"), plan, "n1")] == ["hung"]
    assert work.commands[0]["argv"][:2] == ("stdbuf", "-oL")


def test_loopback_waits_for_its_server(tools, tmp_path):
    """The first client comes too early; the server is ended when the test is over."""
    ok, refused = FIXTURES / "cx7/ib_duration.txt", FIXTURES / "corner/refused.txt"
    tools(
        "ib_write_bw",
        'for last; do :; done\n[ "$last" = 18599 ] && exec sleep 60\nif mkdir %s/seen 2>/dev/null; then cat %s; exit 1; fi\ncat %s\n'
        % (tmp_path, refused, ok),
    )
    plan = {**PLAN, "settings": {**SETTINGS, "client_s": 1}, "tests": [{**TEST, "kind": "loopback", "role": "both", "peer": "loopback"}]}
    rdma_bandwidth.SLACK_S, before = 1.0, rdma_bandwidth.SLACK_S
    try:
        found = rdma_bandwidth.measure(LiveWork("run", "rdma_bandwidth"), plan, "n1")
    finally:
        rdma_bandwidth.SLACK_S = before
    assert [(entry["status"], entry["gbps"]) for entry in found] == [("ok", 392.61)]


def test_tools_of_the_front_end_that_are_not_there(tools):
    tools("ip", 'echo \'[{"dst": "x", "dev": "lo"}]\'\n')
    plan = {"settings": {"pings": 3, "ping_interval_s": 0.2, "seconds": 1, "cap_mbps": 100, "server_s": 5}, "servers": [], "tests": []}
    plan["tests"] = [{"peer": "n2", "address": "127.0.0.1", "port": 18999}]
    tools("ping", "echo 'ping: connect: Network is unreachable' >&2; exit 2\n")
    tools("iperf3", "echo 'iperf3: error - unable to connect' >&2; exit 1\n")
    node = ReplayNode({"files": [{"path": "/sys/class/net/lo/mtu", "text": "65536\n"}]})
    peer = mgmt_network.measure(Gather(node), LiveWork("run", "mgmt_network"), plan)["peers"][0]
    assert (peer["loss_pct"], peer["full_mtu"], peer["tcp_gbps"], peer["tcp_pct_of_cap"]) == (None, None, None, None)
    assert peer["loss_pct_reason"] == "ping: connect: Network is unreachable"
    assert "unable to connect" in peer["tcp_gbps_reason"]
    assert peer["mtu_bytes"] == 65536
