"""A simulated InfiniBand fabric, swept for real: the collectors on its hosts, then the whole acceptance, find each fault by its name.

What the packaged simulator does not do (M_Keys, rates in ibstat, long answers of the subnet administrator) is left to recorded outputs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from accept_judge.analysis import ib_fabric as judged_fabric
from accept_node.collectors import ib_links

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
CONCERNS = ["preflight", "ib_config", "cabling", "ib_fabric"]

pytestmark = pytest.mark.lab


def collect(fabric, host, concerns="ib_fabric", window_s=0.5):
    """The envelopes that the collectors give on a host, and the capture."""
    done = fabric.on(host, [sys.executable, str(HERE / "collect_here.py"), concerns, "0.01", str(window_s)])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def subnet_of(found):
    (subnet,) = found["ib_fabric"]["data"]["subnets"]
    return ib_links.unpack(subnet)


@pytest.fixture(scope="module")
def healthy(fabric):
    return fabric()


def test_a_sweep_from_a_tenants_host(healthy):
    found = collect(healthy, "gpu005", "ib_fabric,cabling")
    subnet = subnet_of(found)
    assert (found["ib_fabric"]["status"], subnet["tool"], subnet["listed"]) == ("ok", "iblinkinfo", True)
    assert (len(subnet["switches"]), len(subnet["host_links"]), len(subnet["switch_links"])) == (6, 10, 16)
    assert {(link["width"], link["speed_gbps"], link["state"]) for link in subnet["host_links"]} == {("4X", 53.125, "active")}
    assert (subnet["sm"]["lid"], subnet["sm"]["state"], subnet["sms"]) == (1, "master", [{"lid": 1, "state": "master"}])
    (port,) = found["cabling"]["data"]["ports"]
    assert port["guid"] == "0x0002c90300001041"


def test_what_a_tenant_may_do_is_tried_and_told(healthy):
    subnet = subnet_of(collect(healthy, "gpu005"))
    assert subnet["sa_pkey_tables"] == "refused"
    assert subnet["sa_pkey_tables_reason"] == "SA(SA_ERR_REQ_INVALID)"
    assert subnet["mkey_protect_bits"] == 0  # the simulator has no M_Keys
    assert [one["host"].split("-")[0] for one in subnet["neighbours"]] == ["host", "host"]  # those that are not called gpu
    assert [one["answered"] for one in subnet["neighbours"]] == [True, True]


def test_no_host_of_others_is_named_anywhere(healthy):
    text = json.dumps(collect(healthy, "gpu005", "ib_fabric,cabling,ib_config"))
    assert "zeta" not in text
    assert "2c90300002001" not in text


def test_partitions_as_a_port_has_them(healthy):
    ours = collect(healthy, "gpu005", "ib_config")["ib_config"]["data"]["ports"][0]
    others = collect(healthy, "zeta01", "ib_config")["ib_config"]["data"]["ports"][0]
    assert {(entry["key"], entry["member"]) for entry in ours["pkeys"]} == {
        ("0x8001", "full"),
        ("0x0010", "limited"),
        ("0x7fff", "limited"),
    }
    assert ("0x8002", "full") in {(entry["key"], entry["member"]) for entry in others["pkeys"]}


def test_no_counter_is_reset(healthy):
    healthy.tell('PerformanceSet "S-0002c90300000210"[2] PortCounters.SymbolErrorCounter=41')
    time.sleep(0.2)
    for _ in range(2):
        assert subnet_of(collect(healthy, "gpu001"))["errors"]["grown"] == []
    said = healthy.on("gpu001", ["ibqueryerrors", "--threshold-file", "/dev/null"]).stdout
    assert "[SymbolErrorCounter == 41]" in said
    healthy.tell('PerformanceSet "S-0002c90300000210"[2] PortCounters.SymbolErrorCounter=0')


def test_errors_that_grow_while_it_looks(healthy):
    with growing(healthy):
        (one,) = subnet_of(collect(healthy, "gpu001", window_s=2.0))["errors"]["grown"]
    assert (one["name"], one["port"], list(one["counters"])) == ("leaf02", 2, ["SymbolErrorCounter"])


def test_a_link_that_goes_down_and_comes_back(healthy):
    healthy.tell('Unlink "H-0002c90300001050"[1]')
    time.sleep(0.5)
    assert len(subnet_of(collect(healthy, "gpu001"))["host_links"]) == 9
    healthy.tell('ReLink "H-0002c90300001050"[1]')
    time.sleep(1.0)
    assert len(subnet_of(collect(healthy, "gpu001"))["host_links"]) == 10


class growing:
    """Symbol errors at leaf02 port 2 that grow ten times a second."""

    def __init__(self, fabric):
        self.fabric, self.stop = fabric, threading.Event()
        self.thread = threading.Thread(target=self._grow)

    def _grow(self):
        count = 5
        while not self.stop.wait(0.1):
            count += 3
            self.fabric.tell(f'PerformanceSet "S-0002c90300000210"[2] PortCounters.SymbolErrorCounter={count}')

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.fabric.tell('PerformanceSet "S-0002c90300000210"[2] PortCounters.SymbolErrorCounter=0')


# --- the acceptance itself ------------------------------------------------------------------------------------------------------------


def accept(folder):
    """Check id -> {nodes: what a failing row names} of a run of acceptance.yml on the lab's hosts; and the ids that passed."""
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), "acceptance.yml", "-i", "inventories/lab/ibsim/hosts.yml"]
    argv += ["-e", json.dumps({"accept_concerns": CONCERNS, "accept_evidence": str(folder), "accept_gate": False})]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    card = json.loads((folder / "latest" / "scorecard.json").read_text())
    failed, passed = {}, set()
    for check in card["checks"]:
        rows = [row for row in check["rows"] if row["verdict"] in ("fail", "warn")]
        if rows:
            failed[check["id"]] = {row["nodes"]: row["actual"] for row in rows}
        elif any(row["verdict"] == "pass" for row in check["rows"]):
            passed.add(check["id"])
    assert card["coverage"]["live_hosts"] == 8
    return failed, passed


FAULTY = {
    "fabric.link_width": ["gpu004 ibsim0 <-> leaf02 port 2: 1X, both ends support 4X"],
    "fabric.uplinks_even": ["leaf03: 3 uplinks (spine01 2, spine02 1), most leaves have 4"],
    "fabric.hosts_complete": ["gpu008: 0 of 1 ports are on the fabric"],
}


def test_the_acceptance_finds_each_fault_by_name(fabric, tmp_path):
    """Swapped cables, a narrow link, an uplink and a host's link down, errors that grow; and what is well stays so."""
    broken = fabric(swapped=[("gpu001", "gpu006")], narrow=["gpu004"])
    broken.tell('Unlink "S-0002c90300000220"[12]')
    broken.tell('Unlink "H-0002c90300001070"[1]')
    time.sleep(1.0)
    with growing(broken):
        failed, passed = accept(tmp_path)
    assert failed["cabling.swapped"] == {
        "gpu001": ["ibsim0 <-> gpu006 ibsim0: is on leaf03 port 2, planned leaf01 port 1"],
        "gpu006": ["ibsim0 <-> gpu001 ibsim0: is on leaf01 port 1, planned leaf03 port 2"],
    }
    assert failed["cabling.missing"] == {"gpu008": ["ibsim0: planned leaf04 port 2, no link (down/polling)"]}
    for check, lines in FAULTY.items():
        assert list(failed[check].values()) == [lines]
    (errors,) = failed["fabric.errors_growing"].values()
    assert errors[0].startswith("leaf02 port 2 <-> gpu004 ibsim0: SymbolErrorCounter +")
    assert list(failed["fabric.foreign_hosts"].values()) == [2]
    assert list(failed["fabric.foreign_ports"].values()) == [2]
    assert {"ib.port_active", "fabric.sm_standby", "fabric.management_keys"} <= set(failed)
    assert {
        "fabric.link_speed",
        "fabric.link_active",
        "fabric.sm_answers",
        "fabric.sa_tables",
        "cabling.wrong_leaf",
        "cabling.extra",
    } <= passed


def test_a_healthy_fabric_has_no_finding_of_its_own(fabric, tmp_path):
    fabric()
    failed, passed = accept(tmp_path)
    mine = {check for check in failed if check.startswith(("fabric.", "cabling."))}
    assert mine == {"fabric.sm_standby", "fabric.foreign_hosts", "fabric.foreign_ports", "fabric.management_keys"}  # so it is built
    assert {f"cabling.{name}" for name in ("swapped", "wrong_leaf", "wrong_port", "missing", "extra")} <= passed
    assert len(judged_fabric.LISTS) == len([check for check in passed if check in CLEAN])


CLEAN = ("fabric.link_width", "fabric.link_speed", "fabric.link_active", "fabric.uplinks_even", "fabric.hosts_complete")
CLEAN += ("fabric.errors_growing", "fabric.discards_growing")
