"""`sinfo` with this project's own format, and `sinfo --json` of 21.08 to 25.11.

Our format has no fixed widths (those cut), its reason last (it may hold a `|`): `sinfo -a -N -o "%N|%T|%G|%P|%u|%H|%E"`.
"""

from __future__ import annotations

from ..loose_json import strict
from . import ParseError, slurm_gres, slurm_state, slurm_table

FORMAT = "%N|%T|%G|%P|%u|%H|%E"
COLUMNS = ("NODELIST", "STATE", "GRES", "PARTITION", "USER", "TIMESTAMP", "REASON")


def parse(text: str) -> dict:
    """{"nodes": [{name, state, base, flags, gpus, gpu_types, partitions, reason, reason_by, reason_at}]}, each node once, by its name.

    Any table of sinfo with a line of names does, if it has NODELIST and STATE.
    """
    nodes = {}
    for row in slurm_table.records(text, ("NODELIST", "STATE")):
        name = row["NODELIST"]
        state = slurm_state.parse(row["STATE"])
        gres = slurm_gres.parse(row["GRES"]) if "GRES" in row else {"gpus": None, "types": None}
        partition = row.get("PARTITION", "").rstrip("*")
        if not name:
            raise ParseError("a node without a name: %r" % str(row)[:60])
        node = nodes.setdefault(
            name,
            {
                "name": name,
                "state": row["STATE"],
                **state,
                "gpus": gres["gpus"],
                "gpu_types": gres["types"],
                "partitions": [],
                "reason": _known(row.get("REASON")),
                "reason_by": _known(row.get("USER")),
                "reason_at": _known(row.get("TIMESTAMP")),
            },
        )
        if partition and partition not in node["partitions"]:
            node["partitions"].append(partition)
    return {"nodes": list(nodes.values())}


def parse_json(text: str) -> dict:
    """{"release": "23.02.2" | None, "nodes": [as above, and hostname, address, gpus_used, memory_mib, cpus, version, boot_at_s]}

    21.08 and 22.05: `nodes`, state a text with its flags apart. 23.02 and newer: state a list, numbers as {set, infinite, number}; `sinfo`
    groups nodes under "sinfo" there, `scontrol show nodes --json` keeps `nodes`.
    """
    document = strict(text)
    if not isinstance(document.get("nodes", document.get("sinfo")), list):
        raise ParseError("no nodes in this JSON")
    found = document.get("nodes", document.get("sinfo"))
    nodes = [node for entry in found if isinstance(entry, dict) for node in (_entry(entry) if "nodes" not in document else [_node(entry)])]
    return {"release": release(document), "nodes": nodes}


def release(document):
    """The release that Slurm's JSON says it is from, or None."""
    meta = document.get("meta") if isinstance(document.get("meta"), dict) else {}
    slurm = meta.get("slurm") or meta.get("Slurm")
    said = slurm.get("release") if isinstance(slurm, dict) else None
    return said if isinstance(said, str) else None


def _known(value):
    return value if isinstance(value, str) and value not in ("", "none", "Unknown", "N/A", "(null)", "None") else None


def number(value):
    """A number of Slurm's JSON, plain or as {set, infinite, number}; None where it is not set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _state(states, flags):
    words = [word for part in (states, flags) for word in (part if isinstance(part, list) else [part]) if isinstance(word, str) and word]
    return "+".join(words) or None


def _gres(text):
    """JSON leaves the text empty for none at all."""
    return slurm_gres.parse(text) if isinstance(text, str) else {"gpus": None, "types": None}


def _text(value):
    return value if isinstance(value, str) and value else None


def _node(entry) -> dict:
    state = _state(entry.get("state"), entry.get("state_flags"))
    gres, used = _gres(entry.get("gres")), _gres(entry.get("gres_used"))
    partitions = entry.get("partitions")
    if not _text(entry.get("name")):
        raise ParseError("a node without a name: %r" % str(entry)[:60])
    return {
        "name": entry["name"],
        "state": state,
        **(slurm_state.parse(state) if state else {"base": None, "flags": []}),
        "gpus": gres["gpus"],
        "gpu_types": gres["types"],
        "partitions": [part for part in partitions if isinstance(part, str)] if isinstance(partitions, list) else None,
        "reason": _text(entry.get("reason")),
        "reason_by": _text(entry.get("reason_set_by_user")),
        "reason_at": number(entry.get("reason_changed_at")) or None,
        "hostname": _text(entry.get("hostname")),
        "address": _text(entry.get("address")),
        "gpus_used": used["gpus"],
        "memory_mib": number(entry.get("real_memory")),
        "cpus": number(entry.get("cpus")),
        "version": _text(entry.get("slurmd_version") or entry.get("version")),
        "boot_at_s": number(entry.get("boot_time")) or None,
    }


def _entry(entry) -> list:
    """One line of 23.02's sinfo: nodes that say the same, with their names."""

    def part(*names):
        value = entry
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    names = part("nodes", "nodes")
    reason, partition = part("reason"), part("partition", "name")
    reason = reason if isinstance(reason, dict) else {"description": reason}
    return [
        _node(
            {
                "name": name,
                "state": part("node", "state"),
                "gres": part("gres", "total"),
                "gres_used": part("gres", "used"),
                "partitions": [partition] if isinstance(partition, str) else None,
                "reason": reason.get("description"),
                "reason_set_by_user": reason.get("user"),
                "reason_changed_at": reason.get("time"),
            }
        )
        for name in (names if isinstance(names, list) else [])
        if isinstance(name, str)
    ]
