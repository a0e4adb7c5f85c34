"""/etc/os-release: which distribution and release this is (freedesktop os-release).

Shape: {"id": "ubuntu", "version_id": "24.04" | None, "id_like": ["debian"], "name": "Ubuntu 24.04.3 LTS" | None,
"codename": "noble" | None}
Lines that are no assignment (a shell prompt in a paste) are passed over.
"""

from __future__ import annotations

import re

from . import ParseError

ASSIGNMENT = re.compile(r"^([A-Z][A-Z0-9_]*)=(.*?)\s*$", re.M)


def parse(text: str) -> dict:
    fields = {
        key: value[1:-1] if value[:1] in "\"'" and value[:1] == value[-1:] and len(value) > 1 else value
        for key, value in ASSIGNMENT.findall(text)
    }
    if not fields.get("ID"):
        raise ParseError("no ID= line, so the distribution is not known")
    return {
        "id": fields["ID"].lower(),
        "version_id": fields.get("VERSION_ID") or None,
        "id_like": fields.get("ID_LIKE", "").lower().split(),
        "name": fields.get("PRETTY_NAME") or fields.get("NAME") or None,
        "codename": fields.get("VERSION_CODENAME") or fields.get("UBUNTU_CODENAME") or None,
    }
