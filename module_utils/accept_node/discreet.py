"""Keep other tenants out of the evidence: what InfiniBand tools say of hosts goes on under a pseudonym, before anything is recorded.

A sweep of a fabric lists every host of it, whoever's they are. Switches keep their names and GUIDs; a host's GUID becomes `0xfeed` and a
digest, its name `host-` or `kin-` and a digest (kin: named like the node that asks, but for its number). Equal hosts stay equal, and the
judge, who knows the GUIDs and names of the nodes in the inventory, recognises those and no others.
"""

from __future__ import annotations

import hashlib
import os
import re

TOOLS = ("iblinkinfo", "ibnetdiscover", "ibqueryerrors", "ibhosts", "ibswitches", "ibtracert", "ibroute", "perfquery")
TOOLS += ("saquery", "smpquery", "sminfo")
MARK = "feed"
PSEUDONYM = re.compile(r"(?:host|kin)-[0-9a-f]{12}")
AGGREGATION = "Aggregation Node"  # a part of the fabric (SHARP), nobody's host
_SWITCH = (
    re.compile(r"(?m)^Switch: 0x([0-9a-f]{1,16}) (.*):\s*$"),  # iblinkinfo
    re.compile(r'(?m)^Switch\s+[0-9]+\s+"S-([0-9a-f]{16})"\s*#\s*"(.*?)"'),  # ibnetdiscover
    re.compile(r"(?m)^SW\s+[0-9]+\s+[0-9]+ 0x([0-9a-f]{1,16})[^\n(']*\(?\s*'(.*?)'"),  # ibnetdiscover -p
    re.compile(r"(?m) - SW\s+[0-9]+\s+[0-9]+ 0x([0-9a-f]{1,16}) \( '.*?' - '(.*?)'"),
    re.compile(r'(?m)^Switch\s*: 0x([0-9a-f]{1,16}) ports [0-9]+ "(.*?)"'),  # ibswitches
)
_GUID = re.compile(r"(?<![0-9A-Za-z])(0x|[HR]-|\(|node |port )([0-9a-f]{9,16})(?![0-9a-f])")
_NAME = re.compile(r"(?m)(^CA: |Node ?Description:?\.+|\")([^\"\n]*?)((?<=.):\s*$|\"|$)|(')([^'\n]*)(')")
_PORT_NAME = re.compile(r"(?:mlx[45]_(?:bond_)?[0-9]{1,2}|(?:HCA|hfi1|ib|ibp|ionic|bnxt_re|ibsim)[-_]?[0-9a-z]{0,8})")


def guid(value: str) -> str:
    """The pseudonym of a host's GUID; a pseudonym stays itself."""
    digits = value.lower().replace("0x", "", 1).rjust(16, "0")
    if digits.startswith(MARK) or not digits.strip("0"):
        return "0x" + digits
    return "0x" + MARK + hashlib.sha256(b"guid:" + digits.encode()).hexdigest()[:12]


def host(name: str) -> str:
    """The digest under which a host's name goes, without the word before it."""
    return hashlib.sha256(b"host:" + name.split(".")[0].lower().encode()).hexdigest()[:12]


def bare(text: str) -> str:
    """An answer without its content: heads of records, errors, and the one field by which a reader knows it for whole."""
    lines = [line for line in text.splitlines(True) if re.search("dump:|^# |rror|failed", line)]
    return "".join(lines) + ("LinkState:.......................not kept\n" if "LinkState:" in text else "")


class DiscreetNode:
    """A node whose InfiniBand tools call hosts by pseudonyms, for whoever asks and in what a recorder below it keeps."""

    def __init__(self, node):
        self.node, self.mode = node, node.mode
        self.identity, self.now, self.sleep = node.identity, node.now, node.sleep
        self.read, self.read_tree, self.listdir = node.read, node.read_tree, node.listdir
        self.switches, self.switch_names, self.unkept = set(), set(), set()
        self.stem = _stem(str(node.identity().get("hostname") or ""))

    def run(self, argv, timeout_s=30.0):
        result = self.node.run(argv, timeout_s)
        if os.path.basename(argv[0]) not in TOOLS:
            return result
        self.learn(result.stdout)
        stdout = bare(result.stdout) if tuple(argv) in self.unkept else result.stdout
        result = result._replace(stdout=self.conceal(stdout), stderr=self.conceal(result.stderr))
        if hasattr(self.node, "keep_instead"):
            self.node.keep_instead(result)
        return result

    def ask_only(self, argv) -> None:
        """Of what this command says, keep only that it was answered."""
        self.unkept.add(tuple(argv))

    def learn(self, text):
        """Note who is a switch."""
        for pattern in _SWITCH:
            for found, name in pattern.findall(text):
                self.switches.add(found.rjust(16, "0"))
                self.switch_names.add(name.strip())

    def conceal(self, text: str) -> str:
        """The text with hosts under pseudonyms; what is not known to be a switch is taken for a host. Doing it twice changes nothing."""
        return _NAME.sub(self._name, _GUID.sub(self._guid, text))

    def _guid(self, match):
        sign, digits = match.groups()
        full = digits.rjust(16, "0")
        if full in self.switches or full.startswith("fe80") or not full.strip("0"):
            return match.group(0)
        made = guid(full)[2:]
        return sign + (made if made != full else digits)

    def _name(self, match):
        before, name, after = [part for part in match.groups() if part is not None]
        bare = name.strip()
        if not bare or bare in self.switch_names or AGGREGATION in bare or re.fullmatch(r"[SHR]-[0-9a-f]{16}", bare):
            return match.group(0)
        first, _, rest = bare.partition(" ")
        if not PSEUDONYM.fullmatch(first):
            first = ("kin-" if self.stem and _stem(first) == self.stem else "host-") + host(first)
        return before + " ".join([first, *_PORT_NAME.findall(rest)[:1]]) + after


def _stem(name: str) -> str:
    return re.sub(r"[0-9]+$", "", name.split(".")[0].lower())


class _Identity:
    """As much of a node as a DiscreetNode needs to know whom it asks for."""

    mode, now, sleep, read, read_tree, listdir = "replay", None, None, None, None, None

    def __init__(self, identity):
        self.identity = lambda: identity


def conceal_capture(capture: dict) -> dict:
    """A capture in which InfiniBand tools call hosts by pseudonyms; one that was recorded through a DiscreetNode comes back as it is."""
    node, commands = DiscreetNode(_Identity(capture.get("identity", {}))), []
    for record in capture.get("commands", ()):
        if os.path.basename(record["argv"][0]) in TOOLS:
            node.learn(record.get("stdout") or "")
            record = {**record, **{key: node.conceal(record[key]) for key in ("stdout", "stderr") if record.get(key)}}
        commands.append(record)
    return {**capture, "commands": commands}
