"""mpirun over ssh: Open MPI's, or with `flavour: mpich` the one of MPICH (hydra).

settings: mpirun (path), flavour (openmpi), root (this host's user is root), ssh_user, oversubscribe, interface (for the launcher's and the
MPI's own connections), options (further options, a list).
"""

from __future__ import annotations

import re

from . import first_line, with_env

TOOL = "mpirun"
SSH = "-o BatchMode=yes -o ConnectTimeout=10"  # nobody is asked, a dead node is not waited for
UNREACHED = re.compile(
    r"ORTE was unable to reliably start|PRTE has lost communication|A daemon .*died unexpectedly|Permission denied \(|"
    r"Host key verification|"
    r"Connection (?:refused|timed out)|Could not resolve hostname|No route to host|ORTE does not know how to route|unable to connect to"
)
SLOTS = re.compile(r"There are not enough slots|not enough slots available|could not (?:access|find) an executable|was unable to find")
DIED = re.compile(
    r"noticed that process rank|exited on signal|MPI_ABORT was invoked|Primary job +terminated|BAD TERMINATION|exiting improperly|"
    r"exited with non-zero status|have exited due to"
)


def argv(launch, settings) -> list:
    tasks = launch.tasks_per_node()
    total = str(tasks * len(launch.nodes))
    program = [settings.get("mpirun") or TOOL]
    if settings.get("flavour") == "mpich":
        found = [*program, "-np", total, "-ppn", str(tasks), "-hosts", ",".join(launch.nodes), "-launcher", "ssh"]
        found += ["-iface", settings["interface"]] if settings.get("interface") else []
        return [*found, *map(str, settings.get("options") or ()), *with_env(launch)]
    found = [*program, "-np", total, "--host", ",".join(f"{node}:{tasks}" for node in launch.nodes), "--bind-to", "none"]
    found += ["--map-by", f"ppr:{tasks}:node" + (":OVERSUBSCRIBE" if settings.get("oversubscribe") else "")]
    found += ["--mca", "mpi_yield_when_idle", "1"] if settings.get("oversubscribe") else []
    found += ["--allow-run-as-root"] if settings.get("root") else []
    found += ["--mca", "plm_rsh_args", SSH + (f" -l {settings['ssh_user']}" if settings.get("ssh_user") else "")]
    if settings.get("interface"):
        found += ["--mca", "oob_tcp_if_include", settings["interface"], "--mca", "btl_tcp_if_include", settings["interface"]]
    return [*found, *map(str, settings.get("options") or ()), *with_env(launch)]


def why(text, settings):
    for cause, pattern in (("not_started", UNREACHED), ("not_started", SLOTS), ("rank_died", DIED)):
        line = first_line(text, pattern)
        if line:
            return cause, line
    return "", ""
