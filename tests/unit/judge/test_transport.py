"""The transport that carried a collective against the one that was meant, and what the recipe contributes."""

from __future__ import annotations

from pathlib import Path

import pytest
from accept_judge import transport
from accept_node.parsers import nccl_debug

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "nccl_debug"
CONTEXT = {"transport": "roce", "form": "hgx", "vendor": "nvidia", "domains": {}, "predicted": {}, "gain_pct": 5}


def log_of(text):
    return nccl_debug.parse(text)


def network(name="IB", hcas="[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE", hosts=("n1", "n2"), mnnvl=0, more=""):
    lines = []
    for pid, host in enumerate(hosts, 100):
        say = f"{host}:{pid}:{pid} [0] NCCL INFO "
        lines += [say + "NCCL version 2.27.6+cuda13.0", say + f"NET/IB : Using {hcas} [RO]; OOB eth0:10.0.0.1<0>"]
        lines += [say + f"Using network {name}", say + f"comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL {mnnvl}"]
        lines += [say + line for line in more.splitlines()]
    return log_of("\n".join(lines))


def run_of(log, mode="ours", nodes=("n1", "n2"), busbw=390.0, status="ok", collective="all_reduce", **rest):
    rows = (
        [[8, 20.0, 0.0, 0.0, 0, 20.0, 0.0, 0.0, 0], [1 << 34, 80000.0, 210.0, busbw, 0, 80000.0, 210.0, busbw, 0]] if status == "ok" else []
    )
    name = f"{collective}.{mode}.{len(nodes)}.1"
    made = {
        "name": name,
        "collective": collective,
        "mode": mode,
        "nodes": list(nodes),
        "ranks": 4 * len(nodes),
        "repeat": 1,
        "status": status,
    }
    return {**made, "reason": "", "rows": rows, "transport": log, **rest}


def judged(*runs, **context):
    return transport.judge(list(runs), {**CONTEXT, **context})


def finding(run, **context):
    return judged(run, **context)["transports"][0]["finding"]


def test_as_meant():
    found = judged(run_of(network()))
    assert [(item["used"], item["finding"]) for item in found["transports"]] == [("RoCE", "none")]
    assert found["transport_unjudged"] == {}


def test_sockets_are_named_with_their_hosts_and_nothing_of_them_is_judged():
    mixed = (FIXTURES / "nccl_2.21" / "sockets_one_node_of_two_interleaved.txt").read_text()
    found = judged(run_of(log_of(mixed), nodes=("n01", "n02")), transport="infiniband")
    assert found["transports"][0]["finding"] == "sockets, 1 of 2 ranks on n02"
    assert list(found["transport_unjudged"]) == ["all_reduce.ours.2.1"]


def test_libfabric_over_tcp_is_sockets():
    tcp = (FIXTURES / "ofi_1.16" / "provider_tcp.txt").read_text()
    assert finding(run_of(log_of(tcp)), transport="efa") == "sockets, 1 of 1 ranks"


def test_infiniband_where_roce_was_meant():
    assert finding(run_of(network(hcas="[0]mlx5_0:1/IB"))) == "InfiniBand where RoCE was meant"


def test_the_network_within_one_nvlink_domain_is_as_wrong_as_sockets():
    rack = {"form": "nvl72", "domains": {"n1": "u/1", "n2": "u/1"}}
    assert finding(run_of(network(mnnvl=1)), **rack) == "none"
    assert finding(run_of(network(mnnvl=0)), **rack) == "RoCE where NVLink across nodes was meant"
    assert finding(run_of(network(mnnvl=0), mode="scale_out"), **rack) == "none"
    assert finding(run_of(network(mnnvl=0)), form="nvl72", domains={"n1": "u/1", "n2": "u/2"}) == "none"


def test_no_nvlink_domain_is_said():
    alone = network(more="MNNVL busId 0x801000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0")
    assert "fabric UUID 0" in finding(run_of(alone), form="nvl72", domains={"n1": None, "n2": None})


def test_where_the_domains_were_not_measured_nothing_is_asserted():
    unknown = {"form": "nvl72", "domains": {"n1": None, "n2": None}, "domains_known": set()}
    found = judged(run_of(network(mnnvl=0)), **unknown)["transports"][0]
    assert found["finding"] is None
    assert "not measured in this run" in found["finding_reason"]
    assert finding(run_of(network(mnnvl=1)), **unknown) == "none"
    alone = {**unknown, "domains_known": {"n1", "n2"}}
    assert finding(run_of(network(mnnvl=0)), **alone) == "RoCE where NVLink across nodes was meant"


def test_imex_missing():
    broken = log_of((FIXTURES / "nccl_2.30" / "mnnvl_not_working.txt").read_text())
    text = finding(run_of(broken, nodes=("r1t01", "r1t02"), status="error"), form="nvl72", domains={"r1t01": "u", "r1t02": "u"})
    assert "IMEX" in text
    assert "r1t[01-02]" in text


def test_a_plugin_that_was_asked_for_is_missed():
    asked = network(more="NCCL_NET_PLUGIN set by environment to spcx\nNET/Plugin: Could not find: libnccl-net-spcx.so.")
    assert finding(run_of(asked)) == "the network plugin spcx was asked for and is not loaded"
    assert finding(run_of(network(more="NCCL_NET_PLUGIN set by environment to none"))) == "none"
    assert finding(run_of(network(more="NCCL_NET set by environment to gIB"))) == "the network gIB was asked for and IB was used"


def test_nothing_said_is_not_measured():
    found = judged(run_of(None, reason="cut"))
    assert found["transports"][0]["finding"] is None
    assert found["transports"][0]["finding_reason"] == "cut"
    assert "all_reduce.ours.2.1" in found["transport_unjudged"]


def test_shared_memory_within_a_node():
    slow = network(hosts=("n1",), more="Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct")
    assert finding(run_of(slow, nodes=("n1",))) == "shared memory between GPUs of one node, not NVLink"
    fast = network(hosts=("n1",), more="Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM")
    assert finding(run_of(fast, nodes=("n1",))) == "none"


def test_observed_gids_beside_the_prediction():
    two = log_of((FIXTURES / "nccl_2.27" / "roce_two_nodes.txt").read_text())
    found = judged(run_of(two, nodes=("n01", "n02")), predicted={"n01": {"mlx5_0:1": 3, "mlx5_3:1": 5}, "n02": {"mlx5_0:1": 3}})[
        "transport_gids"
    ]
    assert [(item["name"], item["finding"], item["agrees"]) for item in found] == [
        ("mlx5_0:1 on n02", "index 0 is link-local", False),
        ("mlx5_0:1 on n01", "none", True),
        ("mlx5_3:1", "none", False),
    ]


def test_an_index_that_the_run_fixed_is_what_is_expected_of_it():
    text = (FIXTURES / "nccl_2.27" / "roce_two_nodes.txt").read_text()
    text += "n01:4101:4130 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.\n"
    found = judged(run_of(log_of(text), nodes=("n01", "n02")), predicted={"n01": {"mlx5_0:1": 5}, "n02": {"mlx5_0:1": 5}})["transport_gids"]
    assert [item["agrees"] for item in found] == [False, True, True]


def test_versions_and_hcas_that_differ():
    mixed = log_of((FIXTURES / "nccl_2.30" / "mnnvl_not_working.txt").read_text())
    assert judged(run_of(mixed))["transport_versions"][0]["finding"] == "2.29.1+cuda13.0 on 1, 2.30.4+cuda13.1 on 1"
    text = "n1:1:1 [0] NCCL INFO NET/IB : Using [0]a:1/RoCE [1]b:1/RoCE ; OOB e:1<0>\n"
    text += "n2:2:2 [0] NCCL INFO NET/IB : Using [0]a:1/RoCE ; OOB e:1<0>"
    assert [(item["hcas"], item["finding"]) for item in judged(run_of(log_of(text)))["transport_hcas"]] == [
        (2, "none"),
        (1, "a:1 on n2, where others have 2"),
    ]


def test_a_search_on_one_rail_is_no_lack_of_adapters():
    found = judged(run_of(network()), run_of(network(hcas="[0]mlx5_0:1/RoCE"), round="2", busbw=50.0))
    assert [item["hcas"] for item in found["transport_hcas"]] == [2]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("ok", "none"),
        ("hang", "hangs across NVLink domains: no row after 30 s"),
        ("error", "ends with error across NVLink domains: no row after 30 s"),
    ],
)
def test_across_domains(status, expected):
    run = run_of(network(), mode="cross_domain", status=status, reason="no row after 30 s")
    found = judged(run, form="nvl72", domains={"n1": "u/1", "n2": "u/2"})
    assert found["transport_domains"][0]["finding"] == expected


def recipe(bare, provider, ours):
    runs = [run_of(network(), mode="bare", **bare), run_of(network(), mode="provider", **provider)]
    settings = network(more="NCCL_IB_TC set by environment to 106.\nNCCL_DEBUG set by environment to INFO.")
    found = judged(*runs, run_of(settings, mode="ours", **ours))
    return found["recipe_verdict"], found["recipe_needs"]


def test_verdicts_on_the_recipe():
    assert recipe({"busbw": 385}, {"busbw": 390}, {"busbw": 391}) == ("out_of_the_box", [])
    assert recipe({"busbw": 200}, {"busbw": 390}, {"busbw": 391}) == ("provider_recipe", [])
    assert recipe({"busbw": 200}, {"busbw": 210}, {"busbw": 391}) == ("undocumented", ["NCCL_IB_TC=106"])
    assert recipe({"status": "hang"}, {"status": "error"}, {"busbw": 391}) == ("undocumented", ["NCCL_IB_TC=106"])
    assert recipe({"status": "hang"}, {"status": "error"}, {"status": "error"})[0] == "none"


def test_the_row_on_the_recipe_says_why():
    slow = judged(run_of(network(), mode="bare", busbw=200), run_of(network(more="NCCL_IB_TC set by environment to 106."), mode="ours"))
    assert slow["recipe_judged"][0]["name"] == (
        "the largest world of several nodes: bare: all_reduce: 200.0 GB/s where 390.0 are had; it needs NCCL_IB_TC=106"
    )


def test_a_recipe_is_not_judged_without_comparison():
    alone = judged(run_of(network(), mode="ours"))
    assert alone["recipe_verdict"] is None
    assert "bare" in alone["recipe_verdict_reason"]


def test_where_our_recipe_is_empty_bare_is_ours():
    empty = {"nothing_to_set": True}
    assert judged(run_of(network(), mode="bare"), **empty)["recipe_verdict"] == "out_of_the_box"
    hung = judged(run_of(network(), mode="bare", status="hang", reason="no row after 30 s"), **empty)
    assert (hung["recipe_verdict"], "no row" in hung["recipe_verdict_reason"]) == ("none", True)


def test_bare_sockets_are_the_recipes_business_where_a_recipe_was_run():
    sockets = network(name="Socket", hcas="")
    found = judged(run_of(sockets, mode="bare", busbw=2.0), run_of(network(), mode="ours"))
    assert [item["mode"] for item in found["transports"]] == ["ours"]
    assert found["recipe_verdict"] == "undocumented"
    assert judged(run_of(sockets, mode="bare"))["transports"][0]["finding"] == "sockets, 2 of 2 ranks"
