"""Knock at ports of other hosts and ask NFS servers what they export: counted, bounded, and nothing of the answers kept.

A class of its own: other people's hosts are touched, which needs their owner's written authority. Of a port it is only tried whether a
connection comes up, and it is closed at once; of exports, how many there are and how many everybody may mount (MOUNT protocol of RFC 1813).
"""

from __future__ import annotations

import json
import random
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

from .node import CommandResult, LiveNode

TIMEOUT_S = 1.5
WORKERS = 8  # connections at once; no scan
MOST_TARGETS, MOST_PORTS = 256, 32
PORTS, EXPORTS = ("accept-probe", "ports"), ("accept-probe", "exports")
PORTMAP, MOUNT, TCP = 100000, 100005, 6
MOST_BYTES = 1 << 20


class ProbingNode(LiveNode):
    """This machine, with two commands more: they run in here, and are recorded and replayed as any other."""

    def __init__(self, targets, ports, servers):
        self.targets, self.ports, self.servers = list(targets)[:MOST_TARGETS], list(ports)[:MOST_PORTS], list(servers)[:MOST_TARGETS]

    def run(self, argv, timeout_s=30.0):
        if tuple(argv) not in (PORTS, EXPORTS):
            return super().run(argv, timeout_s)
        start = time.monotonic()
        found = knock(self.targets, self.ports) if tuple(argv) == PORTS else exported(self.servers)
        return CommandResult(tuple(argv), 0, json.dumps(found) + "\n", "", time.monotonic() - start, "")


def knock(targets, ports) -> dict:
    """{"ports": [{"port", "asked", "open", "refused", "silent"}]}"""
    pairs = [(target, port) for port in ports for target in targets]
    with ThreadPoolExecutor(WORKERS) as pool:
        answers = list(pool.map(_knock, pairs))
    rows = []
    for port in ports:
        said = [answer for (_, asked), answer in zip(pairs, answers) if asked == port]
        rows.append({"port": port, "asked": len(said), **{word: said.count(word) for word in ("open", "refused", "silent")}})
    return {"ports": rows}


def _knock(pair) -> str:
    try:
        socket.create_connection(pair, TIMEOUT_S).close()
    except ConnectionRefusedError:
        return "refused"
    except OSError:
        return "silent"
    return "open"


def exported(servers) -> dict:
    """{"servers", "answered", "exports", "open_to_all"}; `open_to_all`: exports without a list of hosts, or with `*` in it."""
    with ThreadPoolExecutor(WORKERS) as pool:
        lists = [found for found in pool.map(_exports, servers) if found is not None]
    flat = [hosts for found in lists for hosts in found]
    return {
        "servers": len(servers),
        "answered": len(lists),
        "exports": len(flat),
        "open_to_all": sum(not hosts or "*" in hosts for hosts in flat),
    }


def _exports(server):
    """The host lists of a server's exports; None where it does not answer."""
    try:
        port = struct.unpack(">I", _call(server, 111, PORTMAP, 2, 3, struct.pack(">4I", MOUNT, 3, TCP, 0))[:4])[0]
        return _lists(_call(server, port, MOUNT, 3, 5, b"")) if port else None
    except (OSError, struct.error, ValueError):
        return None


def _call(server, port, program, version, procedure, arguments) -> bytes:
    """One call of ONC RPC (RFC 5531) over TCP without credentials; the results of an accepted reply."""
    xid = random.getrandbits(32)
    message = struct.pack(">10I", xid, 0, 2, program, version, procedure, 0, 0, 0, 0) + arguments
    with socket.create_connection((server, port), TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)
        reply, last = b"", False
        while not last:
            head = struct.unpack(">I", _read(connection, 4))[0]
            last = bool(head & 0x80000000)
            reply += _read(connection, min(head & 0x7FFFFFFF, MOST_BYTES))
            if len(reply) > MOST_BYTES:
                raise ValueError("too long a reply")
    answered, kind, denied, _, length, accepted = struct.unpack(">6I", reply[:20] + reply[20 + _padded(reply[16:20]) :][:4])
    if (answered, kind, denied, accepted) != (xid, 1, 0, 0):
        raise ValueError("not an accepted reply")
    return reply[24 + (length + 3) // 4 * 4 :]


def _padded(length) -> int:
    return (struct.unpack(">I", length)[0] + 3) // 4 * 4


def _read(connection, count) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ValueError("cut")
        data += piece
    return data


def _lists(data) -> list:
    """XDR of exports: {path, groups} behind a mark each; the paths are passed over."""
    found, place = [], 0

    def number():
        nonlocal place
        place += 4
        return struct.unpack(">I", data[place - 4 : place])[0]

    def text():
        nonlocal place
        length = number()
        start, place = place, place + (length + 3) // 4 * 4
        return data[start : start + length].decode("utf-8", "replace")

    while number():
        text()
        hosts = []
        while number():
            hosts.append(text())
        found.append(hosts)
    return found
