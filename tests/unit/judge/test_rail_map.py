"""A rail map is read strictly, and each fault is told by file, line and column."""

from __future__ import annotations

import pytest
from accept_judge import csv_table, rail_map
from accept_judge.documents import DocumentError

HEAD = "node,port,switch,switch_port,rail\n"
CELLS = ("1: node: 'a b' is none", "3: switch: is empty", "5: rail: 'x' is none")


@pytest.fixture
def load(tmp_path):
    def read(text):
        (tmp_path / "rail_map.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        return rail_map.load(tmp_path / "rail_map.csv")

    return read


def test_rows(load):
    rows = load(HEAD + "# first rack\n\ngpu-01,mlx5_0,leaf-01,1,0\n gpu-01 , mlx5_1/2 , leaf-02 , 17/2 ,\n")
    assert rows == [
        rail_map.Row("gpu-01", "mlx5_0", "leaf-01", "1", 0, 4),
        rail_map.Row("gpu-01", "mlx5_1/2", "leaf-02", "17/2", None, 5),
    ]


def test_columns_in_another_order_and_a_byte_order_mark(load):
    (row,) = load("\ufeffSwitch,switch_port,node,port,note\nleaf-01,swp3,gpu-01,rail0,moved in May\n")
    assert (row.node, row.switch_port, row.rail) == ("gpu-01", "swp3", None)


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("", ["rail_map.csv:1:1: no header; wanted: node,port,switch,switch_port,rail"]),
        (HEAD, ["rail_map.csv:1:1: no rows: a rail map has one line for each port of each node"]),
        ("node,port,switch\n", ["rail_map.csv:1:4: column switch_port is missing"]),
        (HEAD.replace("rail", "lane"), ["rail_map.csv:1:5: 'lane' is no column; known are node, port, switch, switch_port, rail, note"]),
        ("node,port,port,switch,switch_port\n", ["rail_map.csv:1:3: column port stands twice"]),
        (HEAD + "gpu-01,mlx5_0,leaf-01,1\n", ["rail_map.csv:2:5: 4 fields, the header has 5"]),
        (HEAD + "gpu-01,mlx5_0,leaf-01,1,0,extra\n", ["rail_map.csv:2:6: 6 fields, the header has 5"]),
        (HEAD + "a b,mlx5_0,,1,x\n", [f"rail_map.csv:2:{told}" for told in CELLS]),
        (
            HEAD + "a,mlx5_0,leaf-01,33,0\na,mlx5_0,leaf-02,1,0\nb,mlx5_0,LEAF-01,17/1,0\n",
            ["rail_map.csv:3:1: a mlx5_0 stands already in line 2", "rail_map.csv:4:3: LEAF-01 port 17/1 stands already in line 2"],
        ),
        (HEAD + '"a,mlx5_0\n', ["rail_map.csv:2:1: is no CSV: unexpected end of data"]),
        (b"node,port\xff", ["rail_map.csv: is not UTF-8"]),
    ],
)  # fmt: skip
def test_faults(load, text, errors):
    with pytest.raises(DocumentError) as caught:
        load(text)
    assert [error[error.index("rail_map.csv") :] for error in caught.value.errors] == errors


def test_many_faults_are_cut(load):
    with pytest.raises(DocumentError) as caught:
        load(HEAD + "?,?,?,?,?\n" * 30)
    assert len(caught.value.errors) == csv_table.MOST_ERRORS + 1
    assert caught.value.errors[-1].endswith("more errors")


def test_a_map_that_is_not_there(tmp_path):
    with pytest.raises(DocumentError, match="cannot be read: No such file"):
        rail_map.load(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("text", "key"), [("17/1", "33"), ("sw17p2", "34"), ("1/2", "2"), ("007", "7"), ("swp7", "swp7"), ("Eth1/17/1", "eth1/17/1")]
)
def test_ports_as_a_switch_counts_them(text, key):
    assert rail_map.number(text) == key


@pytest.mark.parametrize(
    ("text", "key"),
    [("MF0;leaf-01:MQM9700/U1", "leaf-01"), ("Leaf-01", "leaf-01"), ("leaf-01.example.net", "leaf-01.example.net"), ("0xFC6A", "0xfc6a")],
)
def test_switches_without_what_is_put_around_them(text, key):
    assert rail_map.switch_key(text) == key
