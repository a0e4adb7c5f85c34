"""Indented `name : value` text: `nvidia-smi -q`, parts of it, and `nvidia-smi --version`.

A line with deeper lines below it is a group: {"Remapped Rows": {"Uncorrectable Error": "4", "Pending": "Yes"}}. Values are the text
that was printed, None where there is no value. Names that repeat in one group (GPUs, MIG devices) become `name`, `name #2`, ...
"""

from __future__ import annotations

import re

from ..values import word
from . import ParseError

FIELD = re.compile(r"(.*?)\s*:(?:\s+(.*))?")


def parse(text: str) -> dict:
    """The tree of groups and fields."""
    root, values = {}, 0
    stack = [(-1, root)]
    for line in text.expandtabs(8).splitlines():
        bare = line.strip()
        if not bare or set(bare[:3]) == {"="}:
            continue
        depth = len(line) - len(line.lstrip())
        while len(stack) > 1 and stack[-1][0] >= depth:
            stack.pop()
        # `GPU 00000000:83:00.0` heads a group: its colons are no separators, for these have a blank after them
        match = FIELD.fullmatch(bare)
        group = stack[-1][1]
        name = _free(group, match.group(1) if match else bare)
        if match and match.group(2) is not None:
            group[name], values = word(match.group(2)), values + 1
        else:
            group[name] = {}
        stack.append((depth, group[name] if isinstance(group[name], dict) else {}))
    if not values:
        raise ParseError(f"nvidia-smi -q: no field in: {' '.join(text.split())[:120] or 'nothing'}")
    return root


def _free(group, name):
    number = 1
    while (name if number == 1 else f"{name} #{number}") in group:
        number += 1
    return name if number == 1 else f"{name} #{number}"
