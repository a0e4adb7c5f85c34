"""systemd-journald's settings, all its files joined: does it read the kernel's ring buffer, and what does it drop?

`parse(text)` -> {"read_kmsg": bool, "storage": "auto" | "persistent" | "volatile" | "none", "rate_limit_interval_s": 30.0,
"rate_limit_burst": 10000}; what is not set is as systemd ships it. Records of the kernel are not rate-limited.
Format: https://www.freedesktop.org/software/systemd/man/latest/journald.conf.html
"""

from __future__ import annotations

import re

from ..recurrence import span_s
from . import ParseError

SETTING = re.compile(r"([A-Za-z]+)\s*=\s*(.*)")
USUAL = {"ReadKMsg": "yes", "Storage": "auto", "RateLimitIntervalSec": "30s", "RateLimitBurst": "10000"}


def parse(text: str) -> dict:
    told = dict(USUAL)
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith(("#", ";")) or re.fullmatch(r"\[\w+\]", line):
            continue
        found = SETTING.fullmatch(line)
        if not found:
            raise ParseError("line %d is no setting: %r" % (number, line[:60]))
        if found.group(2).strip():
            told[found.group(1)] = found.group(2).strip()
    burst, interval = told["RateLimitBurst"], told["RateLimitIntervalSec"]
    return {
        "read_kmsg": told["ReadKMsg"].lower() in ("yes", "true", "on", "1"),
        "storage": told["Storage"].lower(),
        "rate_limit_interval_s": 0.0 if interval == "0" else span_s(interval),
        "rate_limit_burst": int(burst) if burst.isdigit() and len(burst) < 12 else None,
    }
