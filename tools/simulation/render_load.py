"""What perftest, iperf3 and ping print on a simulated node: traffic with its peers, as fast as the slower end and the path let it be.

A capture has a record for any peer ("*"), and one for each peer with which it is otherwise: `meet` tells nodes of their peers' faults.
"""

from __future__ import annotations

import json
from zlib import crc32

from accept_node.collectors import mgmt_network, rdma_bandwidth
from accept_node.collectors.rdma_gpus import KFD
from accept_node.work import ANY

from .model import SimNode
from .records import command, file, hung, tree

SETTINGS = {
    "bytes": 1048576,
    "qps": 4,
    "duration_s": 5,
    "iterations": 5000,
    "gid_index": None,
    "traffic_class": None,
}  # the role's defaults
FRONT = {"pings": 20, "ping_interval_s": 0.2, "seconds": 2, "cap_mbps": 1000}
MTU = 9000
LINE = "-" * 87 + "\n"
# kind of traffic -> (test as the collector gets it, share of the port's rate that it reaches)
KINDS = {
    "write": ({"kind": "pair", "verb": "write_bw", "memory": "host"}, 0.9785),
    "read": ({"kind": "pair", "verb": "read_bw", "memory": "host"}, 0.972),
    "gpu": ({"kind": "pair", "verb": "write_bw", "memory": "gpu"}, 0.9722),
    "incast": ({"kind": "incast", "verb": "write_bw", "memory": "host"}, 0.9785),
    "latency": ({"kind": "pair", "verb": "write_lat", "memory": "host"}, None),
}
TITLES = {"write_bw": "RDMA_Write BW Test", "read_bw": "RDMA_Read BW Test", "write_lat": "RDMA_Write Latency Test"}
HELP = "  -d, --ib-dev=<dev>  Use IB device <dev>\n  -D, --duration  Run test for a customized period of seconds.\n"
GPU_HELP = {
    "nvidia": "      --use_cuda=<cuda device id> Use CUDA specific device for GPUDirect RDMA testing\n"
    "      --use_cuda_dmabuf Use CUDA DMA-BUF for GPUDirect RDMA testing\n",
    "amd": "      --use_rocm=<rocm device id> Use selected ROCm device for GPUDirect RDMA testing\n",
}
GPU_MEMORY, VENDOR_IDS = {"nvidia": "cuda", "amd": "rocm"}, {"nvidia": "0x10de", "amd": "0x1002"}
LATENCY_HEAD = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    "   99% percentile[usec]   99.9% percentile[usec] \n"
)
BANDWIDTH_HEAD = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
LATENCY_US, BROKEN = 1.95, "broken"


def meet(nodes) -> None:
    """Tell every node which peers of its cluster are slow, and where."""
    clusters = {}
    for node in nodes:
        clusters.setdefault(node.cluster, []).append(node)
    for members in clusters.values():
        fastest = max((nic.rate_gbps for node in members for nic in node.nics), default=0)
        for node in members:
            slow = {nic.name: 0.9785 * nic.rate_gbps for nic in node.nics if nic.rate_gbps < fastest}
            for name, gbps in slow.items():
                node.network.setdefault("write", {}).setdefault(name, gbps)
        for node in members:
            node.peers = {}
            for peer in members:
                there = {
                    **peer.network,
                    **({"path": peer.network["paths"][node.name]} if node.name in peer.network.get("paths", {}) else {}),
                }
                there.update({"path": node.network["paths"][peer.name]} if peer.name in node.network.get("paths", {}) else {})
                there.pop("paths", None)
                if peer is not node and there:
                    node.peers[peer.name] = there


def render(node: SimNode) -> dict:
    """The records of rdma_bandwidth and mgmt_network."""
    vendor = VENDOR_IDS[node.vendor]
    gpus, kind = {nic.name: nic.gpu for nic in node.nics}, "0x030200" if node.vendor == "nvidia" else "0x120000"
    commands = [
        command(["ib_write_bw", "--help"], HELP + GPU_HELP[node.vendor], duration_s=0.01),
        command(["ib_write_bw", "--version"], "Version: 6.23\n", duration_s=0.01),
    ]
    for nic in node.nics:
        for traffic, (test, _) in KINDS.items():
            if traffic == "gpu" and gpus[nic.name] is None:
                continue
            on_gpu = {"gpu": gpus[nic.name], "gpu_memory": GPU_MEMORY[node.vendor]}
            argv = rdma_bandwidth.command({**test, "device": nic.name, **on_gpu}, SETTINGS)
            commands += [_perftest(node, nic, traffic, [*argv, ANY], {})]
            commands += [
                _perftest(node, nic, traffic, [*argv, name], peer) for name, peer in node.peers.items() if _matters(peer, traffic, nic)
            ]
            if traffic == "write":
                commands.append(_perftest(node, nic, "loopback", [*argv, "loopback"], {}))
    commands += [record for name in (ANY, *node.peers) for record in _front(node, name, node.peers.get(name, {}))]
    return {
        "commands": commands,
        "files": [file("/sys/class/net/eno1/mtu", f"{MTU}\n")],
        "trees": [
            tree(
                "/sys/bus/pci/devices",
                {f"{gpu.pci}/{name}": text + "\n" for gpu in node.gpus for name, text in (("class", kind), ("vendor", vendor))},
            ),
            tree("/sys/kernel/mm/memory_peers", {} if node.vendor == "nvidia" else {"amdkfd/version": "1.0\n"}),
            *([tree(KFD, _kfd(node))] if node.vendor == "amd" else []),
        ],
    }


def _kfd(node):
    """The kernel's list of its processors: CPUs first, then GPUs."""
    nodes = {f"{number}/properties": "cpu_cores_count 96\nsimd_count 0\nlocation_id 0\ndomain 0\n" for number in range(2)}
    for number, gpu in enumerate(node.gpus, 2):
        domain, bus, place = gpu.pci.split(":")
        location = int(bus, 16) << 8 | int(place.split(".")[0], 16) << 3 | int(place.split(".")[1])
        nodes[f"{number}/properties"] = f"cpu_cores_count 0\nsimd_count 1216\nlocation_id {location}\ndomain {int(domain, 16)}\n"
    return nodes


def _matters(peer, kind, nic):
    """Is this kind of traffic with that peer otherwise than with any?"""
    return any(nic.name in peer.get(key, ()) for key in (*_keys(kind), BROKEN, *(["no_pfc"] if kind == "incast" else [])))


def _keys(kind):
    """What holds a kind of traffic back: a slow rail is slow to read from, and from GPU memory, too."""
    return (kind, "path", "write") if kind in ("read", "gpu") else (kind, "path")


def _rate(node, nic, kind, peer):
    """Gb/s that both ends and the path between let through; None where nothing arrives."""
    ends = (node.network, peer)
    if any(nic.name in end.get(BROKEN, ()) for end in ends) and kind != "loopback":
        return None
    share = KINDS.get(kind, KINDS["write"])[1]
    caps = [end.get(key, {}).get(nic.name) for end in ends for key in _keys(kind)]
    rate = min([share * max(nic.rate_gbps, 1), *(cap for cap in caps if cap is not None)])
    return (rate / 8 if kind == "incast" else rate) * (1 - crc32(f"{node.name} {nic.name} {kind}".encode()) % 40 / 20000)


def _perftest(node, nic, kind, argv, peer):
    test = KINDS.get(kind, KINDS["write"])[0]
    if kind == "latency":
        caps = [end.get("latency", {}).get(nic.name, 0) for end in (node.network, peer)]
        latency = max(LATENCY_US, *caps) + crc32(node.name.encode()) % 10 / 100
        broken = any(nic.name in end.get(BROKEN, ()) for end in (node.network, peer))
        rows = f" 2       5000          {latency - 0.1:.2f}           {latency * 3:.2f}         {latency:.2f}     \t       {latency:.2f}   "
        rows += f"     \t0.07   \t\t{latency + 0.2:.2f}    \t\t{latency + 2:.2f}   \n"
        head = LATENCY_HEAD
    else:
        rate = _rate(node, nic, kind, peer)
        broken, head = rate is None, BANDWIDTH_HEAD
        rows = "" if broken else f" 1048576    {int(rate * 596)}           0.00               {rate:.2f} \t\t   {rate / 8388.608:.6f}\n"
    lossy = kind == "incast" and any(nic.name in end.get("no_pfc", ()) for end in (node.network, peer))
    text = _banner(node, nic, test, kind) + LINE + head
    if node.network.get("hangs") == nic.name and kind == "write":
        return hung(argv, text, timeout_s=60.0)
    if broken or lossy:
        text += " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0\n"
        return command(argv, text, rc=1, stderr=" Failed to complete run_iter_bw function successfully\n", duration_s=4.3)
    return command(argv, text + rows + LINE, duration_s=5.4 if kind != "latency" else 0.7)


def _banner(node, nic, test, kind):
    roce = nic.link_layer == "Ethernet"
    gid = " GID index       : 3\n" if roce else ""
    cuda = f"initializing CUDA\nPicking device No. {nic.gpu}\nmaking it the current CUDA Ctx\n" if kind == "gpu" else ""
    cuda = f"Using ROCm Device with ID: {nic.gpu}\n" if cuda and node.vendor == "amd" else cuda
    qps, layer = (1 if kind in ("incast", "latency") else 4), "Ethernet" if roce else "IB"
    return (
        f"{cuda}{LINE}                    {TITLES[test['verb']]}\n Dual-port       : OFF\t\tDevice         : {nic.name}\n"
        f" Number of qps   : {qps}\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n"
        f" Mtu             : 4096[B]\n Link type       : {layer}\n{gid} rdma_cm QPs     : OFF\n Data ex. method : Ethernet\n"
    )


# --- the front-end network ------------------------------------------------------------------------------------------------------------


def _front(node, name, peer):
    """ping and iperf3 with one peer (or any), and the route to it."""
    ends = [end.get("front", {}) for end in (node.network, peer)]
    if name != ANY and not any(ends[1:]):
        return
    loss = max(end.get("loss_pct", 0.0) for end in ends)
    rtt = max(end.get("rtt_ms", 0.09) for end in ends)
    black = any(end.get("black_hole") for end in ends)
    mbps = min(end.get("mbps", FRONT["cap_mbps"]) for end in ends)
    yield command(
        [*mgmt_network.pings(FRONT), name],
        _ping(name, 56, 20, round(20 * (1 - loss / 100)), rtt),
        rc=0 if loss < 100 else 1,
        duration_s=3.9,
    )
    route = json.dumps([{"dst": name, "dev": "eno1", "prefsrc": node.name, "uid": 0}]) + "\n"
    yield command([*mgmt_network.ROUTE, name], route, duration_s=0.003)
    full = mgmt_network.full(MTU, "")
    yield command([*full, name], _ping(name, MTU - 28, 3, 0 if black else 3, rtt), rc=int(black), duration_s=2.1 if black else 0.45)
    for reverse in (False, True):
        yield command([*mgmt_network.bandwidth(FRONT, reverse), name], _iperf3(name, mbps, reverse), duration_s=2.1)


def _ping(name, size, sent, received, rtt):
    times = f"rtt min/avg/max/mdev = {rtt * 0.8:.3f}/{rtt:.3f}/{rtt * 1.9:.3f}/{rtt / 9:.3f} ms\n" if received else "\n"
    loss = 100 * (sent - received) / sent
    return (
        f"PING {name} ({name}) {size}({size + 28}) bytes of data.\n\n--- {name} ping statistics ---\n"
        f"{sent} packets transmitted, {received} received, {loss:g}% packet loss, time {sent * 201}ms\n{times}"
    )


def _iperf3(name, mbps, reverse):
    bits = mbps * 1e6 * 0.9994
    told = {"seconds": 2.0, "bits_per_second": bits, "bytes": int(bits / 4)}
    start = {"version": "iperf 3.16", "connected": [{"local_host": "-", "remote_host": name}]}
    test = {"protocol": "TCP", "num_streams": 1, "reverse": int(reverse), "target_bitrate": FRONT["cap_mbps"] * 1000000}
    return json.dumps(
        {"start": {**start, "test_start": test}, "intervals": [], "end": {"sum_sent": {**told, "retransmits": 0}, "sum_received": told}}
    )
