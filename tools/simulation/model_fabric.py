"""The state of a simulated cluster's fabric: the switch port that each NIC is planned for and plugged into, uplinks, managers, others."""

from __future__ import annotations

from dataclasses import dataclass, field

GROUP = 32  # nodes on one set of leaves
SPINES = 4
UPLINKS = 2  # from each leaf to each spine
LEAF_PORTS = 64
FIRST_UPLINK = 33
FIRST_OTHER = 49  # hosts that are not in the inventory
SPARE = 60


@dataclass
class Fabric:
    """Of one cluster; faults change it. Switch ports are (switch, port)."""

    cluster: str
    nodes: list = field(default_factory=list)
    nics: dict = field(default_factory=dict)  # node -> names of its NICs, as planned
    places: dict = field(default_factory=dict)  # node -> number in the cluster, from 0
    lost_uplinks: set = field(default_factory=set)  # (leaf, port)
    growing: dict = field(default_factory=dict)  # (switch, port) -> {counter: [first, last]}
    unsettled: set = field(default_factory=set)  # (node, NIC): up, and not configured
    slow: set = field(default_factory=set)  # (node, NIC): one generation behind
    unplanned: set = field(default_factory=set)  # (node, NIC): not in the rail map
    others: int = 0  # hosts of others
    others_answer: bool = True
    managers: tuple = ("master", "standby")
    tables_open: bool = False  # the administrator gives P_Key tables to anybody
    mkey_protect_bits: int = 1

    def leaves(self) -> list:
        return [self.leaf(group, rail) for group in range(-(-len(self.nodes) // GROUP)) for rail in range(self.rails)]

    @property
    def rails(self) -> int:
        return max(map(len, self.nics.values()), default=0)

    def leaf(self, group: int, rail: int) -> str:
        return f"{self.cluster}-leaf{group * self.rails + rail + 1:02d}"

    def spines(self) -> list:
        return [f"{self.cluster}-spine{number:02d}" for number in range(1, SPINES + 1)]


def fabric_of(cluster: dict, nodes: list) -> Fabric:
    """A healthy fabric, known to each of the nodes."""
    fabric = Fabric(cluster["name"], nodes)
    fabric.nics = {node.name: [nic.name for nic in node.nics] for node in nodes}
    fabric.places = {node.name: place for place, node in enumerate(nodes)}
    for node in nodes:
        node.fabric = fabric
    return fabric


def _rail(name: str) -> int:
    return int(name.rsplit("_", 1)[-1])


def planned(node, nic_name: str) -> tuple:
    """(leaf, port) of the plan: one leaf for each rail of a group of nodes, the port by the node's place in it."""
    group, slot = divmod(node.fabric.places[node.name], GROUP)
    return node.fabric.leaf(group, _rail(nic_name)), slot + 1


def end(node, nic_name: str) -> tuple:
    """(switch, port) that the NIC's cable really ends in."""
    return node.cables.get(nic_name) or planned(node, nic_name)


def switch_port(node, nic_name: str) -> dict:
    """What the switch's end of a NIC's cable is set to."""
    return {"pfc": [3], "ecn": [3], "mtu": 9216, "silent": False, **node.switch_ports.get(nic_name, {})}


def switch_ports(nodes) -> str:
    """What the switches' owner exports of the RoCE rails of all nodes."""
    lines = ["switch,switch_port,pfc,ecn,mtu"]
    for node in nodes:
        for nic in node.nics if node.transport == "roce" else ():
            (switch, port), told = end(node, nic.name), switch_port(node, nic.name)
            flags = ["+".join(map(str, told[key])) or "none" for key in ("pfc", "ecn")]
            lines.append(f"{switch},swp{port},{flags[0]},{flags[1]},{told['mtu']}")
    return "\n".join([lines[0], *sorted(set(lines[1:]))]) + "\n"


def rail_map(nodes) -> str:
    """The planned rail map of all nodes, as a cluster's folder holds it."""
    lines = ["node,port,switch,switch_port,rail"]
    for node in nodes:
        for nic in node.fabric.nics[node.name]:
            if (node.name, nic) not in node.fabric.unplanned:
                switch, port = planned(node, nic)
                lines.append(f"{node.name},{nic},{switch},{port if node.transport == 'infiniband' else f'swp{port}'},{_rail(nic)}")
    return "\n".join(lines) + "\n"
