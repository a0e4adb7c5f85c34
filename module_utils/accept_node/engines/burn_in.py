"""The conductor of a node's burn-in: begins the load of every device when its rack's turn has come, samples the node meanwhile, ends all.

Its argument is a folder with settings.json; the series goes to series.jsonl.gz there, line by line on one time axis: seconds since the
beginning common to all nodes. burn_series.py has the lines. It ends by itself, on SIGTERM, or by the job's deadline; what was written until
then stays.
"""

from __future__ import annotations

import gzip
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

from . import sampler

FLUSH_S = 30.0
GRACE_S = 3.0


class Series:
    """Lines into a file of gzip members: a member is whole, whatever becomes of the next one."""

    def __init__(self, path):
        self.path, self.lines, self.last = path, [], time.monotonic()

    def add(self, line):
        self.lines.append(json.dumps(line, separators=(",", ":")))
        if time.monotonic() - self.last > FLUSH_S:
            self.flush()

    def flush(self):
        if self.lines:
            with gzip.open(self.path, "ab", 5) as handle:
                handle.write(("\n".join(self.lines) + "\n").encode())
        self.lines, self.last = [], time.monotonic()


class Worker:
    """The process that loads one device, and what it has said since the last tick."""

    def __init__(self, argv, device, exchange):
        self.device, self.exchange, self.ended = device, exchange, None
        self.said, self.tail = queue.Queue(), ""
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for stream, hear in ((self.process.stdout, self._hear), (self.process.stderr, self._mutter)):
            threading.Thread(target=hear, args=(stream,), daemon=True).start()

    def _hear(self, stream):
        for line in stream:
            try:
                self.said.put(json.loads(line))
            except ValueError:
                self.tail = line.decode("utf-8", "replace").strip()[:300]

    def _mutter(self, stream):
        for line in stream:
            self.tail = line.decode("utf-8", "replace").strip()[:300] or self.tail

    def lines(self):
        found = []
        while not self.said.empty():
            found.append(self.said.get())
        return found


class Burn:
    def __init__(self, folder):
        with open(os.path.join(folder, "settings.json"), encoding="utf-8") as handle:
            self.settings = json.load(handle)
        self.folder, self.stopping = folder, ""
        self.zero = time.monotonic() + self.settings["begin_in_s"]
        self.series = Series(os.path.join(folder, "series.jsonl.gz"))
        self.workers, self.again, self.nvlink_at = [], set(), 0.0
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "stopping", "stopped"))

    def now(self):
        return round(time.monotonic() - self.zero, 3)

    def event(self, what, text, **more):
        self.series.add({"t": self.now(), "event": {"what": what, "text": text, **more}})

    def run(self):
        settings = self.settings
        gpus = sampler.gpus() if settings["engine"] == "torch" else None
        self.gpus = gpus or sampler.Processors([device["cpu"] for device in settings["devices"] if "cpu" in device])
        self.ports, self.log = sampler.Ports(), sampler.KernelLog()
        sources = {"gpu": self.gpus.name, "kernel_log": self.log.reason, "ports": sorted(self.ports.paths), "order": self.gpus.devices}
        told = {key: value for key, value in settings.items() if key not in ("token", "peers")}
        head = {"columns": list(sampler.GPU_COLUMNS), "sources": sources, "settings": told, "ranks": settings["ranks"]}
        self.series.add({"schema": 1, "kind": "burn_in", "started_at_s": round(time.time(), 3), **head})
        self.series.flush()
        end = max(settings["gemm_end_s"], settings["exchange_end_s"] + len(settings["soak"]) * settings["soak_s"])
        begun, tick = False, settings["resolution_s"]
        following = time.monotonic()
        while not self.stopping and self.now() < end + settings["timeout_s"]:
            if not begun and self.now() >= settings["offset_s"]:
                begun = True
                for device in settings["devices"]:
                    self.begin(device, settings["exchange"])
            self.sample()
            if begun and all(worker.ended is not None for worker in self.workers):
                break
            following = max(following + tick, time.monotonic() - tick)
            time.sleep(max(0.0, following - time.monotonic()))
        self.finish()

    def begin(self, device, exchange):
        settings = self.settings
        own = {"device": device, "rank": settings["first_rank"] + device["slot"], "exchange": exchange, "since_s": self.now()}
        script, engine = os.path.join(self.folder, "run.py"), "engines.load_" + settings["engine"]
        argv = [settings["python"], script, engine, os.path.join(self.folder, "settings.json"), json.dumps(own)]
        try:
            self.workers.append(Worker(argv, device, exchange))
        except OSError as error:
            self.event("load", f"{device['name']}: {settings['python']}: {error.strerror}", device=device["name"])

    def sample(self):
        rows = self.gpus.read()
        line = {"t": self.now(), "gpu": rows and [row if row and any(cell is not None for cell in row) else None for row in rows]}
        loads, nets = {}, {}
        for worker in self.workers:
            self.attend(worker, loads, nets)
        grown, states = self.ports.changes()
        log = self.log.new()
        for key, value in (("load", loads), ("net", nets), ("port", grown), ("link", states), ("log", log)):
            if value:
                line[key] = value
        if time.monotonic() >= self.nvlink_at:
            self.nvlink_at = time.monotonic() + self.settings["nvlink_every_s"]
            line["nvlink"] = self.gpus.links()
        if self.gpus.reason:
            line["gpu_reason"] = self.gpus.reason
        self.series.add(line)

    def attend(self, worker, loads, nets):
        """What a device has done since the last tick: [products, TFLOP, seconds, wrong] and [[phase, op, n, bytes, ms..., GB/s, wrong]]."""
        rc, name = worker.process.poll(), worker.device["name"]
        for said in worker.lines():
            kind = said.pop("k", "")
            if kind == "b":
                had = loads.get(name, [0, 0.0, 0.0, 0])
                tflop, seconds = float(f"{had[1] + said['flop'] / 1e12:.7g}"), round(had[2] + said["s"], 4)
                loads[name] = [had[0] + said["n"], tflop, seconds, had[3] + said["bad"], said["sum"]]
            elif kind == "x":
                row = [said[key] for key in ("phase", "op", "n", "bytes")]
                nets.setdefault(name, []).append([*row, *said["ms"], said["gbytes_s"], said["bad"]])
            elif kind == "hello":
                self.series.add({"t": self.now(), "device": {**worker.device, **said}})
            elif kind == "e":
                self.event(said["what"], f"{name}: {said['text']}", device=name)
        if rc is not None and worker.ended is None and worker.said.empty():
            worker.ended = rc
            if rc and not self.stopping:
                how = f"signal {-rc}" if rc < 0 else f"exit status {rc}"
                self.event("load", f"{name}: its load ended with {how}{': ' if worker.tail else ''}{worker.tail}", device=name)
                if worker.exchange and name not in self.again and self.now() < self.settings["gemm_end_s"]:
                    self.again.add(name)  # a collective that broke takes its process along: the products go on without it
                    self.begin(worker.device, False)

    def finish(self):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.terminate()
        until = time.monotonic() + GRACE_S
        while time.monotonic() < until and any(worker.process.poll() is None for worker in self.workers):
            time.sleep(0.05)
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.kill()
        why = self.stopping or "done"
        self.series.add({"t": self.now(), "end": why})
        self.series.flush()
        print(json.dumps({"end": why, "t": self.now()}), flush=True)


if __name__ == "__main__":
    Burn(sys.argv[1]).run()
