"""`perfquery` (infiniband-diags): the counters of one or several ports, 32-bit, extended (-x) or details (--rcverr).

    {"ports": [{"lid": 1719, "port": 1, "what": "Port extended counters", "counters": {"PortXmitData": 36298026860928}}]}

Selectors and masks are no counters and are left out. What is no number is None. PortXmitData and PortRcvData count words of four octets.
"""

from __future__ import annotations

import re

from . import ParseError

HEAD = re.compile(r"# (.*?): Lid ([0-9]{1,5}) port ([0-9]{1,3})\b.*")
FIELD = re.compile(r"(\w+):\.*(.*)")
SELECTORS = ("PortSelect", "CounterSelect", "CounterSelect2")


def parse(text: str) -> dict:
    """See the module's docstring."""
    ports = []
    for line in map(str.strip, text.splitlines()):
        head, field = HEAD.fullmatch(line), FIELD.fullmatch(line)
        if head:
            ports.append({"lid": int(head.group(2)), "port": int(head.group(3)), "what": head.group(1), "counters": {}})
        elif field and ports and field.group(1) not in SELECTORS:
            value = field.group(2).strip()
            ports[-1]["counters"][field.group(1)] = int(value) if re.fullmatch("[0-9]{1,20}", value) else None
    if not any(port["counters"] for port in ports):
        raise ParseError(f"perfquery: no counters in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"ports": ports}
