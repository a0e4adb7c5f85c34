"""This host alone: a program that starts its ranks itself is run as it is, one that does not by the mpirun of this host.

settings: as for mpirun.
"""

from __future__ import annotations

from . import mpirun, with_env

TOOL = ""


def argv(launch, settings) -> list:
    if launch.spawns or launch.ranks_per_node == 1:
        return with_env(launch)
    found = [settings.get("mpirun") or mpirun.TOOL, "-np", str(launch.ranks_per_node)]
    if settings.get("flavour") != "mpich":
        found += ["--bind-to", "none", *(["--oversubscribe"] if settings.get("oversubscribe", True) else [])]
        found += ["--allow-run-as-root"] if settings.get("root") else []
    return [*found, *map(str, settings.get("options") or ()), *with_env(launch)]


why = mpirun.why
