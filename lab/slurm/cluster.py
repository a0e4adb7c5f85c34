#!/usr/bin/env python3
"""A real Slurm on hosts that are namespaces of this machine: munge, slurmctld, slurmd, slurmdbd and its database, sshd on each.

  cluster.py run COMMAND...   starts it, runs a command in its network (bash, or ssh -F $ACCEPT_LAB_SLURM/ssh_config ctl), stops it

All of it lives in namespaces below one process, which ends with the one that made it: processes, mounts and links go with it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NEEDED = ("slurmctld", "slurmd", "scontrol", "munged", "sshd", "ssh-keygen", "ip", "nsenter", "unshare", "setpriv")
ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db")
NODES = ("gpu-01", "gpu-02", "gpu-03", "gpu-04")
CTL = "10.77.1.0"

SLURM_CONF = """\
ClusterName=lab
SlurmctldHost=ctl({ctl})
SlurmUser=slurm
AuthType=auth/munge
MailProg=/bin/true
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
MpiDefault=none
GresTypes=gpu
SlurmdTimeout=30
ReturnToService={return_to_service}
TopologyPlugin=topology/tree
HealthCheckProgram=/usr/local/sbin/healthcheck
HealthCheckInterval={health_interval_s}
HealthCheckNodeState=ANY
RebootProgram=/usr/local/sbin/quiet
Prolog=/usr/local/sbin/quiet
Epilog=/usr/local/sbin/quiet
PrivateData={private}
{accounting}
NodeName=DEFAULT CPUs=16 Sockets=2 CoresPerSocket=8 RealMemory=16000 Gres=gpu:h200:8 State=UNKNOWN
{nodes}
PartitionName=gpu Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""
WITH_ACCOUNTING = "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=ctl\nAccountingStorageTRES=gres/gpu"
WITHOUT_ACCOUNTING = "AccountingStorageType=accounting_storage/none"
PRIVATE = "accounts,events,jobs,reservations,usage,users"
TOPOLOGY = "SwitchName=leaf01 Nodes=gpu-0[1-2]\nSwitchName=leaf02 Nodes=gpu-0[3-4]\nSwitchName=spine01 Switches=leaf0[1-2]\n"
GRES_CONF = "Name=gpu Type=h200 File=/dev/nvidia[0-7]\n"
SLURMDBD_CONF = f"""\
AuthType=auth/munge
DbdHost=ctl
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd.pid
PrivateData={PRIVATE}
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm_acct_db
"""
SSHD_CONFIG = """\
Port 22
HostKey /etc/slurm/host_key
PidFile /run/sshd.pid
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
UseDNS no
MaxStartups 100:30:200
Subsystem sftp internal-sftp
SetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""
SPEC = {
    "schema": 1,
    "seed": 3,
    "clusters": [
        {"name": "lab", "prefix": "gpu", "sku": "h200_hgx", "transport": "infiniband", "scheduler": "slurm", "nodes": 4}
        | {"racks": {"leaf01": 2, "leaf02": 2}}
    ],
}


def lacking() -> str:
    """Why it cannot be had here; empty where it can."""
    if os.geteuid():
        return "a Slurm of namespaces needs root"
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        return f"not installed: {', '.join(missing)} (slurmctld slurmd slurm-client munge openssh-server iproute2)"
    with tempfile.TemporaryDirectory() as folder:
        script = f"mount -t tmpfs t {folder} && cd {folder} && mkdir u w r && mount -t overlay o -o lowerdir=/,upperdir=u,workdir=w r"
        argv = ["unshare", "-n", "-m", "-u", "-p", "-i", "--fork", "--propagation", "private", "sh", "-c", script]
        made = subprocess.run(argv, capture_output=True, text=True, check=False)
    return f"no host can be made of namespaces: {(made.stderr.strip() or 'no reason').splitlines()[-1]}" if made.returncode else ""


class Cluster:
    """ctl and four nodes. up() starts them, on(host, argv) runs there, inside(argv) runs in their network with this machine's files."""

    def __init__(self, folder: Path):
        self.folder, self.process, self.init = folder, None, 0
        self.accounting = all(shutil.which(tool) for tool in ACCOUNTING)
        self.address = {"ctl": CTL, **{name: f"10.77.1.{number}" for number, name in enumerate(NODES, 1)}}

    def up(self):
        for name in ("roots", "log", "etc", "bin", "captures"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self._files()
        argv = ["unshare", "-n", "-m", "-u", "-p", "-i", "--fork", "--kill-child", "--propagation", "private"]
        argv += ["bash", str(HERE / "lab.sh"), str(self.folder), *(f"{name}={address}" for name, address in self.address.items())]
        with open(self.folder / "log" / "lab", "w") as log:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
            )
        if self.process.stdout.readline().strip() != "started":
            raise RuntimeError("the lab's namespaces: " + (self.folder / "log" / "lab").read_text()[-500:])
        self.init = int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[0])
        self._wait()
        return self

    def down(self):
        """All processes, mounts and links of the lab."""
        if self.process is None:
            return
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
        self.process = None

    def argv(self, argv):
        """The words before a command that shall run in the lab's network and end with it."""
        return ["nsenter", "-t", str(self.init), "-n", "-p", *map(str, argv)]

    def inside(self, argv, **options):
        return subprocess.run(self.argv(argv), capture_output=True, text=True, check=False, timeout=options.pop("timeout", 300), **options)

    def on(self, host, command, check=True):
        """What a shell command says on a host, by ssh."""
        done = self.inside(["ssh", "-F", self.folder / "ssh_config", host, command], timeout=60)
        if check and done.returncode:
            raise RuntimeError(f"{host}: {command}: rc {done.returncode}: {done.stderr.strip()[-400:]}{done.stdout[-200:]}")
        return done.stdout

    def configure(self, **changed):
        """slurm.conf anew on all hosts, and the daemons of the controller started with it."""
        for host in self.address:
            self._put(host, "/etc/slurm/slurm.conf", self._slurm_conf(**changed))
        self.stop_controller()
        self.on("ctl", "slurmctld")
        self.until("ctl", "scontrol ping | grep -q 'is UP'")
        self.on("ctl", "scontrol reconfigure")

    def stop_controller(self):
        self.on("ctl", 'kill "$(cat /run/slurmctld.pid)"')
        self.until("ctl", "! pgrep -x slurmctld")

    def until(self, host, command, wait_s=30):
        """Waits until a command succeeds on a host."""
        end = time.monotonic() + wait_s
        while self.inside(["ssh", "-F", self.folder / "ssh_config", host, command], timeout=60).returncode:
            if time.monotonic() > end:
                raise RuntimeError(f"{host}: not within {wait_s} s: {command}\n" + self.on(host, "tail -n 5 /var/log/slurm/*.log", False))
            time.sleep(0.2)

    def lose_gpu(self, name):
        """The driver lists one GPU fewer, and Slurm goes on offering it."""
        told = self._capture(name, [{"fault": "gpu_missing_from_smi", "hosts": name, "gpu": 5}])
        self._put(name, "/usr/local/lib/lab/capture.json", told)

    def lose_device(self, name):
        """Slurm's daemon finds one device fewer than the controller is told."""
        self._put(name, "/etc/slurm/gres.conf", GRES_CONF.replace("[0-7]", "[0-6]"))
        self.on(name, f'kill "$(cat /run/slurmd.pid)"; while pgrep -x slurmd; do sleep 0.1; done; slurmd -N {name}')

    def _put(self, host, path, text):
        done = self.inside(["ssh", "-F", self.folder / "ssh_config", host, f"cat >{path}"], input=text, timeout=60)
        if done.returncode:
            raise RuntimeError(f"{host}: {path}: {done.stderr.strip()}")

    # --- files ------------------------------------------------------------------------------------------------------------------------

    def _slurm_conf(self, health_interval_s=60, private=PRIVATE, accounting=True, return_to_service=1):
        lines = [f"NodeName={name} NodeAddr={address}" for name, address in self.address.items() if name != "ctl"]
        return SLURM_CONF.format(
            ctl=CTL,
            health_interval_s=health_interval_s,
            private=private,
            return_to_service=return_to_service,
            accounting=WITH_ACCOUNTING if accounting and self.accounting else WITHOUT_ACCOUNTING,
            nodes="\n".join(lines),
            names=",".join(NODES),
        )

    def _files(self):
        folder, etc = self.folder, self.folder / "etc"
        for key in (folder / "id", etc / "host_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(key)], check=True)
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in self.address.items()))
        (etc / "slurm.conf").write_text(self._slurm_conf())
        (etc / "topology.conf").write_text(TOPOLOGY)
        (etc / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (etc / "gres.conf").write_text(GRES_CONF)
        (etc / "slurmdbd.conf").write_text(SLURMDBD_CONF)
        (etc / "sshd_config").write_text(SSHD_CONFIG)
        for script in ("nvidia-smi", "healthcheck", "quiet"):
            shutil.copy(HERE / script, folder / "bin" / script)
        host_key = (etc / "host_key.pub").read_text()
        (folder / "known_hosts").write_text("".join(f"{name},{address} {host_key}" for name, address in self.address.items()))
        options = (
            f"User root\nIdentityFile {folder}/id\nUserKnownHostsFile {folder}/known_hosts\nStrictHostKeyChecking yes\nBatchMode yes\n"
        )
        named = "".join(f"Host {name}\nHostName {address}\n" for name, address in self.address.items())
        (folder / "ssh_config").write_text(f"{named}Host *\n{options}LogLevel ERROR\n")
        for name in NODES:
            (folder / "captures" / f"{name}.json").write_text(self._capture(name))
        self._inventory()

    def _capture(self, name, faults=()):
        """What nvidia-smi shall say on a node: the simulator's."""
        (self.folder / "spec.yml").write_text(json.dumps({**SPEC, "faults": list(faults)}))
        argv = [sys.executable, str(ROOT / "tools" / "simulate"), str(self.folder / "spec.yml"), str(self.folder / "simulated")]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        return (self.folder / "simulated" / name / "capture.json").read_text()

    def _inventory(self):
        """Nobody types a node: the inventory plugin asks this Slurm for them, and for their racks."""
        inventory = self.folder / "inventory"
        (inventory / "group_vars").mkdir(parents=True, exist_ok=True)
        for name in ("slurm.accept.yml", "contract.yml"):
            text = (ROOT / "inventories" / "lab" / "slurm" / name).read_text()
            (inventory / name).write_text(text.replace("LAB", str(self.folder)))
        values = {"ansible_ssh_common_args": f"-F {self.folder}/ssh_config", "ansible_python_interpreter": "/usr/bin/python3"}
        (inventory / "group_vars" / "all.yml").write_text(json.dumps(values))

    def _wait(self):
        end = time.monotonic() + 60
        while not all((self.folder / "log" / name).exists() for name in self.address):
            time.sleep(0.1)
        for name in self.address:
            while self.inside(["ssh", "-F", self.folder / "ssh_config", name, "test -e /run/ready"], timeout=30).returncode:
                if time.monotonic() > end:
                    raise RuntimeError(f"{name} did not start: " + (self.folder / "log" / name).read_text()[-600:])
                time.sleep(0.3)


def main(argv):
    if len(argv) < 3 or argv[1] != "run":
        print(__doc__)
        return 2
    reason = lacking()
    if reason:
        print(f"cluster.py: {reason}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="accept-lab-slurm-") as folder:
        cluster = Cluster(Path(folder))
        try:
            cluster.up()
            return subprocess.run(cluster.argv(argv[2:]), check=False, env={**os.environ, "ACCEPT_LAB_SLURM": folder}).returncode
        finally:
            cluster.down()


if __name__ == "__main__":
    sys.exit(main(sys.argv))
