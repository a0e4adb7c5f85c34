"""Node states as Slurm tells them, 20.11 to 25.11: `IDLE+DRAIN` of scontrol, `drained*` of sinfo, state and flags of its JSON."""

from __future__ import annotations

import re

from . import ParseError

# sinfo's signs behind a state (man sinfo, NODE STATE CODES) as scontrol's flags.
SIGNS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWERING_DOWN_PENDING",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
BASES = {"IDLE", "ALLOCATED", "MIXED", "DOWN", "ERROR", "UNKNOWN", "FUTURE"}
# One word of sinfo, long or compact -> (base, flags). A base of None: the word does not tell it.
WORDS = {
    "ALLOC": ("ALLOCATED", ()),
    "MIX": ("MIXED", ()),
    "COMP": ("ALLOCATED", ("COMPLETING",)),
    "COMPLETING": ("ALLOCATED", ("COMPLETING",)),
    "DRAINED": ("IDLE", ("DRAIN",)),
    "DRAINING": ("ALLOCATED", ("DRAIN",)),
    "DRNG": ("ALLOCATED", ("DRAIN",)),
    "DRAIN": (None, ("DRAIN",)),
    "FAIL": ("IDLE", ("FAIL",)),
    "FAILING": ("ALLOCATED", ("FAIL",)),
    "FAILG": ("ALLOCATED", ("FAIL",)),
    "MAINT": (None, ("MAINTENANCE",)),
    "RESV": (None, ("RESERVED",)),
    "PLND": ("IDLE", ("PLANNED",)),
    "PLANNED": ("IDLE", ("PLANNED",)),
    "UNK": ("UNKNOWN", ()),
    "FUTR": ("FUTURE", ()),
    "INVAL": (None, ("INVALID_REG",)),
    "BOOT": (None, ("REBOOT_ISSUED",)),
    "REBOOT": (None, ("REBOOT_REQUESTED",)),
    "NPC": (None, ("PERFCTRS",)),
    "POW_DN": (None, ("POWERING_DOWN",)),
    "POW_UP": (None, ("POWERING_UP",)),
    "POWER_DOWN": (None, ("POWERED_DOWN",)),
    "POWER_UP": (None, ("POWERING_UP",)),
    "POWER": (None, ("POWERED_DOWN",)),
    "BLOCK": (None, ("BLOCKED",)),
    "NO_RESPOND": (None, ("NOT_RESPONDING",)),
    "INVALID": (None, ("INVALID_REG",)),
    "INVALID_REG": (None, ("INVALID_REG",)),
}


def parse(text: str) -> dict:
    """{"base": "IDLE" | "ALLOCATED" | "MIXED" | "DOWN" | "ERROR" | "UNKNOWN" | "FUTURE" | None, "flags": ["DRAIN", ...]}, flags sorted.

    `base` is None where the text tells flags only (`drain`, `maint`). Flags have scontrol's names; signs behind a word become flags too.
    """
    bare = text.strip().strip('"')
    words, base, flags = [word for word in re.split(r"[+,\s]+", bare) if word], None, set()
    if not words or len(bare) > 300:
        raise ParseError("not a node's state: %r" % text[:60])
    for word in words:
        match = re.fullmatch(r"([A-Za-z_]+)([*~#!%$@^-]*)", word)
        if not match:
            raise ParseError("not a node's state: %r" % text[:60])
        flags.update(SIGNS[sign] for sign in match.group(2))
        name = match.group(1).upper()
        said, implied = (name, ()) if name in BASES else WORDS.get(name, (None, (name,)))
        # scontrol: the base comes first, DRAIN behind it is a flag; sinfo's one word tells both
        base = base if base is not None or said is None else said
        flags.update(implied)
    return {"base": base, "flags": sorted(flags)}
