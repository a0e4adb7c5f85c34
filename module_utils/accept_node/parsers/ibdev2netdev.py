"""`ibdev2netdev` (MLNX_OFED, DOCA), also as `| column -t` and people's notes leave it.

    {"ports": [{"device": "mlx5_0", "port": 1, "netdev": "ibp26s0", "up": false}]}

Down is the net device's state: without IPoIB it says nothing about the InfiniBand port.
"""

from __future__ import annotations

import re

from . import ParseError

ROW = re.compile(r"\s*(\S{1,64})\s+port\s+([0-9]{1,3})\s+==>\s+(\S{1,32})(?:\s+\((Up|Down)\))?(?:\s.*)?")


def parse(text: str) -> dict:
    """See the module's docstring."""
    rows = [match.groups() for match in map(ROW.fullmatch, text.splitlines()) if match]
    if not rows:
        raise ParseError(f"ibdev2netdev: no port in: {' '.join(text.split())[:120] or 'nothing'}")
    up = {"Up": True, "Down": False, None: None}
    return {"ports": [{"device": device, "port": int(port), "netdev": netdev, "up": up[state]} for device, port, netdev, state in rows]}
