"""Which of several values of a setting wins, and where it stands: NCCL's own precedence over all that a provider ships.

The process environment comes before any file, and the first file that names a setting before the others: the one that NCCL_CONF_FILE
names instead of the user's own, /etc last (NCCL, src/misc/param.cc). In the environment what is set later wins: /etc/environment, then
profile files in their order, then the scheduler's prolog. A container has the environment of its hooks on top, and of the conf files
only those that are mounted. Module files and scripts count only for who loads them.
"""

from __future__ import annotations

from typing import NamedTuple

LAYERS = (  # prefix of the path -> layer
    (("/etc/environment",), "environment"),
    (("/etc/profile", "/etc/bash.bashrc", "/etc/bashrc", "/etc/csh.cshrc"), "profile"),
    (("/etc/slurm", "/etc/systemd"), "scheduler"),
    (("/etc/enroot", "/etc/cdi", "/var/run/cdi", "/etc/nvidia-container-runtime"), "container"),
    (("/etc/ucx",), "ucx"),
    (("/usr/local/gib",), "script"),
    (("/root/.", "/etc/skel/."), "home"),
    (("/etc/nccl.conf", "/etc/rccl.conf"), "etc"),
)
ENVIRONMENT = ("environment", "profile", "scheduler")  # the later wins
LIBRARY = ("NCCL_", "RCCL_")


class Setting(NamedTuple):
    value: str
    origin: str  # the file that it stands in


def layer(path: str) -> str:
    """One of LAYERS, or modules, kubernetes (a ConfigMap), or conf: the file that NCCL_CONF_FILE names."""
    if path.startswith("ConfigMap "):
        return "kubernetes"
    known = next((name for prefixes, name in LAYERS if path.startswith(prefixes)), None)
    return known or ("modules" if "modulefiles" in path or "lmod" in path else "conf")


def in_force(data: dict, inside: bool = False) -> dict[str, Setting]:
    """Name -> Setting of a job that loads no module, on the host or `inside` a container that the node's hooks make."""
    environment: dict[str, Setting] = {}
    for name in (*ENVIRONMENT, *(["container"] if inside else [])):
        environment.update(_settings(data, name))
    named = environment.get("NCCL_CONF_FILE")
    files: dict[str, Setting] = {}
    mounted = {mount["what"] for mount in data.get("mounts") or ()}
    for kind in ("conf" if named and named.value else "home", "etc"):
        for key, setting in _settings(data, kind).items():
            if setting.origin.startswith("/root/") or (inside and setting.origin not in mounted):
                continue  # root runs no jobs; a container sees what is mounted
            files.setdefault(key, setting)
    return {**files, **environment}


def _settings(data, kind) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for file in data.get("settings") or ():
        if layer(file["from"]) == kind and not file["from"].endswith((".csh", ".cshrc")):
            found.update({name: Setting(value, file["from"]) for name, value in file["values"].items()})
    return found


def conflicts(data: dict, chosen: dict[str, Setting]) -> list:
    """[{name, finding}] of settings that stand in several files with different values: which wins, and over which."""
    others: dict[str, list] = {}
    for file in data.get("settings") or ():
        if layer(file["from"]) in ("modules", "script", "kubernetes", "container") or file["from"].startswith("/root/"):
            continue
        for name, value in file["values"].items():
            if name in chosen and name.startswith(LIBRARY) and value != chosen[name].value:
                others.setdefault(name, []).append(f"{value} in {file['from']}")
    return [
        {"name": name, "finding": f"{chosen[name].value} in {chosen[name].origin} wins over {', '.join(found)}"}
        for name, found in sorted(others.items())
    ]


def harmful(chosen: dict[str, Setting], catalog: list, form: str | None) -> list:
    """[{name, kind, finding}] of settings in force that the catalogue names."""
    found = []
    for entry in catalog:
        setting = chosen.get(entry["name"])
        if setting is None or entry.get("form", form) != form or (entry.get("values") and setting.value not in entry["values"]):
            continue
        finding = f"{setting.value} in {setting.origin}: {entry['why']}"
        found.append({"name": entry["name"], "kind": entry["kind"], "finding": finding, "neutral": entry.get("neutral")})
    return found


def on_request(data: dict) -> dict | None:
    """{"from", "values"} of what the provider ships for those who load it: module file, script or ConfigMap. None where not one."""
    files = [file for file in data.get("settings") or () if layer(file["from"]) in ("modules", "script", "kubernetes") and file["values"]]
    return {"from": files[0]["from"], "values": dict(files[0]["values"])} if len(files) == 1 else None


def text(chosen: dict[str, Setting]) -> str:
    """The library's settings in one line, to compare between nodes; "none" where nothing is set."""
    return " ".join(f"{name}={setting.value}" for name, setting in sorted(chosen.items()) if name.startswith(LIBRARY)) or "none"
