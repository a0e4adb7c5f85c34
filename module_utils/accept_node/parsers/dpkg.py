r"""dpkg-query -W -f '${db:Status-Abbrev}\t${Package}\t${Version}\t${source:Package}\n': every package the database knows, in one call.

Shape: {"packages": {"runc": {"version": "1.3.3-0ubuntu1~24.04.3", "upstream": "1.3.3", "origin": "runc", "state": "ii"}},
"broken": ["name"]}
`packages` holds what is installed; removed packages (state rc, un) are left out; half-installed ones stand in `broken` as well.
`origin` is the source package. `upstream` is the version without epoch, revision and repack mark, a release candidate in the upstream
spelling.
"""

from __future__ import annotations

import re

from . import ParseError

FORMAT = "${db:Status-Abbrev}\\t${Package}\\t${Version}\\t${source:Package}\\n"
REPACK = re.compile(r"[+~](?:really|dfsg|ds|repack|git|ubuntu|deb)[^-]*$")


def upstream(version: str) -> str:
    """1:1.17.8-1 -> 1.17.8; 1.1.5+ds1-1+deb12u1 -> 1.1.5; 1.0.0~rc95+ds1-1 -> 1.0.0-rc95; 5:29.7.0-1~ubuntu.24.04~noble -> 29.7.0"""
    text = version.split(":", 1)[1] if ":" in version else version
    text = text.rsplit("-", 1)[0] if "-" in text else text
    return REPACK.sub("", text).replace("~", "-", 1)


def parse(text: str) -> dict:
    packages, broken, seen = {}, [], 0
    for line in text.splitlines():
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != 4 or not 2 <= len(fields[0]) <= 3:
            raise ParseError("not a line of status, package, version and source: %r" % line[:80])
        seen += 1
        state, name, version, origin = fields[0].strip(), fields[1], fields[2], fields[3]
        if len(state) < 2 or state[1] in "nc" or not version:
            continue
        if state[1] != "i":
            broken.append(name)
        packages.setdefault(name, {"version": version, "upstream": upstream(version), "origin": origin, "state": state})
    if not seen:
        raise ParseError("the package database lists nothing")
    return {"packages": packages, "broken": sorted(set(broken))}
