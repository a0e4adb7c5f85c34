"""`saquery` (infiniband-diags): records of the subnet administrator, of any type.

    {"records": [{"record": "NodeRecord", "lid": "2", "node_type": "Switch", "NodeDescription": "spine01"}], "refused": ""}

Records keep the tool's field names and texts (`EndPortLid`, `SMState`, `pkey`); a name said twice in one keeps its first. `refused` is the
error that the administrator answered with, such as SA_ERR_REQ_INVALID; there are no records then. A query that got no answer at all, or
a tool that found no port to ask by, is a ParseError.
"""

from __future__ import annotations

import re

from . import ParseError

HEAD = re.compile(r"(\w+)(?: group)? dump:")
FIELD = re.compile(r"([A-Za-z][\w ]{0,40}?)(?:\.{2,}|:\.{2,})(.*)")
REFUSED = re.compile(r"ERROR: Query result returned 0x[0-9a-f]+, +(.*)")
EMPTY = re.compile(r"(?:IsSM|IsSMdisabled) ports|No records? found.*|0 records?.*", re.I)


def parse(text: str) -> dict:
    """stdout and stderr together: errors are on the latter."""
    records, refused, empty = [], "", False
    for line in map(str.strip, text.splitlines()):
        head, field = HEAD.fullmatch(line), FIELD.fullmatch(line)
        if head:
            if head.group(1) not in ("PortInfo", "SMInfo"):  # those stand inside a record of their own name
                records.append({"record": head.group(1)})
        elif field and records:
            records[-1].setdefault(field.group(1).strip(), field.group(2).strip())
        elif REFUSED.search(line):
            refused = REFUSED.search(line).group(1)[:120]
        elif EMPTY.fullmatch(line):
            empty = True
    if not records and not refused and not empty:
        raise ParseError(f"saquery: no answer in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"records": records, "refused": refused}
