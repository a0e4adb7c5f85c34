"""Small files of /proc about the running kernel; one function for each.

parse_cmdline   {"text": str, "parameters": {name: value | True | [values]}}   True: given without a value; a list where given again
parse_uptime    {"uptime_s": float}
parse_boot_id   {"boot_id": "8-4-4-4-12 hex digits"}
parse_tainted   {"value": int, "flags": "POE", "faults": ["machine check", ...]}   faults: those flags that tell of trouble since boot
Formats: kernel.org documentation, kernel-parameters and tainted-kernels.
"""

from __future__ import annotations

import re

from . import ParseError

WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
BOOT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FLAGS = "PFSRMBUDAWCIOELKXTN"  # by bit
FAULTS = {"M": "machine check", "B": "bad page", "D": "oops or BUG", "L": "soft lockup"}


def parse_cmdline(text: str) -> dict:
    words = WORD.findall(text)
    if not words:
        raise ParseError("empty kernel command line")
    parameters = {}
    for word in words:
        name, equals, value = word.partition("=")
        value = value.strip('"') if equals else True
        name = name.strip('"')
        if name in parameters:
            known = parameters[name]
            parameters[name] = [*(known if isinstance(known, list) else [known]), value]
        else:
            parameters[name] = value
    return {"text": " ".join(text.split()), "parameters": parameters}


def parse_uptime(text: str) -> dict:
    found = re.fullmatch(r"(\d{1,12}\.\d{1,6}) +\d{1,15}\.\d{1,6}", text.strip(), re.ASCII)
    if not found:
        raise ParseError(f"no uptime: {text.strip()[:60]!r}")
    return {"uptime_s": float(found[1])}


def parse_boot_id(text: str) -> dict:
    if not BOOT_ID.fullmatch(text.strip()):
        raise ParseError(f"no boot id: {text.strip()[:60]!r}")
    return {"boot_id": text.strip()}


def parse_tainted(text: str) -> dict:
    if not re.fullmatch(r"\d{1,9}", text.strip(), re.ASCII):
        raise ParseError(f"no taint number: {text.strip()[:60]!r}")
    value = int(text)
    flags = "".join(flag for bit, flag in enumerate(FLAGS) if value >> bit & 1)
    return {"value": value, "flags": flags, "faults": [meaning for flag, meaning in FAULTS.items() if flag in flags]}
