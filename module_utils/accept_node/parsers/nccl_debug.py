"""What a collective library says of itself with NCCL_DEBUG=VERSION or INFO: NCCL, RCCL, and their network plugins (aws-ofi-nccl, gIB).

Lines are `host:pid:tid [device] NCCL INFO <message>`, behind whatever a launcher puts before them, mixed with tables and other noise.
Two messages that ran into one line are told apart. What is counted are processes ("ranks" below: one process per GPU is the rule).

    {"library": "nccl", "versions": {"2.27.6+cuda13.0": 16}, "rocm": null, "ranks": 16, "nodes": 2, "processes": 16, "hosts": 2,
     "network": "roce", "networks": [{"name": "IB", "kind": "roce", "ranks": 16, "hosts": []}],
     "hca_sets": [{"hcas": ["mlx5_0:1/RoCE"], "ranks": 16, "hosts": []}], "hosts_without_devices": [], "net_devices_used": [0, 1],
     "gids": [{"hca": "mlx5_0:1", "index": 3, "address": "ipv4", "ranks": 16, "hosts": []}], "mtu_bytes": {"4096": 16},
     "relaxed_ordering": true, "gpudirect": true, "gdr_hcas": {"enabled": 8, "disabled": 0}, "dmabuf": {"available": 16, "unavailable": 0},
     "channels": {"NET/IB": {"gdr": 64, "host": 0}, "P2P/CUMEM": 448}, "nvls": {"available": 16, "unavailable": 0},
     "mnnvl": {"active": false, "clique_sizes": {}, "fabrics": []}, "collnet": false, "provider": null, "nics": null,
     "plugins": [{"kind": "net", "name": "Libfabric", "api": "v9", "version": "1.13.2-aws", "ranks": 16}],
     "plugins_missing": {"libnccl-net.so": 16}, "topology_files": {}, "config_files": [], "env": {"NCCL_IB_TC": {"106": 16}},
     "interfaces": {"eth0": 16}, "warnings": [{"kind": "imex", "text": "…", "count": 8, "hosts": ["n1"]}]}

`network` is ib, roce, ib_or_roce (the list of HCAs is not in the log), efa, gib, sockets, slingshot, another plugin's name in small
letters, "mixed", or null where the log does not say. `hosts` of an entry are named only where not every process says the same (16 at
most). `gids` and `mtu_bytes` need NCCL_DEBUG_SUBSYS to hold NET; `channels` is {} where no connection was reported. Null is not said.
"""

from __future__ import annotations

import re

from .. import nccl_summary
from ..nccl_log import Log
from . import ParseError

INFO, WARN = "NCCL INFO ", "NCCL WARN"
NOISE = frozenset(["Conn", "Tree", "New ", "Ring", "Sett", "trea"])  # messages that say nothing of the transport, by their first letters
PREFIX = re.compile(r"([\w.\-]+):(\d+):(\d+) \[ ?(\d+) ?\]")
OUTSIDE = re.compile(
    r"(?:^|[\s>\])])(?:([NR])CCL version ?:? ([0-9][\w.+:\-]*)|ROCm version ?: (\S{1,40})"
    r"|# nccl-tests version .*nccl-library=(\d{5}))"
)


def parse(text: str) -> dict:
    """The whole output of a launch. Without a single line of the library it is a ParseError."""
    log, said = Log(), 0
    process, message, paths = log.process, log.message, log.paths
    for line in text.split("\n"):
        at = line.find(INFO)
        if at < 0:
            if line.find(WARN) >= 0:
                said += 1
                _warning(log, line)
            elif "ersion" in line:
                said += _outside(log, line)
            continue
        said += 1
        if line.rfind("NCCL ") != at and (line.find(INFO, at + 10) >= 0 or line.find(WARN, at + 10) >= 0):
            _glued(log, line)
            continue
        head = line[at + 10 : at + 14]
        if head == "Chan" or head == "Coll":  # by far the most: only counted here
            via = line.rfind(" via ")
            if via > at:
                paths[line[via + 5 :]] += 1
        elif head not in NOISE:
            message(process(line[:at]), line[at + 10 :])
    if not said:
        raise ParseError("no line of NCCL or RCCL in the output (NCCL_DEBUG was not INFO?)" if text.strip() else "empty output")
    if "nccl.conf" in text:
        log.config_files.update(re.findall(r"NCCL INFO [^\n]{0,200}?(/[\w./\-]{0,120}nccl\.conf)", text)[:64])
    return nccl_summary.of(log)


def _warning(log, line):
    at = line.find(WARN)
    log.warning(log.process(line[:at]), line[at + 9 :].strip(" :\r"))


def _glued(log, line):
    """Several processes in one line: each message ends where the next `host:pid:tid [device]` begins."""
    starts = list(PREFIX.finditer(line))
    hosts = [match.group(1) for match in starts]
    for number in range(1, len(starts)):  # a host's name may run on from the message before
        known = [name for name in log.hosts if hosts[number].endswith(name)]
        hosts[number] = max(known, key=len, default=hosts[number])
    ends = [match.start() + len(match.group(1)) - len(host) for match, host in zip(starts[1:], hosts[1:])]
    for match, host, end in zip(starts, hosts, [*ends, len(line)]):
        who = log.process(f"{host}:{match.group(2)}:{match.group(3)} [{match.group(4)}] ")
        level, _, message = line[match.end() : end].partition("NCCL ")[2].partition(" ")
        if level == "WARN":
            log.warning(who, message.strip())
        elif level == "INFO":
            log.message(who, message)


def _outside(log, line) -> bool:
    """Lines that carry no prefix: the version banner of rank 0, what the tests print of the library."""
    match = OUTSIDE.search(line)
    if match is None:
        return False
    letter, version, rocm, tests = match.groups()
    if version:
        log.banners += 1
        log.version(("", str(log.banners)), version, "rccl" if letter == "R" else "nccl")
    elif rocm:
        log.rocm = rocm
    else:
        log.tests_library = f"{int(tests) // 10000}.{int(tests) // 100 % 100}.{int(tests) % 100}"
    return True
