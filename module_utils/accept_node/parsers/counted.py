"""What commands print that only count: grep -c, awk over groups, find -printf, sacct; nobody is read by name.

parse(text): `grep -c`: {"count": N}; a file that is not there counts nothing
parse_groups(text): `name gid members` a line, members counted (awk over /etc/group): {"groups": [{"name", "gid", "members"}]}
parse_dots(text): one dot for the place that was searched and one for each thing found (find -printf .): {"count": N}
parse_records(text): one exit code a line (`sacct -n -P -o ExitCode`): {"count": N}; nothing printed is nothing there
"""

from __future__ import annotations

import re

from . import ParseError


def parse(text: str) -> dict:
    if re.fullmatch(r"\s*\d{1,9}\s*", text):
        return {"count": int(text)}
    if re.search(r"No such file or directory", text) and not re.search(r"^\d", text, re.M):
        return {"count": 0}
    raise ParseError("not a count: %r" % text.strip()[:60])


def parse_groups(text: str) -> dict:
    rows = [line.split() for line in text.splitlines() if line.strip()]
    if not rows or not all(len(row) == 3 and row[1].isdigit() and row[2].isdigit() for row in rows):
        raise ParseError("not names of groups with their counts: %r" % text.strip()[:80])
    return {"groups": [{"name": name, "gid": int(gid), "members": int(members)} for name, gid, members in rows]}


def parse_dots(text: str) -> dict:
    if not re.fullmatch(r"\.+", text.strip()):
        raise ParseError("not a row of dots: %r" % text.strip()[:60])
    return {"count": len(text.strip()) - 1}


def parse_records(text: str) -> dict:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    odd = [line for line in lines if not re.fullmatch(r"\d{1,3}:\d{1,3}", line)]
    if odd:
        raise ParseError("not an exit code: %r" % odd[0][:60])
    return {"count": len(lines)}
