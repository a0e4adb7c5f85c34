"""`ibtracert` (infiniband-diags): the way from one port to another.

    {"hops": [{"out_port": 1, "kind": "switch", "guid": "0x...", "in_port": 1, "lid": 3, "name": "leaf01"}], "complete": true}

`complete` is false where the tool did not reach the end.
"""

from __future__ import annotations

import re

from . import ParseError

HOP = re.compile(r'\[([0-9]{1,3})\] -> (switch|ca|router) port \{0x([0-9a-f]{1,16})\}\[([0-9]{1,3})\] lid ([0-9]{1,5})-[0-9]{1,5} "(.*)"')
ENDS = re.compile(r'(From|To) (?:switch|ca|router) \{0x[0-9a-f]{1,16}\} .*"')


def parse(text: str) -> dict:
    """See the module's docstring."""
    hops, ends = [], set()
    for line in map(str.strip, text.splitlines()):
        hop, end = HOP.fullmatch(line), ENDS.fullmatch(line)
        if hop:
            out, kind, guid, into, lid, name = hop.groups()
            hops.append({"out_port": int(out), "kind": kind, "guid": "0x" + guid.rjust(16, "0"), "in_port": int(into)})
            hops[-1].update(lid=int(lid), name=name.strip() or None)
        elif end:
            ends.add(end.group(1))
    if "From" not in ends:
        raise ParseError(f"ibtracert: no way in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"hops": hops, "complete": "To" in ends}
