"""All ranks with each other over TCP: all-to-all, all-gather, reduce-scatter and agreement, with the standard library alone.

Rank r listens at its own address and calls every lower rank; who does not know the token is not let in. What arrives is compared with what
must arrive: a wrong byte is counted, not overlooked.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from array import array

HEAD = struct.Struct("!16sI")
NOTE = struct.Struct("!qq")


class MeshError(Exception):
    """A peer that is not there, or no longer. One line."""


class Mesh:
    def __init__(self, rank, peers, token, join_s, timeout_s):
        """`peers`: [address, port] of every rank. Blocks until all are there."""
        self.rank, self.size, self.timeout_s = rank, len(peers), timeout_s
        self.sockets = {}
        token = bytes.fromhex(token)
        until = time.monotonic() + join_s
        family = socket.AF_INET6 if ":" in peers[rank][0] else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("", peers[rank][1]))
            server.listen(self.size)
            for lower in range(rank):
                self._call(lower, peers[lower], token, until)
            while len(self.sockets) < self.size - 1:
                self._admit(server, token, until)

    def _call(self, lower, peer, token, until):
        while True:
            try:
                one = socket.create_connection(tuple(peer), timeout=5)
                one.sendall(HEAD.pack(token, self.rank))
                if one.recv(1) == b"\x01":
                    return self._keep(lower, one)
                one.close()
            except OSError as error:
                if time.monotonic() > until:
                    raise MeshError(f"rank {lower} at {peer[0]}:{peer[1]} did not answer: {error}") from error
            if time.monotonic() > until:
                raise MeshError(f"rank {lower} at {peer[0]}:{peer[1]} did not let us in")
            time.sleep(0.2)

    def _admit(self, server, token, until):
        left = until - time.monotonic()
        if left <= 0:
            lacking = sorted(set(range(self.size)) - set(self.sockets) - {self.rank})
            raise MeshError(f"no call from rank {', '.join(map(str, lacking[:8]))}")
        server.settimeout(min(left, 1.0))
        try:
            one, _ = server.accept()
            one.settimeout(5)
            given, rank = HEAD.unpack(_exactly(one, HEAD.size))
        except (OSError, MeshError):
            return
        if given != token or not self.rank < rank < self.size or rank in self.sockets:
            one.close()
            return
        one.sendall(b"\x01")
        self._keep(rank, one)

    def _keep(self, rank, one):
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.setblocking(False)
        self.sockets[rank] = one

    def close(self):
        for one in self.sockets.values():
            one.close()

    def swap(self, to, data, source, size):
        """Send to one rank while another one's bytes come in."""
        out, into = self.sockets[to], self.sockets[source]
        view, got, until = memoryview(data), bytearray(), time.monotonic() + self.timeout_s
        while view or len(got) < size:
            readers, writers, _ = select.select([into] if len(got) < size else [], [out] if view else [], [], 1.0)
            if time.monotonic() > until:
                raise MeshError(f"rank {source if len(got) < size else to} has been silent for {self.timeout_s:.0f} s")
            try:
                if writers:
                    view = view[out.send(view[:262144]) :]
                if readers:
                    piece = into.recv(min(262144, size - len(got)))
                    if not piece:
                        raise MeshError(f"rank {source} has gone")
                    got += piece
            except BlockingIOError:
                continue
            except OSError as error:
                raise MeshError(f"rank {source} or {to}: {error}") from error
        return bytes(got)

    def agree(self, flag, count):
        """(has any rank raised its flag, the count of rank 0)"""
        notes = {self.rank: (flag, count)}
        for shift in range(1, self.size):
            source = (self.rank - shift) % self.size
            notes[source] = NOTE.unpack(self.swap((self.rank + shift) % self.size, NOTE.pack(flag, count), source, NOTE.size))
        return any(note[0] for note in notes.values()), notes[0][1]

    # Each operation returns how many blocks arrived wrong. `size` is the bytes of one rank's block.

    def all_to_all(self, size):
        wrong = 0
        for shift in range(1, self.size):
            to, source = (self.rank + shift) % self.size, (self.rank - shift) % self.size
            wrong += self.swap(to, pattern(self.rank, to, size), source, size) != pattern(source, self.rank, size)
        return wrong

    def all_gather(self, size):
        """By a ring: what came from the left goes on to the right."""
        right, left, wrong = (self.rank + 1) % self.size, (self.rank - 1) % self.size, 0
        block = pattern(self.rank, 0, size)
        for step in range(1, self.size):
            block = self.swap(right, block, left, size)
            wrong += block != pattern((self.rank - step) % self.size, 0, size)
        return wrong

    def reduce_scatter(self, size):
        """By a ring, sums of 64-bit words; every rank's word i is i + rank, so that the sum is known."""
        right, left, words = (self.rank + 1) % self.size, (self.rank - 1) % self.size, size // 8
        block = array("q", range(self.rank, self.rank + words))
        for _ in range(1, self.size):
            came = array("q", self.swap(right, block.tobytes(), left, words * 8))
            block = array("q", (a + self.rank + place for place, a in enumerate(came)))
        total = self.size * (self.size - 1) // 2
        return int(any(value != total + self.size * place for place, value in enumerate(block)))


def _exactly(one, size):
    got = b""
    while len(got) < size:
        piece = one.recv(size - len(got))
        if not piece:
            raise MeshError("gone")
        got += piece
    return got


_patterns: dict = {}


def pattern(source, to, size):
    """The bytes that one rank sends another; no two pairs have the same."""
    if (source, to, size) not in _patterns:
        seed = bytes((source * 31 + to * 17 + place * 7 + (source >> 8)) % 251 for place in range(251))
        _patterns[(source, to, size)] = (struct.pack("!II", source, to) + seed * (size // 251 + 1))[:size]
    return _patterns[(source, to, size)]
