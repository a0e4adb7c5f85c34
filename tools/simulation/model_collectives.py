"""How fast collectives of a simulated cluster are: its platform's plateaus, latency by the number of ranks, one switch of the library's own
protocol at 1 MiB everywhere, a little noise of each size, and what the nodes of a world have seeded. Nothing here formats text.

`node.sweep` holds a node's faults: `share` of the NVLink bandwidth between nodes, `network` share of the network's, `rail` (name of an
adapter, its share of the bandwidth), `dip` (bytes, factor), `hang` (collective, bytes), `wrong` (name of a peer), `sockets`, `jitter`,
`jagged`, `sag`; sizes: `passing`, `notch`, `missing`.
"""

from __future__ import annotations

import math
from zlib import crc32

from accept_judge.curves import factor

# platform -> GB/s of all-reduce: one node, one NVLink domain, network with NVLink inside the node. A little above what is asked of them
PLATEAUS = {
    "h100_hgx": (478, 478, 462),
    "h200_hgx": (480, 480, 466),
    "b200_hgx": (835, 835, 476),
    "b300_hgx": (860, 860, 768),
    "gb200_nvl72": (690, 842, 196),
    "gb300_nvl72": (700, 934, 392),
    "mi300x": (331, 331, 366),
    "mi325x": (333, 333, 368),
    "mi355x": (352, 352, 372),
}
SHARES = {"all_reduce": 1.0, "all_gather": 0.96, "reduce_scatter": 0.97, "alltoall": 0.62, "broadcast": 0.9, "sendrecv": 0.5}
LATENCY_US = {"all_reduce": 9.5, "all_gather": 8.0, "reduce_scatter": 8.5, "alltoall": 12.0, "broadcast": 8.0, "sendrecv": 6.5}
SWITCH_BYTES, SWITCH = 2**20, 1.09
SOCKETS_GBYTES_S = 2.1
SLOW_GROWTH = 0.985  # of the network's plateau, for each doubling of the world


def plateau(collective, mode, nodes, rails=()) -> float:
    """GB/s of bus bandwidth of a world; `rails`: the only adapters that it may use."""
    alone, rack, network = PLATEAUS[nodes[0].sku]
    share = SHARES[collective]
    if len(nodes) == 1:
        return share * alone
    if over_sockets(mode, nodes):
        return SOCKETS_GBYTES_S
    if joined(mode, nodes):
        return share * rack * min(node.sweep.get("share", 1.0) for node in nodes)
    doublings = len(nodes).bit_length() - 2
    every = len([nic for nic in nodes[0].nics if nic.port_state == "ACTIVE"])
    part = len(rails) / every if rails else 1.0
    return share * network * SLOW_GROWTH**doublings * part * min(_through(node, rails) for node in nodes)


def _through(node, rails) -> float:
    """What a node lets through: all rings go at the pace of its slowest rail."""
    name, share = node.sweep.get("rail", ("", 1.0))
    return node.sweep.get("network", 1.0) * (share if not rails or name in rails else 1.0)


def over_sockets(mode, nodes) -> bool:
    return len(nodes) > 1 and any(node.sweep.get("sockets") for node in nodes) and not joined(mode, nodes)


def domain_of(node) -> str | None:
    """Its NVLink domain, as the collector of inventory_audit names it."""
    gpu = node.gpus[0] if node.gpus else None
    return f"{gpu.cluster_uuid}/{gpu.clique_id}" if gpu and gpu.cluster_uuid else None


def joined(mode, nodes) -> bool:
    """Does NVLink join them?"""
    return "nvl72" in nodes[0].sku and mode not in ("scale_out", "cross_domain") and len({domain_of(node) for node in nodes}) == 1


def time_us(collective, mode, nodes, ranks, size, repeat="", rails=()) -> float:
    """Of one collective of that size."""
    rate = plateau(collective, mode, nodes, rails) * (min(node.sweep.get("bare", 1.0) for node in nodes) if mode == "bare" else 1.0)
    latency = LATENCY_US[collective] * (1 + max(0, ranks.bit_length() - 3)) * (0.75 if len(nodes) == 1 else 1.0)
    took = (latency**1.3 + (factor(collective, ranks) * size / rate / 1000) ** 1.3) ** (1 / 1.3)
    took *= SWITCH if size == SWITCH_BYTES else 1.0
    if len(nodes) > 1:
        for node in nodes:
            took *= _shape(node.sweep, size, repeat)
        jitter = max(node.sweep.get("jitter", 0.0) for node in nodes)
        took *= 1 + jitter * _unit(f"{nodes[0].name} {collective} {size} {repeat} jitter")
    return took * (1 + 0.004 * _unit(f"{nodes[0].name} {len(nodes)} {collective} {size} {repeat}"))


def _shape(seeded, size, repeat) -> float:
    """What a node makes of the shape of its worlds' curves."""
    at, times = seeded.get("dip", (0, 1.0))
    factors = [times if at == size else 1.0]
    factors.append(1.5 if seeded.get("passing") == size and repeat == "1" else 1.0)
    factors.append(1.14 if seeded.get("notch") == size else 1.0)
    factors.append((0.8, 1.25)[size.bit_length() % 2] if seeded.get("jagged") and 2**20 <= size <= 2**28 else 1.0)
    factors.append(1.09 if seeded.get("sag") and size >= 2**32 else 1.0)
    return math.prod(factors)


def hangs_at(collective, nodes, mode="") -> int | None:
    """The size that does not go through, if there is one."""
    if mode == "cross_domain" and any(node.sweep.get("across") for node in nodes):
        return 1
    for node in nodes:
        name, size = node.sweep.get("hang", ("", 0))
        if name == collective and len(nodes) > 1:
            return size
    return None


def wrong(nodes) -> int:
    """Wrong values of each size: two nodes that spoil each other's data."""
    names = {node.name for node in nodes}
    spoiled = [node for node in nodes if "wrong" in node.sweep and len(nodes) > 1]
    return sum(7 for node in spoiled if not node.sweep["wrong"] or node.sweep["wrong"] in names)


def _unit(key) -> float:
    """A number of -1 to 1 that is the same every time."""
    return (crc32(key.encode()) % 2001 - 1000) / 1000
