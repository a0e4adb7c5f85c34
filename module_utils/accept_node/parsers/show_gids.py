"""`show_gids` (MLNX_OFED, DOCA): the GID tables as text.

    {"gids": [{"device": "mlx5_0", "port": 1, "index": 3, "gid": "0000:...", "ipv4": "10.0.0.1" | "none", "type": "v2",
               "netdev": "ens3np0" | "none"}],
     "count": 4 | None}

`count` is what the tool says it found; fewer rows than that means that the text is cut. No GIDs is a result: [] and 0.
"""

from __future__ import annotations

import re

from . import ParseError

ROW = re.compile(
    r"\s*([A-Za-z][\w.-]{0,63})\s+([0-9]{1,3})\s+([0-9]{1,5})\s+((?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4})"
    r"(?:\s+([0-9]{1,3}(?:\.[0-9]{1,3}){3}))?\s+(v[12])(?:\s+(\S{1,32}))?\s*"
)


def parse(text: str) -> dict:
    """See the module's docstring."""
    gids = []
    for line in text.splitlines():
        match = ROW.fullmatch(line)
        if match:
            device, port, index, gid, ipv4, version, netdev = match.groups()
            entry = {"device": device, "port": int(port), "index": int(index), "gid": gid.lower()}
            gids.append({**entry, "ipv4": ipv4 or "none", "type": version, "netdev": netdev or "none"})
    count = re.search(r"n_gids_found=([0-9]{1,5})\s*$", text, re.M)
    if not gids and not (count and int(count.group(1)) == 0):
        raise ParseError(f"show_gids: no GID in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"gids": gids, "count": int(count.group(1)) if count else None}
