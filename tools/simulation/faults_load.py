"""Named faults that only traffic shows. Each public function puts one into a node; `tools/simulate --faults` prints its docstring.

They say what the node's end of a test lets through; render_load.py lets its peers see it too.
"""

from __future__ import annotations

from .render_load import BROKEN


def _cap(node, kind, nic, gbps):
    for one in node.nics if nic < 0 else [node.nics[nic]]:
        node.network.setdefault(kind, {})[one.name] = gbps


def slow_rail(node, rng, *, nic=0, gbps=180.0):
    """A rail that carries less than it should, whoever the partner; nic -1: all rails of the node"""
    _cap(node, "write", nic, gbps)


def slow_loopback(node, rng, *, nic=0, gbps=110.0):
    """An adapter that is slow to itself: its place on the bus"""
    _cap(node, "loopback", nic, gbps)


def slow_read(node, rng, *, nic=0, gbps=90.0):
    """A rail on which RDMA reads are slow and writes are not"""
    _cap(node, "read", nic, gbps)


def slow_gpu_path(node, rng, *, nic=0, gbps=140.0):
    """A rail that is slow from GPU memory only"""
    _cap(node, "gpu", nic, gbps)


def high_latency(node, rng, *, nic=0, us=14.0):
    """A rail with a high latency"""
    _cap(node, "latency", nic, us)


def broken_rail(node, rng, *, nic=0):
    """A rail on which every transfer ends in a completion error, though its link is up"""
    _cap(node, BROKEN, nic, 0.0)


def slow_path(node, rng, *, peer="", nic=0, gbps=95.0):
    """A slow path between two nodes that are both fast with all others; no peer: to all of them"""
    slow = {node.nics[nic].name: gbps}
    if peer:
        node.network.setdefault("paths", {})[peer] = slow
    else:
        node.network["path"] = slow


def no_pfc(node, rng, *, nic=0):
    """A port whose switch drops when many send to it at once"""
    _cap(node, "no_pfc", nic, 0.0)


def perftest_hangs(node, rng, *, nic=0):
    """A rail on which the node's own write test never ends"""
    node.network["hangs"] = node.nics[nic].name


def front_end_loss(node, rng, *, loss_pct=5.0):
    """A front-end port that loses packets"""
    node.network.setdefault("front", {})["loss_pct"] = loss_pct


def front_end_latency(node, rng, *, ms=9.0):
    """A front-end port with a long round trip"""
    node.network.setdefault("front", {})["rtt_ms"] = ms


def front_end_slow(node, rng, *, mbps=94.0):
    """A front-end port that came up at 100 Mb/s"""
    node.network.setdefault("front", {})["mbps"] = mbps


def mtu_black_hole(node, rng):
    """A front-end port whose switch drops long packets without a word"""
    node.network.setdefault("front", {})["black_hole"] = True
