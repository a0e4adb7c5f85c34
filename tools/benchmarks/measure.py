"""Time and memory of whole processes, and the shape of a row."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def row(name, value, unit, target, ok, note="") -> dict:
    return {"name": name, "value": round(value, 3), "unit": unit, "target": target, "ok": bool(ok), **({"note": note} if note else {})}


def at_most(name, value, unit, limit, note="") -> dict:
    return row(name, value, unit, f"<= {limit}", value <= limit, note)


def seconds(argv, codes=(0,), env=None) -> float:
    """Wall time of one run of argv in the project's root; another exit status than those expected is an error of the benchmark."""
    start = time.monotonic()
    done = subprocess.run([str(a) for a in argv], cwd=ROOT, env=_env(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    elapsed = time.monotonic() - start
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(map(str, argv))}: exit status {done.returncode}\n{done.stdout.decode(errors='replace')[-2000:]}")
    return elapsed


def seconds_and_mib(argv) -> tuple[float, float]:
    """Wall time and peak memory of one process."""
    start = time.monotonic()
    process = subprocess.Popen([str(a) for a in argv], cwd=ROOT, env=_env(None), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(map(str, argv))}: status {status}")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def paired(ours, theirs, pairs=5, codes=(0,)) -> tuple[float, float, float]:
    """Two commands in turn, so that the machine's mood touches both: median ratio, median of each. One pair is warm-up."""
    runs = [(seconds(ours, codes), seconds(theirs, codes)) for _ in range(pairs + 1)][1:]
    return (statistics.median(a / b for a, b in runs), statistics.median(a for a, _ in runs), statistics.median(b for _, b in runs))


def cpu_seconds() -> float:
    """CPU time of finished children so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _env(extra):
    """Ours; compiled modules are kept, as they are for a user: the peer's were compiled when it was installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = f"{BIN}:{os.environ.get('PATH', '')}"
    return {**kept, "PATH": path, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), **(extra or {})}
