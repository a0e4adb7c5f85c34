"""What the judge makes of a node's RDMA tests where hardly any of them worked: nothing is clean that was not measured."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from accept_judge.analysis import ib_config, rdma_bandwidth

NOBODY = SimpleNamespace(data=None)
TEST = {"kind": "pair", "pass": "together", "number": 0, "role": "client", "peer": "vm2", "device": "rxe0", "verb": "write_bw"}
TEST |= {"memory": "host", "together": True, "traffic_class": None, "gbps": None, "latency_us": None}
WRONG_GID = {**TEST, "status": "failed", "reason": "queue_pair: Failed to modify QP 25 to RTR"}
DEVICE = {"name": "rxe0", "state": "ACTIVE", "rate_gbps": 100.0, "link_layer": "Ethernet", "gid": None, "address": None, "gpu": None}


def wanted(value):
    return SimpleNamespace(
        wanted=SimpleNamespace(key=lambda _: SimpleNamespace(value=value)),
        fact=lambda host, concern: NOBODY,
        standards=SimpleNamespace(catalogs={}),
    )


def analyse(*tests):
    data = {"devices": [DEVICE], "perftest": {"installed": True, "version": "6.06", "gpu_memory": None}, "tests": list(tests)}
    return rdma_bandwidth.analyse(data, wanted(50))


def test_no_word_on_paths_where_no_pair_worked():
    found = analyse(WRONG_GID)
    for key in ("slow_paths", "passing"):
        assert found[key] is None
        assert found[key + "_reason"] == "failed with vm2: queue_pair: Failed to modify QP 25 to RTR"
    assert found["rails_tested"] == 0


def test_paths_are_clean_where_a_pair_worked():
    found = analyse({**TEST, "status": "ok", "reason": "", "gbps": 90.0})
    assert (found["slow_paths"], found["passing"], found["rails_tested"]) == ([], [], 1)


@pytest.mark.parametrize(
    ("count", "pci", "reason"), [(2, "0000:1b:00.0", "1 of 2 rails"), (1, None, "no PCI address of rxe0"), (1, "0000:1b:00.0", "")]
)
def test_why_places_are_not_compared(count, pci, reason):
    port = {"rail": True, "device": "rxe0", "name": "rxe0/1", "pci": pci, "link": None, "link_layer": "Ethernet", "pkeys": None}
    found = ib_config.analyse({"ports": [{**port, "neighbour": None, "netdev": "eth1", "gpus": None}]}, wanted(count))
    assert (found["rail_places"] is None) == bool(reason)
    assert reason in found.get("rail_places_reason", "")
