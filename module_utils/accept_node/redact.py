"""Replace the identities in a capture by others of the same shape, so that it can be shown and parsers still make the same of it.

Serials, UUIDs, GUIDs, MAC and IP addresses, host and user names and machine ids keep their length and signs (hex stays hex).
One value has one replacement; one key makes the same replacements on every node, so that what was equal, or odd, in a fleet
still is. A host keeps the number at the end of its name, so that a folded set of nodes stays one: gpu[01-16] becomes kqz[01-16].
Without the key they cannot be guessed back. PCI addresses and versions stay.
"""

from __future__ import annotations

import hashlib
import hmac
import re

from . import discreet
from .secrets import map_texts, remove_secrets

# Identities that only their surroundings tell. Group 1 is the value.
_SERIAL = re.compile(
    r"(?im)(?:(?:serial(?:[ _-]?(?:number|no|num))?|\bs/n|\bsn|\b(?:asset|service)[ _]tag)[\"']?[ \t]*[:=][ \t]*[\"']?"
    r"|serial[\w-]{0,32}>\s*|serial number is[ \t]+)([A-Za-z0-9][\w.-]{3,})"
)
_USER = re.compile(r"(?:/home/|\buid=\d+\(|\b(?:USER|LOGNAME|SUDO_USER)=)([a-z_][\w.-]*)")
_SERVER = re.compile(r"(?m)(?:^([A-Za-z][\w.-]*):/\S*\s+(?:on\s+)?/\S*\s+(?:type\s+)?(?:nfs|lustre|ceph|beegfs|fuse|glusterfs))")
_NODE = re.compile(  # other nodes, as schedulers name them
    r"(?:\b(?:Node(?:Name|HostName|List)|BatchHost|(?:Slurmctld|SlurmdbdHost|AccountingStorage)Host(?:\[\d\])?|ControlMachine|AllocNode:Sid)\s*=\s*"
    r"|\"(?:kubernetes\.io/hostname|nodeName|internalDNS|hostname|node_name)\"\s*:\s*\")([A-Za-z][\w.-]*)"
)
_GUID_NAMED = re.compile(
    r"(?i)(?:(?:guid|\bpdi)\D{0,24}?(?:0x)?|\b(?:Switch|CA|RT)\b:?\s+0x|(?<![0-9a-z])[SHR]-)([0-9a-f]{16})(?![0-9a-f])"
)

# Identities that have a shape of their own.
_UUID = re.compile(r"(?i)(?<![0-9a-f])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-f])")
_HEX32 = re.compile(r"(?<![0-9a-fA-F-])[0-9a-f]{32}(?![0-9a-fA-F-])")
_LONG_MAC = re.compile(r"(?i)(?<![0-9a-f:])(?:[0-9a-f]{2}:){7,19}[0-9a-f]{2}(?![0-9a-f:])")
_MAC = re.compile(r"(?i)(?<![0-9a-f:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![0-9a-f:])")
_GID = re.compile(r"(?i)(?<![0-9a-f:])(?:[0-9a-f]{4}:){7}[0-9a-f]{4}(?![0-9a-f:])")
_GUID = re.compile(r"(?i)(?<![0-9a-f:])(?:[0-9a-f]{4}:){3}[0-9a-f]{4}(?![0-9a-f:])")
_IPV6 = re.compile(r"(?i)(?<![0-9a-z:.])([0-9a-f]{3,4}):((?:[0-9a-f]{1,4}:)*:(?:[0-9a-f]{1,4}:)*[0-9a-f]{1,4})(?![0-9a-z:])")
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = re.compile(r"(?<![\w.-])(?:" + _OCTET + r"\.){3}" + _OCTET + r"(?![\w-]|\.\d)")
_NO_HOST = re.compile(r"^(?:0\.|127\.|255\.|169\.254\.169\.)|\.0\.0\.0$")
# Where four numbers are a version, unless what stands around them says address.
_VERSION_LINE = re.compile(r"(?i)version|firmware|\bfw\b|bios|driver|release|revision|inforom|image|package|ofed")
_BEFORE = re.compile(r"(?i)(?:\binet|\baddr\w*|\bsrc|\bvia|\bserver|\bgateway|\bfrom|\bto|/)[\s=:\"]*$")
_AFTER = re.compile(r"@(?:tcp|o2ib)|:/|/\d{1,2}\b|:\d")

# Files that hold an identity and nothing else.
_ID_FILE = re.compile(r"(?:^|/)(?:serial|serial_number|(?:product|board|chassis)_serial|chassis_asset_tag)$")
_HOST_FILES = ("/etc/hostname", "/proc/sys/kernel/hostname")
_HOST_COMMANDS = (["hostname"], ["hostname", "-f"], ["hostname", "-s"], ["uname", "-n"])
# A host or user called like a word that tools print is left alone: replacing it would change what they say.
_PLAIN = set(
    "localhost root nobody daemon ubuntu admin user node nodes gpu gpus host server head login linux kernel nvidia amd slurm none"
    " unknown rack master worker control compute storage default system local data home test cpu numa pci cuda mpi munge switch fabric"
    " memory driver".split()
)
_PLACEHOLDERS = {"default", "unknown", "none", "notspecified", "0123456789", "123456789", "1234567890"}


class Redactor:
    """Replaces identities. Show it all texts first (`learn`), so that a serial seen with its label is also known where it stands alone."""

    def __init__(self, key: bytes):
        self.key = key
        self.tables = {}  # kind -> {value: replacement}
        self.made = {}  # kind -> replacements
        self.names = {}  # value -> kind: replaced wherever it stands as a word
        self.stems = set()  # host names without the number at their end: replaced before any number, and before a folded set
        self.pseudonyms = {}  # digest under which a fabric's sweep keeps a GUID or a host -> (kind, value)
        self._words = None

    def learn(self, text: str) -> None:
        """Note the identities that only their surroundings tell."""
        for kind, pattern in (("serial", _SERIAL), ("user", _USER), ("host", _SERVER), ("host", _NODE), ("guid", _GUID_NAMED)):
            for match in pattern.finditer(text):
                self.name(kind, match.group(1))
        for pattern in (_GID, _GUID):  # with colons in sysfs, without in what tools say of a fabric
            for match in pattern.finditer(text):
                self.name("guid", "".join(match.group(0).split(":")[-4:]).lower())
        for value in _columns(text):
            self.name("serial", value)

    def name(self, kind: str, value: str) -> None:
        """An identity to replace wherever it stands as a word."""
        value = value.strip().rstrip(".")
        if not value or not _telling(kind, value) or value in self.made.get(kind, ()):
            return
        self.names[value] = kind
        if kind in ("guid", "host"):
            digest = discreet.guid(value)[2:] if kind == "guid" else discreet.host(value)
            self.names[digest], self.pseudonyms[digest] = "pseudonym", (kind, value)
        if kind == "host":
            self._stem(_numbered(value.split(".", 1)[0])[0])
        if kind == "host" and "." in value:
            short, domain = value.split(".", 1)
            self.name("host", short)
            if "." in domain:
                self.names[domain] = "host"
        self._words = None

    def _stem(self, stem):
        if len(stem.strip("-_")) > 1 and stem not in self.made.get("host", ()):
            self.stems.add(stem)
            self._words = None

    def text(self, text: str) -> str:
        """The text with every identity replaced. What this redactor made itself is left alone."""
        text = self._named(text)
        text = _SERIAL.sub(self._labelled, text)
        text = _LONG_MAC.sub(self._hex("guid", tail=16), text)
        text = _MAC.sub(self._hex("mac", tail=6), text)
        text = _UUID.sub(self._hex("id"), text)  # a machine id is the same UUID without dashes
        text = _HEX32.sub(self._hex("id"), text)
        text = _GID.sub(self._gid, text)
        text = _IPV6.sub(lambda match: match.group(1) + ":" + self._hexed("ipv6", match.group(2)), text)
        text = _GUID.sub(self._hex("guid"), text)
        return "".join(self._addresses(line) for line in text.splitlines(True))

    def host(self, name: str) -> str:
        """A host name standing alone: replaced though it may be too short or too plain to be replaced in texts."""
        return name if name == "localhost" else self._host("host", name)

    def _host(self, kind, name):
        """Part by part, since a domain is the same in every name; the number of a node stays."""
        first, dot, domain = name.partition(".")
        stem, number = _numbered(first) if kind == "host" else (first, "")
        return self._once(kind, stem, _alike) + number + dot + ".".join(self._once(kind, part, _alike) for part in domain.split(".") if dot)

    def _named(self, text):
        if not self.names and not self.stems:
            return text
        if self._words is None:
            own = [stem for stem in self.stems if stem.strip("-_").lower() not in _PLAIN]  # node0 is also a NUMA node; node[01 is not
            ends = ((self.names, "(?![A-Za-z0-9])"), (own, r"(?=\d{1,5}(?![A-Za-z0-9]))"), (self.stems, r"(?=\[\d)"))
            words = ("(?:" + "|".join(map(re.escape, sorted(some, key=len, reverse=True))) + ")" + end for some, end in ends if some)
            self._words = re.compile(r"(?:(?<![A-Za-z0-9])|(?<=[^A-Za-z0-9]0x))(?:" + "|".join(words) + ")")
        return self._words.sub(lambda match: self._name(match.group(0)), text)

    def _name(self, value):
        kind = self.names.get(value)
        if kind is None:
            return self._once("host", value, _alike)
        if kind == "pseudonym":
            kind, value = self.pseudonyms[value]
            return discreet.guid(self._hexed(kind, value))[2:] if kind == "guid" else discreet.host(self.host(value))
        if kind == "guid":
            return self._hexed(kind, value)
        return self._host(kind, value)

    def _labelled(self, match):
        value = match.group(1)
        if not any(sign.isdigit() for sign in value) or _placeholder(value) or _UUID.search(value):
            return match.group(0)
        return match.group(0)[: match.start(1) - match.start(0)] + ".".join(self._once("serial", part, _alike) for part in value.split("."))

    def _hex(self, kind, tail=0):
        return lambda match: self._hexed(kind, match.group(0), tail)

    def _hexed(self, kind, value, tail=0):
        """Other hex digits in the same places; with `tail` only so many at the end (a MAC keeps its vendor)."""
        digits = re.sub(r"[^0-9a-fA-F]", "", value)
        if len(digits) == 16 and digits[6:10].lower() in ("fffe", "0300"):  # made of a MAC address, and still is
            kind, tail = "mac", 6
        part = digits[-tail:].lower()
        if not part.strip("0") or not part.strip("f"):
            return value
        fresh = digits[: len(digits) - len(part)] + self._once(kind, part, lambda part, digest: digest[: len(part)])
        signs = iter(fresh.upper() if value.upper() == value != value.lower() else fresh)
        return re.sub(r"[0-9a-fA-F]", lambda _: next(signs), value)

    def _gid(self, match):
        """The last half is the port's GUID; of an IPv4 address in a GID, the last two groups."""
        groups = match.group(0).split(":")
        if groups[5].lower() == "ffff" and not "".join(groups[:5]).strip("0"):
            octets = self._ipv4(".".join(str(int(pair, 16)) for group in groups[6:] for pair in (group[:2], group[2:])))
            return ":".join(groups[:6]) + ":{:02x}{:02x}:{:02x}{:02x}".format(*map(int, octets.split(".")))
        return ":".join(groups[:4]) + ":" + self._hexed("guid", ":".join(groups[4:]))

    def _addresses(self, line):
        version = bool(_VERSION_LINE.search(line))

        def replace(match):
            doubtful = version or int(match.group(0).split(".")[0]) < 10
            sure = _BEFORE.search(line[max(0, match.start() - 40) : match.start()]) or _AFTER.match(line[match.end() :])
            return match.group(0) if doubtful and not sure else self._ipv4(match.group(0))

        return _IPV4.sub(replace, line)

    def _ipv4(self, value):
        """Another address of as many digits. What makes it private, link-local or public stays."""
        return value if _NO_HOST.search(value) else self._once("ipv4", value, _other_address)

    def _once(self, kind, value, shape):
        """The replacement of a value: the same every time, and one that no other value has or had."""
        table, made = self.tables.setdefault(kind, {}), self.made.setdefault(kind, set())
        if value in made:
            return value
        if value not in table:
            for attempt in range(50):  # very short values run out of others
                digest = hmac.new(self.key, f"{kind}:{value}:{attempt}".encode("utf-8", "replace"), hashlib.sha512).hexdigest()
                fresh = shape(value, digest)
                if fresh != value and fresh not in made and fresh not in self.names:
                    break
            table[value] = fresh
            made.add(fresh)
        return table[value]


def redact_capture(capture: dict, key: bytes) -> dict:
    """A capture without secrets and with every identity replaced; one that is redacted already comes back as it is."""
    if capture.get("redacted"):
        return capture
    capture, redactor = discreet.conceal_capture(map_texts(capture, remove_secrets)), Redactor(key)
    identity = dict(capture.get("identity", {}))
    redactor.name("host", identity.get("hostname") or "")
    for record in capture["commands"]:
        if list(record["argv"]) in _HOST_COMMANDS:
            redactor.name("host", record.get("stdout") or "")
    for path, text in _files(capture):
        if path in _HOST_FILES:
            redactor.name("host", text)
        elif _ID_FILE.search(path):
            redactor.name("serial", text)
    map_texts(capture, redactor.learn)
    redacted = map_texts(capture, redactor.text)
    if identity.get("hostname"):
        identity["hostname"] = redactor.host(identity["hostname"])
    return {**redacted, "identity": identity, "redacted": True}


def _files(capture):
    for record in capture["files"]:
        yield record["path"], record.get("text") or ""
    for record in capture["trees"]:
        yield from record["files"].items()


def _telling(kind, value):
    """Is this value an identity, and one that can be told from other words and numbers?"""
    if kind in ("host", "user"):
        return len(value) > 2 and value.lower() not in _PLAIN and not value.replace(".", "").isdigit()
    if kind == "serial":
        wanted = 8 if value.isdigit() else 5
        return len(value) >= wanted and any(sign.isdigit() for sign in value) and not _placeholder(value) and not _UUID.search(value)
    return not _placeholder(value)


def _numbered(name):
    """A host's name and the number at its end. One made of an address (ip-10-0-1-23) has none: all of it tells who it is."""
    match = re.fullmatch(r"(.*?[A-Za-z_-])(\d{1,5})", name)
    return match.groups() if match and len(re.findall(r"\d+", name)) < 4 else (name, "")


def _placeholder(value):
    """What tools print in place of an identity."""
    return not value.strip("0xXfF-: .") or re.sub(r"[^a-z0-9]", "", value.lower()) in _PLACEHOLDERS


def _alike(value, digest):
    """Letters become letters of their case, digits digits; what is hex stays hex; every other sign stays."""
    hexed = re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", value)
    signs = []
    for place, sign in enumerate(value):
        number = int(digest[place * 2 % 124 : place * 2 % 124 + 4], 16)
        if sign.isdigit() and sign.isascii():
            sign = str(number % 10)
        elif sign.isalpha() and sign.isascii():
            letter = "abcdef"[number % 6] if hexed else "abcdefghijklmnopqrstuvwxyz"[number % 26]
            sign = letter.upper() if sign.isupper() else letter
        signs.append(sign)
    return "".join(signs)


def _other_address(value, digest):
    octets = value.split(".")
    octets, rest = (octets[:2], octets[2:]) if octets[0] in ("100", "169", "172", "192") else (octets[:1], octets[1:])
    for place, octet in enumerate(rest):
        low, high = {1: (1, 9), 2: (10, 99), 3: (100, 254)}[len(octet)]
        octets.append(str(low + int(digest[8 * place : 8 * place + 8], 16) % (high - low + 1)))
    return ".".join(octets)


def _columns(text):
    """Serials in tables: a CSV column called serial, the column SN of `nvme list`."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        heads = [head.strip().lower() for head in line.split(",")]
        if len(heads) > 1 and "serial" in heads:
            for row in lines[at + 1 :]:
                cells = row.split(",")
                if len(cells) != len(heads):
                    break
                yield cells[heads.index("serial")]
        match = re.search(r"(?<=\s)SN\s{2,}", line)
        if match and at + 1 < len(lines) and not lines[at + 1].strip("- "):
            for row in lines[at + 2 :]:
                yield row[match.start() : match.end()]
