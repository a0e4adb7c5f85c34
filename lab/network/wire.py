"""A wire of user space between a bridge and a network namespace, with delay and loss, for kernels without netem. Ends with its process.

Usage: wire.py NAMESPACE OUTER INNER LOSS_PCT DELAY_MS      OUTER: the interface here; INNER: the one in the namespace
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import fcntl
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, TAP, NO_PI, NEWNET = 0x400454CA, 2, 0x1000, 0x40000000


def tap(name) -> int:
    handle = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(handle, TUNSETIFF, struct.pack("16sH", name.encode(), TAP | NO_PI))
    return handle


def main():
    namespace, outer, inner, loss, delay = sys.argv[1:]
    loss, delay, rng = float(loss) / 100, float(delay) / 1000, random.Random(7)
    ends = [tap(outer)]
    with open(f"/run/netns/{namespace}", "rb") as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), NEWNET):
            raise OSError(ctypes.get_errno(), f"no namespace {namespace}")
    ends.append(tap(inner))
    print("ready", flush=True)
    waiting = collections.deque()  # (when it is due, where to, frame); what the namespace sends is late or lost
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select(ends, [], [], left)[0]:
            frame = os.read(end, 65536)
            if end == ends[0]:
                send(ends[1], frame)
            elif len(frame) < 60 or frame[12:14] == b"\x08\x06" or rng.random() >= loss:  # ARP always gets through
                waiting.append((time.monotonic() + delay, ends[0], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, end, frame = waiting.popleft()
            send(end, frame)


def send(end, frame):
    with contextlib.suppress(OSError):  # an interface that is down takes nothing
        os.write(end, frame)


if __name__ == "__main__":
    main()
