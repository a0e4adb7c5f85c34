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


@pytest.mark.parametrize(
    ("way", "begin", "end"),
    [
        ("cuda", ["env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"], ["--use_cuda=5"]),
        ("cuda_dmabuf", ["env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"], ["--use_cuda=5", "--use_cuda_dmabuf"]),
        ("rocm", ["ib_write_bw", "-d"], ["--use_rocm=5"]),
        ("rocm_dmabuf", ["ib_write_bw", "-d"], ["--use_rocm=5", "--use_rocm_dmabuf"]),
    ],
)
def test_the_memory_of_a_gpu(way, begin, end):
    argv = rdma_bandwidth.command({**TEST, "memory": "gpu", "gpu": 5, "gpu_memory": way}, SETTINGS)
    assert (argv[:2], argv[-len(end) :]) == (begin, end)


def test_in_a_vrf_and_in_an_allocation():
    assert rdma_bandwidth.wrapped(["x"], SETTINGS, 30, "n1") == ["stdbuf", "-oL", "x"]
    assert rdma_bandwidth.wrapped(["x"], {**SETTINGS, "vrf": "rail"}, 30, "n1") == ["stdbuf", "-oL", "ip", "vrf", "exec", "rail", "x"]
    step = rdma_bandwidth.wrapped(["x"], {**SETTINGS, "slurm_job": "4711"}, 30.5, "n1.cluster.example")
    assert " ".join(step) == "srun --jobid=4711 --overlap --quiet -N1 -n1 --nodelist=n1 timeout -k 5 30 stdbuf -oL x"
    entered = rdma_bandwidth.wrapped(["x"], {**SETTINGS, "container": "ab12", "slurm_job": ""}, 30.5, "n1")
    assert " ".join(entered) == "crictl exec ab12 timeout -k 5 30 stdbuf -oL x"


@pytest.mark.parametrize(
    "said",
    [
        "srun: error: Unable to create step for job 4711: Invalid job id specified\n",
        "srun: error: Unable to confirm allocation for job 4711: Invalid job id specified\nsrun: Check SLURM_JOB_ID.\n",
        "srun: Force Terminated job 4711\n",
        "slurmstepd: error: *** STEP 4711.3 ON n1 CANCELLED AT 2026-12-01T00:00:00 ***\n",
        'time="2026-12-01T00:00:00Z" level=fatal msg="execing command in container: container is not running"\n',
    ],
)
def test_an_allocation_that_is_gone_is_no_word_on_the_rail(said):
    assert turned_out("", 1, "", said)[0] == "not_run"


def test_a_test_that_fails_inside_a_step_has_failed():
    text = (FIXTURES / "corner/no_devices.txt").read_text()
    assert turned_out(text, 1, "", "srun: error: n1: task 0: Exited with exit code 1\n")[0] == "failed"
    assert turned_out("", 124, "", "srun: error: n1: task 0: Exited with exit code 124\n")[0] == "hung"


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
            {
                "root": "/sys/bus/pci/devices",
                "files": {f"{gpu}/{n}": t for gpu in gpus for n, t in (("class", "0x030200\n"), ("vendor", "0x10de\n"))},
                "links": bus,
            },
        ],
    }


def test_devices_with_the_recipes_address_and_the_nearest_gpu():
    found = rdma_bandwidth.discover(Gather(ReplayNode(capture())), 3)
    assert [device["name"] for device in found["devices"]] == ["mlx5_0", "mlx5_2", "mlx5_10"]
    first = {"name": "mlx5_0", "state": "ACTIVE", "rate_gbps": 400.0, "link_layer": "Ethernet", "address": "10.0.1.7", "gpu": 1}
    assert found["devices"][0] == {**first, "gid": "0000:0000:0000:0000:0000:ffff:0a00:0107"}
    assert found["devices"][1]["gpu"] is None
    assert found["perftest"] == {"installed": True, "version": "6.23", "gpu_memory": "cuda"}


def test_no_rdma_at_all():
    node = ReplayNode({"trees": [{"root": "/sys/class/infiniband", "files": {}, "reason": "missing"}]})
    assert rdma_bandwidth.discover(Gather(node))["devices"] == []
    gone = {"commands": [{"argv": ["ib_write_bw", "--help"], "rc": None, "reason": "missing"}], **{"trees": capture()["trees"]}}
    assert rdma_bandwidth.discover(Gather(ReplayNode(gone)))["perftest"] == {"installed": False, "version": None, "gpu_memory": "none"}


def machine(
    vendor, trees=(), help_text="  -d, --ib-dev=<dev>\n --use_cuda=<id>\n --use_cuda_dmabuf\n --use_rocm=<id>\n --use_rocm_dmabuf\n"
):
    """A node whose GPUs are all of that vendor."""
    made = capture(help_text=help_text)
    bus = made["trees"][1]["files"]
    bus.update({name: vendor + "\n" for name in list(bus) if name.endswith("vendor")})
    made["trees"] += [{"root": root, "files": files} for root, files in trees]
    return Gather(ReplayNode(made))


@pytest.mark.parametrize(
    ("vendor", "trees", "help_text", "way"),
    [
        ("0x10de", [("/sys/module", {"nvidia_peermem/version": "580\n"})], None, "cuda"),
        ("0x10de", [("/sys/module", {})], None, "cuda_dmabuf"),
        ("0x10de", [("/sys/module", {})], "--ib-dev --use_cuda=<id>", "cuda"),
        ("0x10de", [], "--ib-dev", "none"),
        ("0x1002", [("/sys/kernel/mm/memory_peers", {"amdkfd/version": "1.0\n"})], None, "rocm"),
        ("0x1002", [("/sys/kernel/mm/memory_peers", {})], None, "rocm_dmabuf"),
        ("0x1002", [], "--ib-dev --use_cuda=<id>", "none"),
        ("0x8086", [], None, None),
    ],
)
def test_the_way_to_a_gpu_s_memory_is_said(vendor, trees, help_text, way):
    given = {"help_text": help_text} if help_text else {}
    assert rdma_bandwidth.discover(machine(vendor, trees, **given))["perftest"]["gpu_memory"] == way


def test_rocm_counts_gpus_as_the_kernel_does():
    places = {
        "0": "simd_count 0\nlocation_id 0\n",
        "1": "simd_count 1216\nlocation_id 17152\ndomain 0\n",
        "2": "simd_count 1216\nlocation_id 6912\n",
    }
    kfd = ("/sys/class/kfd/kfd/topology/nodes", {name + "/properties": text for name, text in places.items()})
    assert rdma_bandwidth.discover(machine("0x1002", [kfd]))["devices"][0]["gpu"] == 0  # 0000:43:00.0, second on the bus
    short = (kfd[0], {"1/properties": places["1"]})
    assert rdma_bandwidth.discover(machine("0x1002", [short]))["devices"][0]["gpu"] == 1


def test_a_pod_s_tables_and_perftest_count():
    made = capture()
    inspect = ["crictl", "inspect", "--output", "go-template", "--template", "{{.info.pid}}", "ab12"]
    made["commands"] = [
        {"argv": inspect, "rc": 0, "stdout": "4711\n"},
        {"argv": ["crictl", "exec", "ab12", "ib_write_bw", "--help"], "rc": 0, "stdout": "  -d, --ib-dev=<dev>\n"},
        {"argv": ["crictl", "exec", "ab12", "ib_write_bw", "--version"], "rc": 0, "stdout": "Version: 6.20\n"},
    ]
    made["trees"][0]["root"] = "/proc/4711/root/sys/class/infiniband"
    found = rdma_bandwidth.discover(Gather(ReplayNode(made)), 3, "ab12")
    assert (found["devices"][0]["address"], found["perftest"]) == ("10.0.1.7", {"installed": True, "version": "6.20", "gpu_memory": "none"})
    made["commands"][1].update(rc=1, stdout="", stderr='level=fatal msg="exec: ib_write_bw: executable file not found in $PATH"\n')
    gather = Gather(ReplayNode(made))
    assert rdma_bandwidth.discover(gather, 3, "ab12")["perftest"]["installed"] is False
    assert "not in the pod's image" in gather.errors[-1]["message"]
    made["commands"][0].update(stdout="<no value>\n")
    assert rdma_bandwidth.discover(Gather(ReplayNode(made)), 3, "ab12")["devices"] is None


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
