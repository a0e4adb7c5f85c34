"""Named faults that only collectives show. Each public function puts one into a node; worlds of several nodes with it have it."""

from __future__ import annotations


def collective_dip(node, rng, *, bytes=131072, times=1.8):
    """A size at which every collective of several nodes takes longer"""
    node.sweep["dip"] = (bytes, times)


def collective_hang(node, rng, *, bytes=1048576, collective="alltoall"):
    """A size at which a collective never comes back"""
    node.sweep["hang"] = (collective, bytes)


def socket_fallback(node, rng):
    """A node whose library finds no adapter and takes sockets"""
    node.sweep["sockets"] = True


def slow_tray(node, rng, *, share=0.55):
    """A tray that holds back every NVLink collective over nodes"""
    node.sweep["share"] = share


def slow_in_network(node, rng, *, share=0.5):
    """A node that holds back every collective over the network"""
    node.sweep["network"] = share


def slow_rail_in_collectives(node, rng, *, rail=0, share=0.5):
    """An adapter of a node that holds back every collective that goes over it"""
    carrying = [nic for nic in node.nics if nic.port_state == "ACTIVE"]
    if rail >= len(carrying):
        raise LookupError(f"rail {rail}")
    node.sweep["rail"] = (carrying[rail].name, share)


def wrong_values(node, rng, *, peer=""):
    """Two nodes whose collectives give wrong values, together and only together; no peer: with all others"""
    node.sweep["wrong"] = peer


def jittery_repeats(node, rng, *, spread=0.12):
    """A node with which no two repeats are alike"""
    node.sweep["jitter"] = spread


def passing_dip(node, rng, *, bytes=8388608):
    """A size that is slow in one repeat and not in the others"""
    node.sweep["passing"] = bytes


def notch(node, rng, *, bytes=67108864):
    """A small dip in worlds with this node, and in no other"""
    node.sweep["notch"] = bytes


def jagged_curve(node, rng):
    """Bandwidth that swings up and down from size to size"""
    node.sweep["jagged"] = True


def sagging_curve(node, rng):
    """Bandwidth that falls again for the largest messages"""
    node.sweep["sag"] = True


def missing_size(node, rng, *, bytes=4194304):
    """A size that the benchmark leaves out"""
    node.sweep["missing"] = bytes
