"""Schedulers: states normalised, denials and failures told apart, nothing of others kept."""

from __future__ import annotations

import json
import re

import pytest
from accept_node.collectors import scheduler_audit
from accept_node.envelope import Gather, collect
from accept_node.node import RecordingNode, ReplayNode
from accept_node.parsers import kubernetes_daemonsets, kubernetes_nodes, scontrol, slurm_gres, slurm_hostlist, slurm_state
from accept_node.schedulers import kubernetes, none, slurm, slurm_on_kubernetes
from hypothesis import given
from hypothesis import strategies as st

NODE = "NodeName={name} Gres=gpu:h100:8(S:0-1) NodeAddr={name} NodeHostName={name} State={state} Partitions=gpu CfgTRES=cpu=2,gres/gpu=8\n"
CONFIG = "ClusterName=c\nSLURM_VERSION = 25.11.1\nAccountingStorageType = (null)\n"


def replay(commands, recorded_at_s=1796018400.0):
    """A node that answers argv (as text) -> stdout, or a whole record's fields."""
    records = []
    for what, answer in commands.items():
        record = {"at_s": 0.0, "argv": what.split(" "), "rc": 0, "stdout": "", "stderr": "", "duration_s": 0.01, "reason": ""}
        records.append({**record, **(answer if isinstance(answer, dict) else {"stdout": answer})})
    return ReplayNode({"schema": 1, "recorded_at_s": recorded_at_s, "commands": records})


MISSING = {"rc": None, "reason": "missing"}
NO_SLURM = {"scontrol --version": MISSING}
NO_KUBECTL = {"kubectl get --raw /version --request-timeout=30s": MISSING}


def audit(commands):
    return collect("scheduler_audit", scheduler_audit.collect, replay(commands), "cluster")


# --- Slurm's states ---------------------------------------------------------------------------------------------------------------------

STATES = {
    "IDLE": (True, []),
    "MIXED+CLOUD": (True, []),
    "ALLOCATED+COMPLETING": (True, []),
    "IDLE+PLANNED": (True, []),
    "mixed-": (True, []),
    "MIXED+REBOOT_REQUESTED": (True, []),
    "idle@": (True, []),
    "IDLE+RESERVED": (True, []),
    "idle~": (True, []),
    "IDLE+CLOUD+POWERED_DOWN": (True, []),
    "IDLE+DRAIN": (False, ["drained"]),
    "drained*": (False, ["drained", "not responding"]),
    "MIXED+DRAIN": (False, ["draining"]),
    "drng": (False, ["draining"]),
    "DOWN*+DRAIN": (False, ["down", "drained", "not responding"]),
    "down": (False, ["down"]),
    "DOWN+CLOUD+REBOOT_ISSUED": (False, ["down", "rebooting"]),
    "idle^": (False, ["rebooting"]),
    "maint": (False, ["in maintenance"]),
    "IDLE+MAINTENANCE+RESERVED": (False, ["in maintenance"]),
    "idle*": (False, ["not responding"]),
    "inval": (False, ["registered with less than is configured"]),
    "IDLE+INVALID_REG": (False, ["registered with less than is configured"]),
    "failg": (False, ["failing"]),
    "FUTURE": (False, ["down"]),
    "UNKNOWN": (None, []),
    "sideways": (None, []),
    "idle sideways": (True, []),
}


@pytest.mark.parametrize("text", STATES)
def test_state(text):
    parsed = slurm_state.parse(text)
    schedulable, against = slurm.judged(parsed["base"], parsed["flags"])
    assert (schedulable, sorted(against)) == (STATES[text][0], sorted(STATES[text][1]))


BAD = ["DRAIN", "FAIL", "NOT_RESPONDING", "MAINTENANCE", "REBOOT_ISSUED", "INVALID_REG", "POWER_DRAIN"]


@given(
    base=st.sampled_from([*sorted(slurm_state.BASES), None]),
    flags=st.sets(st.sampled_from([*BAD, "PLANNED", "CLOUD", "DYNAMIC_NORM", "COMPLETING", "X"])),
    more=st.sampled_from(BAD),
)
def test_a_flag_more_never_makes_a_node_fit(base, flags, more):
    before, after = slurm.judged(base, flags)[0], slurm.judged(base, flags | {more})[0]
    assert after is False
    assert before in (True, False, None)


@given(st.integers(0, 99999), st.integers(0, 40), st.integers(1, 6))
def test_a_host_list_has_what_it_says(first, more, width):
    text = f"n[{first:0{width}d}-{first + more:0{width}d}].x,login"
    hosts = slurm_hostlist.parse(text)["hosts"]
    assert len(hosts) == more + 2
    assert hosts[0] == f"n{first:0{width}d}.x"
    assert len(set(hosts)) == len(hosts)


@pytest.mark.parametrize("whole", ["gpu:h100:16(S:0-1)", "nic:2,gpu:16", "gpu:8(IDX:0,2-7)"])
def test_a_cut_string_of_resources_is_never_no_gpus(whole):
    """A count may lose digits where a column ends, which no parser can tell; our own formats have no columns that end."""
    for end in range(1, len(whole)):
        found = slurm_gres.parse(whole[:end])
        assert found["gpus"] in (None, 1, 8, 16) or (whole[:end] in ("n", "ni", "nic", "nic:", "nic:2", "nic:2,") and found["gpus"] == 0), (
            whole[:end]
        )


def test_a_sign_that_goes_away_is_no_finding():
    """`*` is seen while a controller starts: such nodes are asked about once more."""
    commands = {
        "scontrol -a -o show node": NODE.format(name="n1", state="IDLE*") + NODE.format(name="n2", state="IDLE*"),
        " ".join(
            slurm.STATES
        ): "NODELIST|STATE|GRES|PARTITION|USER|TIMESTAMP|REASON\nn1|idle|gpu:8|gpu*|x|x|none\nn2|idle*|gpu:8|gpu*|x|x|none\n",
    }
    found = {node["name"]: node for node in slurm.nodes(Gather(replay(commands)))}
    assert (found["n1"]["schedulable"], found["n2"]["against"]) == (True, ["not responding"])


def test_people_s_own_words_are_no_keys():
    text = (
        NODE.format(name="n1", state="IDLE+DRAIN").strip()
        + " Reason=was State=IDLE Gres=none [a] [root@2026-11-30T04:00:00] Comment=State=DOWN\n"
    )
    (node,) = scontrol.parse(text)["nodes"]
    assert (node["flags"], node["gpus"], node["reason"], node["reason_by"]) == (["DRAIN"], 8, "was State=IDLE Gres=none [a]", "root")


def test_names_of_accounts_and_users_are_cut():
    text = (
        "PartitionName=p AllowGroups=blue AllowAccounts=blue,green DenyAccounts=red AllowQos=ALL Nodes=n1 State=UP QoS=blueq\n"
        "NodeName=n1 State=IDLE Owner=eve MCS_label=blue\n"
    )
    cut = scontrol.strip(text)
    assert not re.search("blue|green|red|eve", cut)
    assert scontrol.strip(cut) == cut
    assert scontrol.parse_partition(cut)["partitions"][0]["restricted"] is True
    assert scontrol.parse(cut) == scontrol.parse(text)


# --- what is there ----------------------------------------------------------------------------------------------------------------------


def test_no_scheduler_is_measured():
    data = audit({**NO_SLURM, **NO_KUBECTL})["data"]
    assert (data["scheduler"], data["nodes"]) == ("none", [])
    assert none.detect(Gather(replay({**NO_SLURM, **NO_KUBECTL})))["present"] is True


def test_a_capture_without_the_questions_knows_nothing():
    envelope = audit({})
    assert envelope["data"]["scheduler"] is None
    assert "not_recorded" in envelope["data"]["scheduler_reason"]
    assert none.detect(Gather(replay({})))["present"] is None


@pytest.mark.parametrize(
    ("answer", "present", "said"),
    [
        (
            {"rc": 1, "stderr": "slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)\n"},
            None,
            "Unable to contact",
        ),
        ({"rc": None, "reason": "timeout", "duration_s": 60.0}, None, "timeout"),
        ({"rc": 1, "stderr": "scontrol: fatal: Could not establish a configuration source\n"}, False, "no cluster is configured"),
        ({"stdout": "\ufffd\ufffd\n"}, None, "not Slurm's configuration"),
        (CONFIG, True, ""),
    ],
)
def test_slurm_down_slow_unconfigured_or_there(answer, present, said):
    found = slurm.detect(Gather(replay({"scontrol --version": "slurm 25.11.1\n", "scontrol show config": answer})))
    assert found["present"] is present
    assert said in found["reason"]


def test_tools_of_slurm_that_do_not_even_tell_their_version_without_a_configuration():
    answer = {
        "rc": 1,
        "stderr": "scontrol: error: fetch_config: DNS SRV lookup failed\nscontrol: fatal: Could not establish a configuration source\n",
    }
    found = slurm.detect(Gather(replay({"scontrol --version": answer})))
    assert (found["present"], found["version"]) == (False, None)
    assert "no cluster is configured" in found["reason"]
    assert audit({"scontrol --version": answer, **NO_KUBECTL})["data"]["scheduler"] == "none"
    broken = slurm.detect(Gather(replay({"scontrol --version": {"rc": 127, "stderr": "error while loading shared libraries\n"}})))
    assert broken["present"] is None


def test_a_controller_that_is_down_is_asked_once():
    node = RecordingNode(
        replay({"scontrol --version": "slurm 25.11.1\n", "scontrol show config": {"rc": 1, "stderr": "Unable to contact\n"}, **NO_KUBECTL})
    )
    collect("scheduler_audit", scheduler_audit.collect, node, "cluster")
    assert len(node.capture["commands"]) == 3


REFUSED = "The connection to the server localhost:8080 was refused - did you specify the right host or port?\n"


def test_kubectl_without_a_cluster_is_not_known_and_no_error_beside_slurm():
    tries = {
        f"kubectl {flags}get --raw /version --request-timeout=30s": {
            "rc": 1,
            "stderr": REFUSED if not flags else f"error: stat {flags.split()[1]}: no such file\n",
        }
        for flags in ("", *(f"--kubeconfig {path} " for path in kubernetes.CONFIGS))
    }
    found = kubernetes.detect(Gather(replay(tries)))
    assert (found["present"], found["reason"]) == (None, "kubectl is installed, and no access to a cluster is configured for it")
    commands = {
        "scontrol --version": "slurm 25.11.1\n",
        "scontrol show config": CONFIG,
        "scontrol -a -o show node": NODE.format(name="n1", state="IDLE"),
        "scontrol -a -o show partition": "PartitionName=gpu Nodes=n1 State=UP\n",
        "scontrol show topology": {"rc": 1, "stderr": "No topology information available\n"},
        "sdiag": "Server thread count: 1\nJobs pending: 0\nJobs running: 0\n",
        **tries,
    }
    envelope = audit(commands)
    assert (envelope["status"], envelope["data"]["scheduler"]) == ("ok", "slurm")


def test_an_api_server_that_refuses_is_not_a_missing_kubeconfig():
    said = "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?\n"
    found = kubernetes.detect(Gather(replay({"kubectl get --raw /version --request-timeout=30s": {"rc": 1, "stderr": said}})))
    assert found["present"] is None
    assert "10.0.0.1:6443 was refused" in found["reason"]


# --- Kubernetes -------------------------------------------------------------------------------------------------------------------------


def kube(**changes):
    node = {
        "metadata": {"name": "t1", "labels": {"team": "blue", "nvidia.com/gpu.count": "4"}},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"nvidia.com/gpu": "4", "cpu": "8"},
            "allocatable": {"nvidia.com/gpu": "4"},
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "False"}],
        },
    }
    for path, value in changes.items():
        *way, last = path.split("__")
        part = node
        for step in way:
            part = part.setdefault(step, {})
        part[last] = value
    return node


def normal(node):
    return kubernetes.normalise(kubernetes_nodes.parse(json.dumps({"kind": "NodeList", "items": [node]}))["nodes"][0])


@pytest.mark.parametrize(
    ("node", "schedulable", "against"),
    [
        (kube(), True, []),
        (kube(spec__unschedulable=True), False, ["cordoned"]),
        (kube(status__conditions=[{"type": "Ready", "status": "False"}]), False, ["down"]),
        (kube(status__conditions=[{"type": "Ready", "status": "Unknown"}]), False, ["not responding"]),
        (kube(status__conditions=[]), None, []),
        (kube(spec__taints=[{"key": "a.b/c", "effect": "NoSchedule"}]), False, ["taint a.b/c"]),
        (kube(spec__taints=[{"key": "a.b/c", "effect": "PreferNoSchedule"}]), True, []),
        (
            kube(
                spec__taints=None, status__conditions=[{"type": "Ready", "status": "True"}, {"type": "XidCriticalError", "status": "True"}]
            ),
            True,
            [],
        ),
    ],
)
def test_a_kubernetes_node(node, schedulable, against):
    found = normal(node)
    assert (found["schedulable"], found["against"]) == (schedulable, against)


def test_shared_gpus_are_counted_once_and_slices_not_at_all():
    shared = kube(status__capacity={"nvidia.com/gpu": "16"}, status__allocatable={"nvidia.com/gpu": "16"})
    shared["metadata"]["labels"].update({"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"})
    assert normal(shared)["gpus"] == 4
    assert normal(kube(status__capacity={"nvidia.com/mig-1g.10gb": "7"}))["gpus"] == 0
    assert normal(kube(status__capacity={"nvidia.com/gpu": "many"}))["gpus"] is None
    assert normal(kube(status__capacity={"cpu": "8"}))["gpus"] is None, "claims, perhaps"


@pytest.mark.parametrize("kind", ["Ready", "AcceleratedHardwareReady", "GpuHealthy", "DeepHealthCheckPassed"])
def test_conditions_whose_true_is_good(kind):
    assert kubernetes.positive(kind) is True


@pytest.mark.parametrize(
    "kind",
    "MemoryPressure NetworkUnavailable XidCriticalError SysLogsGPUFallenOff GpuMemWatch InfiniBandStateCheck KernelDeadlock "
    "FrequentKubeletRestart CorruptDockerOverlay2 ReadonlyFilesystem".split(),
)
def test_conditions_whose_true_is_trouble(kind):
    assert kubernetes.positive(kind) is False


@pytest.mark.parametrize("kind", ["SomethingOfTheProvider", "", None])
def test_conditions_whose_name_does_not_tell_are_not_judged(kind):
    assert kubernetes.positive(kind) is None


def test_a_denial_in_the_middle_of_the_list_is_told_and_the_first_page_kept():
    page = {"kind": "NodeList", "metadata": {"continue": "a=b"}, "items": [kube()]}
    commands = {
        "kubectl get --raw /version --request-timeout=30s": '{"gitVersion": "v1.36.2"}',
        f"kubectl get --raw {kubernetes.NODES} --request-timeout=30s": json.dumps(page),
        f"kubectl get --raw {kubernetes.NODES}&continue=a%3Db --request-timeout=30s": {
            "rc": 1,
            "stderr": "Error from server (Forbidden): nodes is forbidden\n",
        },
    }
    gather = Gather(replay(commands))
    client = kubernetes.connect(gather)[0]
    assert (len(kubernetes.records_of(client)["nodes"]), kubernetes.records_of(client)["complete"]) == (1, False)
    assert gather.errors[0]["reason"] == "denied"


@given(st.dictionaries(st.sampled_from(["team", "owner", "nvidia.com/gpu.product", "topology.kubernetes.io/zone"]), st.text(max_size=8)))
def test_what_is_cut_from_a_node_changes_nothing_that_is_read(labels):
    node = kube(metadata__labels=labels)
    node["status"]["images"] = [{"names": ["registry.example/blue"]}]
    node["metadata"]["annotations"] = {"owner": "blue"}
    text = json.dumps({"kind": "NodeList", "metadata": {"continue": "x"}, "items": [node]})
    cut = kubernetes_nodes.strip(text)
    assert kubernetes_nodes.parse(cut) == kubernetes_nodes.parse(text)
    assert kubernetes_nodes.strip(cut) == cut
    assert "registry.example" not in cut
    assert "annotations" not in cut


def test_agents_of_others_are_counted_only():
    sets = [
        {"metadata": {"name": "team-blue-agent"}},
        {"metadata": {"name": "nvidia-device-plugin-daemonset"}, "status": {"desiredNumberScheduled": 2}},
    ]
    cut = kubernetes_daemonsets.strip(json.dumps({"kind": "DaemonSetList", "items": sets}))
    found = kubernetes_daemonsets.parse(cut)
    assert ([one["name"] for one in found["daemonsets"]], found["others"]) == (["nvidia-device-plugin-daemonset"], 1)
    assert "blue" not in cut


# --- Slurm on Kubernetes ----------------------------------------------------------------------------------------------------------------


def test_two_that_know_each_other_are_one():
    assert slurm_on_kubernetes.joined({"slinky.slurm.net": "v1beta1"}, 0) is True
    assert slurm_on_kubernetes.joined({"apps": "v1"}, 3) is True
    assert slurm_on_kubernetes.joined({"apps": "v1"}, 0) is False
    assert slurm_on_kubernetes.joined(None, None) is None


def test_a_node_takes_jobs_only_where_both_let_it():
    above = slurm.normalise(scontrol.parse(NODE.format(name="t1", state="IDLE"))["nodes"][0])
    (both,) = slurm_on_kubernetes.merge([above], [normal(kube(spec__unschedulable=True))])
    assert (both["schedulable"], both["against"]) == (False, ["Kubernetes: cordoned"])
    (fine,) = slurm_on_kubernetes.merge([above], [normal(kube())])
    assert (fine["schedulable"], fine["gpus"], fine["gpus_usable"]) == (True, 8, 4)


def test_all_schedulers_have_one_interface():
    for module in (slurm, kubernetes, slurm_on_kubernetes, none):
        assert all(callable(getattr(module, name)) for name in ("detect", "nodes", "one", "survey", "capabilities")), module.__name__
    keys = {"drain", "reason", "reboot", "history", "health_program"}
    assert set(slurm.capabilities({})) == set(kubernetes.capabilities({})) == set(none.capabilities({})) == keys
