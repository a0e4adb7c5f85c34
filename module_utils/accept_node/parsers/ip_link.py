"""`ip -j link` and `ip link` (iproute2).

{"links": {"rail0": {"state": "up", "mtu": 9000, "address": "04:90:...", "type": "ether", "master": "vrf0" | "none", "vfs": 0}}}
"""

from __future__ import annotations

import re

from ..loose_json import load, whole
from . import ParseError

HEAD = re.compile(r"[0-9]{1,6}: ([^:@\s]{1,32})(?:@\S{1,32})?: <[^>\n]*> (.*)")
ADDRESS = re.compile(r"link/(\S{1,20})(?: ([0-9a-f:]{11,59}))?.*")


def parse(text: str) -> dict:
    """See the module's docstring."""
    links = _json(text) if re.match(r"\s*\[", text) else _text(text)
    if not links:
        raise ParseError(f"ip link: no device in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"links": links}


def _json(text):
    links = {}
    for row in load(text, "ip -j link", list):
        if not isinstance(row, dict) or not isinstance(row.get("ifname"), str):
            continue
        state, vfs = row.get("operstate"), row.get("vfinfo_list")
        links[row["ifname"]] = {
            "state": state.lower() if isinstance(state, str) else None,
            "mtu": whole(row.get("mtu")),
            "address": row.get("address") if isinstance(row.get("address"), str) else None,
            "type": row.get("link_type") if isinstance(row.get("link_type"), str) else None,
            "master": row["master"] if isinstance(row.get("master"), str) else "none",
            "vfs": len(vfs) if isinstance(vfs, list) else 0,
        }
    return links


def _text(text):
    links, link = {}, None
    for line in text.splitlines():
        head, address = HEAD.match(line), ADDRESS.match(line.strip())
        if head:
            words = head.group(2).split()
            pairs = dict(zip(words, words[1:] + [""]))
            mtu, state = pairs.get("mtu"), pairs.get("state")
            link = links[head.group(1)] = {
                "state": state.lower() if state else None,
                "mtu": whole(mtu),
                "address": None,
                "type": None,
                "master": pairs.get("master", "none"),
                "vfs": 0,
            }
        elif link is not None and address and link["type"] is None:
            link["type"], link["address"] = address.groups()
        elif link is not None and re.match(r"\s+vf [0-9]", line):
            link["vfs"] += 1
    return links
