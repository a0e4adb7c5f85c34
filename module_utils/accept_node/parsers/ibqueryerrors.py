"""`ibqueryerrors` (infiniband-diags): error counters of the ports of a subnet.

    {"ports": {"0x0002c90300000210/2": {"SymbolErrorCounter": 1234, "LinkDownedCounter": 3}}, "names": {"0x...": "leaf02"},
     "nodes_checked": 14, "ports_checked": 105, "failed": ["ibwarn: ..."]}

Only ports with a counter beyond its threshold are printed: a port that is not listed was looked at and is below, as long as nothing is in
`failed` (queries without an answer; the tool says so and goes on). Without the summary at the end the sweep was cut: ParseError.
The sum over all ports ("port ALL") is left out. The guid is the node's, without the leading zeros that the tool leaves out put back.
"""

from __future__ import annotations

import re

from . import ParseError

NODE = re.compile(r'(?:Errors|Data Counters|Counters) for (?:0x([0-9a-f]{1,16}) )?"(.*)"')
PORT = re.compile(r"GUID 0x([0-9a-f]{1,16}) port ([0-9]{1,3}|ALL): (.*)")
COUNTER = re.compile(r"\[(\w+) == ([0-9]{1,20})[^\]]*\]")
SUMMARY = re.compile(r"## Summary: ([0-9]+) nodes checked, ([0-9]+) bad nodes found")
PORTS = re.compile(r"## +([0-9]+) ports checked.*")
FAILED = re.compile(r"(?:ibwarn|iberror|ibpanic|ibqueryerrors|\S+\.c:[0-9]+|.*(?:query failed|[Ff]ailed to )).*")


def parse(text: str) -> dict:
    """stdout and stderr together: failed queries are on the latter."""
    ports, names, failed, checked, ports_checked = {}, {}, [], None, None
    for line in map(str.strip, text.splitlines()):
        node, port = NODE.fullmatch(line), PORT.fullmatch(line)
        if node and node.group(1):
            names["0x" + node.group(1).rjust(16, "0")] = node.group(2).strip() or None
        elif port:
            if port.group(2) != "ALL":
                key = "0x%s/%d" % (port.group(1).rjust(16, "0"), int(port.group(2)))
                ports[key] = {name: int(value) for name, value in COUNTER.findall(port.group(3))}
        elif SUMMARY.match(line):
            checked = int(SUMMARY.match(line).group(1))
        elif PORTS.fullmatch(line):
            ports_checked = int(PORTS.fullmatch(line).group(1))
        elif FAILED.fullmatch(line):
            failed.append(line[:200])
    if checked is None:
        raise ParseError(f"ibqueryerrors: no summary, so the sweep did not end: {' '.join(text.split())[-120:] or 'nothing'}")
    return {"ports": ports, "names": names, "nodes_checked": checked, "ports_checked": ports_checked, "failed": failed}
