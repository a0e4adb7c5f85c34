"""The spine: demo, judge, audit of one machine against the strongest peer, and how the audit grows with the fleet."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from . import fleet
from .measure import BIN, ROOT, at_most, paired, row, seconds, seconds_and_mib

PLAYBOOK = BIN / "ansible-playbook"
PEER = "clustermax==0.2.1"
VERDICTS = (0, 10, 11)


def figures():
    with tempfile.TemporaryDirectory(prefix="accept-bench-") as folder:
        work = Path(folder)
        yield at_most("demo_seconds", seconds(["make", "--no-print-directory", "demo"]), "s", 60)
        yield from _judge(work)
        yield from _against_peer(work)
        yield from _growth(work)


def _judge(work):
    """1,000 hosts × all checks from evidence on disk, in a process of its own."""
    captures = fleet.simulate(work / "judge", nodes=1000)
    run_dir = fleet.evidence(captures, work / "judge-evidence" / "run")
    facts = list(run_dir.glob("facts/*/*.json"))
    size = sum(path.stat().st_size for path in facts)
    argv = [sys.executable, ROOT / "tools" / "benchmarks" / "judge_once.py", run_dir]
    elapsed, memory = seconds_and_mib(argv)
    checks = len(set(re.findall(r"^- id: (\S+)", fleet.all_checks(), re.M)))
    note = f"{checks} checks, {len(facts)} envelopes, {size / 2**20:.0f} MiB of facts"
    yield at_most("judge_1000_hosts_seconds", elapsed, "s", 5, note)
    yield at_most("judge_1000_hosts_mib", memory, "MiB", 500)


def _against_peer(work):
    """The audit of this machine, verdict and report included, against `cmax audit --local -y`, in turn."""
    peer = ROOT / ".cache" / "bench-cmax"
    if not (peer / "bin" / "cmax").exists():
        venv.create(peer, with_pip=True)
        seconds([peer / "bin" / "python", "-m", "pip", "install", "--quiet", PEER])
    ours = [PLAYBOOK, "acceptance.yml", "-i", "inventories/localhost", "--tags", "audit", "-e", f"accept_evidence={work}/localhost"]
    theirs = [peer / "bin" / "cmax", "audit", "--local", "-y"]
    ratio, a, b = paired(ours, theirs, codes=VERDICTS)
    yield at_most("audit_localhost_ratio", ratio, "ratio", 0.8, f"{a:.2f} s against {b:.2f} s, median of 5 pairs")
    text = subprocess.run(theirs, capture_output=True, text=True, check=False).stdout
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (failed|warnings|passed|skipped)", text)}
    answered = sum(counts.get(word, 0) for word in ("failed", "warnings", "passed"))
    questions = fleet.answered(work / "localhost" / "latest")
    yield row("audit_localhost_questions", questions, "answers", f"> {answered}", questions > answered, "judged rows against the peer's")


def _growth(work):
    """Replayed hosts end to end: play, judge and report."""
    took = {}
    for nodes in (100, 200, 1000):
        captures = fleet.simulate(work / f"growth-{nodes}", nodes=nodes)
        took[nodes] = seconds([PLAYBOOK, "acceptance.yml", "-i", captures / "hosts.yml", "-e", f"accept_evidence={work}/growth"], VERDICTS)
        if nodes == 200:
            yield at_most("audit_200_hosts_seconds", took[200], "s", 120)
    ratio = (took[1000] / 1000) / (took[100] / 100)
    yield at_most("cost_per_host_1000_to_100", ratio, "ratio", 1.2, f"{took[100]:.0f} s for 100, {took[1000]:.0f} s for 1,000")
