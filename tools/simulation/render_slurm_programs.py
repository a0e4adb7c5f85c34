"""What grep, stat and head say of slurm.conf and of the programs that slurmd runs on a simulated node, as health_state.py has them."""

from __future__ import annotations

import re

from accept_node.collectors import health_slurm
from accept_node.node import ReplayNode

from .records import command, listing, missing

CONF = "/etc/slurm/slurm.conf"
NONE = "No such file or directory"


def commands(health):
    """The commands that the collector asks, found by letting it ask: each answer decides the next question."""
    slurm, said = health.get("slurm"), []
    said.append(_grep(slurm))
    if not slurm:
        return [*said, missing(health_slurm.ASK)]
    files = _files(slurm)
    for ask, tell in ((health_slurm.STAT, _stat), (health_slurm.HEAD, _head)):
        paths = _asked({"commands": said, "listings": listings(health)}, ask)
        if paths:
            said.append(tell(paths, files))
    return said


def listings(health):
    slurm = health.get("slurm")
    if not slurm:
        return []
    folders = sorted({path.rsplit("/", 1)[0] for path in re.findall(r"(?:Prolog|Epilog)=(\S+)", slurm["conf"])})
    names = {folder: [path.rsplit("/", 1)[1] for path in slurm["programs"] if path.rsplit("/", 1)[0] == folder] for folder in folders}
    return [listing(folder, sorted(found)) for folder, found in names.items()]


def _asked(capture, argv):
    """The paths that the collector goes on to name behind this command."""
    from accept_node.envelope import Gather

    gather = Gather(ReplayNode(capture))
    health_slurm.read(gather)
    what = " ".join(argv)
    return next((source["what"][len(what) :].split() for source in gather.sources if source["what"].startswith(what)), [])


def _grep(slurm):
    pattern = re.compile(health_slurm.GREP[2].replace("[[:space:]]", r"\s"), re.I)
    lines = [f"{CONF}:{line}\n" for line in slurm["conf"].splitlines() if pattern.search(line)] if slurm else []
    gone = [path for path in health_slurm.CONFS if not slurm or path != CONF]
    errors = "".join(f"grep: {path}: {NONE}\n" for path in gone)
    return command([*health_slurm.GREP, *health_slurm.CONFS], "".join(lines), rc=2, stderr=errors, duration_s=0.003)


def _files(slurm):
    """path -> (mode, uid, owner, kind, size, text)"""
    known = {CONF: (0o644, 0, "root", slurm["conf"]), **slurm["programs"]}
    files = {path: (mode, uid, owner, "regular file", len(text), text) for path, (mode, uid, owner, text) in known.items()}
    for path in known:
        parts = path.split("/")
        for count in range(2, len(parts)):
            files["/".join(parts[:count])] = (0o755, 0, "root", "directory", 4096, "")
    for folder in re.findall(r"(?:Prolog|Epilog)=(\S+)/", slurm["conf"]):
        files.setdefault(folder, (0o755, 0, "root", "directory", 4096, ""))
    return files


def _stat(paths, files):
    told, lost = [], []
    for path in paths:
        if path not in files:
            lost.append(f"stat: cannot statx '{path}': {NONE}\n")
            continue
        mode, uid, owner, kind, size, _ = files[path]
        told.append(f"{mode:o} {uid} {uid} {owner} {owner} {size} {kind} {path}\n")
    return command([*health_slurm.STAT, *paths], "".join(told), rc=1 if lost else 0, stderr="".join(lost), duration_s=0.003)


def _head(paths, files):
    parts = [f"==> {path} <==\n{files[path][5]}" for path in paths]
    return command([*health_slurm.HEAD, *paths], "\n".join(parts), duration_s=0.003)
