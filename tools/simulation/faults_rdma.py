"""Named faults of RDMA ports: GIDs, partitions, priorities, errors. Each public function puts one into a node.

They change what sysfs and tools say (edits); `tools/simulate --faults` prints their docstrings. `rng` is seeded by spec, node and place in
the spec. Near misses, which must stay green, are here too.
"""

from __future__ import annotations

from . import render_rdma

ROOT, AGAIN = render_rdma.ROOT, render_rdma.ROOT + "/."


def _only(node, link_layer):
    """Raises where the node's ports are of the other kind."""
    if not node.nics or node.nics[0].link_layer != link_layer:
        raise LookupError(f"ports of {link_layer}")


def _sysfs(node, nic, name, text):
    node.edits.append((f"{ROOT}/{node.nics[nic].name}/{name}", "", text))


def link_local_gid(node, rng, *, nic=0):
    """A RoCE rail that lost its IPv4 address: only its link-local GIDs are left"""
    _only(node, "Ethernet")
    node.nics[nic].gids = render_rdma.gids(node, node.nics[nic])[:2]


def shifted_gid(node, rng, *, nic=-1):
    """RoCE rails on which another address came first: the routable GID is at index 5, not 3; nic -1: all"""
    _only(node, "Ethernet")
    for one in node.nics if nic < 0 else [node.nics[nic]]:
        table = render_rdma.gids(node, one)
        other = table[0][0][:-4] + f"{rng.getrandbits(16):04x}"
        one.gids = [*table[:2], (other, table[0][1]), (other, table[1][1]), *table[2:]]


def second_address(node, rng, *, nic=0):
    """Near miss: a RoCE rail with a second address after its own; the index of the first is still that of all"""
    _only(node, "Ethernet")
    table = render_rdma.gids(node, node.nics[nic])
    other = table[2][0][:-9] + f"0a09:{rng.randrange(1, 0xFFFF):04x}"
    node.nics[nic].gids = [*table, (other, table[2][1]), (other, table[3][1])]


def pinned_gid(node, rng, *, index=1):
    """NCCL_IB_GID_INDEX pinned in /etc/nccl.conf to an index that is not the routable one"""
    _only(node, "Ethernet")
    node.edits.append(("/etc/nccl.conf", "", f"NCCL_IB_GID_INDEX={index}\nNCCL_IB_TC={render_rdma.TRAFFIC_CLASS}\n"))


def default_partition_full(node, rng):
    """A tenant's ports in the default partition with full membership"""
    _only(node, "InfiniBand")
    for nic in range(len(node.nics)):
        _sysfs(node, nic, "ports/1/pkeys/1", "0xffff\n")


def no_partition(node, rng, *, nic=0):
    """A port that was never put into the tenant's partition"""
    _only(node, "InfiniBand")
    _sysfs(node, nic, "ports/1/pkeys/0", "0x7fff\n")
    _sysfs(node, nic, "ports/1/pkeys/1", "0x0000\n")


def no_subnet_manager(node, rng, *, nic=0):
    """A port that no subnet manager has configured"""
    _only(node, "InfiniBand")
    for name in ("lid", "sm_lid"):
        _sysfs(node, nic, f"ports/1/{name}", "0x0\n")


def other_subnet_manager(node, rng, *, nic=0, lid="0x9"):
    """A port that obeys another subnet manager"""
    _only(node, "InfiniBand")
    _sysfs(node, nic, "ports/1/sm_lid", lid + "\n")


def growing_errors(node, rng, *, nic=0, counter="symbol_error", by=12):
    """An error counter that grows while the audit looks"""
    name = f"{node.nics[nic].name}/ports/1/counters/{counter}"
    node.edits += [(f"{ROOT}/{name}", "", "3\n"), (f"{AGAIN}/{name}", "", f"{3 + by}\n")]


def old_errors(node, rng, *, nic=0, counter="symbol_error", count=41):
    """Near miss: errors of long ago that no longer grow"""
    name = f"{node.nics[nic].name}/ports/1/counters/{counter}"
    node.edits += [(f"{root}/{name}", "", f"{count}\n") for root in (ROOT, AGAIN)]


def saturated_counter(node, rng, *, nic=0):
    """A counter at its ceiling: what came after was not counted"""
    old_errors(node, rng, nic=nic, counter="link_downed", count=255)


def high_ber(node, rng, *, nic=0, rate="3E-13"):
    """A link whose effective bit error rate is above the limit"""
    _mlxlink(node, nic, '"Effective Physical BER": "15E-255"', f'"Effective Physical BER": "{rate}"')


def hot_module(node, rng, *, nic=0):
    """A transceiver above its own temperature limit"""
    _mlxlink(node, nic, "[-5..75]", "[-5..40]")


def other_cable(node, rng, *, nic=0):
    """Another transceiver than the others have"""
    _mlxlink(node, nic, "MMA4Z00-NS400", "MMS4X00-NS400")


def _mlxlink(node, nic, find, put):
    node.edits.append((f"mlxlink -d {node.nics[nic].pci} -m -c --json", find, put))


def small_ib_mtu(node, rng, *, nic=0):
    """A port that uses a smaller MTU than it could"""
    _only(node, "InfiniBand")
    _small_mtu(node, nic)


def _small_mtu(node, nic):
    block = render_rdma.devinfo(node, node.nics[nic])
    node.edits.append(("ibv_devinfo", block, "2048 (4)".join(block.rsplit("4096 (5)", 1))))


def renamed_hca(node, rng, *, nic=0, name="mlx5_bond_0"):
    """An RDMA device with another name than on the other nodes"""
    node.nics[nic].name = name


def same_plane(node, rng, *, nics=2):
    """Ports of one card plugged into the same switch"""
    _only(node, "Ethernet")
    for nic in range(1, nics):
        node.edits.append(("lldpctl -f json", f"{node.cluster}-leaf{nic + 1:02d}", f"{node.cluster}-leaf01"))


def pfc_off(node, rng):
    """PFC off on all rails"""
    _only(node, "Ethernet")
    _qos(node, "enabled     0   0   0   1", "enabled     0   0   0   0")


def trust_pcp(node, rng):
    """Rails that sort by VLAN priority instead of DSCP"""
    _only(node, "Ethernet")
    _qos(node, "trust state: dscp", "trust state: pcp")


def other_buffers(node, rng):
    """Rails with other receive buffers"""
    _only(node, "Ethernet")
    _qos(node, "20016,156096", "130944,130944")


def _qos(node, find, put):
    node.edits += [(f"mlnx_qos -i {nic.netdev}", find, put) for nic in node.nics]


def ecn_off(node, rng, *, priority=3):
    """ECN off for the lossless priority"""
    _only(node, "Ethernet")
    for nic in node.nics:
        node.edits.append((f"{render_rdma.NET}/{nic.netdev}/ecn/roce_np/enable/{priority}", "", "0\n"))


def small_mtu(node, rng, *, nic=0, mtu=1500):
    """A RoCE rail with a small device MTU"""
    _only(node, "Ethernet")
    node.edits.append((f"{render_rdma.NET}/{node.nics[nic].netdev}/mtu", "", f"{mtu}\n"))
    _small_mtu(node, nic)


def lossy_traffic_class(node, rng, *, traffic_class=0):
    """A traffic class that no lossless queue takes"""
    _only(node, "Ethernet")
    for nic in range(len(node.nics)):
        _sysfs(node, nic, "tc/1/traffic_class", f"Global tclass={traffic_class}\n")


def nothing_at_boot(node, rng):
    """Nothing on the node that restores its RoCE settings at boot"""
    _only(node, "Ethernet")
    node.edits.append((" ".join(render_rdma.PERSISTENCE), "", "\n"))


def switch_pfc_off(node, rng, *, nic=0):
    """PFC off at the switch's end of a rail's cable; the adapter pauses as all others do"""
    _switch(node, nic, pfc=[])


def switch_ecn_off(node, rng, *, nic=0):
    """A switch port that does not mark the lossless priority under congestion"""
    _switch(node, nic, ecn=[])


def switch_small_mtu(node, rng, *, nic=0, mtu=1500):
    """A switch port with a small MTU"""
    _switch(node, nic, mtu=mtu)


def switch_silent(node, rng, *, nic=0):
    """Near miss: a switch port that does not tell its PFC over LLDP; its owner's export says it"""
    _switch(node, nic, silent=True)


def _switch(node, nic, **told):
    _only(node, "Ethernet")
    node.switch_ports.setdefault(node.nics[nic].name, {}).update(told)


def pod_link_local_gid(node, rng):
    """A pod without addresses of its own on the rails: it sees link-local GIDs only"""
    _only(node, "Ethernet")
    if node.scheduler != "kubernetes":
        raise LookupError("pods")
    node.pod_gids = render_rdma.gids(node, node.nics[0])[:2]
