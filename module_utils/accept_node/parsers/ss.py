"""Sockets of this machine that wait for TCP connections: `ss -H -l -t -n`, or the local addresses of /proc/net/tcp and tcp6.

{"listening": [{"address": "0.0.0.0" | "::" | "*" | "10.0.0.4", "port": 9400, "loopback": bool}]}, sorted, each once. `*` is every
address of both families. `parse_proc(text)`: one hexadecimal `address:port` a line, as /proc writes it.
"""

from __future__ import annotations

import re
import socket
import struct

from . import ParseError

LOCAL = re.compile(r"(\[[0-9a-fA-F:.]+(?:%[\w.-]+)?\]|[0-9.]+(?:%[\w.-]+)?|\*|::|[0-9a-fA-F:]+)(?:%[\w.-]+)?:(\d{1,5})")
HEXED = re.compile(r"([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})")


def parse(text: str) -> dict:
    found = set()
    for line in text.splitlines():
        fields = line.split()
        if not fields or fields[0] == "State":
            continue
        local = LOCAL.fullmatch(fields[3]) if len(fields) >= 5 and fields[0] == "LISTEN" else None
        if not local or int(local.group(2)) > 65535:
            raise ParseError("not a listening socket: %r" % line.strip()[:80])
        found.add((local.group(1).strip("[]").split("%")[0], int(local.group(2))))
    return _listed(found, text)


def parse_proc(text: str) -> dict:
    found = set()
    for line in text.split():
        local = HEXED.fullmatch(line)
        if not local:
            raise ParseError("not an address of /proc/net/tcp: %r" % line[:60])
        words = [struct.pack("<I", int(local.group(1)[start : start + 8], 16)) for start in range(0, len(local.group(1)), 8)]
        family = socket.AF_INET if len(words) == 1 else socket.AF_INET6
        found.add((socket.inet_ntop(family, b"".join(words)), int(local.group(2), 16)))
    return _listed(found, text)


def _listed(found, text) -> dict:
    if not found:
        raise ParseError("no listening socket: %r" % text.strip()[:60])
    in_order = sorted(found, key=lambda one: one[::-1])
    return {"listening": [{"address": address, "port": port, "loopback": _loopback(address)} for address, port in in_order]}


def _loopback(address) -> bool:
    return address == "::1" or re.sub(r"^::ffff:", "", address, flags=re.I).startswith("127.")
