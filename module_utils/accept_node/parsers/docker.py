"""Docker Engine: `docker version`, as text and as JSON (--format '{{json .}}').

Shape: {"client": "29.7.0" | None, "server": "29.7.0" | None, "containerd": "2.1.4" | None, "runc": "1.3.6" | None,
"vendor": "Docker Engine - Community" | None}
`server` is None when the daemon did not answer. Podman's docker shim is refused: its number is podman's.
"""

from __future__ import annotations

import json
import re

from . import ParseError

VERSION = re.compile(r"^v?([0-9]\S*)$")


def parse_json(text: str) -> dict:
    start = text.find("{")
    try:
        answer = json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else None
    except (ValueError, RecursionError) as error:
        raise ParseError("cut or broken JSON") from error
    if not isinstance(answer, dict):
        raise ParseError("no JSON object")
    client, server = _dict(answer.get("Client")), _dict(answer.get("Server"))
    if "OsArch" in client:
        raise ParseError("podman answers for docker")
    listed = server.get("Components")
    parts = {_text(part.get("Name")): part for part in map(_dict, listed if isinstance(listed, list) else [])}
    found = {
        "client": _version(client.get("Version")),
        "server": _version(server.get("Version")),
        "containerd": _version(_dict(parts.get("containerd")).get("Version")),
        "runc": _version(_dict(parts.get("runc")).get("Version")),
        "vendor": _text(_dict((server or client).get("Platform")).get("Name")),
    }
    return _checked(found)


def parse(text: str) -> dict:
    """The text form: one block for the client, one for the server with a section for each component."""
    found = {"client": None, "server": None, "containerd": None, "runc": None, "vendor": None}
    block = section = None
    for line in text.splitlines():
        head = re.match(r"^(Client|Server):\s*(.*?)\s*$", line)
        if head:
            block = section = head.group(1).lower()
            found["vendor"] = head.group(2) or found["vendor"]
        elif re.match(r"^ [A-Za-z-]+:\s*$", line) and block == "server":
            section = line.strip(" :").lower()
        elif re.match(r"^\s+Version:\s", line) and section:
            name = "server" if section == "engine" else section
            if name in found and found[name] is None:
                found[name] = _version(line.split(":", 1)[1].strip())
        elif line and not line.startswith(" "):
            block = section = None
    return _checked(found)


def _checked(found: dict) -> dict:
    if found["client"] is None and found["server"] is None:
        raise ParseError("no version of a client or a server")
    return found


def _version(value):
    match = VERSION.match(value) if isinstance(value, str) else None
    return match.group(1) if match else None


def _text(value):
    return value if isinstance(value, str) and value else None


def _dict(value):
    return value if isinstance(value, dict) else {}
