"""`stat -L -c "%a %u %g %U %G %s %F %n" PATH...` (coreutils): who may change these files. What is missing stands on stderr: both are read.

{"files": {path: {"mode": 493, "uid", "gid", "owner", "group", "bytes", "kind": "regular file"} | "none"}, "unread": [path]}
`mode` is a number (0o755 is 493); "none" is a path that is not there, `unread` holds those that could not be looked at.
"""

from __future__ import annotations

import re

from . import ParseError
from .stat_files import FAILED

LINE = re.compile(r"([0-7]{1,4}) (\d{1,10}) (\d{1,10}) (\S{1,64}) (\S{1,64}) (\d{1,18}) ([a-z][a-z ()]{2,40}?) (/.*)")


def parse(text: str) -> dict:
    files, unread = {}, []
    for line in text.splitlines():
        found, failed = LINE.fullmatch(line), FAILED.fullmatch(line)
        if found:
            mode, uid, gid, owner, group, size, kind, path = found.groups()
            told = {"mode": int(mode, 8), "uid": int(uid), "gid": int(gid), "owner": owner, "group": group}
            files[path] = {**told, "bytes": int(size), "kind": kind}
        elif failed and failed.group(2) in ("No such file or directory", "Not a directory"):
            files.setdefault(failed.group(1), "none")
        elif failed:
            unread.append(failed.group(1))
        elif line.strip():
            raise ParseError("not a line of stat: %r" % line.strip()[:80])
    if not files and not unread:
        raise ParseError("empty: stat named no file")
    return {"files": files, "unread": unread}
