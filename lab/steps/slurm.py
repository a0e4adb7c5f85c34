"""A Slurm of this machine for launches as steps: slurmctld, a slurmd for each node, munge and PMIx, all in one folder.

The nodes share this machine's name and address, and differ by their ports; ranks of two nodes talk over TCP. What is run by `enter` finds
the configuration where programs look for it, in a mount namespace of its own.
"""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

NEEDED = ("slurmctld", "slurmd", "srun", "sbatch", "munged", "mpirun")
PORT = 16917
CONF = """ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/run/munge.sock
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool/%n
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
TmpFS={folder}/tmp/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
NodeName=DEFAULT CPUs=4 RealMemory=1000 State=UNKNOWN
"""
# Ranks of two "nodes" are on one machine and do not know it: no shared memory between them
PYTHON = """#!/bin/sh
export OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1 OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1
exec python3 "$@"
"""


def lacking() -> str:
    """Why there can be no such Slurm here; empty where there can."""
    if os.geteuid():
        return "Slurm's daemons need root"
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        return f"not installed: {', '.join(missing)} (slurmctld, slurmd, slurm-client, munge, openmpi-bin)"
    if not glob.glob("/usr/lib/*/libpmix.so"):
        return "not installed: libpmix.so, which Slurm loads by that name (libpmix-dev)"
    return "" if Path("/etc/slurm").is_dir() else "there is no folder /etc/slurm to mount the configuration on"


class Slurm:
    def __init__(self, folder: Path, count: int):
        self.folder, self.names = folder, [f"node{number}" for number in range(1, count + 1)]
        self.python = folder / "python"

    def up(self):
        host = socket.gethostname().split(".")[0]
        text = CONF.format(host=host, port=PORT, folder=self.folder)
        for place, name in enumerate(self.names):
            text += f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={PORT + 100 + place}\n"
            for part in ("tmp", "spool"):
                (self.folder / part / name).mkdir(parents=True)
            (self.folder / "tmp" / name).chmod(0o1777)
        text += f"PartitionName=all Nodes={','.join(self.names)} Default=YES MaxTime=INFINITE State=UP\n"
        for part in ("run", "state", "etc"):
            (self.folder / part).mkdir(mode=0o755)
        for at in (self.folder, *self.folder.parents[:-1]):
            at.chmod(at.stat().st_mode | 0o011)  # munge refuses a socket that others cannot reach
        (self.folder / "etc/slurm.conf").write_text(text)
        (self.folder / "etc/cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self.python.write_text(PYTHON)
        self.python.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        run = self.folder / "run"
        munge = [f"--socket={run}/munge.sock", f"--key-file={key}", f"--pid-file={run}/munged.pid", f"--seed-file={run}/seed"]
        self._start("munged", *munge, f"--log-file={run}/munged.log", "--force")
        conf = str(self.folder / "etc/slurm.conf")
        self._start("slurmctld", "-f", conf)
        for name in self.names:
            self._start("slurmd", "-f", conf, "-N", name)
        until = time.monotonic() + 30
        while self.states() != ["idle"]:
            if time.monotonic() > until:
                raise RuntimeError(f"nodes are {self.states()}: {(self.folder / 'slurmctld.log').read_text()[-500:]}")
            time.sleep(0.3)
        return self

    def _start(self, *argv):
        done = subprocess.run(argv, env=self._env(), capture_output=True, text=True, timeout=30, check=False)
        if done.returncode:
            raise RuntimeError(f"{argv[0]}: {done.stderr.strip()[-300:]}")

    def _env(self):
        return {**os.environ, "SLURM_CONF": str(self.folder / "etc/slurm.conf")}

    def ask(self, *argv) -> list[str]:
        done = subprocess.run(argv, env=self._env(), capture_output=True, text=True, timeout=20, check=False)
        return done.stdout.split()

    def states(self):
        return sorted(set(self.ask("sinfo", "-h", "-o", "%t")))

    def jobs(self):
        return self.ask("squeue", "-h", "-o", "%i")

    def enter(self, argv) -> list:
        """argv, for which /etc/slurm is this Slurm's."""
        mount = f'mount --bind {self.folder}/etc /etc/slurm && exec "$@"'
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, "sh", *map(str, argv)]

    def down(self):
        """Each daemon by the number that it wrote down."""
        for path in (*self.folder.glob("*.pid"), *self.folder.glob("run/*.pid")):
            try:
                os.kill(int(path.read_text()), 15)
            except (OSError, ValueError):
                continue
