"""Soft-RoCE between two virtual machines, reached by ssh: real GID tables, real verbs tools, real perftest, netem, a reboot.

A router stands in every rail, as in a hall: a link-local GID gets nowhere. What the machines carry is an emulated processor's; no figure of
theirs says anything on a rail.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from accept_node.collectors import rdma_bandwidth
from accept_node.node import CommandResult
from accept_node.parsers import ParseError, ethtool, ibstat, ibv_devinfo, rdma_link, sysfs_gids

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
VERBS = ("write_bw", "read_bw", "write_lat")
AUDIT = ["preflight", "ib_config", "roce_config", "gid_check"]
QUICK = {"rdma_bandwidth_duration_s": 2, "rdma_bandwidth_bytes": 65536, "rdma_bandwidth_qps": 2, "rdma_bandwidth_iterations": 100}
QUICK |= {"mgmt_network_seconds": 1, "mgmt_network_pings": 20, "mgmt_network_ping_interval_s": 0.1, "mgmt_network_cap_mbps": 5}

pytestmark = pytest.mark.lab


class Card:
    """What a run of a playbook came to."""

    def __init__(self, machines, folder, playbook, **variables):
        given = {"accept_evidence": str(folder), "accept_gate": False, **QUICK, **variables}
        argv = [BIN / "ansible-playbook", playbook, "-i", "inventories/lab/roce/hosts.yml", "-e", json.dumps(given)]
        env = {**os.environ, "ACCEPT_LAB_VM": str(machines.folder), "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
        done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=500)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        self.folder = folder / "latest"
        self.checks = {check["id"]: check["rows"] for check in json.loads((self.folder / "scorecard.json").read_text())["checks"]}

    def verdicts(self, check) -> set:
        return {row["verdict"] for row in self.checks[check]}

    def failed(self, prefixes) -> dict:
        """check -> the labels that fail, node by node."""
        found = {}
        for check, rows in self.checks.items():
            bad = [row for row in rows if row["verdict"] in ("fail", "warn")]
            if bad and check.startswith(prefixes):
                found[check] = {row["nodes"]: [item["label"] for item in row["items"]] for row in bad}
        return found

    def reasons(self, check) -> str:
        return " ".join(f"{row['reason']} {' '.join(str(item.get('reason')) for item in row['items'])}" for row in self.checks[check])

    def data(self, host, concern) -> dict:
        found = json.loads((self.folder / "facts" / host / f"{concern}.json").read_text())["data"]
        for port in found.get("ports") or ():
            port.update({"gids": sysfs_gids.full(port["gids"])} if port.get("gids") else {})
        return found


def servers(machine) -> str:
    """What perftest and iperf3 have left running."""
    return machine.say("ps -e -o comm= | grep -E '^(ib_write|ib_read|iperf3)'")


# --- the tables ---------------------------------------------------------------------------------------------------------------------------


def test_healthy_tables_have_no_finding(machines, tmp_path):
    card = Card(machines, tmp_path, "acceptance.yml", accept_concerns=AUDIT)
    # An MTU of 1500 and settings that no file repeats are what these machines have; there are no other findings.
    assert set(card.failed(("ib.", "gid.", "roce."))) == {"roce.mtu_active", "roce.persistent"}
    passed = ("gid.rocev2_routable", "gid.rocev2_one_index", "gid.rocev2_index_same", "ib.port_active", "ib.port_link_up", "roce.mtu_same")
    assert {check: card.verdicts(check) for check in passed} == {check: {"pass"} for check in passed}
    # What such a device does not tell is no pass.
    for check in ("roce.trust", "roce.pfc", "ib.ber_error", "gid.nccl_choice", "ib.places_same"):
        assert card.verdicts(check) == {"not_measured"}, check
    assert "no PCI address of rxe0 rxe1" in card.reasons("ib.places_same")
    port = card.data("vm1", "gid_check")["ports"][0]
    assert (port["rocev2_index"], port["table"], port["pf"], port["netdev"]) == (1, 1024, None, "eth1")
    assert [(gid["index"], gid["kind"], gid["type"], gid["netdev"]) for gid in port["gids"]] == [
        (0, "link_local", "v2", "eth1"),
        (1, "ipv4", "v2", "eth1"),
    ]


def test_tables_that_have_faults(machines, tmp_path):
    """vm1: rail 0's address came after that of a VLAN that is down: another index. vm2: rail 0 without an address, a third one off."""
    one, other = machines["vm1"], machines["vm2"]
    one.run("ip addr del 10.11.11.1/24 dev eth1; ip link add link eth1 name eth1.7 type vlan id 7; ip addr add 10.98.0.1/24 dev eth1.7")
    one.run(f"sleep 1; {machines.wires.addressed(1, 1)}")
    other.run("ip addr del 10.11.21.1/24 dev eth1; rdma link add rxe2 type rxe netdev eth3; sleep 1; ip link set eth3 down; sleep 1")
    try:
        card = Card(machines, tmp_path, "acceptance.yml", accept_concerns=AUDIT)
    finally:
        one.run(f"ip link del eth1.7; ip addr del 10.11.11.1/24 dev eth1; sleep 1; {machines.wires.addressed(1, 1)}")
        other.run(f"rdma link delete rxe2; ip link set eth3 up; {machines.wires.addressed(2, 1)}")
    failed = card.failed(("ib.", "gid."))
    assert failed.pop("gid.rocev2_index_same") == {"vm1": ["vm1 rxe0/1"]}
    assert failed.pop("gid.rocev2_routable") == {"vm2": ["rxe0/1"]}
    assert set(failed.pop("gid.rocev2_one_index")) == {"vm1", "vm2"}  # index 2 on one rail and 1 on the other; none on a rail of vm2
    assert failed == {"ib.port_active": {"vm2": ["rxe2/1"]}, "ib.port_link_up": {"vm2": ["rxe2/1"]}}
    vlan = next(gid for gid in card.data("vm1", "gid_check")["ports"][0]["gids"] if gid["netdev"] == "eth1.7")
    assert (vlan["index"], vlan["kind"], vlan["netdev_state"]) == (1, "ipv4", "down")
    off = card.data("vm2", "gid_check")["ports"][2]
    assert [(gid["kind"], gid["netdev_state"]) for gid in off["gids"]] == [("link_local", "down"), ("ipv4", "down")]  # they stay there
    assert (off["traffic"], off["routable_v2"]) == (False, [])


def test_the_verbs_tools_agree(machines):
    """What ibv_devinfo and ibstat print of a rail, parsed, beside what sysfs says of it."""
    said = machines["vm1"]
    devices, table = ibv_devinfo.parse(said.say("ibv_devinfo -v")), said.say("cat /sys/class/infiniband/rxe1/ports/1/gids/1")
    assert devices["devices"]["rxe1"]["ports"]["1"] | {"state": "active", "mtu": 1024} == devices["devices"]["rxe1"]["ports"]["1"]
    assert table.strip().endswith("ffff:0a0b:0c01")
    port = ibstat.parse(said.say("ibstat"))["devices"]["rxe1"]["ports"]["1"]
    assert (port["state"], port["phys_state"], port["rate_gbps"], port["link_layer"]) == ("active", "linkup", 100.0, "Ethernet")
    links = rdma_link.parse(said.say("rdma link"))["links"]
    assert [(link["device"], link["netdev"]) for link in links] == [("rxe0", "eth1"), ("rxe1", "eth2")]
    with pytest.raises(ParseError, match="Operation not supported"):
        ethtool.parse_module(said.say("ethtool -m eth1"))


# --- traffic ------------------------------------------------------------------------------------------------------------------------------


def test_traffic_by_the_right_index(machines, tmp_path):
    """Writes and reads on both rails at once, and latency, between the two."""
    given = {"accept_concerns": ["rdma_bandwidth"], "rdma_bandwidth_gid_index": 1, "rdma_bandwidth_traffic_class": 104}
    given["rdma_bandwidth_passes"] = ["together", "latency", "read"]
    card = Card(machines, tmp_path, "playbooks/fabric.yml", accept_risk="load", **given)
    tests = [entry for host in machines.names for entry in card.data(host, "rdma_bandwidth")["tests"]]
    assert {(entry["status"], entry["reason"]) for entry in tests} == {("ok", "")}
    assert {(entry["verb"], entry["device"]) for entry in tests} == {(verb, rail) for verb in VERBS for rail in ("rxe0", "rxe1")}
    assert {entry["gid_index"] for entry in tests} == {1}
    assert all((entry["gbps"] or 0) > 0 or (entry["latency_us"] or 0) > 0 for entry in tests)
    for check in ("rdma.write_bw", "rdma.rail_works", "rdma.rails_tested", "rdma.paths", "rdma.recipe"):
        assert card.verdicts(check) == {"pass"}, card.reasons(check)
    assert [servers(machine) for machine in machines.machines.values()] == ["", ""]


def test_traffic_by_a_link_local_index(machines, tmp_path):
    """It is there, it is RoCE v2, and no router carries it: a reason on each rail, and nothing that passes."""
    given = {"accept_concerns": ["rdma_bandwidth"], "rdma_bandwidth_gid_index": 0, "rdma_bandwidth_passes": ["together"]}
    card = Card(machines, tmp_path, "playbooks/fabric.yml", accept_risk="load", **given)
    for host in machines.names:
        for entry in card.data(host, "rdma_bandwidth")["tests"]:
            assert (entry["status"], entry["gid_index"], entry["gbps"]) == ("failed", 0, None)
            assert "to RTR" in entry["reason"]
    for check in ("rdma.write_bw", "rdma.rail_works", "rdma.paths", "rdma.passing"):
        assert card.verdicts(check) == {"not_measured"}
        assert "queue_pair: Failed to modify QP" in card.reasons(check)
    assert card.failed(("rdma.rails_tested",)) == {"rdma.rails_tested": {"vm1": [], "vm2": []}}
    assert [servers(machine) for machine in machines.machines.values()] == ["", ""]


@pytest.mark.parametrize(
    ("server", "client", "status", "word"),
    [
        ("-d rxe0 -x 7", "-d rxe0 -x 7", "failed", "queue_pair: Failed to modify QP"),  # a place without a GID
        ("-d rxe0 -x 1", "-d rxe0 -x 0", "failed", "gid: Found Incompatibility issue with GID types"),
        ("-d rxe0 -x 1", "-d mlx5_9 -x 1", "failed", "no_device: IB device mlx5_9 not found"),
        ("", "-d rxe0 -x 1", "refused", "Couldn't connect to 10.12.0.1:18700"),
    ],
)
def test_perftest_that_does_not_work(machines, server, client, status, word):
    """Real words of its ends, as the collector takes them. Each has a reason."""
    tail = "-F -D 1 -s 65536 --report_gbits -p 18700"
    if server:
        machines["vm1"].run(f"timeout 20 ib_write_bw {server} {tail} > /run/server.txt 2>&1 & sleep 1.5")
    done = machines["vm2"].run(f"timeout 15 stdbuf -oL ib_write_bw {client} {tail} 10.12.0.1", check=False)
    machines["vm1"].run("pkill -x ib_write_bw; true")
    told = {"gbps": None, "latency_us": None}
    result = CommandResult((), done.returncode, done.stdout, done.stderr, 1.0, "")
    found, reason = rdma_bandwidth._judge({}, result, told, 30)
    assert (found, told["gbps"]) == (status, None)
    assert word in reason


# --- the front end ------------------------------------------------------------------------------------------------------------------------


def test_loss_and_delay_in_front(machines, tmp_path):
    """The kernel's own netem; real ping and iperf3 see it."""
    machines["vm2"].run("modprobe sch_netem; tc qdisc replace dev eth3 root netem loss 20% delay 150ms")
    try:
        card = Card(machines, tmp_path, "playbooks/fabric.yml", accept_risk="load", accept_concerns=["mgmt_network"])
    finally:
        machines["vm2"].run("tc qdisc del dev eth3 root")
    assert set(card.failed(("mgmt.",))) >= {"mgmt.packet_loss", "mgmt.round_trip", "mgmt.tcp_bandwidth"}
    peer = card.data("vm1", "mgmt_network")["peers"][0]
    assert (peer["interface"], peer["mtu_bytes"], peer["sent"]) == ("eth3", 1500, 20)
    assert 0 < peer["loss_pct"] < 70
    assert 150 <= peer["rtt_avg_ms"] < 400


# --- a boot -------------------------------------------------------------------------------------------------------------------------------


def test_a_reboot_takes_what_nobody_made_persistent(machines, tmp_path):
    """Another boot id, and neither addresses nor RDMA devices: found by name, passed by nothing."""
    one = machines["vm2"]
    before = one.boot_id()
    one.reboot()
    try:
        assert one.boot_id() not in ("", before)
        card = Card(machines, tmp_path, "playbooks/gid_check.yml")
        assert card.data("vm2", "gid_check")["ports"] == []
        assert {row["nodes"]: row["verdict"] for row in card.checks["gid.rocev2_routable"]} == {"vm1": "pass", "vm2": "not_measured"}
    finally:
        machines.address(one)
    assert "rxe1" in one.say("rdma link")
