"""What the preflight concern asks of a node: room, rights, time."""

from __future__ import annotations

import time

from .model import SimNode
from .records import command, missing

DF = ["df", "-B1", "-P", "/", "/tmp", "/run", "/var/log"]
ROOT_BYTES, RUN_BYTES = 942_000_000_000, 214_748_364_800


def render(node: SimNode, at_s: float = 0.0) -> dict:
    """The commands of the preflight collector, as df, chrony and systemd print them."""
    sudo = [command(["sudo", "-n", "true"], rc=1, stderr="sudo: a password is required\n")] if node.uid else []
    return {"commands": [command(DF, _df(node), duration_s=0.004), *_clock(node, at_s), *sudo]}


def identity(node: SimNode) -> dict:
    """Who answers. The clock's offset is an interval, as the wrapper would have measured it."""
    python = {"ubuntu24.04": "3.12.3", "ubuntu22.04": "3.10.12", "rhel9": "3.9.21", "sles15": "3.11.13"}[node.os]
    offset = [round(node.clock_offset_s - 0.012, 6), round(node.clock_offset_s + 0.018, 6)]
    return {"python": node.python or python, "uid": node.uid, "hostname": node.name, "machine": node.arch, "clock_offset_s": offset}


def _df(node) -> str:
    rows = [("/dev/md0", ROOT_BYTES, ROOT_BYTES - node.free_bytes, node.free_bytes, "/")] * 2
    rows += [("tmpfs", RUN_BYTES, 3_407_872, RUN_BYTES - 3_407_872, "/run"), rows[0]]
    lines = ["Filesystem        1-blocks         Used    Available Capacity Mounted on"]
    for device, size, used, free, where in rows:
        lines.append(f"{device:<12} {size:>13} {used:>12} {free:>12} {-(-100 * used // size):>7}% {where}")
    return "\n".join(lines) + "\n"


def _clock(node, at_s) -> list:
    steady = abs(node.clock_offset_s) < 0.1
    reference, stratum, leap = ("0A14000A", 3, "Normal") if steady else ("00000000", 0, "Not synchronised")
    name = "10.20.0.10" if steady else ""
    tracking = (
        f"{reference},{name},{stratum},{at_s - 17.4:.9f},{node.clock_offset_s if steady else 0:.9f},"
        "0.000001873,0.000004412,-11.204,0.001,0.021,"
        f"0.000152004,0.000213887,{64.4 if steady else 0:.1f},{leap}\n"
    )
    stamp = time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(at_s + node.clock_offset_s))
    synchronised = "yes" if steady else "no"
    shown = f"Timezone=Etc/UTC\nLocalRTC=no\nCanNTP=yes\nNTP=yes\nNTPSynchronized={synchronised}\nTimeUSec={stamp}\nRTCTimeUSec={stamp}\n"
    if node.os.startswith("ubuntu22"):  # timesyncd there, chrony elsewhere
        return [missing(["chronyc", "-c", "tracking"]), command(["timedatectl", "show"], shown, duration_s=0.02)]
    return [command(["chronyc", "-c", "tracking"], tracking, duration_s=0.006), command(["timedatectl", "show"], shown, duration_s=0.02)]
