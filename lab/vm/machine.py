#!/usr/bin/env python3
"""Small virtual machines with a kernel of their own: soft-RoCE, netem, a ring buffer, a boot id. Needs root and the packages of lab/setup.

    lab/vm/machine.py up          two machines, vm1 and vm2, and the network between them; prints seconds
    lab/vm/machine.py on vm1 rdma link                lab/vm/machine.py down

The image is made once from Debian's packages (lab/vm/build) and kept in /var/cache/accept-lab (ACCEPT_LAB_CACHE) under a sum of what it is
made from; each machine writes to an overlay of its own. What runs lives in one folder (ACCEPT_LAB_VM, else /run/accept-lab/vm).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import wires

HERE = Path(__file__).resolve().parent
PROGRAMS = ("qemu-system-x86_64", "qemu-img", "mmdebstrap", "mke2fs", "ssh", "ip", "setpriv")
PARTS = ("base.ext4", "vmlinuz", "initrd.img", "known_hosts", "id")
BOOT_S = 420  # an emulated processor on a busy machine; 20 s on a quiet one
# A plain model: an emulated processor with all features is slower. Counting on them costs nothing where the hardware runs the guest.
CPU = {"tcg": "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,-svm", "kvm": "host"}
COMMAND_LINE = (
    "root=LABEL=labroot rw rootfstype=ext4 console=ttyS0 quiet loglevel=4 systemd.show_status=0 net.ifnames=0 mitigations=off nokaslr "
    "apparmor=0 audit=0 no_timer_check tsc=reliable cryptomgr.notests random.trust_cpu=on 8250.nr_uarts=1 rcupdate.rcu_expedited=1"
)


def work() -> Path:
    return Path(os.environ.get("ACCEPT_LAB_VM") or "/run/accept-lab/vm")


def lacking() -> str:
    """Why no machine can be started here; empty where one can."""
    if os.geteuid() != 0:
        return "virtual machines need root: their image and their network"
    if os.uname().machine != "x86_64":
        return f"virtual machines are made for x86_64, this is {os.uname().machine}"
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    if absent:
        return f"not installed: {', '.join(absent)} (lab/setup)"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun: no network between virtual machines"
    return ""


def accelerator() -> str:
    """/dev/kvm may open and start no guest; the processor's own word counts."""
    flags = set(re.findall(r"\w+", Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("flags")[2].partition("\n")[0]))
    return "kvm" if flags & {"vmx", "svm"} and os.access("/dev/kvm", os.W_OK) else "tcg"


def image() -> Path:
    """The folder of the guest's image, made if need be; RuntimeError says why it could not."""
    made_from = b"".join((HERE / name).read_bytes() for name in ("packages.txt", "build", "customize"))
    folder = Path(os.environ.get("ACCEPT_LAB_CACHE") or "/var/cache/accept-lab") / hashlib.sha256(made_from).hexdigest()[:16]
    if not all((folder / part).exists() for part in PARTS):
        shutil.rmtree(folder, ignore_errors=True)
        making = folder.with_name(f"{folder.name}.{os.getpid()}")
        done = subprocess.run([HERE / "build", making], capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(making, ignore_errors=True)
            raise RuntimeError(f"no image for virtual machines: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
        making.rename(folder)
    return folder


class Machine:
    """One machine: `name`, its folder, and ssh to it. `attached`: it ends with the process that started it, whatever becomes of that."""

    def __init__(self, name: str, folder: Path, base: Path):
        self.name, self.folder, self.base = name, folder, base
        self.config, self.port = folder.parent / "ssh_config", None

    def start(self, taps, attached=True, memory_mib=768) -> None:
        """Begin to boot with a fresh disk. `taps`: (interface here, its address there) of eth1, eth2, ..."""
        self.folder.mkdir(parents=True)
        self.port = _free_port()
        subprocess.run(
            ["qemu-img", "create", "-q", "-f", "qcow2", "-b", self.base / "base.ext4", "-F", "raw", self.folder / "disk.qcow2"], check=True
        )
        kind = accelerator()
        argv = ["setpriv", "--pdeathsig", "KILL"] if attached else []
        argv += ["qemu-system-x86_64", "-name", self.name, "-machine", f"q35,accel={kind}", "-cpu", CPU[kind], "-m", str(memory_mib)]
        argv += ["-smp", "2", "-display", "none", "-nodefaults", "-no-user-config", "-serial", f"file:{self.folder / 'console'}"]
        argv += ["-monitor", f"unix:{self.folder / 'monitor'},server=on,wait=off", "-kernel", self.base / "vmlinuz"]
        argv += ["-initrd", self.base / "initrd.img", "-append", f"{COMMAND_LINE} systemd.hostname={self.name}"]
        argv += ["-drive", f"file={self.folder / 'disk.qcow2'},if=virtio,format=qcow2,cache=unsafe"]
        # Reached by ssh alone; the guest reaches nothing outside.
        argv += ["-netdev", f"user,id=eth0,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22", "-device", "virtio-net-pci,netdev=eth0"]
        for place, (tap, mac) in enumerate(taps, 1):
            argv += ["-netdev", f"tap,id=eth{place},ifname={tap},script=no,downscript=no,vhost=off"]
            argv += ["-device", f"virtio-net-pci,netdev=eth{place},mac={mac},speed=100000,duplex=full"]
        with open(self.folder / "qemu.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.folder / "pid").write_text(str(process.pid))

    def ssh_config(self) -> str:
        known = f"  IdentityFile {self.base / 'id'}\n  UserKnownHostsFile {self.base / 'known_hosts'}\n  HostKeyAlias accept-lab\n"
        return (
            f"Host {self.name}\n  HostName 127.0.0.1\n  Port {self.port}\n  User root\n{known}  IdentitiesOnly yes\n  BatchMode yes\n"
            f"  StrictHostKeyChecking yes\n  ConnectTimeout 40\n  LogLevel ERROR\n  ControlPath {self.folder}/%C\n"
        )

    def run(self, command, timeout_s=120, check=True) -> subprocess.CompletedProcess:
        """A command line of the guest's shell; over one connection that stays."""
        argv = ["ssh", "-F", self.config, "-o", "ControlMaster=auto", "-o", "ControlPersist=600", self.name, command]
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=check)

    def say(self, command) -> str:
        """What a command prints, its errors beside."""
        done = self.run(f"({command}) 2>&1", check=False)
        return done.stdout + done.stderr

    def boot_id(self) -> str:
        """Empty where the guest does not answer: never to be taken for another boot."""
        argv = [
            "ssh",
            "-F",
            self.config,
            "-o",
            "ControlPath=none",
            "-o",
            "ConnectTimeout=10",
            self.name,
            "cat /proc/sys/kernel/random/boot_id",
        ]
        try:
            return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False).stdout.strip()
        except subprocess.TimeoutExpired:
            return ""

    def wait(self, other_than="", limit_s=BOOT_S) -> str:
        """The boot id, as soon as it is there (and another one). An open port means nothing: it is open while the guest is down."""
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            if not self.running():
                raise RuntimeError(f"{self.name}: qemu ended: {(self.folder / 'qemu.log').read_text()[-300:]}")
            found = self.boot_id()
            if found and found != other_than:
                return found
            time.sleep(0.5)
        raise TimeoutError(f"{self.name}: no answer by ssh within {limit_s} s; its console: {self.folder / 'console'}")

    def reboot(self, limit_s=BOOT_S) -> float:
        """Seconds until it is back with another boot id. Addresses and RDMA links are gone then."""
        before, began = self.wait(), time.monotonic()
        self.run("systemctl reboot", check=False)
        self.hang_up()
        self.wait(other_than=before, limit_s=limit_s)
        return time.monotonic() - began

    def hang_up(self) -> None:
        """Give the standing connection up."""
        subprocess.run(["ssh", "-F", self.config, "-O", "exit", self.name], capture_output=True, check=False)

    def monitor(self, command) -> None:
        """A line for QEMU's monitor: set_link eth1 off, system_reset, ..."""
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(str(self.folder / "monitor"))
            link.recv(4096)
            link.sendall(command.encode() + b"\n")
            time.sleep(0.3)
            link.recv(4096)

    def running(self) -> bool:
        return self.name in _command_line(self._pid())

    def stop(self) -> None:
        """Pull the plug."""
        self.hang_up()
        pid = self._pid()
        if self.running():
            os.kill(pid, signal.SIGKILL)
        for _ in range(100):
            with contextlib.suppress(OSError):  # not our child: nobody to wait for
                os.waitpid(pid, os.WNOHANG)
            if not _command_line(pid):
                return
            time.sleep(0.05)

    def _pid(self) -> int:
        try:
            return int((self.folder / "pid").read_text())
        except (OSError, ValueError):
            return 0


class Pair:
    """vm1 and vm2 with two rails, each end of a rail in a subnet of its own behind a router, and a flat front-end network."""

    names = ("vm1", "vm2")

    def __init__(self, folder: Path):
        self.folder = folder
        self.wires = wires.Wires(folder, self.names)

    def up(self, attached=True) -> Pair:
        self.down()
        shutil.rmtree(self.folder, ignore_errors=True)
        base = image()
        self.folder.mkdir(parents=True)
        self.machines = {name: Machine(name, self.folder / name, base) for name in self.names}
        try:
            self.wires.up()
            for name, machine in self.machines.items():
                machine.start(self.wires.taps(name), attached)
            (self.folder / "ssh_config").write_text("".join(machine.ssh_config() for machine in self.machines.values()))
            self.wires.join(lambda: all(machine.running() for machine in self.machines.values()))
            for machine in self.machines.values():
                machine.wait()
                self.address(machine)
        except BaseException:
            self.down()
            raise
        return self

    def address(self, machine, rails=True) -> None:
        """Addresses, routes and soft-RoCE devices, as after each boot. rails=False: link-local addresses alone on the rails."""
        machine.run(self.wires.setup(machine.name, rails))

    def down(self) -> None:
        for name in self.names:
            Machine(name, self.folder / name, Path()).stop()
        self.wires.down()

    def __getitem__(self, name) -> Machine:
        return self.machines[name]


def _command_line(pid) -> str:
    """Empty for what has ended, a zombie too."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text() if pid else ""
    except OSError:
        return ""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = parser.add_subparsers(dest="word", required=True)
    words.add_parser("up")
    words.add_parser("down")
    on = words.add_parser("on")
    on.add_argument("machine", choices=Pair.names)
    on.add_argument("argv", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    reason = lacking()
    if reason:
        print(f"lab: {reason}", file=sys.stderr)
        return 3
    pair, began = Pair(work()), time.monotonic()
    if args.word == "on":
        argv = ["ssh", "-F", pair.folder / "ssh_config", args.machine, shlex.join(args.argv)]
        return subprocess.run(argv, check=False).returncode
    if args.word == "up":
        pair.up(attached=False)
        print(f"vm1 and vm2 answer after {time.monotonic() - began:.0f} s")
    else:
        pair.down()
    return 0


if __name__ == "__main__":
    sys.exit(main())
