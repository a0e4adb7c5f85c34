"""Every way in which a cable can be wrong is told from the others, by node, port and switch port."""

from __future__ import annotations

import pytest
from accept_judge.cabling import End, Seen, compare, unfamiliar
from accept_judge.rail_map import Row
from hypothesis import given, settings
from hypothesis import strategies as st

NODES, RAILS = ("n1", "n2", "n3"), range(4)
PLAN = [
    Row(node, f"mlx5_{rail}", f"leaf-{rail}", str(number), rail, 2 + 4 * number + rail)
    for number, node in enumerate(NODES, 1)
    for rail in RAILS
]


def place(node, rail):
    row = next(row for row in PLAN if (row.node, row.port) == (node, f"mlx5_{rail}"))
    return End(row.switch, row.switch_port)


def cables(**changed):
    """All ports as planned; n1_2=End(...) plugs another end in, None takes the cable out, "" the port itself."""
    seen = []
    for node in NODES:
        for rail in RAILS:
            end = changed.get(f"{node}_{rail}", place(node, rail))
            if end != "":
                seen.append(Seen(node, (f"mlx5_{rail}", f"mlx5_{rail}/1"), end, "", "" if end else "down/polling"))
    return seen


def found(seen, **options):
    results = compare(PLAN, seen, NODES, **options)
    return {f"{node}.{name}": lines for node, result in results.items() for name, lines in result.lists.items() if lines}


def test_as_planned():
    assert found(cables()) == {}
    assert compare(PLAN, cables(), NODES)["n1"].right == 4


def test_two_rails_of_a_node_swapped():
    said = found(cables(n1_1=place("n1", 2), n1_2=place("n1", 1)))
    assert said == {"n1.swapped": ["mlx5_1 <-> mlx5_2: mlx5_1 is on leaf-2 port 1, planned leaf-1 port 1; mlx5_2 planned leaf-2 port 1"]}


def test_two_rails_swapped_by_leaf_though_not_by_port():
    said = found(cables(n1_1=End("leaf-2", "50"), n1_2=End("leaf-1", "51")))
    assert list(said) == ["n1.swapped"]


def test_two_nodes_swapped_each_says_so():
    said = found(cables(n1_0=place("n2", 0), n2_0=place("n1", 0)))
    assert said == {
        "n1.swapped": ["mlx5_0 <-> n2 mlx5_0: is on leaf-0 port 2, planned leaf-0 port 1"],
        "n2.swapped": ["mlx5_0 <-> n1 mlx5_0: is on leaf-0 port 1, planned leaf-0 port 2"],
    }


def test_wrong_leaf_and_wrong_port():
    said = found(cables(n1_0=End("leaf-9", "40"), n2_1=End("leaf-1", "41")))
    assert said == {
        "n1.wrong_leaf": ["mlx5_0 is on leaf-9 port 40; planned leaf-0 port 1"],
        "n2.wrong_port": ["mlx5_1 is on leaf-1 port 41; planned leaf-1 port 2"],
    }


def test_a_rotation_says_whose_place_it_takes():
    said = found(cables(n1_0=place("n1", 1), n1_1=place("n1", 2), n1_2=place("n1", 0)))
    assert list(said) == ["n1.wrong_leaf"]
    assert "mlx5_0 is on leaf-1 port 1, which was planned for n1 mlx5_1; planned leaf-0 port 1" in said["n1.wrong_leaf"]


def test_missing_and_who_is_there_instead():
    assert found(cables(n1_0=None)) == {"n1.missing": ["mlx5_0: planned leaf-0 port 1, no link (down/polling)"]}
    said = found(cables(n1_0=None, n2_0=place("n1", 0)))
    assert said["n1.missing"] == ["mlx5_0: planned leaf-0 port 1, no link (down/polling); n2 mlx5_0 is plugged in there"]


def test_extra():
    seen = [*cables(), Seen("n1", ("mlx5_9",), End("leaf-0", "60"))]
    assert found(seen) == {"n1.extra": ["mlx5_9 is on leaf-0 port 60; the rail map has no such port"]}


@pytest.mark.parametrize(
    "port",
    [Seen("n1", ("mlx5_9",), None), Seen("n1", ("mlx5_9",), End("leaf-0", "60"), rail=False), Seen("nx", ("a",), End("leaf-0", "9"))],
)
def test_ports_without_a_link_of_another_sort_or_of_a_node_without_plan_are_no_extras(port):
    assert found([*cables(), port]) == {}


def test_a_port_that_is_not_there_is_not_known():
    result = compare(PLAN, cables(n1_3=""), NODES)["n1"]
    assert result.unknown == [("mlx5_3", "the node has no such port")]
    assert not any(result.lists.values())


def test_names_that_moved_up_prove_nothing():
    seen = [port for port in cables(n1_3="") if port.node != "n1"]
    seen += [Seen("n1", (f"mlx5_{at}",), place("n1", rail)) for at, rail in enumerate((0, 2, 3))]  # the card of rail 1 is gone
    result = compare(PLAN, seen, NODES)["n1"]
    assert not any(result.lists.values())
    assert result.unknown == [(f"mlx5_{at}", "3 of 4 ports are there: device names move up when one is missing") for at in RAILS]


def test_a_node_that_is_silent_is_not_known():
    seen = [port for port in cables() if port.node != "n2"]
    result = compare(PLAN, seen, NODES, {"n2": "no answer"})["n2"]
    assert result.unknown == [(f"mlx5_{rail}", "no answer") for rail in RAILS]


def test_switches_by_other_names():
    seen = cables(n1_0=End("MF0;Leaf-0:MQM9700/U1", "1"), n2_0=End("leaf-0.example.net", "2"), n3_0=End("leaf-0", "swp9", "", "3"))
    assert found(seen) == {}


def test_switches_by_guid():
    plan = [Row("n1", "mlx5_0", "0xfc6a1c0300aa0040", "1", 0, 2)]
    seen = [Seen("n1", ("mlx5_0",), End("Quantum Mellanox Technologies", "1", "0xfc6a1c0300aa0040"))]
    assert compare(plan, seen, ["n1"])["n1"].right == 1


def test_two_switches_of_one_short_name_are_two():
    plan = [Row("n1", "mlx5_0", "leaf1.row1", "1", 0, 2), Row("n1", "mlx5_1", "leaf1.row2", "1", 1, 3)]
    seen = [Seen("n1", ("mlx5_0",), End("leaf1.row2", "1")), Seen("n1", ("mlx5_1",), End("leaf1.row1", "1"))]
    assert len(compare(plan, seen, ["n1"])["n1"].lists["swapped"]) == 1


def test_a_map_of_another_fabric_is_not_compared():
    said = unfamiliar(PLAN, [Seen("n1", ("mlx5_0",), End("ibsw7", "1"))])
    assert "leaf-0, leaf-1, leaf-2 and 1 more" in said
    assert unfamiliar(PLAN, cables()) == ""


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.permutations([(node, rail) for node in NODES for rail in RAILS]))
def test_any_permutation_is_told_completely(order):
    """Each wrong port is said, by a swap, a leaf or a port; each right one is not."""
    at = {(node, rail): place(*other) for (node, rail), other in zip([(node, rail) for node in NODES for rail in RAILS], order)}
    results = compare(PLAN, cables(**{f"{node}_{rail}": end for (node, rail), end in at.items()}), NODES)
    for node in NODES:
        wrong = {f"mlx5_{rail}" for rail in RAILS if at[(node, rail)] != place(node, rail)}
        lines = [line for lines in results[node].lists.values() for line in lines]
        assert results[node].right == len(RAILS) - len(wrong)
        assert bool(lines) == bool(wrong)
        for port in wrong:
            assert any(port in line for line in lines)
