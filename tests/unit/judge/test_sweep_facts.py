"""What a sweep takes from contract, inventory and evidence before it is planned, and when it is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from accept_judge import sweep_facts


def fact(data):
    return SimpleNamespace(data=data, unreachable=data == "away")


def plugged(*switches):
    return {"ports": [{"rail": True, "neighbour": {"description": switch, "switch": None}} for switch in switches]}


def carrying(*devices):
    return {"ports": [{"device": device, "traffic": device != "mlx5_bond_0"} for device in devices]}


def view(cabling=None, vendor="nvidia", form="hgx", domains=(), replay=False, away=(), gids=()):
    hosts = ("n1", "n2")
    inventory = [{"name": name, "cluster": "a", "rack": "r1", "groups": ["gpu_nodes"], "replay": replay} for name in hosts]
    inventory.append({"name": "head", "cluster": "a", "rack": "", "groups": ["head"], "replay": replay})
    told = {"cabling": cabling or {}, "inventory_audit": dict(domains), "preflight": dict.fromkeys(away, "away"), "gid_check": dict(gids)}

    def of(host, concern):
        found = told.get(concern, {}).get(host)
        return fact({"nvlink_domain": found} if concern == "inventory_audit" else found)

    wanted = SimpleNamespace(key=lambda name, *_: SimpleNamespace(value={"gpu.count": 8}.get(name)))
    context = {"vendor": vendor, "form": form}
    return SimpleNamespace(run={"inventory": {"hosts": inventory}}, hosts=hosts, context=context, wanted=wanted, fact=of)


def cluster(seen, scheduler="none", variables=None, **settings):
    hostvars = {name: {} for name in ("n1", "n2", "head")} | (variables or {})
    task_vars = {"hostvars": hostvars, "ansible_play_hosts_all": ["head"]}
    return sweep_facts.cluster(seen, {"name": "a", "scheduler": scheduler}, settings, task_vars, {"NCCL_IB_TC": "106"})


def test_engine_launcher_and_ranks_are_the_clusters():
    facts, refused = cluster(view(), "slurm")
    told = {key: facts[key] for key in ("head", "engine", "launcher", "ranks_per_node", "recipe")}
    assert told == {"head": "head", "engine": "nccl-tests", "launcher": "slurm", "ranks_per_node": 8, "recipe": {"NCCL_IB_TC": "106"}}
    assert refused == ""
    assert cluster(view(vendor="amd"))[0]["engine"] == "rccl-tests"
    assert cluster(view(vendor=None))[0]["engine"] == "mpi"
    assert cluster(view(), engine="torch", launcher="local", ranks_per_node=2)[0]["ranks_per_node"] == 2


def test_a_leaf_is_the_switch_of_all_rails_or_what_the_inventory_says():
    one = view(cabling={"n1": plugged("leaf01", "leaf01"), "n2": plugged("leaf01", "leaf02")})
    facts, _ = cluster(one, variables={"n2": {}})
    assert facts["placement"] == {"n1": {"rack": "r1", "leaf": "leaf01"}, "n2": {"rack": "r1", "leaf": None}}
    assert cluster(one, variables={"n2": {"accept_leaf": 7}})[0]["placement"]["n2"]["leaf"] == "7"


@pytest.mark.parametrize(
    ("first", "second", "rails"),
    [
        (("mlx5_10", "mlx5_2", "mlx5_bond_0"), ("mlx5_2", "mlx5_10"), ["mlx5_2", "mlx5_10"]),
        (("mlx5_2", "mlx5_10"), ("rocep1", "rocep2"), []),  # no list of names fits both
        (("mlx5_2", "mlx5_10"), (), []),  # most nodes must have been read
    ],
)
def test_rails_are_the_adapters_that_nodes_have_alike(first, second, rails):
    seen = view(gids={"n1": carrying(*first), "n2": carrying(*second)})
    assert cluster(seen)[0]["rails"] == rails
    assert cluster(seen, engine="mpi")[0]["rails"] == []


def test_names_are_those_that_the_launcher_knows():
    known = {"n1": {"accept_scheduler_name": "gpu-1", "ansible_host": "10.0.0.1"}}
    assert cluster(view(), "slurm", known)[0]["names"] == {"n1": "gpu-1"}
    assert cluster(view(), "none", known)[0]["names"] == {"n1": "10.0.0.1"}


@pytest.mark.parametrize(
    ("scheduler", "settings", "words"),
    [
        ("slurm", {"launcher": "mpirun"}, "load belongs into an allocation: nccl_sweep_launcher: slurm"),
        ("slurm", {"launcher": "mpirun", "outside_scheduler": True}, ""),
        ("kubernetes", {}, "nccl_sweep_kubernetes lacks image and resources"),
        ("kubernetes", {"kubernetes": {"image": "x", "resources": {"nvidia.com/gpu": 8}}}, ""),
        ("kubernetes", {"launcher": "local"}, "nccl_sweep_launcher: kubernetes"),
        ("none", {}, ""),
    ],
)
def test_behind_a_schedulers_back_nothing_is_launched(scheduler, settings, words):
    assert words in cluster(view(), scheduler, **settings)[1]
    assert bool(cluster(view(), scheduler, **settings)[1]) == bool(words)
    assert cluster(view(replay=True), scheduler, **settings)[1] == ""  # a capture loads nobody


def test_a_cluster_without_a_head_in_the_play_is_not_asked():
    task_vars = {"hostvars": {}, "ansible_play_hosts_all": ["elsewhere"]}
    assert sweep_facts.cluster(view(), {"name": "a"}, {}, task_vars, {}) == (None, "")


def test_a_node_that_does_not_answer_takes_no_part():
    assert list(cluster(view(away=["n2"]))[0]["placement"]) == ["n1"]


def test_launchers_get_their_own_settings_and_the_job():
    one = {"launcher": "slurm", "job": "4711"}
    given = {"folder": "/opt/n", "python": "python3", "pending_s": 9, "slurm_step": {"mpi": "pmix"}, "mpirun": {"flavour": "mpich"}}
    assert sweep_facts.launcher_settings(given, one) == {
        "folder": "/opt/n",
        "python": "python3",
        "pending_s": 9,
        "mpi": "pmix",
        "job": "4711",
    }
    assert sweep_facts.launcher_settings({**given, "slurm_job": "12"}, one)["job"] == "12"
    assert sweep_facts.launcher_settings(given, {"launcher": "mpirun"}) == {
        "folder": "/opt/n",
        "python": "python3",
        "pending_s": 9,
        "flavour": "mpich",
    }
