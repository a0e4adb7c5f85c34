"""`scontrol show config` and `scontrol show topology` (or topology.conf), Slurm 20.11 to 25.11."""

from __future__ import annotations

import re

from . import ParseError, slurm_hostlist

LINE = re.compile(r"\s*([A-Za-z][\w.\[\]]*)\s*=\s?(.*)$")
CONTROLLER = re.compile(r"Slurmctld\(([^()]*)\) at (\S+) is (UP|DOWN)")
NOTHING = ("", "(null)", "(null type)", "N/A")


def parse(text: str) -> dict:
    """{"values": {"SLURM_VERSION": "23.02.2", ...}, "controllers": [{role, host, up}]} of `show config`

    A value that is not set is "none"; `300 sec` stays as printed. Sections behind the main one (cgroup, MPI) share the mapping; of a key
    that stands twice the first counts. `SlurmctldHost[0]` and the older ControlMachine are keys of their own.
    """
    values = {}
    for line in text.split("\n"):
        match = LINE.match(line)
        if match:
            value = match.group(2).strip()
            values.setdefault(match.group(1), "none" if value in NOTHING else value)
    if "SLURM_VERSION" not in values and "ClusterName" not in values:
        raise ParseError("not Slurm's configuration: %r" % text.strip()[:60])
    controllers = [{"role": role, "host": host, "up": state == "UP"} for role, host, state in CONTROLLER.findall(text)]
    return {"values": values, "controllers": controllers}


def seconds(value):
    """`300 sec` -> 300; `INFINITE` -> None; "none" -> 0; None where it is no time."""
    if value in (None, "INFINITE"):
        return None
    match = re.match(r"([0-9]{1,9})\s*(sec|min|$)", value)
    return 0 if value == "none" else int(match.group(1)) * (60 if match.group(2) == "min" else 1) if match else None


def parse_topology(text: str) -> dict:
    """{"plugin": "tree" | "block" | "none", "switches": [{name, level, hosts, switches}], "blocks": [{name, hosts}], "block_sizes": [8]}

    Reads what scontrol prints as well as topology.conf. `hosts` of a switch are those listed with it; a spine of scontrol lists all below.
    """
    switches, blocks, sizes = [], [], []
    for line in text.split("\n"):
        words = dict(re.findall(r"(\w+)=(\S+)", line.split("#")[0]))
        if "SwitchName" in words:
            level = words.get("Level", "")
            switches.append(
                {
                    "name": words["SwitchName"],
                    "level": int(level) if re.fullmatch("[0-9]{1,3}", level) else None,
                    "hosts": _hosts(words.get("Nodes")),
                    "switches": _hosts(words.get("Switches")),
                }
            )
        elif "BlockName" in words:
            blocks.append({"name": words["BlockName"], "hosts": _hosts(words.get("Nodes"))})
        for size in re.findall(r"[0-9]{1,6}", words.get("BlockSizes") or words.get("BlockSize") or ""):
            if int(size) not in sizes and ("BlockSizes" in words or not sizes):
                sizes.append(int(size))
    if not switches and not blocks:
        if re.search(r"No topology information|topology/(?:none|default|flat)|No switches|is not supported", text, re.I):
            return {"plugin": "none", "switches": [], "blocks": [], "block_sizes": []}
        raise ParseError("no topology: %r" % text.strip()[:60])
    return {"plugin": "block" if blocks else "tree", "switches": switches, "blocks": blocks, "block_sizes": sizes}


def _hosts(text):
    return slurm_hostlist.parse(text)["hosts"] if text and text != "(null)" else []
