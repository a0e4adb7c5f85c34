"""`stat -L -c "%a %u %g %F %n" PATH...` (coreutils): who may open which of these files. What is missing stands on stderr, so both are read.

{"files": {path: {"mode": "600", "uid": 0, "gid": 0, "kind": "character special file", "open_to": "root" | "group" | "everyone"} | "none"},
 "unread": [path]}; "none" is a path that is not there, `unread` holds those that could not be looked at.
"""

from __future__ import annotations

import re

from . import ParseError

LINE = re.compile(r"([0-7]{1,4}) (\d{1,10}) (\d{1,10}) ([a-z][a-z ()]{2,40}?) (/.*)")
FAILED = re.compile(r"(?:\S*/)?stat: (?:cannot|can't) statx? ['\u2018]?(/[^'\u2019]*?)['\u2019]?: (.+)")


def parse(text: str) -> dict:
    files, unread = {}, []
    for line in text.splitlines():
        found, failed = LINE.fullmatch(line), FAILED.fullmatch(line)
        if found:
            mode, uid, gid, kind, path = found.groups()
            files[path] = {"mode": mode, "uid": int(uid), "gid": int(gid), "kind": kind, "open_to": _open_to(int(mode, 8), int(gid))}
        elif failed:
            if failed.group(2) in ("No such file or directory", "Not a directory"):
                files.setdefault(failed.group(1), "none")
            else:
                unread.append(failed.group(1))
        elif line.strip():
            raise ParseError("not a line of stat: %r" % line.strip()[:80])
    if not files and not unread:
        raise ParseError("empty: stat named no file")
    return {"files": files, "unread": unread}


def _open_to(mode, gid) -> str:
    """The widest circle that the mode lets in. Group 0 is root's own."""
    return "everyone" if mode & 0o007 else "group" if mode & 0o070 and gid else "root"
