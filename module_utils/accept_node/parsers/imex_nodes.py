"""nodes_config.cfg of nvidia-imex: one address of a node a line. {"addresses": [address, ...]}, sorted; comments begin with #."""

from __future__ import annotations

import re

from . import ParseError


def parse(text: str) -> dict:
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    addresses = sorted({line for line in lines if line})
    if not addresses or not all(re.fullmatch(r"[\w.:-]{1,253}", address) for address in addresses):
        raise ParseError("no addresses of IMEX nodes: %r" % text.strip()[:60])
    return {"addresses": addresses}
