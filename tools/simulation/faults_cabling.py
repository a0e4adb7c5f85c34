"""Named faults of a cluster's cables and of its InfiniBand fabric. Each public function puts one into a node, or into the fabric that the
node is on; `tools/simulate --faults` prints its docstring.
"""

from __future__ import annotations

from .model_fabric import FIRST_UPLINK, LEAF_PORTS, SPARE, end, planned


def swapped_rails(node, rng, *, nic=0, other=1):
    """Two cables of a node swapped: each NIC on the other's leaf"""
    one, two = node.nics[nic].name, node.nics[other].name
    node.cables[one], node.cables[two] = planned(node, two), planned(node, one)


def swapped_nodes(node, rng, *, peer="", nic=0):
    """The cables of one rail of two nodes swapped; peer: the other node"""
    other = next(one for one in node.fabric.nodes if one.name == peer) if peer else node.fabric.nodes[-1]
    name = node.nics[nic].name
    node.cables[name], other.cables[name] = planned(other, name), planned(node, name)


def wrong_leaf(node, rng, *, nic=0):
    """A cable on a spare port of another rail's leaf"""
    name, (leaf, _) = node.nics[nic].name, planned(node, node.nics[nic].name)
    leaves = node.fabric.leaves()
    node.cables[name] = (leaves[(leaves.index(leaf) + 1) % len(leaves)], SPARE)


def wrong_switch_port(node, rng, *, nic=0):
    """A cable on the right leaf, on a port that was not planned for it"""
    node.cables[node.nics[nic].name] = (planned(node, node.nics[nic].name)[0], SPARE - 1)


def unplanned_cable(node, rng, *, nic=0):
    """A NIC with a cable that the rail map does not have"""
    node.fabric.unplanned.add((node.name, node.nics[nic].name))


def lost_uplink(node, rng, *, rail=0, uplink=0):
    """An uplink of the leaf of a rail that is gone"""
    node.fabric.lost_uplinks.add((planned(node, node.nics[rail].name)[0], FIRST_UPLINK + uplink))


def link_errors(node, rng, *, nic=0, counter="SymbolErrorCounter", first=3, by=12):
    """Errors that grow at the switch's end of a NIC's cable"""
    node.fabric.growing.setdefault(end(node, node.nics[nic].name), {})[counter] = [first, first + by]


def unsettled_link(node, rng, *, nic=0):
    """A link that the subnet manager has not made active"""
    node.fabric.unsettled.add((node.name, node.nics[nic].name))


def slow_link(node, rng, *, nic=0):
    """A link one generation slower than both ends could be"""
    node.fabric.slow.add((node.name, node.nics[nic].name))


def foreign_hosts(node, rng, *, count=3, answer=True):
    """Hosts of others on the node's fabric, seen by a sweep; answer: their ports can be read"""
    node.fabric.others, node.fabric.others_answer = count, answer


def no_standby_manager(node, rng):
    """A fabric with one subnet manager and none to take over"""
    node.fabric.managers = ("master",)


def no_manager(node, rng):
    """A fabric whose subnet manager does not answer"""
    node.fabric.managers = ()


def open_administrator(node, rng):
    """A subnet administrator that gives P_Key tables to anybody"""
    node.fabric.tables_open = True


def no_management_key(node, rng):
    """Ports without the protection of an M_Key"""
    node.fabric.mkey_protect_bits = 0


def waiting_packets(node, rng, *, nic=0, counter="PortXmitWait"):
    """Near miss: waiting grows at a switch port, which is load and no error"""
    node.fabric.growing.setdefault(end(node, node.nics[nic].name), {})[counter] = [1000, 1000 + LEAF_PORTS]


def unplanned_node(node, rng):
    """A node that the rail map leaves out"""
    node.fabric.unplanned |= {(node.name, name) for name in node.fabric.nics[node.name]}
