"""What the messages of a collective library's log amount to: who said what, and how many of them. parsers/nccl_debug.py feeds it.

Speed matters: a launch of 1,440 ranks prints tens of megabytes. Messages are told by their first letters, and the many alike ones
(channels) are only counted; they are understood once at the end.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter, defaultdict

WHO = re.compile(r"([\w.\-]+):(\d+):\d+ \[")
HCA = re.compile(r"([A-Za-z][\w.\-]*):(\d+)/(IB|RoCE)\b")
QP = re.compile(r"(?:IbDev|IBDev|Dev) (\d+) Port (\d+) .*?mtu (\d)(?:.*? GID (\d+) \(([0-9A-Fa-f]+)/([0-9A-Fa-f]+)\))?")
GDR = re.compile(r"NET/\w+ ?: GPU Direct RDMA (Enabled|Disabled) for HCA \d+ '?([\w.\-]+)")
ENVIRONMENT = re.compile(r"((?:NCCL|RCCL)_[A-Z0-9_]+) set by environment to (.*?)\.?\s*$")
LOADED = re.compile(r"Loaded (net|collnet|tuner|profiler) plugin (.+?) \((v\d+)\)")
USING = re.compile(r"Using (\S+) \((v\d+)\)")
MISSING = re.compile(r"(?:Could not find: |No plugin found \()([\w./ \-]*?lib[\w.\-]+?\.so)")
RANK = re.compile(r"\brank (\d+) n[rR]anks (\d+)")
FABRIC = re.compile(r"MNNVL busId \w+ fabric UUID (\S+) cliqueId (\S+) state (\d+) healthMask (\S+)")
CLIQUE = re.compile(r"MNNVL (\d) cliqueId \S+ cliqueSize (\d+)")
KINDS = (  # of warnings: what names it
    ("imex", "is available but not working on this system"),
    ("acs", "ACS is enabled"),
    ("queue_pair", "ibv_modify_qp failed"),
    ("completion", "Got completion "),
    ("peer_lost", "Connection closed by remote peer"),
    ("peer_lost", "remote process exited"),
    ("p2p_disabled", "P2P is disabled between"),
    ("cuda", "Cuda failure"),
    ("cuda", "HIP failure"),
    ("plugin", "aws-ofi-nccl initialization failed"),
    ("plugin", "Failed to initialize any NET plugin"),
    ("plugin", "Error: network "),
    ("topology_file", "Could not open XML"),
)
KEPT_WARNINGS = 24


class Log:
    """Counts what processes say; nccl_summary.of() makes the shape of it that parsers/nccl_debug.py documents."""

    def __init__(self):
        self.processes, self.hosts, self.banners = {}, set(), 0
        self.queue_pairs = set()
        self.config_files, self.rocm, self.tests_library, self.library = set(), None, None, None
        self.said = defaultdict(lambda: defaultdict(set))  # what -> value -> processes
        self.paths, self.env, self.warnings, self.ranks = Counter(), defaultdict(lambda: defaultdict(set)), {}, {}

    def process(self, prefix: str):
        """The process that a line's prefix names: (host, pid); ("", "") where a launcher cut the prefix away."""
        who = self.processes.get(prefix)
        if who is None:
            found = WHO.findall(prefix)
            who = self.processes[prefix] = found[-1] if found else ("", "")
            if found:
                self.hosts.add(who[0])
        return who

    def message(self, who, message: str) -> None:
        head = message[:4]
        if head == "Chan" or head == "Coll":
            if " via " in message:
                self.paths[message.rpartition(" via ")[2]] += 1
        elif head == "NCCL" or head == "RCCL":
            self._setting(who, message)
        elif head in OF:
            OF[head](self, who, message.strip())

    def version(self, who, text: str, library: str) -> None:
        self.library = library
        self.said["version"][text].add(who)

    def warning(self, who, text: str) -> None:
        """Alike but for numbers and addresses is one warning."""
        key = re.sub(r"0x[0-9a-fA-F]+|\d+", "#", text)[:200]
        entry = self.warnings.get(key)
        if entry is None:
            if len(self.warnings) >= KEPT_WARNINGS:
                key, text = "", "further warnings"
                entry = self.warnings.get(key)
            kind = next((kind for kind, part in KINDS if part in text), "other")
            entry = self.warnings.setdefault(key, {"kind": kind, "text": text[:240], "count": 0, "hosts": set()})
        entry["count"] += 1
        entry["hosts"].add(who[0])

    def _setting(self, who, message):
        match = ENVIRONMENT.match(message)
        if match:
            self.env[match.group(1)][match.group(2)[:160]].add(who)
            return
        match = re.match(r"([NR])CCL version ?:? (\d\S*)", message)
        if match:
            self.version(who, match.group(2), "rccl" if match.group(1) == "R" else "nccl")

    def _network(self, who, message):
        if message.startswith("Using network "):
            self.said["network"][message[14:].strip()].add(who)

    def _net(self, who, message):
        if message.startswith("NET/Plugin"):
            return self._plugin(who, message)
        if message.startswith("NET/OFI"):
            return self._ofi(who, message)
        if message.startswith("NET/Socket"):
            for name in re.findall(r"\[\d+\]([\w.\-]+):", message):
                self.said["socket_interface"][name].add(who)
            return None
        if " qpn " in message:
            self._queue_pair(who, message)
            return None
        hcas = HCA.findall(message)
        if hcas and " Using" in message:
            self.said["hcas"][tuple(f"{name}:{port}/{link}" for name, port, link in hcas)].add(who)
            self.said["relaxed"]["[RO]" in message].add(who)
        elif "No device found" in message:
            self.said["no_device"][True].add(who)
        elif GDR.match(message):
            self.said["gdr_" + GDR.match(message).group(1)][(who[0], GDR.match(message).group(2))].add(who)
        else:
            match = re.match(r"NET/(\w+) ?: Initializing \S+ v?([0-9][\w.\-]*)", message)
            if match:
                self.said["plugin"][("net", match.group(1), None, match.group(2))].add(who)
        return None

    def _queue_pair(self, who, message):
        """One line for each queue pair of each connection: those alike but for its number are looked at once."""
        key = (who, message[: message.find(" qpn ")], message[message.find(" mtu ") : message.find(")")])
        if key in self.queue_pairs:
            return
        self.queue_pairs.add(key)
        match = QP.search(message)
        if match:
            device, port, mtu, index, high, low = match.groups()
            self.said["mtu"][mtu].add(who)
            if index:
                self.said["gid"][(device, port, index, _address(high, low))].add(who)

    def _ofi(self, who, message):
        match = re.search(r"Initializing (aws-ofi-(?:n|r)ccl) (\S+)", message)
        if match:
            self.said["plugin"][("net", match.group(1), None, match.group(2))].add(who)
        match = re.search(r"Selected [Pp]rovider is ([\w;\-]+)(?:, fabric is ([\w\-]+))?(?: \(found (\d+) nics\))?", message)
        if match:
            self.said["provider"][match.group(1)].add(who)
            if match.group(3):
                self.said["nics"][int(match.group(3))].add(who)
        if "No eligible providers" in message:
            self.said["no_device"][True].add(who)
        match = re.search(r"Support for DMA-BUF registrations: (true|false)", message)
        if match:
            self.said["dmabuf"][match.group(1) == "true"].add(who)

    def _plugin(self, who, message):
        kind = message.partition("/")[0].lower()
        loaded, using, missing = LOADED.search(message), USING.search(message), MISSING.search(message)
        if loaded:
            self.said["plugin"][(loaded.group(1), loaded.group(2), loaded.group(3), None)].add(who)
        elif using and kind != "net":
            self.said["plugin"][(kind, using.group(1), using.group(2), None)].add(who)
        elif missing and kind in ("net", "tuner"):
            self.said["missing"][missing.group(1).split(" ")[-1]].add(who)

    def _mnnvl(self, who, message):
        fabric, clique = FABRIC.match(message), CLIQUE.match(message)
        if fabric:
            self.said["fabric"][fabric.groups()].add(who)
        elif clique:
            self.said["mnnvl"][clique.group(1) == "1"].add(who)
            self.said["clique"][int(clique.group(2))].add(who)

    def _comm(self, who, message):
        match = RANK.search(message)
        if not match:
            return
        size = int(match.group(2))
        if size >= self.ranks.get("size", 0):
            self.ranks["size"] = size
            nodes = re.search(r"nNodes (\d+) ", message)
            if nodes:
                self.ranks["nodes"] = int(nodes.group(1))
        flag = re.search(r"MNNVL (\d)", message)
        if flag:
            self.said["mnnvl"][flag.group(1) == "1"].add(who)

    def _nvls(self, who, message):
        match = re.match(r"NVLS multicast support is (not )?available", message)
        if match:
            self.said["nvls"][match.group(1) is None].add(who)

    def _dmabuf(self, who, message):
        if "is available on GPU" in message or "Support Enabled" in message:
            self.said["dmabuf"][True].add(who)
        elif "feature disabled" in message or "not available" in message:
            self.said["dmabuf"][False].add(who)

    def _bootstrap(self, who, message):
        match = re.match(r"Bootstrap ?: Using ([\w.\-]+):", message)
        if match:
            self.said["interface"][match.group(1)].add(who)

    def _topology(self, who, message):
        match = re.match(r"Loading topology file (\S+)", message)
        if match:
            self.said["topology"][match.group(1)].add(who)
        elif message.startswith("Could not open XML"):
            self.warning(who, message)

    def _p2p(self, who, message):
        if message.startswith("P2P is disabled"):
            self.warning(who, message)


OF = {
    "Usin": Log._network,
    "NET/": Log._net,
    "TUNE": Log._plugin,
    "PROF": Log._plugin,
    "MNNV": Log._mnnvl,
    "comm": Log._comm,
    "nccl": Log._comm,
    "rccl": Log._comm,
    "NVLS": Log._nvls,
    "DMA-": Log._dmabuf,
    "DMA_": Log._dmabuf,
    "Dmab": Log._dmabuf,
    "Boot": Log._bootstrap,
    "Load": Log._topology,
    "Coul": Log._topology,
    "P2P ": Log._p2p,
}


def _address(high: str, low: str) -> str:
    """Sort of a GID printed as two words in the machine's order: ipv4, link_local, global, zero."""
    try:
        raw = int(high, 16).to_bytes(8, "little") + int(low, 16).to_bytes(8, "little")
    except OverflowError:
        return "unknown"
    address = ipaddress.IPv6Address(raw)
    if not int(address):
        return "zero"
    if address.ipv4_mapped:
        return "ipv4"
    return "link_local" if address.is_link_local else "global"
