"""A sweep asks little and slowly, keeps what each subnet said, and tells a refusal of the fabric from a lack of this node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from accept_node.collectors import cabling, ib_fabric, ib_links
from accept_node.envelope import Gather
from accept_node.node import ReplayNode

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
LOCAL = ["-C", "mlx5_0", "-P", "1"]
SWEEP, LISTED, SM = ["iblinkinfo", *LOCAL], ["ibnetdiscover", *LOCAL, "-p"], ["sminfo", *LOCAL]
MANAGERS, TABLES = ["saquery", *LOCAL, "SMIR"], ["saquery", *LOCAL, "PKTR"]
FIRST, LAST = ["ibqueryerrors", *LOCAL, *ib_fabric.NO_THRESHOLDS], ["ibqueryerrors", *ib_fabric.NO_THRESHOLDS, *LOCAL]


def text(name):
    return (FIXTURES / (name + ".txt")).read_text(encoding="utf-8")


def said(argv, stdout, rc=0, **rest):
    return {"argv": argv, "rc": rc, "stdout": stdout, **rest}


def port(name, guid="0002:c903:0000:1001", state="4: ACTIVE", layer="InfiniBand"):
    base = f"{name}/ports/1/"
    return {
        f"{name}/node_guid": "0002:c903:0000:1000\n",
        base + "gids/0": f"fe80:0000:0000:0000:{guid}\n",
        base + "link_layer": layer + "\n",
        base + "state": state + "\n",
        base + "phys_state": "5: LinkUp\n",
        base + "rate": "400 Gb/sec (4X NDR)\n",
    }


def machine(commands=(), files=None, hostname="gpu001"):
    trees = [{"root": "/sys/class/infiniband", "files": port("mlx5_0") if files is None else files}]
    trees += [{"root": "/sys/class/net", "files": {}}]
    return ReplayNode({"identity": {"hostname": hostname}, "commands": list(commands), "trees": trees})


HEALTHY = [
    said(SWEEP, text("iblinkinfo/ibsim-0.10/two_levels")),
    said(SM, text("sminfo/ibsim-0.10/master")),
    said(MANAGERS, text("saquery/ibsim-0.10/managers")),
    said(TABLES, "", 5, stderr=text("saquery/ibsim-0.10/pkey_tables_refused")),
    *(said(["smpquery", *LOCAL, "portinfo", str(lid), "1"], text("smpquery/ibsim-0.10/neighbour")) for lid in range(1, 20)),
    said(FIRST, text("ibqueryerrors/ibsim-0.10/clean")),
    said(LAST, text("ibqueryerrors/ibsim-0.10/injected"), 1),
]


def swept(commands=HEALTHY, **options):
    gather = Gather(machine(commands, **options))
    data = ib_fabric.collect(gather)
    return {**data, "subnets": data["subnets"] and [ib_links.unpack(subnet) for subnet in data["subnets"]]}, gather


def without(*argvs):
    return [command for command in HEALTHY if command["argv"] not in argvs]


def test_a_sweep():
    data, gather = swept()
    (subnet,) = data["subnets"]
    assert (subnet["from"], subnet["tool"], subnet["listed"]) == ("mlx5_0/1", "iblinkinfo", True)
    assert len(subnet["host_links"]) == 8
    assert len(subnet["switch_links"]) == 16
    assert {(one["connected"], one["open"]) for one in subnet["switches"]} == {(6, 10), (8, 8)}
    assert subnet["sms"] == [{"lid": 1, "state": "master"}, {"lid": 9, "state": "standby"}]
    assert (subnet["sa_pkey_tables"], subnet["mkey_protect_bits"]) == ("refused", 0)
    assert [one["answered"] for one in subnet["neighbours"]] == [True, True]
    assert gather.errors == []


def test_what_grew_in_the_window():
    (subnet,) = swept()[0]["subnets"]
    errors = subnet["errors"]
    assert errors["window_s"] >= ib_fabric.WINDOW_S
    first, second = errors["grown"]
    assert (first["port"], first["counters"]) == (2, {"LinkDownedCounter": [0, 3], "SymbolErrorCounter": [0, 1234]})
    assert (second["port"], second["counters"]) == (9, {"PortRcvErrors": [0, 77]})


def test_it_asks_little_and_slowly():
    data, gather = swept()
    assert len(data["commands"]) <= 10
    resetting = ("-k", "-K", "-R", "-r", "--clear-errs", "--clear-counts", "-y", "--m_key", "--smkey")
    assert not [word for command in data["commands"] for word in command.split() if word in resetting]
    assert gather.node.now() >= ib_fabric.WINDOW_S + ib_fabric.PAUSE_S * (len(data["commands"]) - 1)


def test_it_stops_at_its_limit(monkeypatch):
    monkeypatch.setattr(ib_fabric, "MAX_COMMANDS", 2)
    data, _ = swept()
    assert len(data["commands"]) == 2
    assert "limit" in data["subnets"][0]["errors"]["reason"]


def test_whom_it_asks_for_a_port():
    data, _ = swept()
    own, *others = [command for command in data["commands"] if "portinfo" in command]
    assert own.endswith("portinfo 1 1")
    assert len(others) == ib_fabric.NEIGHBOURS
    assert all("portinfo 1 1" not in other for other in others)


def test_a_neighbour_that_does_not_answer_is_a_fact_and_no_error():
    commands = [command for command in HEALTHY if "portinfo" not in command["argv"] or command["argv"][-2] == "1"]
    quiet = [said(["smpquery", *LOCAL, "portinfo", str(lid), "1"], text("smpquery/own/no_answer"), 255) for lid in range(2, 20)]
    data, gather = swept([*commands, *quiet])
    assert [one["answered"] for one in data["subnets"][0]["neighbours"]] == [False, False]
    assert gather.errors == []


def test_a_node_that_may_not_ask_proves_nothing():
    refused = text("iblinkinfo/refused/no_umad")
    data, gather = swept([said(command["argv"], "", 255, stderr=refused) for command in HEALTHY])
    (subnet,) = data["subnets"]
    assert (subnet["listed"], subnet["sa_pkey_tables"], subnet["host_links"]) == (None, None, None)
    assert "UMAD" in subnet["listed_reason"]
    assert gather.errors


def test_a_fabric_that_does_not_answer_is_told_from_it():
    silent = "ibwarn: [7] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0,1)\niblinkinfo: iberror: failed: discover failed\n"
    data, _ = swept([said(SWEEP, "", 255, stderr=silent), said(LISTED, "", 255, stderr=silent), *without(SWEEP)])
    assert data["subnets"][0]["listed"] is False


def test_no_tools_at_all():
    commands = [said(command["argv"], "", None, reason="missing") for command in [*HEALTHY, said(LISTED, "")]]
    (subnet,) = swept(commands)[0]["subnets"]
    assert subnet["listed"] is None
    assert subnet["listed_reason"] == "iblinkinfo is not installed on this node; ibnetdiscover is not installed on this node"
    assert subnet["errors"]["grown"] is None


def test_ibnetdiscover_stands_in_and_tells_no_states():
    broken = said(SWEEP, "iblinkinfo: command terminated\n", 1)
    (subnet,) = swept([broken, said(LISTED, text("ibnetdiscover/ibsim-0.10/ports@two_levels")), *without(SWEEP)])[0]["subnets"]
    assert (subnet["tool"], subnet["listed"]) == ("ibnetdiscover", True)
    assert len(subnet["host_links"]) == 8
    assert {link["state"] for link in subnet["host_links"]} == {None}


def test_a_sweep_that_hangs_keeps_what_it_printed():
    cut = said(SWEEP, text("iblinkinfo/ibsim-0.10/two_levels")[:2000], None, duration_s=500.0)
    (subnet,) = swept([cut, said(LISTED, text("ibnetdiscover/ibsim-0.10/ports@two_levels")), *without(SWEEP)])[0]["subnets"]
    assert subnet["tool"] == "ibnetdiscover"


def test_error_counters_that_could_be_read_once():
    (subnet,) = swept(without(LAST))[0]["subnets"]
    assert subnet["errors"]["grown"] is None
    assert "not_recorded" in subnet["errors"]["reason"]


def test_a_port_on_another_subnet_is_swept_from_there():
    other = [word if word != "mlx5_0" else "mlx5_1" for word in SWEEP]
    files = {**port("mlx5_0"), **port("mlx5_1", guid="0002:c903:00ff:0001"), **port("mlx5_2", guid="0002:c903:0000:1011")}
    data, _ = swept([*HEALTHY, said(other, text("iblinkinfo/ndr/narrow_slow_and_open"))], files=files)
    assert [subnet["from"] for subnet in data["subnets"]] == ["mlx5_0/1", "mlx5_1/1"]
    assert data["subnets"][1]["aggregation_nodes"] == 1


@pytest.mark.parametrize("files", [{}, port("mlx5_0", state="1: DOWN"), port("mlx5_0", layer="Ethernet")])
def test_nothing_to_sweep_from(files):
    data, gather = swept((), files=files)
    assert (data["subnets"], data["commands"], gather.errors) == ([], [], [])


def test_the_ports_of_a_node_and_their_guids():
    data = cabling.collect(Gather(machine()))
    (only,) = data["ports"]
    assert (only["name"], only["guid"], only["node_guid"]) == ("mlx5_0/1", "0x0002c90300001001", "0x0002c90300001000")
    assert (only["neighbour"], data["neighbours_by"]) == (None, "none")


def test_neighbours_by_lldp():
    lldp = said(
        ["lldpctl", "-f", "json"],
        '{"lldp": {"interface": [{"rail0": {"chassis": {"leaf-1": {"id": {"value": "aa"}}}, "port": {"id": {"value": "swp1"}}}}]}}',
    )
    files = {**port("mlx5_0", layer="Ethernet"), **port("mlx5_1", layer="Ethernet")}
    files.update({f"mlx5_{at}/ports/1/gid_attrs/ndevs/0": f"rail{at}\n" for at in (0, 1)})
    first, second = cabling.collect(Gather(machine([lldp], files)))["ports"]
    assert (first["neighbour"]["switch"], first["neighbour"]["port"]) == ("leaf-1", "swp1")
    assert (second["neighbour"], second["guid"]) == ("none", None)


def test_no_rdma_device_is_a_measured_absence():
    missing = ReplayNode(
        {"trees": [{"root": root, "files": {}, "reason": "missing"} for root in ("/sys/class/infiniband", "/sys/class/net")]}
    )
    assert cabling.collect(Gather(missing)) == {"ports": [], "neighbours_by": "none"}
    assert ib_fabric.collect(Gather(missing))["subnets"] == []


def test_links_are_kept_in_short_and_nothing_is_lost():
    kind = {"state": "active", "phys_state": "linkup", "width": "4X", "speed_gbps": 106.25, "could_be_width": None, "could_be_gbps": None}
    leaf = {"guid": "0xa", "name": "leaf", "lid": 1, "connected": 2, "open": 0}

    def link(host, **more):
        at = {"guid": "0xfeed", "lid": 7, "port": 1, "switch": "0xa", "switch_name": "leaf", "switch_port": 3}
        return {"host": host, **at, **kind, **more}

    hosts = [link("kin-1 mlx5_0"), link("kin-1 mlx5_1", width="2X"), link("alone"), link(None), link("a b c"), link("ends ")]
    hosts.append(link("kin-2 mlx5_0", switch=None, switch_name=None, lid=None))
    hosts.append(link("kin-3 mlx5_0", switch="0xa", switch_name="another name"))
    between = [{"a": "0xa", "a_port": 1, "b": "0xnot-listed", "b_port": 2, **kind}]
    subnet = {"from": "mlx5_0/1", "switches": [leaf], "host_links": hosts, "switch_links": between}
    packed = ib_links.pack(subnet)
    assert len(packed["kinds"]) == 2
    back = ib_links.unpack(json.loads(json.dumps(packed)))
    assert sorted(map(repr, back.pop("host_links"))) == sorted(map(repr, hosts))
    assert back == {key: value for key, value in subnet.items() if key != "host_links"}
    assert ib_links.unpack(subnet) == subnet
    unknown = {"host_links": None, "switch_links": None, "switches": None}
    assert ib_links.unpack(ib_links.pack(unknown))["host_links"] is None
