"""Words and numbers as tools print them. What is not a value becomes None, and `reason` says what stood there instead."""

from __future__ import annotations

import re

# What nvidia-smi, amd-smi and their kin print where they have no value; brackets are taken off before it is looked up.
NO_VALUE = {"", "n/a", "not supported", "not available", "none/a", "na", "-", "requested functionality has been deprecated"}
TROUBLE = ("err!", "unknown error", "unknown", "gpu is lost", "gpu requires reset", "insufficient permissions", "not found")
ON = {"enabled", "yes", "active", "true", "on", "supported"}
OFF = {"disabled", "no", "not active", "inactive", "false", "off"}
NUMBER = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z%/()]*)")
PCI = re.compile(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")


def reason(text) -> str:
    """Empty where text is a value; else what the tool said instead of one."""
    if text is None:
        return "not printed"
    bare = text.strip().strip("[]").strip()
    low = bare.lower()
    if low in NO_VALUE:
        return bare or "empty"
    return bare if low.startswith(TROUBLE) else ""


def word(text):
    """The text itself, or None."""
    return None if reason(text) else text.strip()


def quantity(text, *units):
    """The number in `700.00 W`; None where a unit is printed that is none of `units`."""
    match = None if reason(text) else NUMBER.fullmatch(text.strip())
    if not match or (match.group(2) and match.group(2) not in units):
        return None
    return float(match.group(1))


def integer(text, *units):
    """The whole number in `16x` or `183359 MiB`, or None."""
    number = quantity(text, *units)
    return int(number) if number is not None and number == int(number) else None


def flag(text):
    """Enabled, Yes, Active -> True; Disabled, No, Not Active -> False; anything else None."""
    low = (text or "").strip().strip("[]").lower()
    return True if low in ON else False if low in OFF else None


def pci_address(text):
    """`00000000:1B:00.0` or `1b:00.0` -> `0000:1b:00.0`; `00000008:06:00.0` -> `0008:06:00.0`; None where it is no address."""
    match = PCI.fullmatch((text or "").strip())
    return "%04x:%s" % (int(match.group(1) or "0", 16), match.group(2).lower()) if match else None
