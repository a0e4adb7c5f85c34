"""Launches of collectives: what is asked of each launcher, and what becomes of a launch that something happens to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from accept_node import collective_engines as engines
from accept_node import collectives
from accept_node.collectives import Sweep, recorded_as
from accept_node.engines import kubernetes_job, mpi_collectives
from accept_node.launchers import Launch, kubernetes, local, mpirun, slurm, with_env
from accept_node.node import CommandResult, ReplayNode
from accept_node.work import ReplayedWork

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
HEALTHY = (FIXTURES / "nccl_tests/2.19/healthy.txt").read_text(encoding="utf-8")
LAUNCH = {
    "name": "all_reduce.w2.ours.0",
    "collective": "all_reduce",
    "mode": "ours",
    "nodes": ["gpu01", "gpu02"],
    "node_set": "gpu[01-02]",
    "ranks_per_node": 8,
    "min_bytes": 1 << 20,
    "max_bytes": 1 << 25,
    "iterations": 20,
    "warmup": 5,
    "env": {"NCCL_DEBUG": "INFO"},
    "repeat": 0,
    "timeout_s": 60,
}
SHAPE = Launch("all_reduce.w2.0", ("n1", "n2"), 8, ["all_reduce_perf", "-b", "8"], {"NCCL_DEBUG": "INFO", "A": "x y;rm -rf /"}, 90)


class FakeWork:
    """Answers every launch with one result, and keeps what was asked of it."""

    def __init__(self, **result):
        self.result_, self.argvs, self.order, self.slept = result, [], [], 0

    def start(self, what, argv, deadline_s):
        self.argvs.append(argv)
        self.order.append("start " + what)

    def sleep(self, seconds):
        self.slept += seconds

    def result(self, what, timeout_s, recorded_as=(), peer=""):
        self.order.append("result " + what)
        told = {"argv": ("srun",), "rc": 0, "stdout": "", "stderr": "", "duration_s": 3.0, "reason": "", **self.result_}
        return CommandResult(**told)


def outcome(launcher="slurm", engine="nccl-tests", launch=LAUNCH, **result):
    run = Sweep(FakeWork(**result), engine, launcher, {}).run([launch], False)[0]
    return run["status"], run["cause"], run["reason"], len(run["rows"])


def test_a_whole_launch():
    run = Sweep(FakeWork(stdout=HEALTHY), "nccl-tests", "slurm", {}).run([LAUNCH], False)[0]
    assert (run["status"], run["reason"], run["ranks"], len(run["rows"])) == ("ok", "", 16, 6)
    assert list(run["transport"]["versions"]) == ["2.30.7+cuda13.0"]
    assert Sweep(FakeWork(stdout="hello"), "nccl-tests", "slurm", {}).run([LAUNCH], False)[0]["transport"] is None


@pytest.mark.parametrize(
    ("result", "status", "cause", "words"),
    [
        ({"rc": None, "reason": "missing"}, "error", "launcher_missing", "srun: missing"),
        (
            {"rc": 1, "stderr": "srun: error: Unable to create step for job 7: Requested nodes are busy"},
            "error",
            "pending",
            "nodes are busy",
        ),
        (
            {"rc": None, "reason": "timeout", "stderr": "srun: Job 7 step creation temporarily disabled, retrying"},
            "error",
            "pending",
            "waiting",
        ),
        ({"rc": None, "reason": "timeout"}, "hang", "hang", "before the first size"),
        ({"rc": 1, "stderr": "srun: error: gpu02: task 9: Killed", "stdout": HEALTHY[:2300]}, "partial", "rank_died", "task 9: Killed"),
        ({"rc": 0, "stdout": "hello"}, "error", "output", "no benchmark: hello"),
        ({"rc": 1, "stderr": "srun: error: Invalid job id specified"}, "error", "not_started", "Invalid job id"),
        ({"rc": 7, "stdout": HEALTHY}, "partial", "output", "exit status 7"),
        ({"rc": None, "reason": "ENOMEM"}, "error", "not_started", "ENOMEM"),
    ],
)
def test_what_happens_to_a_launch_is_said(result, status, cause, words):
    found = outcome(**result)
    assert found[:2] == (status, cause)
    assert words in found[2]


def test_a_hang_keeps_what_was_printed():
    text = (FIXTURES / "nccl_tests/2.19/hang_at_one_size.txt").read_text(encoding="utf-8").split("slurmstepd")[0]
    assert outcome(rc=None, reason="timeout", stdout=text) == ("hang", "hang", "no end after 3 s at 16777216 bytes", 4)


def test_fewer_ranks_or_sizes_than_asked_are_not_whole():
    assert "16 of 32 ranks took part" in outcome(stdout=HEALTHY, launch={**LAUNCH, "ranks_per_node": 16})[2]
    status, _, reason, rows = outcome(stdout=HEALTHY, launch={**LAUNCH, "min_bytes": 8})
    assert (status, rows) == ("partial", 6)
    assert reason.startswith("no result for 8, 16, 32")


def test_mpirun_says_who_died_and_what_was_not_reached():
    died = (FIXTURES / "nccl_tests/2.19/a_rank_died.txt").read_text(encoding="utf-8")
    assert outcome("mpirun", rc=137, stdout=died)[:2] == ("partial", "rank_died")
    lost = "ssh: connect to host gpu02 port 22: Connection refused\nORTE was unable to reliably start one or more daemons.\n"
    assert outcome("mpirun", rc=1, stderr=lost)[:2] == ("error", "not_started")
    assert outcome("mpirun", rc=1, stderr="There are not enough slots available in the system")[:2] == ("error", "not_started")


def test_parallel_launches_all_begin_before_one_is_waited_for():
    work = FakeWork(stdout=HEALTHY)
    other = {**LAUNCH, "name": "other", "nodes": ["gpu03", "gpu04"]}
    Sweep(work, "nccl-tests", "slurm", {}).run([LAUNCH, other], True)
    assert [step.split()[0] for step in work.order] == ["start", "start", "result", "result"]
    assert work.slept == collectives.PAUSE_S
    work.order.clear()
    Sweep(work, "nccl-tests", "mpirun", {}).run([LAUNCH, other], False)
    assert [step.split()[0] for step in work.order] == ["start", "result", "start", "result"]


def test_slurm_is_a_step_of_an_allocation():
    argv = slurm.argv(SHAPE, {"job": "4711", "gpus_per_node": 8, "image": "nvcr.io#x", "mounts": ["/opt:/opt"], "options": ["--qos=test"]})
    assert argv[0] == "srun"
    assert {"--jobid=4711", "--overlap", "--nodes=2", "--ntasks=16", "--ntasks-per-node=8", "--nodelist=n1,n2", "--mpi=pmix"} <= set(argv)
    assert {"--gres=gpu:8", "--container-image=nvcr.io#x", "--container-mounts=/opt:/opt", "--qos=test", "--kill-on-bad-exit=1"} <= set(
        argv
    )
    assert argv[-5:] == ["A=x y;rm -rf /", "NCCL_DEBUG=INFO", "all_reduce_perf", "-b", "8"]  # one word each: no shell reads them


def test_mpirun_names_hosts_and_asks_nobody():
    argv = mpirun.argv(SHAPE, {"root": True, "interface": "eth0", "oversubscribe": True})
    assert argv[:5] == ["mpirun", "-np", "16", "--host", "n1:8,n2:8"]
    assert "ppr:8:node:OVERSUBSCRIBE" in argv
    assert "--allow-run-as-root" in argv
    assert any("BatchMode=yes" in part for part in argv)
    assert "-hosts" in mpirun.argv(SHAPE, {"flavour": "mpich"})


def test_local_starts_its_ranks_itself_where_the_benchmark_can():
    assert local.argv(SHAPE._replace(spawns=True, env={}), {}) == ["all_reduce_perf", "-b", "8"]
    assert local.argv(SHAPE, {"root": True})[:3] == ["mpirun", "-np", "8"]
    asked = {**LAUNCH, "nodes": 1, "master": "127.0.0.1", "port": 1}
    assert engines.program("nccl-tests", asked, {"folder": "/opt/n/"}, True)[:1] == ["/opt/n/all_reduce_perf"]
    assert engines.program("nccl-tests", asked, {}, True)[7:9] == ["-g", "8"]
    assert engines.program("nccl-tests", asked, {}, False)[7:9] == ["-g", "1"]


def test_kubernetes_manifests_name_the_nodes_and_have_an_end():
    settings = {"image": "x:1", "resources": {"nvidia.com/gpu": 8}, "run_id": "20261201T010000Z-abc", "resource_claims": {"cd": "channel"}}
    (job,) = kubernetes.manifests(SHAPE, settings)
    assert (job["kind"], job["apiVersion"]) == ("MPIJob", "kubeflow.org/v2beta1")
    assert job["spec"]["runPolicy"]["activeDeadlineSeconds"] == 150
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]
    pod = worker["template"]["spec"]
    assert worker["replicas"] == 2
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert terms[0]["matchExpressions"][0]["values"] == ["n1", "n2"]
    assert pod["resourceClaims"] == [{"name": "cd", "resourceClaimTemplateName": "channel"}]
    assert job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"][-3:] == SHAPE.program
    indexed, service = kubernetes.manifests(SHAPE._replace(spawns=True), settings)
    assert (indexed["kind"], indexed["spec"]["completions"], service["spec"]["clusterIP"]) == ("Job", 2, "None")
    assert len(kubernetes.pod_name(settings, SHAPE._replace(name="all_reduce_" + "x" * 90))) <= 52
    order = json.loads(kubernetes.argv(SHAPE, settings)[-1])
    assert (order["pods"], order["speaker"]) == (3, "launcher")


KUBECTL = """#!/usr/bin/env python3
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
if sys.argv[1] == "create":
    if (here / "refuse").exists():
        sys.exit("Error from server (Forbidden): mpijobs.kubeflow.org is forbidden")
    (here / "made.json").write_text(sys.stdin.read())
elif sys.argv[1] == "get":
    print((here / "pods.json").read_text())
elif sys.argv[1] == "logs":
    print((here / "log").read_text())
"""


@pytest.fixture
def kubectl(tmp_path, monkeypatch):
    """A kubectl that answers in the API's words from files beside it."""
    tool = tmp_path / "kubectl"
    tool.write_text(KUBECTL, encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + os.environ["PATH"])
    monkeypatch.setattr(kubernetes_job, "POLL_S", 0.01)
    (tmp_path / "log").write_text(HEALTHY, encoding="utf-8")
    return tmp_path


def pod(name, phase, **status):
    labels = {"accept-speaker": "launcher"} if "launcher" in name else {}
    return {"metadata": {"name": name, "labels": labels}, "status": {"phase": phase, **status}}


def kubernetes_run(folder, pods, **order):
    (folder / "pods.json").write_text(json.dumps({"items": pods}), encoding="utf-8")
    settings = {"image": "x:1", "resources": {"nvidia.com/gpu": 8}, "run_id": "r1"}
    given = {**json.loads(kubernetes.argv(SHAPE, settings)[-1]), **order}
    return kubernetes_job.main(given)


def test_kubernetes_prints_the_launchers_log_and_deletes_the_job(kubectl, capsys):
    pods = [pod("a-launcher", "Succeeded"), pod("a-worker-0", "Running"), pod("a-worker-1", "Running")]
    assert kubernetes_run(kubectl, pods) == 0
    printed = capsys.readouterr().out
    assert outcome("kubernetes", stdout=printed)[0] == "ok"
    assert json.loads((kubectl / "made.json").read_text())["items"][0]["kind"] == "MPIJob"
    assert (kubectl / "calls").read_text().splitlines()[-1].startswith("delete mpijob accept-r1-")


def test_kubernetes_gives_up_pods_that_stay_pending_and_says_why(kubectl, capsys):
    stuck = pod(
        "a-worker-1", "Pending", conditions=[{"status": "False", "message": "0/9 nodes are available: 9 Insufficient nvidia.com/gpu."}]
    )
    assert kubernetes_run(kubectl, [pod("a-launcher", "Running"), stuck], pending_s=0.05) == 3
    found = outcome("kubernetes", rc=3, stdout="accept: " + capsys.readouterr().out.split("accept: ", 1)[1].splitlines()[0])
    assert found[:2] == ("error", "pending")
    assert "Insufficient nvidia.com/gpu" in found[2]
    assert "delete mpijob" in (kubectl / "calls").read_text()


def test_kubernetes_failures_and_hangs(kubectl, capsys):
    assert kubernetes_run(kubectl, [pod("a-launcher", "Running"), pod("a-worker-0", "Failed"), pod("a-worker-1", "Running")]) == 1
    assert outcome("kubernetes", rc=1, stdout="accept: pod a-worker-0 failed\n" + HEALTHY[:2300])[:2] == ("partial", "rank_died")
    running = [pod("a-launcher", "Running"), pod("a-worker-0", "Running"), pod("a-worker-1", "Running")]
    assert kubernetes_run(kubectl, running, timeout_s=0.1) == 1
    assert outcome("kubernetes", rc=1, stdout=capsys.readouterr().out)[1] == "hang"
    (kubectl / "refuse").write_text("")
    assert kubernetes_run(kubectl, []) == 2
    found = outcome("kubernetes", rc=2, stdout="accept: " + capsys.readouterr().out.split("accept: ", 1)[1].splitlines()[0])
    assert found[:2] == ("error", "not_started")
    assert "forbidden" in found[2]


def test_variables_stand_in_front_of_the_program():
    assert with_env(SHAPE)[:3] == ["env", "A=x y;rm -rf /", "NCCL_DEBUG=INFO"]
    assert with_env(SHAPE._replace(env={})) == SHAPE.program


def test_replay_by_collective_mode_nodes_and_repeat():
    name = recorded_as("nccl-tests", LAUNCH)
    commands = [
        {"argv": [*name, "*"], "rc": 0, "stdout": HEALTHY, "stderr": "", "duration_s": 9.0, "reason": ""},
        {"argv": [*name, "1"], "rc": 0, "stdout": HEALTHY, "stderr": "", "duration_s": 1e6, "reason": ""},
    ]
    sweep = Sweep(ReplayedWork(ReplayNode({"commands": commands})), "nccl-tests", "slurm", {})
    runs = sweep.run([LAUNCH, {**LAUNCH, "repeat": 1}, {**LAUNCH, "nodes": ["gpu03"]}], False)
    assert [run["status"] for run in runs] == ["ok", "hang", "error"]
    assert runs[2]["cause"] == "not_started"


class OneRank:
    """MPI of rank `rank` of `size`, for what is filled in and what is compared."""

    def __init__(self, rank, size):
        self.rank, self.size = rank, size


@pytest.mark.parametrize("kind", engines.COLLECTIVES)
def test_the_mpi_engine_sees_one_wrong_byte(kind):
    """Move between ranks what the collective moves, then damage it."""
    size, ranks = 4096, 4
    buffers = [(mpi_collectives.array.array("f", bytes(size)), mpi_collectives.array.array("f", bytes(size))) for _ in range(ranks)]
    ones = [mpi_collectives.Collective(OneRank(rank, ranks), kind, size, *buffers[rank]) for rank in range(ranks)]
    for one in ones:
        one.fill(False)
    given = [bytes(memoryview(out).cast("B")) for out, _ in buffers]
    chunk = ones[0].chunk
    for rank, one in enumerate(ones):
        if kind in ("all_reduce", "reduce_scatter"):
            total = mpi_collectives.array.array("f", [sum(values) for values in zip(*(out for out, _ in buffers))]).tobytes()
            got = total if kind == "all_reduce" else total[rank * chunk : (rank + 1) * chunk]
        elif kind == "all_gather":
            got = b"".join(text[:chunk] for text in given)
        elif kind == "alltoall":
            got = b"".join(text[rank * chunk : (rank + 1) * chunk] for text in given)
        elif kind == "broadcast":
            got = bytes(memoryview(buffers[0][1]).cast("B"))
        else:
            got = given[(rank - 1) % ranks]
        mpi_collectives.put(one.into, got)
        assert one.wrong() == 0
        place = len(got) // 2 + 1
        mpi_collectives.put(one.into, bytes([got[place] ^ 1]), place)
        assert one.wrong() == 1
        one.fill(False)
        assert (kind == "broadcast" and rank == 0) or one.wrong() > 0  # what never arrived is wrong too
