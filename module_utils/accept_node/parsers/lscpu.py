"""`lscpu -J` (flat in older releases, nested in newer ones), or the plain text of `lscpu`.

{"arch": "x86_64", "vendor": "GenuineIntel", "model": "...", "cpus": 224, "sockets": 2, "cores_per_socket": 56, "threads_per_core": 2,
 "numa_nodes": 2, "hypervisor": "KVM" | "none"}
"""

from __future__ import annotations

import json

from ..values import integer, word
from . import ParseError

NAMES = (
    ("arch", word, "Architecture"),
    ("vendor", word, "Vendor ID"),
    ("model", word, "Model name"),
    ("cpus", integer, "CPU(s)"),
    ("sockets", integer, "Socket(s)"),
    ("cores_per_socket", integer, "Core(s) per socket"),
    ("threads_per_core", integer, "Thread(s) per core"),
    ("numa_nodes", integer, "NUMA node(s)"),
)


def parse(text: str) -> dict:
    """See the module's docstring."""
    fields = _fields(text)
    found = {name: read(fields.get(label)) for name, read, label in NAMES}
    return {**found, "hypervisor": word(fields.get("Hypervisor vendor")) or "none"}


def _fields(text) -> dict:
    fields = {}
    if text.lstrip().startswith("{"):
        try:
            _walk(json.loads(text)["lscpu"], fields)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ParseError(f"lscpu -J: {' '.join(str(error).split())[:120]}") from error
    else:
        for line in text.splitlines():
            name, colon, value = line.partition(":")
            if colon:
                fields.setdefault(name.strip(), value.strip())
    if not word(fields.get("Architecture")):
        raise ParseError("lscpu: no Architecture")
    return fields


def _walk(entries, fields):
    """The first entry of a name counts: newer releases repeat some below each core type."""
    for entry in entries:
        data = entry.get("data")
        fields.setdefault(str(entry["field"]).rstrip(":"), str(data) if isinstance(data, (str, int)) else None)
        _walk(entry.get("children") or [], fields)


def parse_virtual(text: str) -> dict:
    """{"extensions": "VT-x" | "AMD-V" | "none", "hypervisor": "KVM" | "none"}: can this machine hold virtual ones, is it one."""
    fields = _fields(text)
    return {"extensions": word(fields.get("Virtualization")) or "none", "hypervisor": word(fields.get("Hypervisor vendor")) or "none"}
