"""The kubelet's own configuration (KubeletConfiguration, YAML or JSON), as far as it says who may ask it what.

{"anonymous": bool | None, "authorization": "Webhook" | "AlwaysAllow" | None, "read_only_port": int | None,
 "cpu_manager_policy": "static" | "none" | None}; None: the file does not say, the kubelet's default or its command line holds.
"""

from __future__ import annotations

import re

from ..loose_json import strict
from . import ParseError

KEY = re.compile(r"( *)([A-Za-z][\w-]*):(?: +(.*?))? *(?:\s#.*)?")


def parse(text: str) -> dict:
    values = _json(text) if text.lstrip().startswith("{") else _yaml(text)
    if "KubeletConfiguration" not in str(values.get("kind")):
        raise ParseError("not a kubelet's configuration: %r" % text.strip()[:60])
    port = values.get("readOnlyPort")
    return {
        "anonymous": {"true": True, "false": False}.get(str(values.get("authentication.anonymous.enabled")).lower()),
        "authorization": values.get("authorization.mode"),
        "read_only_port": int(port) if re.fullmatch(r"\d{1,5}", str(port)) else None,
        "cpu_manager_policy": values.get("cpuManagerPolicy"),
    }


def _yaml(text) -> dict:
    """Scalars of nested maps by their dotted path. Lists and blocks of text are passed over."""
    values, path = {}, []
    for line in text.splitlines():
        match = KEY.fullmatch(line)
        if match:
            indent, name, value = len(match.group(1)), match.group(2), match.group(3)
            path = [*((depth, key) for depth, key in path if depth < indent), (indent, name)]
            if value:
                values[".".join(key for _, key in path)] = value.strip("\"'")
    return values


def _json(text) -> dict:
    document = strict(text)
    values = {}

    def walk(node, path):
        for key, value in node.items() if isinstance(node, dict) else ():
            name = path + [str(key)]
            if isinstance(value, dict):
                walk(value, name)
            elif isinstance(value, (str, int)):
                values[".".join(name)] = value

    walk(document, [])
    return values
