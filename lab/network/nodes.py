"""Nodes that are network namespaces of this machine, on one bridge: own addresses, own jobs, real tools between them, netem on any of them.

A node's Ansible interpreter is a script that enters its namespace; the play itself runs here. perftest needs RDMA hardware: a stand-in that
speaks its options and prints its table takes its place, so that servers, clients, ports, deadlines and barriers are real.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NEEDED = ("ip", "tc", "iperf3", "ping")
SUBNET = "10.203.7"
ENTER = """#!/bin/sh
# Enter {name}: its network, its own folder of jobs, the stand-in for perftest first in the search path, and its RDMA devices.
exec ip netns exec {name} unshare --mount --propagation private sh -c '
mkdir -p /run/accept && mount --bind {folder}/run /run/accept && mount --bind {folder}/bin /usr/local/sbin
mount -t overlay accept -o lowerdir={folder}/sys:/sys/class /sys/class
exec {python} "$@"' sh "$@"
"""


def lacking() -> str:
    """Why no such nodes can be made here; empty where they can."""
    if os.geteuid():
        return "network namespaces need root"
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        return f"not installed: {', '.join(missing)} (iproute2, iperf3, iputils-ping)"
    made = subprocess.run(["ip", "netns", "add", "acc-probe"], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "del", "acc-probe"], capture_output=True, check=False)
    return f"no network namespace can be made: {made.stderr.strip()}" if made.returncode else ""


class Nodes:
    """acc1, acc2, ... on one bridge; down() takes all away."""

    def __init__(self, folder: Path, count: int, prefix: str = "acc", subnet: str = SUBNET):
        self.folder, self.prefix, self.bridge = folder, prefix, f"{prefix}br0"
        self.names = [f"{prefix}{number}" for number in range(1, count + 1)]
        self.wires: dict = {}
        self.address = {name: f"{subnet}.{number}" for number, name in enumerate(self.names, 1)}

    def up(self):
        _ip("link", "add", self.bridge, "type", "bridge")
        _ip("link", "set", self.bridge, "up")
        for name in self.names:
            _ip("netns", "add", name)
            self.mend(name)
            self._files(name)
        return self

    def mend(self, name):
        """A plain cable to the bridge, in the place of whatever there was."""
        wire = self.wires.pop(name, None)
        if wire:
            wire.kill()
            wire.wait()
        subprocess.run(["ip", "link", "del", self._port(name)], capture_output=True, check=False)
        _ip("link", "add", self._port(name), "type", "veth", "peer", "name", "eth0", "netns", name)
        self._address(name)

    def impair(self, name, loss_pct=0.0, delay_ms=0.0):
        """Loss and delay of all that a node sends: netem, or a wire of user space where the kernel has no netem."""
        rule = ["netem", "loss", f"{loss_pct}%", "delay", f"{delay_ms}ms"]
        if subprocess.run(
            ["ip", "netns", "exec", name, "tc", "qdisc", "replace", "dev", "eth0", "root", *rule], capture_output=True, check=False
        ).returncode:
            _ip("link", "del", self._port(name))
            argv = [sys.executable, str(HERE / "wire.py"), name, self._port(name), "eth0", str(loss_pct), str(delay_ms)]
            self.wires[name] = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
            if self.wires[name].stdout.readline().strip() != "ready":
                raise RuntimeError("no wire of user space: /dev/net/tun?")
            self._address(name)

    def _port(self, name):
        return f"{self.prefix}v{self.names.index(name) + 1}"

    def _address(self, name):
        _ip("link", "set", self._port(name), "master", self.bridge, "up")
        _ip("-n", name, "addr", "add", f"{self.address[name]}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", name, "link", "set", device, "up")

    def down(self):
        """Takes what is left away, whatever became of up()."""
        for wire in self.wires.values():
            wire.kill()
            wire.wait()
        self.wires.clear()
        for name in self.names:
            found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False).stdout.split()
            for pid in found:
                subprocess.run(["kill", "-9", pid], capture_output=True, check=False)
            subprocess.run(["ip", "link", "del", self._port(name)], capture_output=True, check=False)
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True, check=False)

    def mtu(self, name, inner, outer):
        """The node thinks its packets may be as long as `inner`; the port behind it drops those longer than `outer`."""
        _ip("-n", name, "link", "set", "eth0", "mtu", str(inner))
        _ip("link", "set", self._port(name), "mtu", str(outer))

    def pids(self, name):
        """What runs in a node."""
        return subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=True).stdout.split()

    def inventory(self) -> dict:
        hosts = {}
        for name in self.names:
            interpreter = str(self.folder / name / "python")
            hosts[name] = {"ansible_host": self.address[name], "ansible_connection": "local", "ansible_python_interpreter": interpreter}
        return {"all": {"children": {"gpu_nodes": {"hosts": hosts}, "head": {"hosts": {self.names[0]: {}}}}}}

    def _files(self, name):
        folder = self.folder / name
        for number in range(2):
            port = folder / "sys/infiniband" / f"mlx5_{number}" / "ports/1"
            (port / "gids").mkdir(parents=True)
            for key, text in (("state", "4: ACTIVE"), ("rate", "400 Gb/sec (4X NDR)"), ("link_layer", "InfiniBand"), ("gids/0", "fe80::1")):
                (port / key).write_text(text + "\n")
        (folder / "run").mkdir(mode=0o700)
        (folder / "bin").mkdir()
        for tool in ("ib_write_bw", "ib_read_bw", "ib_write_lat"):
            _script(folder / "bin" / tool, f'#!/bin/sh\nexec {sys.executable} {HERE / "standin.py"} {tool} {folder / "speed.json"} "$@"\n')
        _script(folder / "python", ENTER.format(name=name, folder=folder, python=sys.executable))


def _script(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def _ip(*argv):
    subprocess.run(["ip", *argv], check=True, capture_output=True, text=True)
