"""Allocations of our own: taken once, waited for, given back; pending for ever is a reason; the scheduler is called at a capped rate."""

from __future__ import annotations

import json

import pytest
from accept_node.allocations import Ask, kubernetes, slurm
from accept_node.node import CommandResult

NAME = "accept.20261201T000000Z-ab12.rdma_bandwidth"
LABELS = {"accept-run": "20261201T000000Z-ab12", "accept-role": "rdma_bandwidth"}
POD = {"image": "registry.example/perftest:1", "resources": {"rdma/ib": 8}, "wait_s": 60}


class Scheduler:
    """A node with a scheduler's tools; time is virtual."""

    def __init__(self):
        self.clock, self.asked, self.at = 1000.0, [], []

    def now(self):
        return self.clock

    def sleep(self, seconds):
        self.clock += seconds

    def run(self, argv, timeout_s=30.0):
        self.asked.append(argv)
        self.at.append(self.clock)
        answer = self.answer(argv)
        if answer is None:
            return CommandResult(tuple(argv), None, "", "", 0.0, "missing")
        rc, text = answer if isinstance(answer, tuple) else (0, answer)
        return CommandResult(tuple(argv), rc, text if rc == 0 else "", text if rc else "", 0.1, "")


class Slurm(Scheduler):
    """Jobs: id -> [name, states to come, reason]. The last state stays."""

    def __init__(self, states=("PENDING", "RUNNING"), reason="Resources", refuse=""):
        super().__init__()
        self.jobs, self.states, self.reason, self.refuse = {"7": ["somebody.else", ["RUNNING"], ""]}, states, reason, refuse

    def answer(self, argv):
        tool, rest = argv[0], argv[1:]
        if tool == "sbatch":
            if self.refuse:
                return 1, "sbatch: error: " + self.refuse
            name = next(one for one in rest if one.startswith("--job-name=")).split("=", 1)[1]
            self.jobs["4711"] = [name, list(self.states), self.reason]
            return "4711;cluster\n"
        if tool == "scancel":
            for number in rest:
                self.jobs[number][1] = ["CANCELLED"]
            return ""
        if "--me" in rest:
            return "".join(
                "%s|%s|%s\n" % (number, states[0], name) for number, (name, states, _) in self.jobs.items() if states[0] != "CANCELLED"
            )
        number = next(one for one in rest if one.startswith("--jobs=")).split("=")[1]
        _, states, reason = self.jobs[number]
        state = states.pop(0) if len(states) > 1 else states[0]
        return "%s|%s|%s|n[1-2]\n" % (number, state, reason if state == "PENDING" else "None")


def take(node, **settings):
    return slurm.take(Ask(node), NAME, ["n1", "n2"], settings, 30)


def test_one_job_for_all_nodes_with_a_limit():
    node = Slurm()
    assert take(node, partition="gpu", account="qa", options=["--gres=gpu:8"]) == {"state": "held", "job": "4711", "reason": ""}
    (submitted,) = [argv for argv in node.asked if argv[0] == "sbatch"]
    for option in (
        "--nodelist=n1,n2",
        "--nodes=2",
        "--exclusive",
        "--time=30",
        "--partition=gpu",
        "--account=qa",
        "--gres=gpu:8",
        "--wrap=sleep 1800",
    ):
        assert option in submitted


def test_what_is_held_already_is_taken_up_again():
    node = Slurm()
    take(node)
    assert take(node)["job"] == "4711"
    assert sum(argv[0] == "sbatch" for argv in node.asked) == 1


def test_pending_for_ever_is_cancelled_with_the_scheduler_s_reason():
    node = Slurm(states=["PENDING"])
    told = take(node, wait_s=120)
    assert (told["state"], told["job"]) == ("refused", "4711")
    assert told["reason"] == "job 4711 is pending (Resources) after 120 s and was cancelled"
    assert node.jobs["4711"][1] == ["CANCELLED"]


def test_the_scheduler_is_not_overwhelmed():
    node = Slurm(states=["PENDING"])
    take(node, wait_s=600)
    gaps = [later - sooner for sooner, later in zip(node.at, node.at[1:])]
    assert min(gaps) >= 1.0
    assert len(node.asked) <= 60


def test_what_waiting_does_not_change_is_not_waited_for():
    node = Slurm(states=["PENDING"], reason="PartitionTimeLimit")
    assert "PartitionTimeLimit" in take(node, wait_s=600)["reason"]
    assert node.clock < 1030


@pytest.mark.parametrize("state", ["FAILED", "NODE_FAIL", "TIMEOUT", "CANCELLED"])
def test_a_job_that_is_over_is_not_held(state):
    assert take(Slurm(states=[state]))["state"] == "refused"


def test_a_refusal_keeps_its_words():
    told = take(Slurm(refuse="Batch job submission failed: Invalid account or account/partition combination specified"))
    assert (told["state"], told["job"]) == ("refused", None)
    assert "Invalid account" in told["reason"]


def test_given_back_by_name_and_nobody_else_s():
    node = Slurm()
    take(node)
    assert slurm.release(Ask(node), NAME) == {"released": ["4711"], "reason": ""}
    assert node.jobs["7"][1] == ["RUNNING"]
    assert slurm.release(Ask(node), NAME) == {"released": [], "reason": ""}


@pytest.mark.parametrize(
    ("name", "count"), [("accept.", 1), ("accept.20261201T000000Z-ab12.", 1), ("accept.20261201T000000Z-ab1", 0), (NAME + "_2", 0)]
)
def test_the_emergency_stop_finds_them_by_the_beginning(name, count):
    node = Slurm()
    take(node)
    assert len(slurm.release(Ask(node), name)["released"]) == count


def test_a_job_that_does_not_go_is_said():
    node = Slurm()
    take(node)
    node.answer = lambda argv, answer=node.answer: "" if argv[0] == "scancel" else answer(argv)
    told = slurm.release(Ask(node), NAME)
    assert (told["released"], told["reason"]) == ([], "jobs 4711 are still there")


@pytest.mark.parametrize("module", [slurm, kubernetes])
def test_without_the_tools(module):
    node = Scheduler()
    node.answer = lambda argv: None
    nodes, settings = (["n1"], {}) if module is slurm else ({"n1": "n1"}, POD)
    told = module.take(Ask(node), NAME, nodes, settings, 30)
    assert told["state"] == "refused"
    assert "not installed" in told["reason"]
    assert module.release(Ask(node), NAME) == {"released": [], "reason": ""}


@pytest.mark.parametrize("module", [slurm, kubernetes])
def test_nothing_that_is_not_ours_is_given_back(module):
    for name in ("", "somebody.else", "20261201T000000Z-ab12"):
        with pytest.raises(ValueError, match="no name of ours"):
            module.release(Ask(Slurm()), name)


class Kubernetes(Scheduler):
    """Pods by name; `become(manifest)` is their status."""

    def __init__(self, become=None):
        super().__init__()
        self.pods, self.become = {}, become or (lambda pod: running(pod))

    def answer(self, argv):
        if argv[1] == "create":
            with open(argv[argv.index("-f") + 1], encoding="utf-8") as handle:
                for pod in json.load(handle)["items"]:
                    self.pods[pod["metadata"]["name"]] = pod
            return "pod/x\n"
        selector = next(one for one in argv if one.startswith("--selector=")).split("=", 1)[1]
        wanted = dict((part.split("=") + [None])[:2] for part in selector.split(","))
        found = {
            n: p
            for n, p in self.pods.items()
            if all(k in p["metadata"]["labels"] and v in (None, p["metadata"]["labels"][k]) for k, v in wanted.items())
        }
        if argv[1] == "delete":
            for name in found:
                del self.pods[name]
            return "".join("pod/%s\n" % name for name in found)
        return json.dumps({"items": [{**pod, "status": self.become(pod)} for pod in found.values()]})


def running(pod):
    entry = {"name": "load", "containerID": "containerd://" + "ab" * 32, "state": {"running": {}}}
    return {"phase": "Running", "podIP": "10.0.0.9", "containerStatuses": [entry]}


def waiting(reason, message=""):
    entry = {"name": "load", "state": {"waiting": {"reason": reason, "message": message}}}
    return {"phase": "Pending", "containerStatuses": [entry]}


def test_a_pod_on_each_node_by_the_scheduler_with_a_deadline():
    node = Kubernetes()
    told = kubernetes.take(Ask(node), NAME, {"n1": "n1.example", "n2": "n2.example"}, {**POD, "namespace": "qa", "host_network": True}, 30)
    assert told["state"] == "held"
    assert told["pods"]["n1"] == {"container": "ab" * 32, "address": "10.0.0.9", "reason": ""}
    first = node.pods["accept-20261201t000000z-ab12-rdma-bandwidth-0"]
    assert LABELS.items() <= first["metadata"]["labels"].items()
    spec = first["spec"]
    assert (spec["activeDeadlineSeconds"], spec["hostNetwork"], spec["restartPolicy"]) == (1800, True, "Never")
    assert "nodeName" not in spec
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchFields"][0]["values"] == ["n1.example"]
    assert spec["containers"][0]["resources"]["limits"] == {"rdma/ib": 8}
    assert all("--namespace=qa" in argv for argv in node.asked if argv[1] == "get")


def test_pods_that_are_there_are_taken_up_and_all_are_deleted():
    node = Kubernetes()
    for _ in range(2):
        kubernetes.take(Ask(node), NAME, {"n1": "n1"}, POD, 30)
    assert sum(argv[1] == "create" for argv in node.asked) == 1
    assert len(kubernetes.release(Ask(node), NAME)["released"]) == 1
    assert node.pods == {}


@pytest.mark.parametrize("name", ["accept.", "accept.20261201T000000Z-ab12."])
def test_the_emergency_stop_deletes_by_label(name):
    node = Kubernetes()
    kubernetes.take(Ask(node), NAME, {"n1": "n1"}, POD, 30)
    assert len(kubernetes.release(Ask(node), name)["released"]) == 1


def test_one_pod_that_does_not_come_up_refuses_its_own_node_only():
    node = Kubernetes(lambda pod: waiting("ImagePullBackOff", "no such image") if pod["metadata"]["name"].endswith("-1") else running(pod))
    told = kubernetes.take(Ask(node), NAME, {"n1": "n1", "n2": "n2"}, POD, 30)
    assert told["state"] == "held"
    assert told["pods"]["n2"]["container"] is None
    assert "no such image" in told["pods"]["n2"]["reason"]


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (
            {"phase": "Pending", "conditions": [{"status": "False", "message": "0/18 nodes are available: Insufficient rdma/ib"}]},
            "Insufficient rdma/ib",
        ),
        ({"phase": "Failed", "reason": "DeadlineExceeded"}, "DeadlineExceeded"),
        ({"phase": "Running", "containerStatuses": [{"name": "load", "state": {"running": {}}, "containerID": ""}]}, "is Running"),
    ],
)
def test_pods_that_never_run_are_deleted_with_the_reason(status, word):
    node = Kubernetes(lambda pod: status)
    told = kubernetes.take(Ask(node), NAME, {"n1": "n1"}, POD, 30)
    assert told["state"] == "refused"
    assert word in told["reason"]
    assert node.pods == {}


@pytest.mark.parametrize("lacking", ["image", "resources"])
def test_no_pod_without_an_image_or_devices(lacking):
    node = Kubernetes()
    told = kubernetes.take(Ask(node), NAME, {"n1": "n1"}, {key: value for key, value in POD.items() if key != lacking}, 30)
    assert told == {
        "state": "refused",
        "pods": {"n1": {"container": None, "address": None, "reason": told["reason"]}},
        "reason": "accept_pod lacks " + lacking,
    }
    assert node.asked == []
