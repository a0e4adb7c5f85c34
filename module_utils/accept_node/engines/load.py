"""One device under load: matrix products in this thread, collectives in another, at the same time. What happened is told line by line.

A line on stdout is JSON: {"k": "hello", ...what the device is}, {"k": "b", "n": products, "flop", "s": seconds, "bad": wrong results,
"sum": checksum}, {"k": "x", "phase", "op", "n", "bytes", "ms": [mean, min, max], "gbytes_s", "bad"}, {"k": "e", "what", "text"}.
`gbytes_s` is the bus bandwidth as nccl-tests count it. An engine gives the device: products(seconds) and join() (load_cpu, load_torch).
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time

BLOCK_S = 1.0
BUS = {"all_to_all": lambda n: (n - 1) / n, "all_gather": lambda n: (n - 1) / n, "reduce_scatter": lambda n: (n - 1) / n}
_said = threading.Lock()


def say(**line):
    with _said:
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
        sys.stdout.flush()


def phases(settings):
    """(phase, operation, seconds since the common beginning at which it ends)"""
    end = settings["exchange_end_s"]
    yield "burn", "all_to_all", end
    for place, operation in enumerate(settings["soak"], 1):
        yield "soak", operation, end + place * settings["soak_s"]


class Exchange(threading.Thread):
    """The collectives of this rank, until all ranks agree that the time of the last phase is over."""

    def __init__(self, device, settings, began):
        super().__init__(daemon=True)
        self.device, self.settings, self.began, self.stopping = device, settings, began, False

    def run(self):
        try:
            ranks = self.device.join()
            for phase, operation, end_s in phases(self.settings):
                self._phase(ranks, phase, operation, end_s)
            ranks.close()
        except Exception as error:  # whatever breaks here is a finding; the products go on
            say(k="e", what="exchange", text=" ".join(f"{type(error).__name__}: {error}".split())[:300])

    def _phase(self, ranks, phase, operation, end_s):
        size, count = self.settings["exchange_bytes"], 1
        while True:
            wanted = self.stopping or time.monotonic() - self.began >= end_s
            over, count = ranks.agree(int(wanted), count)
            if over:
                return
            took, wrong, start = [], 0, time.monotonic()
            for _ in range(count):
                before = time.monotonic()
                wrong += getattr(ranks, operation)(size)
                took.append(time.monotonic() - before)
                self._hold_back(size, ranks.size, before)
            mean, spent = sum(took) / len(took), time.monotonic() - start
            rate = size * ranks.size / mean / 1e9 * BUS[operation](ranks.size)
            say(
                k="x", phase=phase, op=operation, n=count, bytes=size * ranks.size, bad=int(wrong), gbytes_s=round(rate, 6),
                ms=[round(1000 * value, 4) for value in (mean, min(took), max(took))],
            )  # fmt: skip
            count = max(1, min(100000, int(count * BLOCK_S / max(spent, 1e-4))))

    def _hold_back(self, size, ranks, before):
        """No more than the cap: the front-end network carries heartbeats and storage too."""
        cap = self.settings.get("cap_mbps")
        if cap:
            time.sleep(max(0.0, 8 * size * (ranks - 1) / (cap * 1e6) - (time.monotonic() - before)))


def main(device, settings):
    """Load the device until its time is over or SIGTERM; the exit status is 0 either way."""
    began, stop = time.monotonic() - settings["since_s"], threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    say(k="hello", **device.hello())
    exchange = None
    if settings["exchange"]:
        exchange = Exchange(device, settings, began)
        exchange.start()
    while not stop.is_set() and time.monotonic() - began < settings["gemm_end_s"]:
        say(k="b", **device.products(BLOCK_S))
    if exchange:
        last = list(phases(settings))[-1][2]
        while exchange.is_alive() and not stop.is_set() and time.monotonic() - began < last + settings["timeout_s"]:
            exchange.join(0.2)
        exchange.stopping = True
        exchange.join(2.0)
