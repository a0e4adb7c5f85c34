"""Named faults of NVLink, NVSwitch and NICs. Each public function puts one into a node; `tools/simulate --faults` prints its docstring.

`rng` is seeded by spec, node and place in the spec: the same spec makes the same faults. Near misses, which must stay green, are here too.
"""

from __future__ import annotations

import uuid

from .faults_common import log, xid


def nvlink_down(node, rng, *, gpu=0, links=1):
    """NVLinks of a GPU inactive"""
    one = node.gpus[gpu]
    for index in range(links):
        one.nvlinks_gbytes_s[index] = None
    flags = "0x00000004 0x00000100 0x00000000 0x00000000 0x00000000 0x00000000"
    log(node, rng, *[xid(one, 149, f"NETIR_LINK_EVT  Fatal   XC0 i0 Link {index:02d} ({flags})") for index in range(links)])


def nvlink5_error(node, rng, *, gpu=0, link=8):
    """XID 145: a fatal NVLink 5 error of one link"""
    flags = "0x00000004 0x00000040 0x00000000 0x00000000 0x00000000 0x00000000"
    log(node, rng, xid(node.gpus[gpu], 145, f"RLW_REMAP       Fatal   XC1 i0 Link {link:02d} ({flags})"))


def sxid_fatal(node, rng, *, switch=1, link=30):
    """A fatal SXID of an NVSwitch (HGX before NVLink 5)"""
    text = f"nvidia-nvswitch{switch}: SXid (PCI:0000:{5 + switch:02x}:00.0)"
    log(
        node,
        rng,
        f"{text}: 20034, Fatal, Link {link:02d} LTSSM Fault Up",
        f"{text}: 20034, Severity 1 Engine instance {link:02d} Sub-engine instance 00",
    )


def nvlink_domain_split(node, rng, *, clique=2):
    """A tray in another NVLink clique than its rack"""
    for one in node.gpus:
        one.clique_id = clique


def foreign_nvlink_domain(node, rng):
    """A tray whose cluster UUID is that of another NVLink domain"""
    other = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    for one in node.gpus:
        one.cluster_uuid = other


def fabric_not_ready(node, rng):
    """GPUs that have not joined their NVLink fabric"""
    for one in node.gpus:
        one.fabric_state, one.fabric_status, one.cluster_uuid, one.clique_id = "In Progress", "N/A", None, None


def missing_nic(node, rng, *, nic=0):
    """A NIC that is not there"""
    del node.nics[nic]


def half_rate_port(node, rng, *, nic=0):
    """A port that came up at half its rate"""
    node.nics[nic].rate_gbps //= 2


def port_down(node, rng, *, nic=0):
    """A port without a link"""
    node.nics[nic].port_state, node.nics[nic].phys_state = "DOWN", "Polling" if node.nics[nic].link_layer == "InfiniBand" else "Disabled"


def nic_half_pcie_width(node, rng, *, nic=0, width=8):
    """A NIC trained at half its PCIe width"""
    node.nics[nic].pcie_width = width


def mlx5_link_flap(node, rng, *, nic=0, times=6):
    """A port whose link went down and came back again and again"""
    one = node.nics[nic]
    for _ in range(times):
        at = rng.uniform(1800, 36000)
        log(node, rng, f"mlx5_core {one.pci} {one.netdev}: Link down", priority=6, ago_s=at)
        log(node, rng, f"mlx5_core {one.pci} {one.netdev}: Link up", priority=6, ago_s=at - 4)
    node.kernel_log.sort(key=lambda record: record[0])


def mlx5_slot_power(node, rng, *, nic=0):
    """A NIC that says its slot gives too little power"""
    text = f"mlx5_core {node.nics[nic].pci}: mlx5_pcie_event:299:(pid 1178): Detected insufficient power on the PCIe slot (27W)."
    log(node, rng, text, priority=4)


def acs_redirect_on(node, rng):
    """PCIe ACS redirect on: traffic between GPU and NIC goes by the CPU"""
    node.acs_redirect = True


def nvlink_slow(node, rng, *, gpu=0, gbytes_s=20.0):
    """NVLinks of a GPU at a lower rate"""
    node.gpus[gpu].nvlinks_gbytes_s = [gbytes_s for _ in node.gpus[gpu].nvlinks_gbytes_s]


def no_nvlink_domain(node, rng):
    """A tray that belongs to no NVLink domain"""
    for one in node.gpus:
        one.cluster_uuid, one.clique_id = "00000000-0000-0000-0000-000000000000", 0


def other_nic_board(node, rng, *, nic=-1, board_id="MT_0000000970"):
    """NICs of another board; nic -1: all of the node"""
    for one in node.nics if nic < 0 else [node.nics[nic]]:
        one.board_id = board_id


def nic_slow_pcie_gen(node, rng, *, nic=0, speed="8.0 GT/s PCIe"):
    """A NIC trained at an older PCIe generation than it could"""
    node.edits.append((f"/sys/class/infiniband/{node.nics[nic].name}/device/current_link_speed", "", speed + "\n"))


def nics_on_one_socket(node, rng):
    """All NICs on one socket: the GPUs of the other have none near"""
    for one in node.nics:
        one.numa = 0


def torn_nvlink_domain(node, rng, *, clique=2):
    """GPUs of one tray in two NVLink cliques"""
    for one in node.gpus[len(node.gpus) // 2 :]:
        one.clique_id = clique
