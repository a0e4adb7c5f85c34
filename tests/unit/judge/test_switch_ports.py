"""The switches' side of RoCE rails: the export is read strictly, LLDP comes first, and what nobody says is not measured."""

from __future__ import annotations

import json
import types

import pytest
from accept_judge import switch_ports
from accept_judge.analysis import roce_config
from accept_judge.cabling import End
from accept_judge.documents import DocumentError

HEAD = "switch,switch_port,pfc,ecn,mtu\n"
PEER = {"switch": "leaf-1", "chassis": "9c:05:91:00:00:01", "port": "swp3", "description": None, "pfc": None}


@pytest.fixture
def table(tmp_path):
    def load(text):
        (tmp_path / "switch_ports.csv").write_text(text)
        return switch_ports.load(tmp_path / "switch_ports.csv")

    return load


def rail(tmp_path, peer, export=None):
    """The facts of one rail with that peer."""
    unset = dict.fromkeys(("trust", "dscp_priority", "ecn_np", "ecn_rp", "cnp_dscp", "traffic_class"))
    port = {"name": "mlx5_0/1", "netdev": "rail0", "rail": True, "pfc": [3], "peer": peer, **unset}
    if export is not None:
        (tmp_path / "switch_ports.csv").write_text(export)
    run = types.SimpleNamespace(run_dir=tmp_path, envelope={"host": "n1"})
    return json.loads(json.dumps(roce_config.analyse({"ports": [port]}, run)))["rails"][0]


def test_lists_none_and_what_was_not_exported(table):
    found = table(HEAD + "# taken on Monday\nleaf-1,swp3,3+4,none,9216\nLEAF-2.example.net,Ethernet12,,,\n")
    assert found["leaf-1", "swp3"][:3] == ([3, 4], [], 9216)
    assert found["leaf-2.example.net", "ethernet12"][:3] == (None, None, None)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "no header"),
        (HEAD, "no rows"),
        ("switch,pfc\nleaf-1,3\n", "column switch_port is missing"),
        (HEAD + "leaf-1,swp3,8,3,9216\n", ":2:3: pfc: '8' is none"),
        (HEAD + "leaf-1,swp3,off,3,9216\n", ":2:3: pfc: 'off' is none"),
        (HEAD + "leaf-1,swp3,3,3,jumbo\n", ":2:5: mtu: 'jumbo' is none"),
        (HEAD + "leaf-1,swp3,3,3,9216\nLEAF-1,swp3,3,3,9216\n", ":3:1: LEAF-1 port swp3 stands already in line 2"),
    ],
)
def test_a_bad_export_is_said_by_line_and_column(table, text, error):
    with pytest.raises(DocumentError) as caught:
        table(text)
    assert error in caught.value.errors[0]


@pytest.mark.parametrize(
    "end", [End("leaf-1", "swp3"), End("LEAF-1", "0x0a", "", "swp3"), End("leaf-1.example.net", "swp3"), End("", "swp3", "leaf-1")]
)
def test_a_port_is_found_by_what_lldp_calls_it(table, end):
    assert switch_ports.find(table(HEAD + "leaf-1,swp3,3,3,9216\n"), end).mtu == 9216


def test_nobody_else_s_port_is_taken_for_it(table):
    found = table(HEAD + "leaf-1,swp3,3,3,9216\n")
    assert switch_ports.find(found, End("leaf-1", "swp30")) is None
    assert switch_ports.find(found, End("leaf-10", "swp3")) is None
    assert switch_ports.find(found, End("", "", "", "")) is None


def test_what_the_switch_says_itself_comes_first(tmp_path):
    told = rail(tmp_path, {**PEER, "pfc": []}, HEAD + "leaf-1,swp3,3,3,9216\n")
    assert (told["cable"], told["switch_pfc"], told["switch_ecn"], told["switch_mtu"]) == ("rail0 to leaf-1 swp3", [], [3], 9216)


def test_without_either_each_row_says_whom_to_ask(tmp_path):
    told = rail(tmp_path, PEER)
    assert (told["switch_pfc"], told["switch_ecn"], told["switch_mtu"]) == (None, None, None)
    for key in ("pfc", "ecn", "mtu"):
        assert "ask the network's owner for switch_ports.csv" in told[f"switch_{key}_reason"]


@pytest.mark.parametrize(
    ("export", "reason"),
    [
        (HEAD + "leaf-9,swp3,3,3,9216\n", "switch_ports.csv has no such port"),
        (HEAD + "leaf-1,swp3,,,\n", "the export does not say it"),
        (HEAD + "leaf-1\n", "switch_ports.csv:2:2"),
    ],
)
def test_an_export_that_does_not_help(tmp_path, export, reason):
    told = rail(tmp_path, PEER, export)
    assert told["switch_pfc"] is None
    assert reason in told["switch_pfc_reason"]


@pytest.mark.parametrize(("peer", "reason"), [(None, "needs lldpd on the node"), ("none", "no neighbour is heard there")])
def test_a_cable_whose_end_is_not_known(tmp_path, peer, reason):
    told = rail(tmp_path, peer, HEAD + "leaf-1,swp3,3,3,9216\n")
    assert told["switch_pfc"] is None
    assert reason in told["switch_pfc_reason"]
    assert "unknown" in told["cable"]
