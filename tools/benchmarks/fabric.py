"""The fabric: Python time of a node with 16 ports and full GID tables, on real files; the cables of a large cluster."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from accept_node.collectors import gid_check, ib_config, roce_config
from accept_node.envelope import collect
from accept_node.node import LiveNode, RecordingNode

from . import cabling, pairs
from .measure import at_most

PORTS, ENTRIES = 16, 256
RUNS = 7


class Folder(LiveNode):
    """A live node whose /sys lies in a folder; no tool is installed there, and nothing is waited for."""

    def __init__(self, root):
        self.root = str(root)

    def run(self, argv, timeout_s=30.0):
        return super().run(["/nonexistent/" + argv[0]], timeout_s)

    def read(self, path, timeout_s=10.0):
        return super().read(self.root + path, timeout_s)

    def read_tree(self, root, patterns, timeout_s=30.0):
        return super().read_tree(self.root + root, patterns, timeout_s)

    def listdir(self, path):
        return super().listdir(self.root + path)

    def sleep(self, seconds):
        pass


def figures():
    with tempfile.TemporaryDirectory(prefix="accept-bench-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        write_ports(Path(folder))
        took = []
        for _ in range(RUNS):
            node, start = RecordingNode(Folder(folder)), time.process_time()
            data = {module.__name__: collect("fabric", module.collect, node)["data"] for module in (gid_check, roce_config, ib_config)}
            took.append(1000 * (time.process_time() - start))
        ports = data[gid_check.__name__]["ports"]
        assert len(ports) == PORTS
        assert all(port["table"] == ENTRIES and len(port["gids"]) + port["gids_left_out"] == ENTRIES for port in ports)
        note = f"median of {RUNS}, {PORTS} ports x {ENTRIES} GIDs, CPU time of the three concerns without their tools"
        yield at_most("node_python_ms", statistics.median(took), "ms", 300, note)
    yield from cabling.figures()
    yield from pairs.figures()


def write_ports(folder: Path) -> None:
    """A class folder as the kernel shows it, every slot of every GID table in use."""
    for number in range(PORTS):
        device = folder / "sys/class/infiniband" / f"mlx5_{number}"
        port, netdev = device / "ports/1", f"rail{number}"
        for path, text in {
            device / "fw_ver": "28.46.3008",
            device / "board_id": "MT_0000000838",
            device / "hca_type": "MT4129",
            port / "state": "4: ACTIVE",
            port / "phys_state": "5: LinkUp",
            port / "rate": "400 Gb/sec (4X NDR)",
            port / "link_layer": "Ethernet",
            folder / "sys/class/net" / netdev / "operstate": "up",
            folder / "sys/class/net" / netdev / "mtu": "9000",
            **{port / "counters" / name: "0" for name in (*ib_config.LINK_ERRORS, *ib_config.DISCARDS)},
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        for name in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
            (port / name).mkdir(parents=True)
        for index in range(ENTRIES):
            (port / f"gids/{index}").write_text(f"0000:0000:0000:0000:0000:ffff:0a{number:02x}:{index // 2:04x}\n")
            (port / f"gid_attrs/types/{index}").write_text("RoCE v2\n" if index % 2 else "IB/RoCE v1\n")
            (port / f"gid_attrs/ndevs/{index}").write_text(netdev + "\n")
