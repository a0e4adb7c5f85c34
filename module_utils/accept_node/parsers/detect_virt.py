"""`systemd-detect-virt --vm`: {"virtual": "none" | "kvm" | "vmware" | ...}; "none" is bare metal."""

from __future__ import annotations

import re

from . import ParseError


def parse(text: str) -> dict:
    word = text.strip()
    if not re.fullmatch(r"[a-z][a-z0-9-]{1,20}", word):
        raise ParseError("no kind of machine: %r" % word[:60])
    return {"virtual": word}
