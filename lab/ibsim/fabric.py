#!/usr/bin/env python3
"""Start and stop a simulated InfiniBand fabric with hosts that tools and collectors can run on. Needs root and the packages of lab/setup.

    lab/ibsim/fabric.py up [--swap gpu002,gpu003] [--narrow gpu004]     lab/ibsim/fabric.py down
    lab/ibsim/fabric.py tell 'Unlink "S-0002c90300000210"[12]'          lab/ibsim/fabric.py on gpu001 iblinkinfo

Each host is a mount namespace: /sys/class/infiniband is the simulator's, and the InfiniBand tools in /usr/local/sbin talk to it. Everything
lives in one folder (ACCEPT_LAB_IBSIM, else /run/accept-lab/ibsim); nothing else of the machine is touched.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import topology

TOOLS = ("iblinkinfo", "ibnetdiscover", "ibqueryerrors", "saquery", "smpquery", "sminfo", "perfquery", "ibstat", "ibportstate")
PROGRAMS = ("ibsim", "opensm", "iblinkinfo", "unshare")
PRELOAD = ("/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so", "/usr/lib/aarch64-linux-gnu/umad2sim/libumad2sim.so")
NODE = Path(__file__).resolve().parent / "node"
SEARCH = "/usr/sbin:/usr/bin:/sbin:/bin"
MANAGER = "gpu001"  # the subnet manager runs there


def work() -> Path:
    return Path(os.environ.get("ACCEPT_LAB_IBSIM") or "/run/accept-lab/ibsim")


def lacking() -> str:
    """Why the fabric cannot be started here; empty where it can."""
    if os.geteuid() != 0:
        return "the simulated fabric needs root: mount namespaces"
    absent = [name for name in PROGRAMS if not shutil.which(name, path=SEARCH)]
    if absent or not _preload():
        return f"not installed: {', '.join(absent) or 'umad2sim'} (lab/setup)"
    if subprocess.run(["unshare", "--mount", "--uts", "true"], capture_output=True, check=False).returncode:
        return "mount namespaces are not allowed here"
    return ""


def _preload():
    return next((path for path in PRELOAD if os.path.exists(path)), "")


class Fabric:
    """A running fabric in a folder."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.socket = "accept-" + self.folder.name + f"-{os.stat(self.folder.parent).st_ino}"

    def up(self, swapped=(), narrow=()) -> None:
        """Write topology, partitions and hosts, start simulator and subnet manager, wait until the subnet is up."""
        self.down()
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "cache").mkdir(parents=True)
        self._write("fabric.net", topology.render(swapped, narrow))
        self._write("partitions.conf", topology.partitions())
        self._write("opensm.conf", self._manager_conf())
        for host in (*topology.OURS, *topology.OTHERS):
            self._host(host)
        os.mkfifo(self.folder / "console")
        self._start("console", ["sleep", "infinity"], stdout=os.open(self.folder / "console", os.O_RDWR))
        console = os.open(self.folder / "console", os.O_RDWR)
        self._start("ibsim", ["ibsim", "-s", "fabric.net"], stdin=console, log="ibsim.log")
        os.close(console)
        self._until("ibsim.log", "simulator ready", 10)
        env = {"LD_PRELOAD": _preload(), "SIM_HOST": topology.node_id(MANAGER), "OSM_TMP_DIR": str(self.folder)}
        env["OSM_CACHE_DIR"] = str(self.folder / "cache")
        self._start("opensm", ["opensm", "-F", "opensm.conf", "-f", str(self.folder / "opensm.log")], env, log="opensm.out")
        self._until("opensm.log", "SUBNET UP", 30)

    def down(self) -> None:
        """The subnet manager first: one that outlives the simulator ignores every signal but the last."""
        for name in ("opensm", "ibsim", "console"):
            try:
                pid = int((self.folder / f"{name}.pid").read_text())
                ours = name in Path(f"/proc/{pid}/cmdline").read_text() or name == "console"
            except (OSError, ValueError):
                continue
            for sign in (signal.SIGTERM, signal.SIGKILL) if ours else ():
                try:
                    os.killpg(pid, sign)
                except OSError:
                    break
                _wait(pid, 2)
            (self.folder / f"{name}.pid").unlink(missing_ok=True)

    def tell(self, command: str) -> None:
        """One line to the simulator's console: Link, Unlink, ReLink, PerformanceSet, Error."""
        with open(self.folder / "console", "w", encoding="ascii") as console:
            console.write(command + "\n")

    def on(self, host: str, argv, **options) -> subprocess.CompletedProcess:
        """Run a command on a host."""
        return subprocess.run([str(self.folder / "hosts" / host / "run"), *argv], capture_output=True, text=True, check=False, **options)

    def _manager_conf(self):
        made = self.folder / "opensm.conf"
        subprocess.run(["opensm", "-c", str(made)], cwd=self.folder, capture_output=True, check=True, env={**os.environ, "PATH": SEARCH})
        wanted = {"partition_config_file": str(self.folder / "partitions.conf"), "force_log_flush": "TRUE"}
        lines = made.read_text().splitlines()
        return (
            "\n".join(
                f"{line.split()[0]} {wanted[line.split()[0]]}" if line.split()[:1] and line.split()[0] in wanted else line for line in lines
            )
            + "\n"
        )

    def _host(self, host):
        folder = self.folder / "hosts" / host
        (folder / "bin").mkdir(parents=True)
        (folder / "class").mkdir()
        env = f"IBSIM_SOCKNAME={self.socket} SIM_HOST={topology.node_id(host)} LD_PRELOAD={_preload()}"
        for tool in TOOLS:  # a client that is killed leaves a folder where it ran: each gets one of its own
            path = shutil.which(tool, path=SEARCH)
            if path:
                self._script(folder / "bin" / tool, f'd=$(mktemp -d) && cd "$d" && {env} {path} "$@"; rc=$?; cd / && rm -rf "$d"; exit $rc')
        self._script(folder / "snapshot", f'exec env {env} "{sys.executable}" "{NODE.parent}/snapshot.py" "$1"')
        self._script(folder / "run", f'exec "{NODE}" "{folder}" {host} "$@"')
        self._script(folder / "python", f'exec "{NODE}" "{folder}" {host} "{sys.executable}" "$@"')

    def _script(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def _write(self, name, text):
        (self.folder / name).write_text(text)

    def _start(self, name, argv, env=None, log="", **streams):
        if log:
            streams["stdout"] = os.open(self.folder / log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            streams["stderr"] = subprocess.STDOUT
        given = {**os.environ, "PATH": SEARCH, "IBSIM_SOCKNAME": self.socket, **(env or {})}
        streams.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(argv, cwd=self.folder, env=given, start_new_session=True, **streams)
        self._write(f"{name}.pid", str(process.pid))
        if "stdout" in streams:
            os.close(streams["stdout"])  # the child keeps its own

    def _until(self, log, words, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            text = (self.folder / log).read_text(errors="replace") if (self.folder / log).exists() else ""
            if words in text:
                return
            time.sleep(0.05)
        self.down()
        raise TimeoutError(f"{log}: no {words!r} in {seconds} s")


def _wait(pid, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            if not os.path.exists(f"/proc/{pid}"):
                return
        time.sleep(0.02)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = parser.add_subparsers(dest="word", required=True)
    up = words.add_parser("up")
    up.add_argument("--swap", metavar="A,B", action="append", default=[])
    up.add_argument("--narrow", metavar="HOST", action="append", default=[])
    words.add_parser("down")
    words.add_parser("tell").add_argument("command")
    on = words.add_parser("on")
    on.add_argument("host", choices=(*topology.OURS, *topology.OTHERS))
    on.add_argument("argv", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    reason = lacking()
    if reason:
        print(f"lab: {reason}", file=sys.stderr)
        return 3
    work().parent.mkdir(parents=True, exist_ok=True)
    fabric = Fabric(work())
    if args.word == "up":
        fabric.up([tuple(pair.split(",")) for pair in args.swap], args.narrow)
    elif args.word == "down":
        fabric.down()
    elif args.word == "tell":
        fabric.tell(args.command)
    else:
        done = fabric.on(args.host, args.argv)
        print(done.stdout, end="")
        print(done.stderr, end="", file=sys.stderr)
        return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
