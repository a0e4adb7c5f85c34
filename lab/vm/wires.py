"""The network of a pair of virtual machines, in one namespace of its own: rails through a router, a front end through a bridge.

A router stands in every rail: in a flat network a link-local GID works as well as a routable one, and no test sees a wrong index.
eth1 and eth2 are rails, eth3 is the front end. Machine n has 10.11.<n><rail>.1 on its rails and 10.12.0.<n> in front.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import time

RAILS = (1, 2)
FRONT = 3
BRIDGE = "front"


class Wires:
    def __init__(self, folder, names):
        self.names = names
        self.tag = hashlib.sha256(str(folder).encode()).hexdigest()[:4]
        self.namespace = f"accvm-{self.tag}"

    def taps(self, name) -> list:
        """(interface here, hardware address there) of eth1, eth2, eth3 of a machine."""
        number = self.names.index(name) + 1
        return [(f"acc{self.tag}-{number}{port}", f"52:54:00:0{number}:00:0{port}") for port in (*RAILS, FRONT)]

    def up(self) -> None:
        """The interfaces that qemu opens, here; join() moves them away."""
        self._sweep()
        _ip("netns", "add", self.namespace)
        for name in self.names:
            for tap, _ in self.taps(name):
                _ip("tuntap", "add", "dev", tap, "mode", "tap")

    def _sweep(self):
        """Namespaces of runs that were killed: their machines ended with them, and no interface in there has a carrier."""
        for namespace in re.findall(r"^accvm-\w+", _ip("netns", "list"), re.MULTILINE):
            links = _ip("-n", namespace, "-o", "link", "show")
            if not re.search(r"\bacc\w+-\d+: .*\bLOWER_UP", links):
                subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)

    def join(self, alive) -> None:
        """Into the namespace, once qemu has opened them: an interface that is moved stays what its holder reads and writes."""
        self._wait_for_holders(alive)
        inside = ("-n", self.namespace)
        _ip(*inside, "link", "add", BRIDGE, "type", "bridge")
        _ip(*inside, "link", "set", BRIDGE, "up")
        for number, name in enumerate(self.names, 1):
            for port, (tap, _) in enumerate(self.taps(name), 1):
                _ip("link", "set", tap, "netns", self.namespace)
                if port in RAILS:
                    _ip(*inside, "addr", "add", f"{self.rail(number, port)[:-1]}254/24", "dev", tap)
                else:
                    _ip(*inside, "link", "set", tap, "master", BRIDGE)
                _ip(*inside, "link", "set", tap, "up")
        _ip("netns", "exec", self.namespace, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=0")

    def _wait_for_holders(self, alive):
        """A tap has a carrier as soon as somebody has opened it."""
        names = [tap for name in self.names for tap, _ in self.taps(name)]
        for tap in names:
            _ip("link", "set", tap, "up")
        until = time.monotonic() + 30
        while time.monotonic() < until and alive():
            told = [_ip("-o", "link", "show", "dev", tap) for tap in names]
            if not any("NO-CARRIER" in line for line in told):
                return
            time.sleep(0.1)
        raise TimeoutError("qemu has not opened its network interfaces; its words are in qemu.log")

    def down(self) -> None:
        for name in self.names:
            for tap, _ in self.taps(name):
                subprocess.run(["ip", "link", "del", tap], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "del", self.namespace], capture_output=True, check=False)

    def rail(self, number, rail) -> str:
        """The address of a machine's rail."""
        return f"10.11.{number}{rail}.1"

    def front(self, name) -> str:
        return f"10.12.0.{self.names.index(name) + 1}"

    def setup(self, name, rails=True) -> str:
        """Shell commands for the machine itself: what no reboot keeps."""
        number = self.names.index(name) + 1
        lines = ["modprobe rdma_rxe", f"ip addr replace {self.front(name)}/24 dev eth{FRONT}"]
        for rail in RAILS:
            lines.append(f"rdma link add rxe{rail - 1} type rxe netdev eth{rail}")
            if rails:
                lines.append(self.addressed(number, rail))
        return "\n".join(["set -e", *lines])

    def addressed(self, number, rail) -> str:
        """Give a rail its address, and the way to the other machine's."""
        others = [other for other in range(1, len(self.names) + 1) if other != number]
        gateway = self.rail(number, rail)[:-1] + "254"
        ways = [f"ip route replace {self.rail(other, rail)[:-1]}0/24 via {gateway} dev eth{rail}" for other in others]
        return "\n".join([f"ip addr replace {self.rail(number, rail)}/24 dev eth{rail}", *ways])


def _ip(*argv) -> str:
    return subprocess.run(["ip", *argv], check=True, capture_output=True, text=True).stdout
