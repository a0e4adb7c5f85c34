"""`sminfo` (infiniband-diags): the subnet manager that the port knows.

    {"lid": 1, "guid": "0x0002c90300001001", "activity": 540, "priority": 0, "state": "master"}

States: notactive, discovering, standby, master; None for one that the tool does not name.
"""

from __future__ import annotations

import re

from . import ParseError

LINE = re.compile(
    r"sminfo: sm lid ([0-9]{1,5}) sm guid 0x([0-9a-f]{1,16}), activity count ([0-9]{1,12}) priority ([0-9]{1,3}) state ([0-9]{1,3})\b.*"
)
STATES = {0: "notactive", 1: "discovering", 2: "standby", 3: "master"}


def parse(text: str) -> dict:
    """See the module's docstring."""
    for match in filter(None, map(LINE.fullmatch, map(str.strip, text.splitlines()))):
        lid, guid, activity, priority, state = match.groups()
        return {
            "lid": int(lid),
            "guid": "0x" + guid.rjust(16, "0"),
            "activity": int(activity),
            "priority": int(priority),
            "state": STATES.get(int(state)),
        }
    raise ParseError(f"sminfo: no subnet manager in: {' '.join(text.split())[:120] or 'nothing'}")
