"""`smpquery portinfo` (infiniband-diags); `parse_nodeinfo`, `parse_nodedesc`, `parse_pkeys`, `parse_guidinfo` for its other operations.

    parse           {"lid": 3, "port": 1, "fields": {"LinkState": "Active", "ProtectBits": "0", "MkeyLeasePeriod": "0"}}
    parse_nodeinfo  {"fields": {"NodeType": "Channel Adapter", "Guid": "0x..."}}
    parse_nodedesc  {"name": "gpu001 mlx5_0"}
    parse_pkeys     {"pkeys": [{"index": 1, "key": "0x8001", "member": "full"}], "capacity": 64}   empty slots are left out
    parse_guidinfo  {"guids": ["0x0002c90300001001"], "capacity": 32}                              zeros are left out

Fields keep the tool's names and texts; keys that it will not show are None. A node that does not answer is a ParseError.
"""

from __future__ import annotations

import re

from . import ParseError

HEAD = re.compile(r"# Port info: (?:.*?)\b(?:Lid ([0-9]{1,5}) )?port ([0-9]{1,3})")
FIELD = re.compile(r"(\w[\w ]{0,40}):\.+(.*)")
ROW = re.compile(r"([0-9]{1,5}): ((?:0x[0-9a-f]{4,16}\s*)+)")
CAPACITY = re.compile(r"([0-9]{1,6}) (?:pkeys|guids) capacity for this port")


def parse(text: str) -> dict:
    """`smpquery portinfo`: see the module's docstring."""
    head = next(filter(None, map(HEAD.match, map(str.strip, text.splitlines()))), None)
    fields = _fields(text)
    if head is None or "LinkState" not in fields:
        raise ParseError(f"smpquery portinfo: {_shown(text)}")
    return {"lid": int(head.group(1)) if head.group(1) else None, "port": int(head.group(2)), "fields": fields}


def parse_nodeinfo(text: str) -> dict:
    """`smpquery nodeinfo`: see the module's docstring."""
    fields = _fields(text)
    if "NodeType" not in fields:
        raise ParseError(f"smpquery nodeinfo: {_shown(text)}")
    return {"fields": fields}


def parse_nodedesc(text: str) -> dict:
    """`smpquery nodedesc`: see the module's docstring."""
    fields = _fields(text)
    if "Node Description" not in fields:
        raise ParseError(f"smpquery nodedesc: {_shown(text)}")
    return {"name": fields["Node Description"]}


def parse_pkeys(text: str) -> dict:
    """`smpquery pkeys`: see the module's docstring."""
    values, capacity = _table(text, "pkeys")
    keys = [(at, key, int(key, 16)) for at, key in values]
    pkeys = [{"index": at, "key": key, "member": "full" if value & 0x8000 else "limited"} for at, key, value in keys if value & 0x7FFF]
    return {"pkeys": pkeys, "capacity": capacity}


def parse_guidinfo(text: str) -> dict:
    """`smpquery guidinfo`: see the module's docstring."""
    values, capacity = _table(text, "guidinfo")
    return {"guids": [guid for _, guid in values if int(guid, 16)], "capacity": capacity}


def _fields(text):
    found = {}
    for match in filter(None, map(FIELD.fullmatch, map(str.strip, text.splitlines()))):
        value = match.group(2).strip()
        found.setdefault(match.group(1), None if value in ("", "<not displayed>") else value)
    return found


def _table(text, what):
    values, capacity = [], None
    for line in map(str.strip, text.splitlines()):
        row, last = ROW.fullmatch(line), CAPACITY.fullmatch(line)
        if row:
            values += [(int(row.group(1)) + at, value) for at, value in enumerate(row.group(2).split())]
        elif last:
            capacity = int(last.group(1))
    if capacity is None:
        raise ParseError(f"smpquery {what}: {_shown(text)}")
    return values, capacity


def _shown(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line[:160] for line in lines if "iberror" in line), lines[-1][:160] if lines else "nothing")
