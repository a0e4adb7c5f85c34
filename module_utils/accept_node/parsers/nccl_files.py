"""What a provider ships for collective libraries, beside their own conf files (nccl_conf.py): where settings stand, plugins, topology.

parse reads `grep -rHsIE` over shell files, module files, hooks of scheduler and containers, conf files of UCX:
    {"files": {"/etc/profile.d/nccl.sh": {"NCCL_IB_TC": "106"}}, "mounts": [{"from": "/etc/enroot/mounts.d/10-nccl.fstab",
     "what": "/etc/nccl.conf"}]}
Shell (`export A=1`), csh and Tcl (`setenv A 1`), Lua (`setenv("A", "1")`), systemd (`Environment=A=1`), lists in YAML and JSON (`- A=1`),
hooks that print (`echo "A=1"`). Names of other programs are not kept.
"""

from __future__ import annotations

import json
import re

from . import ParseError

NAMES = r"(?:NCCL|RCCL|OFI_NCCL|UCX|OMPI_MCA|PMIX_MCA|FI|NVSHMEM|SHARP|HSA|RDMAV)_[A-Za-z0-9_]{1,80}"
SETTING = re.compile(r"""(?:Environment=)?(?:[^#=$]{0,48}["'\s(])?(""" + NAMES + r""")["']?(?:\s*[=,]|\s)\s*(.*)""")
ABOUT = re.compile(r"nccl|rccl|nvshmem", re.I)
MAP = re.compile(r"([a-z0-9][a-z0-9.\-]{0,252})\s+([a-z0-9][a-z0-9.\-]{0,252})")
MOUNT = re.compile(r"(/\S{0,120}(?:nccl|topo|gib)\S{0,80})\s+/\S+\s")


def parse(text: str) -> dict:
    """The output of the search; of a name that a file sets twice the last value counts."""
    files, mounts = {}, []
    for line in text.splitlines():
        path, _, rest = line.partition(":")
        mount = MOUNT.match(rest)
        match = None if mount else SETTING.match(rest)
        if mount and path.startswith("/"):
            mounts.append({"from": path, "what": mount.group(1)})
        elif match and path.startswith("/"):
            files.setdefault(path, {})[match.group(1)] = _word(match.group(2))
    if text.strip() and not files and not mounts and not any(line.startswith("/") for line in text.splitlines()):
        raise ParseError(f"grep: no path before a colon in: {' '.join(text.split())[:120]}")
    return {"files": files, "mounts": mounts}


def _word(value):
    """The value as the file's language means it: up to a closing quote, a blank, or what ends the statement."""
    value = value.strip().strip("(, ").strip()
    quoted = re.match(r"""\\?(["'])(.*?)\\?\1""", value)
    return (quoted.group(2) if quoted else re.split(r"""[\s;#)"'\\>]""", value)[0])[:200]


def parse_mca(text: str) -> dict:
    """Open MPI's openmpi-mca-params.conf: {"values": {"btl_tcp_if_include": "eth0"}}; comments and blank lines set nothing."""
    if "\0" in text:
        raise ParseError("openmpi-mca-params.conf: not text")
    found = re.findall(r"^[ \t]*([a-z][a-z0-9_]{1,60})[ \t]*=[ \t]*([^\s#][^#\n]{0,200}?)[ \t\r]*(?:#.*)?$", text, re.M)
    return {"values": dict(found)}


def parse_paths(text: str) -> dict:
    """A list of folders, one a line or joined by colons (modulespath): {"paths": [...]}; comments and variables are left out."""
    lines = [line.split("#")[0] for line in text.splitlines()]
    return {"paths": [path.strip() for line in lines for path in line.split(":") if re.match(r"/[^$]*$", path.strip())][:32]}


def parse_found(text: str) -> dict:
    """`find ... -printf '%p\\t%l\\n'`: {"files": [{"path": "/usr/lib64/libnccl.so.2", "target": "libnccl.so.2.27.3"}]}; "" is no link."""
    files = []
    for line in text.splitlines():
        path, tab, target = line.partition("\t")
        if not path.startswith("/") or not tab:
            raise ParseError(f"find: no path and target in: {line[:120]!r}")
        files.append({"path": path, "target": target})
    return {"files": files}


def parse_topology(text: str) -> dict:
    """A topology file of the library (XML): {"gpus": 8, "nics": 8, "version": "1"}; what it does not name is 0."""
    if "<system" not in text:
        raise ParseError(f"topology file: no <system> in: {' '.join(text.split())[:80]!r}")
    version = re.search(r'<system[^>]*\bversion="([^"]{1,20})"', text)
    gpus = len(re.findall(r'<pci\s[^>]*class="0x03', text)) or len(re.findall(r"<gpu[\s>/]", text))
    nics = len(re.findall(r'<pci\s[^>]*class="0x02', text)) or len(re.findall(r"<net[\s>/]", text))
    return {"gpus": gpus, "nics": nics, "version": version.group(1) if version else None}


def parse_map_names(text: str) -> dict:
    """Lines of namespace and name of ConfigMaps: {"maps": [{"namespace", "name"}]} of those whose name speaks of a collective library."""
    found = [MAP.fullmatch(line.strip()) for line in text.splitlines() if line.strip()]
    if None in found:
        raise ParseError(f"kubectl: no namespace and name in: {' '.join(text.split())[:120]!r}")
    maps = [{"namespace": match.group(1), "name": match.group(2)} for match in found if ABOUT.search(match.group(2))]
    return {"maps": maps}


def only_about(text: str) -> str:
    """The lines of ConfigMaps that speak of a collective library by their name; the names of others are nobody's business."""
    return "".join(line + "\n" for line in text.splitlines() if ABOUT.search(line.split()[-1] if line.split() else ""))


def parse_map(text: str) -> dict:
    """A ConfigMap in JSON: {"values": {"NCCL_IB_TC": "106"}}, from keys that are such names and from lines of its files."""
    try:
        data = json.loads(text).get("data")
    except (ValueError, AttributeError) as error:
        raise ParseError(f"kubectl: no ConfigMap: {' '.join(text.split())[:80]!r}") from error
    values = {}
    for key, value in sorted((data or {}).items()) if isinstance(data or {}, dict) else ():
        if re.fullmatch(NAMES, key):
            values[key] = str(value)[:200]
            continue
        for line in str(value).splitlines():
            match = SETTING.match(line)
            if match:
                values[match.group(1)] = _word(match.group(2))
    return {"values": values}


def only_settings(text: str) -> str:
    """A ConfigMap in JSON without anything but what sets a name of these libraries."""
    try:
        return json.dumps({"data": parse_map(text)["values"]}) + "\n"
    except ParseError:
        return ""
