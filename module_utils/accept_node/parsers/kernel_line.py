"""One line of a kernel log, in any shape in which it reaches us, taken apart.

Shapes: a `/dev/kmsg` record ("prio,seq,usec,flags;message"), `dmesg` plain, `--raw`, `--decode`, with seconds, ctime or ISO time stamps,
syslog and journal ("host kernel: message"), "MESSAGE=message", a bare message. `parse(text)` returns::

    {"message": str, "facility": "kern" | "user" | ... | None, "priority": 0-7 | None, "time_s": seconds since boot | None,
     "time": time in words | None, "shaped": bool}    shaped: something stood before the message; a bare one could be anything

Facility "user" means that a program wrote the record through /dev/kmsg: the kernel does not let one claim "kern". None is "not told":
`dmesg --raw` loses the facility (its C library shifts it away), so that "<3>" says nothing, while `--decode` is right; rsyslog calls all
of them "kernel". journald takes "NVRM: " off such a record's message and makes it the identifier. Seen on util-linux 2.38, systemd 252.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from . import ParseError

LEVELS = {name: level for level, name in enumerate(("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"))}
FACILITIES = ("kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp")
SECONDS = r"\[ *(\d{1,12}(?:\.\d{1,9})?)(?: +<[^>]{1,20}>)?\](?: ?\[ *[TC]\d{1,9}\])? ?"
WORDS = r"(%s|local\d) {0,8}:(%s) {0,6}: " % ("|".join(FACILITIES), "|".join(LEVELS))
KMSG = re.compile(r"(\d{1,4}),\d{1,20},(\d{1,18}),[^;]{0,80};")
RAW = re.compile(r"<(\d{1,3})>")
DECODE = re.compile(WORDS)
DECODE_SECONDS = re.compile(WORDS + SECONDS)
BRACKET = re.compile(SECONDS)
CTIME = re.compile(r"\[([A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} [\d:]{8} \d{4})\] ?")
ISO = re.compile(r"(\d{4}-\d\d-\d\dT[\d:]{8}(?:([.,])\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?) ")
SYSLOG = re.compile(r"([A-Z][a-z]{2} +\d{1,2} [\d:]{8}) ")
HOST_TAG = re.compile(r"\S{1,100} ([^\s:\[]{1,100})(?:\[\d{1,9}\])?: ?")
KERNEL_TAG = re.compile(r"(?:[\w.-]{1,100} )?kernel: ?")
USER_TAG = re.compile(r"[\w.-]{1,100} (?=(?:NVRM|nvidia-nvswitch\d{1,3}): )")


class Record(NamedTuple):
    message: str
    facility: str | None
    priority: int | None
    time_s: float | None
    time: str | None
    shaped: bool


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty text where a line of a kernel log was expected")
    record = split(text.strip("\n"))
    if record is None:
        raise ParseError(f"a line of another program than the kernel: {text.strip()[:80]!r}")
    return record._asdict()


def split(line: str):
    """The line as a Record, or None when another program than the kernel wrote it to a shared log."""
    line = line.rstrip("\r\n")
    usual = DECODE_SECONDS.match(line)
    if usual:
        return Record(line[usual.end() :].lstrip(), usual[1], LEVELS[usual[2]], float(usual[3]), None, True)
    kmsg = KMSG.match(line)
    if kmsg:
        number = int(kmsg[1]) >> 3
        return Record(line[kmsg.end() :], (*FACILITIES, "local")[min(number, 12)], int(kmsg[1]) & 7, int(kmsg[2]) / 1e6, None, True)
    return _with_prefixes(line)


def _with_prefixes(line):
    facility = priority = time_s = time = None
    raw, decode = RAW.match(line), DECODE.match(line)
    if raw:
        priority, line = int(raw[1]) & 7, line[raw.end() :]
    elif decode:
        facility, priority, line = decode[1], LEVELS[decode[2]], line[decode.end() :]
    elif line.startswith("MESSAGE="):
        line = line[8:]
    stamp = BRACKET.match(line) or CTIME.match(line) or ISO.match(line) or SYSLOG.match(line)
    # Syslog names host and program behind its stamp; dmesg's own ISO form has a comma, and no host.
    host = stamp and (stamp.re is SYSLOG or (stamp.re is ISO and stamp[2] != "," and not decode))
    if stamp:
        time_s, time = (float(stamp[1]), None) if stamp.re is BRACKET else (None, stamp[1])
        line = line[stamp.end() :]
    kernel, user = KERNEL_TAG.match(line), stamp and USER_TAG.match(line)
    if kernel or user:
        # The journal (seconds before the host) names a record by its writer.
        facility = facility or ("user" if user else "kern" if stamp and stamp.re is BRACKET else None)
        line = line[(kernel or user).end() :]
        inner = BRACKET.match(line)
        if inner:
            time_s, line = float(inner[1]), line[inner.end() :]
    elif host and HOST_TAG.match(line):
        return None
    return Record(line.lstrip(), facility, priority, time_s, time, bool(raw or decode or stamp or kernel))
