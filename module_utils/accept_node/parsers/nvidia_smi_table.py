"""The tables that nvidia-smi draws for eyes: the default one, `pmon`, `mig -lgip`. The XML is better; these are for what others recorded.

parse: {"driver_version": "590.48.01" | None, "cuda_version": "13.1" | None,
        "gpus": [{"index": 0, "name": "NVIDIA H200", "name_cut": false, "pci": "0000:83:00.0", "temperature_c": 52, "pstate": "P0",
                  "power_draw_w": 628.0, "power_cap_w": 700.0, "memory_used_mib": 32362, "memory_mib": 143771,
                  "utilization_pct": 100, "ecc_uncorrectable": 0, "reasons": {"power_draw_w": "ERR!"}}],
        "processes": [{"gpu": 0, "pid": 10291, "type": "C", "name": "/root/tools/memhog"}]}
"""

from __future__ import annotations

import re

from ..values import integer, pci_address, quantity, reason, word
from . import ParseError

VERSIONS = re.compile(r"(?:Driver|KMD) Version: ([0-9.]+)\s+CUDA (?:UMD )?Version: ([0-9.]+)")
HEAD = re.compile(r"\|\s+(\d{1,4})\s+(.+?)\s+(On|Off|WDDM|TCC|MCDM|N/A)\s*\|\s+([0-9A-Fa-f:.]{7,16})\s+(?:On|Off|N/A)\s*\|\s*(\S+)\s*\|")
BODY = re.compile(r"\|\s*(\S+)\s+(\S+)\s+(P\d{1,2}|\S+)\s+(\S+)\s*/\s*(\S+)\s*\|\s*(\S+)\s*/\s*(\S+)\s*\|\s*(\S+)\s")
PROCESS = re.compile(r"\|\s+(\d{1,4})\s+(?:\S+\s+\S+\s+)?(\d{1,10})\s+([CGM][+CGM]*)\s+(.+?)\s+(\S+)\s+\|")
PROFILE = re.compile(r"\|\s+(\d{1,4})\s+MIG (\S+)\s+(\d{1,4})\s+(\d{1,4})/(\d{1,4})\s+(\d{1,6}\.\d{1,3})\s")


def parse(text: str) -> dict:
    """The default table, whole or some rows of it."""
    versions, lines = VERSIONS.search(text), text.splitlines()
    gpus, processes = [], []
    for line, after in zip(lines, lines[1:] + [""]):
        head, body, process = HEAD.match(line), BODY.match(after), PROCESS.match(line)
        if head and body:
            gpus.append(_gpu(head.groups(), body.groups()))
        elif process and not head:
            index, pid, kind, name, _ = process.groups()
            processes.append({"gpu": int(index), "pid": int(pid), "type": kind, "name": name})
    if not gpus:
        raise ParseError(f"nvidia-smi: no GPU row in: {' '.join(text.split())[:120] or 'nothing'}")
    driver, cuda = versions.groups() if versions else (None, None)
    return {"driver_version": driver, "cuda_version": cuda, "gpus": gpus, "processes": processes}


def _gpu(head, body) -> dict:
    index, name, _, pci, ecc = head
    _, temperature, pstate, draw, cap, used, total, utilization = body
    printed = {
        "temperature_c": (temperature, integer, "C"),
        "power_draw_w": (draw, quantity, "W"),
        "power_cap_w": (cap, quantity, "W"),
        "memory_used_mib": (used, integer, "MiB"),
        "memory_mib": (total, integer, "MiB"),
        "utilization_pct": (utilization, integer, "%"),
        "ecc_uncorrectable": (ecc, integer, ""),
    }
    values = {key: read(text, unit) for key, (text, read, unit) in printed.items()}
    return {
        "index": int(index),
        "name": name.rstrip(". "),
        "name_cut": name.endswith("..."),
        "pci": pci_address(pci),
        "pstate": word(pstate),
        **values,
        "reasons": {key: reason(text) or text for key, (text, _, _) in printed.items() if values[key] is None},
    }


def parse_pmon(text: str) -> dict:
    """`pmon`: {"rows": [{"gpu": 0, "pid": 1174916, "type": "C", "sm": 88, ..., "command": "python"}]}; the header names the columns.

    Of several outputs after one another each has its own header; a dash is None.
    """
    names, rows = [], []
    for line in text.splitlines():
        if line.startswith("# gpu"):
            names = line[1:].split()
        elif names and line.strip() and not line.startswith("#"):
            cells = line.split(None, len(names) - 1)
            if len(cells) != len(names):
                raise ParseError(f"nvidia-smi pmon: {len(cells)} cells for {len(names)} columns")
            row = {name: word(cell) for name, cell in zip(names, cells)}
            rows.append({name: value if name in ("type", "command") else integer(value) for name, value in row.items()})
    if not names:
        raise ParseError("nvidia-smi pmon: no header")
    return {"rows": rows}


def parse_lgip(text: str) -> dict:
    """`mig -lgip`: {"profiles": [{"gpu": 0, "name": "1g.24gb", "id": 19, "free": 7, "total": 7, "memory_gib": 20.0}]}."""
    found = [match.groups() for match in map(PROFILE.match, text.splitlines()) if match]
    if not found:
        raise ParseError(f"nvidia-smi mig -lgip: no profile in: {' '.join(text.split())[:120] or 'nothing'}")
    keys = ("gpu", "name", "id", "free", "total", "memory_gib")
    return {"profiles": [dict(zip(keys, (int(g), name, int(i), int(f), int(t), float(m)))) for g, name, i, f, t, m in found]}
