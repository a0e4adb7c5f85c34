"""Hosts of a fabric go under pseudonyms, whichever tool names them; switches do not; doing it twice changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from accept_node import discreet
from accept_node.envelope import Gather
from accept_node.node import RecordingNode, ReplayNode
from accept_node.parsers import iblinkinfo, ibnetdiscover, ibqueryerrors, ibswitches

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TOOLS = {
    "iblinkinfo": "iblinkinfo/ibsim-0.10/two_levels",
    "ibnetdiscover": "ibnetdiscover/ibsim-0.10/two_levels",
    "ibnetdiscover -p": "ibnetdiscover/ibsim-0.10/ports@two_levels",
    "ibswitches": "ibswitches/ibsim-0.10/switches",
    "ibhosts": "ibswitches/ibsim-0.10/hosts",
    "ibqueryerrors": "ibqueryerrors/own/query_failed",
    "ibtracert": "ibtracert/ibsim-0.10/five_hops",
    "saquery NR": "saquery/ibsim-0.10/node_record",
    "smpquery nodedesc": "smpquery/ibsim-0.10/nodedesc@own",
    "smpquery nodeinfo": "smpquery/ibsim-0.10/nodeinfo@own",
}


def text(name):
    return (FIXTURES / (TOOLS[name] + ".txt")).read_text(encoding="utf-8")


@pytest.fixture
def node():
    commands = [{"argv": name.split(), "rc": 0, "stdout": text(name)} for name in TOOLS]
    return discreet.DiscreetNode(RecordingNode(ReplayNode({"identity": {"hostname": "gpu001"}, "commands": commands})))


@pytest.mark.parametrize("name", TOOLS)
def test_no_host_is_named(node, name):
    node.run(["iblinkinfo"])  # who is a switch
    said = node.run(name.split()).stdout
    for word in ("gpu0", "gpu-b", "0002c903000010", "2c903000010", "1c34da0300012344"):
        assert word not in said
    assert node.conceal(said) == said


def test_switches_keep_their_names(node):
    said = node.run(["ibnetdiscover", "-p"]).stdout
    assert "leaf04" in said
    assert "0x0002c90300000230" in said


def test_parsers_make_the_same_of_it(node):
    bare, said = iblinkinfo.parse(text("iblinkinfo")), iblinkinfo.parse(node.run(["iblinkinfo"]).stdout)
    assert len(bare["ports"]) == len(said["ports"])
    for one, other in zip(bare["ports"], said["ports"]):
        assert other["guid"] == (discreet.guid(one["guid"]) if one["kind"] == "ca" else one["guid"])
        assert {key: one[key] for key in ("kind", "lid", "port", "state", "width")} == {
            key: other[key] for key in ("kind", "lid", "port", "state", "width")
        }
    assert ibnetdiscover.parse_ports(node.run(["ibnetdiscover", "-p"]).stdout)["ports"][0]["guid"] == said["ports"][0]["guid"]
    assert ibswitches.parse(node.run(["ibhosts"]).stdout)["nodes"][0]["name"] == said["ports"][0]["name"]
    assert ibqueryerrors.parse(node.run(["ibqueryerrors"]).stdout)["nodes_checked"] == 3


def test_hosts_of_the_same_stem_are_kin():
    node = discreet.DiscreetNode(ReplayNode({"identity": {"hostname": "gpu-07.example.net"}}))
    assert node.conceal('"gpu-12 mlx5_0"') == f'"kin-{discreet.host("gpu-12")} mlx5_0"'
    assert node.conceal('"store-1 HCA-1"') == f'"host-{discreet.host("store-1")} HCA-1"'
    assert node.conceal('"Mellanox Technologies Aggregation Node"') == '"Mellanox Technologies Aggregation Node"'
    assert node.conceal('"a name, with words that say more mlx5_3"') == f'"host-{discreet.host("a")} mlx5_3"'


def test_what_a_recorder_keeps_is_discreet_too(node):
    node.run(["iblinkinfo"])
    assert "gpu0" not in str(node.node.capture["commands"])


def test_of_some_answers_only_that_they_came_is_kept():
    said = "# Port info: Lid 4 port 1\nMkey:....0x0\nLinkState:....Active\nLid:.....4\n"
    node = discreet.DiscreetNode(RecordingNode(ReplayNode({"commands": [{"argv": ["smpquery"], "rc": 0, "stdout": said}]})))
    node.ask_only(["smpquery"])
    kept = Gather(node).command(["smpquery"])
    assert kept.startswith("# Port info: Lid 4 port 1\n")
    assert "Mkey" not in kept
    assert node.node.capture["commands"][0]["stdout"] == kept


@pytest.mark.parametrize("guid", ["0x2c90300001071", "0x0002c90300001071"])
def test_a_guid_has_one_pseudonym_and_a_pseudonym_stays(guid):
    made = discreet.guid(guid)
    assert made == discreet.guid("0x0002c90300001071") == discreet.guid(made)
    assert made.startswith("0xfeed")
    assert len(made) == 18


def test_other_tools_are_left_alone():
    node = discreet.DiscreetNode(ReplayNode({"commands": [{"argv": ["hostname"], "rc": 0, "stdout": '"gpu001"'}]}))
    assert node.run(["hostname"]).stdout == '"gpu001"'
