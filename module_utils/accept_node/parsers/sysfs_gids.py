"""The GID tables below /sys/class/infiniband. `read` takes the files of a tree; `parse` takes `grep -r .` of it, as people record it.

    {"ports": {"mlx5_0/1": {"table": 256, "gids": [{"index": 3, "gid": "0000:...:ffff:0a0a:0101", "kind": "ipv4", "type": "v2",
                                                    "netdev": "rail0"}]}}}

Sparse: empty slots (all zero) are counted in `table` and not listed. `kind`: ipv4 (mapped), ipv4_link_local (169.254/16), link_local
(fe80::/10), global (all other IPv6, unique local ones too), loopback, multicast. `type`: v1, v2, or None where the kernel will not say
(EINVAL: the slot is empty, or its net device lives in another namespace). `netdev`: None likewise.
"""

from __future__ import annotations

import ipaddress
import re

from . import ParseError

LINE = re.compile(r"(?:.*?/class/infiniband/)?([^:\s]+/ports/[^:\s]+):(.*)")
GID = re.compile(r"(?:[0-9a-f]{4}:){7}[0-9a-f]{4}")
LOOPBACK = "0000:0000:0000:0000:0000:0000:0000:0001"
ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
TYPES = {"RoCE v2": "v2", "IB/RoCE v1": "v1", "RoCE v1": "v1"}


def parse(text: str) -> dict:
    """`grep -r .` below the class."""
    found = read(dict(match.groups() for match in map(LINE.fullmatch, (line.rstrip() for line in text.splitlines())) if match))
    if not found["ports"]:
        raise ParseError(f"/sys/class/infiniband: no GID in: {' '.join(text.split())[:120] or 'nothing'}")
    return found


def read(files: dict) -> dict:
    """The tables in a tree of files (path below the class -> text); other files are passed over."""
    ports = {}
    for path, text in files.items():
        parts = path.split("/")
        if len(parts) == 5 and parts[1] == "ports" and parts[3] == "gids" and parts[4].isdigit():
            port = ports.setdefault(parts[0] + "/" + parts[2], {"table": 0, "gids": []})
            port["table"] += 1
            gid = text.strip().lower()
            if gid == ZERO:
                continue
            attributes = f"{parts[0]}/ports/{parts[2]}/gid_attrs"
            port["gids"].append(_entry(int(parts[4]), gid, files, attributes))
    for port in ports.values():
        port["gids"].sort(key=lambda entry: entry["index"])
    return {"ports": dict(sorted(ports.items(), key=lambda pair: natural(pair[0])))}


def natural(name: str) -> list:
    """mlx5_2 before mlx5_10."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.findall(r"[0-9]+|[^0-9]+", name)]


def _entry(index, gid, files, attributes):
    netdev = files.get(f"{attributes}/ndevs/{index}", "").strip()
    return {
        "index": index,
        "gid": gid,
        "kind": kind_of(gid),
        "type": TYPES.get(files.get(f"{attributes}/types/{index}", "").strip()),
        "netdev": netdev if re.fullmatch(r"[^\s!/]{1,32}", netdev) else None,
    }


def kind_of(gid: str):
    """The kind of a GID in sysfs form, or None where it is none."""
    if not GID.fullmatch(gid):
        return None
    if gid == ZERO:
        return "zero"
    if gid.startswith("0000:0000:0000:0000:0000:ffff:"):
        return "ipv4_link_local" if gid[30:34] == "a9fe" else "loopback" if gid[30:32] == "7f" else "ipv4"
    first = int(gid[:4], 16)
    return "link_local" if first & 0xFFC0 == 0xFE80 else "multicast" if first >= 0xFF00 else "loopback" if gid == LOOPBACK else "global"


def short(gids: list) -> list:
    """GIDs as rows [index, address as people write it, type, net device, its state]; `full` undoes it."""
    return [[gid["index"], _written(gid["gid"]), gid["type"], gid["netdev"], gid.get("netdev_state")] for gid in gids]


def full(rows) -> list:
    """GIDs of such rows, as `read` gives them; of rows that are so already, themselves."""
    return [row if isinstance(row, dict) else _unwritten(*row) for row in rows]


def _written(gid):
    try:
        address = ipaddress.IPv6Address(gid)
    except ValueError:
        return gid
    return str(address.ipv4_mapped or address)


def _unwritten(index, written, kind, netdev, state):
    try:
        address = ipaddress.ip_address(written)
        gid = ipaddress.IPv6Address("::ffff:" + written if address.version == 4 else written).exploded
    except ValueError:
        gid = written
    return {"index": index, "gid": gid, "kind": kind_of(gid), "type": kind, "netdev": netdev, "netdev_state": state}
