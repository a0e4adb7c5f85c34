"""What the judge makes of a sweep and of the nodes' own ports: each fault by name, none of a healthy fabric, nothing unread as healthy."""

from __future__ import annotations

import json

import pytest
from accept_judge.analysis import ib_fabric
from fabric_run import Run

CABLES = ("swapped", "wrong_leaf", "wrong_port", "missing", "extra")


@pytest.fixture
def run(tmp_path):
    return lambda kind="ib", faults=(), **options: Run(tmp_path, kind, faults, **options)


def cables(run, host):
    data = run.judge(host)
    return {name: data[name] for name in CABLES if data[name]}


def findings(run):
    data = run.fabric()
    return {name: data[name] for name in ib_fabric.LISTS if data[name] != []}


@pytest.mark.parametrize("kind", ["ib", "roce"])
def test_a_healthy_cluster_has_no_finding(run, kind):
    made = run(kind)
    for node in made.nodes:
        data = made.judge(node.name)
        assert [data[name] for name in CABLES] == [[]] * len(CABLES)
        assert data["planned_links"] == data["right_links"] == len(node.nics)
        assert data["leaf_of_rails"] == "none"


def test_a_healthy_fabric_has_no_finding_and_asks_for_the_keys(run):
    data = run().fabric()
    assert [data[name] for name in ib_fabric.LISTS] == [[]] * len(ib_fabric.LISTS)
    assert (data["subnets_without_sm"], data["sm_standbys"], data["foreign_hosts"], data["foreign_ports_read"]) == ([], 1, 0, 0)
    assert data["sa_pkey_tables"] == "refused"
    assert data["management_keys"] is None
    assert "only the provider can show" in data["management_keys_reason"]
    assert "attestations.ufm_secure_profile" in data["management_keys_reason"]


@pytest.mark.parametrize(
    ("holds", "fault", "bits", "keys"),
    [
        (True, [], None, True),
        (False, [], None, False),
        (True, [{"fault": "no_management_key", "hosts": "ib-02"}], None, False),
        (True, [], "unread", None),
    ],
)
def test_the_provider_s_word_on_the_keys_never_outweighs_what_is_seen(run, holds, fault, bits, keys):
    made = run("ib", fault)
    if bits:
        made.say("ib-01", "ib_fabric", lambda data: data["subnets"][0].update(mkey_protect_bits=None, mkey_protect_bits_reason="no umad"))
    word = {"holds": holds, "by": "provider", "date": "2026-11-20", "document": "profile"}
    data = made.judge("ib-01", "ib_fabric", attestations={"ufm_secure_profile": word})
    assert data["management_keys"] is keys
    assert keys is not None or "no umad" in data["management_keys_reason"]


OF_CABLES = {
    "ib swapped_rails nic=5 other=6": ("swapped", "mlx5_5 <-> mlx5_6: mlx5_5 is on ib-leaf07 port 2, planned ib-leaf06 port 2"),
    "roce swapped_rails nic=0 other=3": ("swapped", "mlx5_0 <-> mlx5_3: mlx5_0 is on roce-leaf04 port swp2, planned roce-leaf01 port swp2"),
    "ib swapped_nodes nic=1 peer=ib-03": ("swapped", "mlx5_1 <-> ib-03 mlx5_1: is on ib-leaf02 port 3, planned ib-leaf02 port 2"),
    "ib wrong_leaf nic=0": ("wrong_leaf", "mlx5_0 is on ib-leaf02 port 60; planned ib-leaf01 port 2"),
    "roce wrong_leaf nic=7": ("wrong_leaf", "mlx5_7 is on roce-leaf01 port swp60; planned roce-leaf08 port swp2"),
    "ib wrong_switch_port nic=4": ("wrong_port", "mlx5_4 is on ib-leaf05 port 59; planned ib-leaf05 port 2"),
    "ib port_down nic=2": ("missing", "mlx5_2: planned ib-leaf03 port 2, no link (down/polling)"),
    "ib unplanned_cable nic=3": ("extra", "mlx5_3 is on ib-leaf04 port 2; the rail map has no such port"),
}
OF_THE_FABRIC = {
    "half_rate_port nic=3": ("narrow_links", "ib-02 mlx5_3 <-> ib-leaf04 port 2: 2X, both ends support 4X"),
    "slow_link nic=1": ("slow_links", "ib-02 mlx5_1 <-> ib-leaf02 port 2: 53.125 Gb/s a lane, both ends support 106.25"),
    "unsettled_link nic=0": ("unsettled_links", "ib-02 mlx5_0 <-> ib-leaf01 port 2: initialize, linkup"),
    "lost_uplink rail=2 uplink=3": (
        "uneven_uplinks",
        "ib-leaf03: 7 uplinks (ib-spine01 2, ib-spine02 1, ib-spine03 2, ib-spine04 2), most leaves have 8",
    ),
    "port_down nic=2": ("hosts_missing", "ib-02: 7 of 8 ports are on the fabric"),
    "link_errors nic=6": ("errors_growing", "ib-leaf07 port 2 <-> ib-02 mlx5_6: SymbolErrorCounter +12 in 28 s"),
    "link_errors nic=6 counter=PortXmitDiscards": ("discards_growing", "ib-leaf07 port 2 <-> ib-02 mlx5_6: PortXmitDiscards +12 in 28 s"),
}


def fault(words, host):
    """{"fault": "port_down", "hosts": ..., "nic": 2} of "port_down nic=2"."""
    name, *rest = words.split()
    pairs = [word.split("=") for word in rest]
    return {"fault": name, "hosts": host, **{key: int(value) if value.isdigit() else value for key, value in pairs}}


@pytest.mark.parametrize("words", OF_CABLES)
def test_a_cable_is_named_on_its_node_and_on_no_other(run, words):
    (name, text), (kind, seeded) = OF_CABLES[words], words.split(" ", 1)
    made = run(kind, [fault(seeded, f"{kind}-02")])
    (said,) = cables(made, f"{kind}-02")[name]
    assert said.startswith(text)
    others = [node.name for node in made.nodes if node.name not in (f"{kind}-02", f"{kind}-03")]
    assert all(cables(made, other) == {} for other in others)


def test_a_silent_node_is_still_known_to_the_fabric(run):
    made = run("ib", [{"fault": "swapped_rails", "hosts": "ib-02"}, {"fault": "unreachable", "hosts": "ib-02"}])
    assert list(cables(made, "ib-02")) == ["swapped"]
    assert made.judge("ib-02")["right_links"] == 6


def test_a_silent_roce_node_is_not_measured(run):
    made = run("roce", [{"fault": "unreachable", "hosts": "roce-02"}])
    data = made.judge("roce-02")
    assert data["swapped"] is None
    assert "did not answer" in data["swapped_reason"]


def test_without_a_map_it_is_asked_for_and_rails_are_compared(run):
    made = run("ib", [{"fault": "swapped_rails", "hosts": "ib-02"}], rail_map=False)
    data = made.judge("ib-02")
    assert [data[name] for name in CABLES] == [None] * 5
    assert "no planned rail map" in data["swapped_reason"]
    assert data["leaf_of_rails"]["mlx5_0"] == "ib-leaf02"
    assert made.judge("ib-01")["leaf_of_rails"] == made.judge("ib-03")["leaf_of_rails"] != data["leaf_of_rails"]


def test_a_map_of_another_fabric_is_no_finding(run):
    made = run(rail_map=False)
    made.write("rail_map.csv", made.map.replace("ib-leaf", "sw-"))
    assert "name them differently" in made.judge("ib-01")["wrong_leaf_reason"]


def test_a_node_that_the_map_leaves_out(run):
    made = run(rail_map=False)
    made.write("rail_map.csv", "".join(line for line in made.map.splitlines(True) if not line.startswith("ib-02")))
    assert made.judge("ib-02")["missing_reason"] == "the rail map has no row of this node"
    assert cables(made, "ib-01") == {}


def test_without_lldp_nothing_is_known(run):
    made = run("roce")
    for node in made.nodes:
        made.say(node.name, "cabling", lambda data: [port.update(neighbour=None) for port in data["ports"]])
    data = made.judge("roce-01")
    assert data["missing"] is None
    assert "lldpd" in data["missing_reason"]


def test_a_sweep_that_was_refused_leaves_cables_unknown(run):
    made = run()

    def refuse(data):
        data["subnets"][0].update(listed=False, listed_reason="no answer", host_links=None, switch_links=None, switches=None)

    made.say("ib-01", "ib_fabric", refuse)
    assert "could not be listed: no answer" in made.judge("ib-02")["swapped_reason"]
    data = made.fabric()
    assert [data[name] for name in ib_fabric.LISTS] == [None] * len(ib_fabric.LISTS)
    assert data["foreign_hosts"] is None
    assert data["sa_pkey_tables"] == "refused"


@pytest.mark.parametrize("words", OF_THE_FABRIC)
def test_a_fault_of_the_fabric_is_named_by_both_ends(run, words):
    name, text = OF_THE_FABRIC[words]
    assert findings(run("ib", [fault(words, "ib-02")])) == {name: [text]}


def test_waiting_is_load_and_no_error(run):
    assert findings(run("ib", [{"fault": "waiting_packets", "hosts": "ib-02"}])) == {}


def test_counters_at_their_ceiling_are_not_known_to_stand_still(run):
    made = run("ib", [{"fault": "link_errors", "hosts": "ib-02", "first": 65535, "by": 0}])
    data = made.fabric()
    assert data["errors_growing"] is None
    assert (
        "1 counters stand at their ceiling and cannot grow, e.g. SymbolErrorCounter of ib-leaf01 port 2 <-> ib-02 mlx5_0"
        in data["errors_growing_reason"]
    )


def test_counters_that_somebody_resets(run):
    made = run("ib", [{"fault": "link_errors", "hosts": "ib-02", "first": 90, "by": -90}])
    assert "somebody reset them" in made.fabric()["errors_growing_reason"]


def test_others_are_counted_and_never_named(run):
    made = run("ib", [{"fault": "foreign_hosts", "hosts": "ib-02", "count": 3}])
    data = made.fabric()
    assert (data["foreign_hosts"], data["foreign_ports_read"]) == (3, 2)
    assert "zeta" not in json.dumps(data)
    assert "zeta" not in json.dumps(made.captures["ib-01"])
    assert "a088c20300f00000" not in json.dumps(made.captures["ib-01"])


def test_others_that_do_not_answer_are_seen_and_not_read(run):
    data = run("ib", [{"fault": "foreign_hosts", "hosts": "ib-02", "count": 3, "answer": False}]).fabric()
    assert (data["foreign_hosts"], data["foreign_ports_read"]) == (3, 0)


def test_managers(run):
    assert run("ib", [{"fault": "no_standby_manager", "hosts": "ib-02"}]).fabric()["sm_standbys"] == 0
    data = run("ib", [{"fault": "no_manager", "hosts": "ib-02"}]).fabric()
    assert data["subnets_without_sm"] == ["mlx5_0/1: sminfo -C mlx5_0 -P 1: sminfo: no subnet manager in: sminfo: iberror: failed: query"]
    assert data["sm_standbys"] is None


def test_what_an_administrator_gives_to_anybody(run):
    made = run("ib", [{"fault": "open_administrator", "hosts": "ib-02"}, {"fault": "no_management_key", "hosts": "ib-02"}])
    data = made.fabric()
    assert (data["sa_pkey_tables"], data["management_keys"]) == ("answered", False)
    assert "0x8012" not in json.dumps([command for command in made.captures["ib-01"]["commands"] if command["argv"][0] == "saquery"])


def test_a_head_without_infiniband(run):
    data = run("roce").fabric()
    assert data["narrow_links"] is None
    assert "no active InfiniBand port" in data["narrow_links_reason"]
    assert data["foreign_hosts"] is None


@pytest.mark.parametrize(
    "reason",
    [
        "sminfo -C mlx5_0 -P 1: not_recorded",
        "sminfo -C mlx5_0 -P 1: timeout",
        "sminfo -C mlx5_0 -P 1: permission",
        "not asked: 60 commands are this collector's limit",
        "sminfo -C mlx5_0 -P 1: sminfo: no subnet manager in: nothing",
        "sminfo -C mlx5_0 -P 1: sminfo: no subnet manager in: mad_rpc_open_port: can't open UMAD port; iberror: failed: open",
    ],
)
def test_a_manager_that_could_not_be_asked_for_is_not_a_subnet_without(run, reason):
    made = run()
    made.say("ib-01", "ib_fabric", lambda data: data["subnets"][0].update(sm=None, sm_reason=reason, sms=None, sms_reason=reason))
    data = made.fabric()
    assert data["subnets_without_sm"] is None
    assert reason in data["subnets_without_sm_reason"]


@pytest.mark.parametrize("lost", ["switch", "links", "both"])
def test_of_a_listing_that_is_cut_only_what_was_found_counts(run, lost):
    """A whole listing holds both ends of every link."""
    made = run()

    def cut(data):
        subnet = data["subnets"][0]
        if lost in ("links", "both"):
            subnet["switch_links"] = subnet["switch_links"][: len(subnet["switch_links"]) // 2]
        if lost in ("switch", "both"):
            host = next(iter(subnet["host_links"]))
            subnet["host_links"][host][0][4] = [None, "leaf of which the listing says nothing"]

    made.say("ib-01", "ib_fabric", cut)
    data = made.fabric()
    assert [data[name] for name in (*ib_fabric.LISTS, "foreign_hosts")] == [None] * (len(ib_fabric.LISTS) + 1)
    assert "is cut" in data["narrow_links_reason"]
