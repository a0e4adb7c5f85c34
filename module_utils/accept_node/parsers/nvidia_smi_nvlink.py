"""`nvidia-smi nvlink`: `-s` (state and rate of each link), `-R` (where each link goes), `-info` (link firmware).

parse, of `-s`::

    {"gpus": [{"index": 0, "name": "NVIDIA B200", "uuid": "GPU-...", "links": [{"link": 0, "gbytes_s": 53.125, "active": true}],
               "message": "", "cut": false}]}

A rate is of one link in one direction. `links` is [] where the tool says that all links are inactive (`message` has its words) or lists
none. `cut` marks a GPU after whose links the output was shortened: its links are not all of them.
"""

from __future__ import annotations

import re

from ..values import pci_address, quantity, word
from . import ParseError

GPU = re.compile(r"GPU (\d{1,4}): (.+?) \(UUID: (\S+?)\)\s*$")
LINK = re.compile(r"\s*Link (\d{1,3}): (.+?)\s*$")
REMOTE = re.compile(r"Remote Device ([0-9a-fA-F:.]+): Link (\d{1,3})")
FIELD = re.compile(r"\s+([A-Za-z][\w ]*?)\s*:\s*(.*?)\s*$")


def parse(text: str) -> dict:
    """State and rate of every link."""
    gpus = _gpus(text, lambda number, words: {"link": number, "gbytes_s": quantity(words, "GB/s"), "active": _active(words)})
    return {"gpus": gpus}


def parse_remote(text: str) -> dict:
    """`-R`: the same, with links {"link": 0, "remote_pci": "0008:00:00.0", "remote_link": 29}."""

    def link(number, words):
        match = REMOTE.fullmatch(words)
        pci, remote_link = (pci_address(match.group(1)), int(match.group(2))) if match else (None, None)
        return {"link": number, "remote_pci": pci, "remote_link": remote_link}

    return {"gpus": _gpus(text, link)}


def parse_info(text: str) -> dict:
    """`-info`: {"gpus": [{"index", "name", "uuid", "info": {"NVLE": "disabled", "NETIR": "36:2014:1862"}}]}."""
    gpus = []
    for line in text.splitlines():
        match = GPU.match(line)
        if match:
            gpus.append({"index": int(match.group(1)), "name": match.group(2), "uuid": match.group(3), "info": {}})
        elif gpus and FIELD.match(line) and FIELD.match(line).group(2):
            name, value = FIELD.match(line).groups()
            gpus[-1]["info"][name] = word(value)
    if not gpus:
        raise ParseError("nvidia-smi nvlink -info: no GPU line")
    return {"gpus": gpus}


def _active(words):
    """`<inactive>` is False, a rate True, anything else is not known."""
    return False if "inactive" in words.lower() else True if quantity(words, "GB/s") is not None else None


def _gpus(text: str, read_link) -> list:
    gpus = []
    for line in text.splitlines():
        gpu, link = GPU.match(line), LINK.match(line)
        if gpu:
            index, name, uuid = gpu.groups()
            gpus.append({"index": int(index), "name": name, "uuid": uuid, "links": [], "message": "", "cut": False})
        elif gpus and link:
            gpus[-1]["links"].append(read_link(int(link.group(1)), link.group(2)))
        elif gpus and line.strip() == "...":
            gpus[-1]["cut"] = True
        elif gpus and line.strip():
            gpus[-1]["message"] = line.strip()[:160]
    if not gpus:
        raise ParseError(f"nvidia-smi nvlink: no GPU line in: {' '.join(text.split())[:120] or 'nothing'}")
    return gpus
