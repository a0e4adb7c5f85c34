"""`/api/v2/status` of Alertmanager: do alerts leave it? Its configuration comes back as YAML of its own making, which is read line by line.

`parse(text)` -> {"version", "receivers": 2, "sending": receivers that have anything that sends, "kinds": ["webhook", ...],
"default_sends": does the receiver of the route's root send | None}
Format: https://prometheus.io/docs/alerting/latest/configuration/ and the project's api/v2/openapi.yaml
"""

from __future__ import annotations

import re

from . import ParseError
from .prometheus_api import loaded

NAME, RECEIVER = re.compile(r"- name: (.+)"), re.compile(r"  receiver: (.+)")
INTEGRATION = re.compile(r"  ([a-z0-9]+)_configs:\s*(\[\])?\s*")


def parse(text: str) -> dict:
    answer = loaded(text)
    try:
        config, version = answer["config"]["original"], (answer.get("versionInfo") or {}).get("version")
        lines = config.splitlines()
    except (KeyError, TypeError, AttributeError) as error:
        raise ParseError("not the status of an Alertmanager") from error
    default, receivers, part = None, {}, ""
    name = None
    for line in lines:
        part = line.rstrip().rstrip(":") if line[:1].isalpha() else part
        named, routed, sends = NAME.fullmatch(line), RECEIVER.fullmatch(line), INTEGRATION.fullmatch(line)
        if part == "receivers" and named:
            name = named.group(1).strip()
            receivers[name] = []
        elif part == "receivers" and sends and name is not None and not sends.group(2):
            receivers[name].append(sends.group(1))
        elif part == "route" and routed and default is None:
            default = routed.group(1).strip()
    if not receivers:
        raise ParseError("no receiver in the configuration")
    return {
        "version": version if isinstance(version, str) else None,
        "receivers": len(receivers),
        "sending": sum(1 for kinds in receivers.values() if kinds),
        "kinds": sorted({kind for kinds in receivers.values() for kind in kinds}),
        "default_sends": bool(receivers[default]) if default in receivers else None,
    }
