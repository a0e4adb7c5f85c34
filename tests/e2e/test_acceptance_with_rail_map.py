"""The planned rail map of a run: taken beside the contract, refused by line and column, kept with the evidence, judged again from there."""

from __future__ import annotations

import json

import pytest
from acceptance_runs import playbook, rows, simulate

CONCERNS = ["preflight", "cabling", "ib_fabric"]
SWAP = [{"fault": "swapped_rails", "hosts": "node-02", "nic": 2, "other": 3}]


@pytest.fixture(scope="module")
def swapped(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("swapped"), SWAP)


def said(card, check_id):
    return {row["nodes"]: row["verdict"] for row in rows(card, check_id)}


def test_a_swap_is_named_and_can_be_judged_again(swapped, tmp_path):
    run = playbook(tmp_path, swapped / "hosts.yml", accept_concerns=CONCERNS)
    assert said(run.card, "cabling.swapped") == {"node-02": "fail", "node-[01,03-04]": "pass"}
    assert said(run.card, "fabric.link_width") == {"node-[01-04]": "pass"}
    assert (run.run_dir / "rail_map.csv").read_bytes() == (swapped / "rail_map.csv").read_bytes()
    assert json.loads((run.run_dir / "run.json").read_text())["rail_map"]["path"] == str(swapped / "rail_map.csv")
    (run.run_dir / "scorecard.json").unlink()
    again = playbook(tmp_path, "localhost,", play="playbooks/score.yml", accept_run_dir=str(run.run_dir))
    assert said(again.card, "cabling.swapped")["node-02"] == "fail"


def test_another_map_goes_before_the_one_beside_the_contract(swapped, tmp_path):
    other = tmp_path / "as_built.csv"
    lines = (swapped / "rail_map.csv").read_text().splitlines()
    at = [index for index, line in enumerate(lines) if line.startswith(("node-02,mlx5_2,", "node-02,mlx5_3,"))]
    one, two = (lines[index].split(",") for index in at)
    lines[at[0]], lines[at[1]] = ",".join([*one[:2], *two[2:]]), ",".join([*two[:2], *one[2:]])
    other.write_text("\n".join(lines) + "\n")
    run = playbook(tmp_path, swapped / "hosts.yml", accept_concerns=CONCERNS, accept_rail_map=str(other))
    assert said(run.card, "cabling.swapped") == {"node-[01-04]": "pass"}


def test_a_bad_map_stops_the_run_by_line_and_column(swapped, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("node,port,switch,switch_port\nnode-01,mlx5_0,leaf-01\nnode-01,mlx5_1,,2\n")
    run = playbook(tmp_path, swapped / "hosts.yml", accept_rail_map=str(bad))
    assert run.rc not in (0, 10, 11)
    assert f"{bad}:2:4: 3 fields, the header has 4" in run.text
    assert f"{bad}:3:3: switch: is empty" in run.text
    assert run.card is None


def test_a_map_that_is_named_and_not_there_is_an_error(swapped, tmp_path):
    run = playbook(tmp_path, swapped / "hosts.yml", accept_rail_map=str(tmp_path / "none.csv"))
    assert "none.csv: cannot be read: No such file or directory" in run.text
    assert run.card is None


@pytest.mark.parametrize("play", ["playbooks/cabling.yml", "playbooks/ib_fabric.yml"])
def test_the_concerns_alone(swapped, tmp_path, play):
    run = playbook(tmp_path, swapped / "hosts.yml", play=play)
    assert said(run.card, "cabling.swapped")["node-02"] == "fail"
    assert said(run.card, "fabric.hosts_complete") == {"node-[01-04]": "pass"}
