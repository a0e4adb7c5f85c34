"""`rdma link` and `rdma -j link` (iproute2); `rdma statistic` and `rdma -j statistic` (parse_statistic).

    {"links": [{"device": "mlx5_0", "port": 1, "state": "active", "phys_state": "link_up", "netdev": "eth1" | "none"}],
     "netns": "shared" | "exclusive" | None}
    {"counters": {"mlx5_0/1": {"rx_write_requests": 0}}}

In a container without the net device `netdev` is "none", which is no fault of the link. No device prints nothing: [] for `[]`, and a
ParseError for an empty text.
"""

from __future__ import annotations

import re

from ..loose_json import load, whole
from . import ParseError

LINK = re.compile(r"^link (\S{1,64})/([0-9]{1,3}) (.*)$", re.M)


def _is_json(text):
    return bool(re.match(r"\s*\[\s*[\]{]", text))


def parse(text: str) -> dict:
    """See the module's docstring."""
    netns = re.search(r"^netns (shared|exclusive)\b", text, re.M)
    if _is_json(text):
        rows = [row for row in load(text, "rdma link", list) if isinstance(row, dict) and isinstance(row.get("ifname"), str)]
        links = [_link(row["ifname"], whole(row.get("port")), row) for row in rows]
    else:
        links = [_link(name, int(port), _pairs(rest)) for name, port, rest in LINK.findall(text)]
        if not links:
            raise ParseError(f"rdma link: no link in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"links": links, "netns": netns.group(1) if netns else None}


def _pairs(rest):
    words = rest.split()
    return dict(zip(words[::2], words[1::2]))


def _link(name, port, row):
    def lower(key):
        return row[key].lower() if isinstance(row.get(key), str) else None

    return {
        "device": name,
        "port": port,
        "state": lower("state"),
        "phys_state": lower("physical_state"),
        "netdev": row["netdev"] if isinstance(row.get("netdev"), str) else "none",
    }


def parse_statistic(text: str) -> dict:
    """The hardware counters of each port; a counter that is no number is None."""
    if _is_json(text):
        rows = [row for row in load(text, "rdma statistic", list) if isinstance(row, dict)]
        counters = {
            f"{row['ifname']}/{row.get('port')}": {name: whole(value) for name, value in row.items() if name not in ("ifname", "port")}
            for row in rows
            if isinstance(row.get("ifname"), str)
        }
    else:
        counters = {f"{name}/{port}": {key: whole(value) for key, value in _pairs(rest).items()} for name, port, rest in LINK.findall(text)}
    if not counters:
        raise ParseError(f"rdma statistic: no counters in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"counters": counters}
