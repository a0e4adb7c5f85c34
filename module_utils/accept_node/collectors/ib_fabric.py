"""An InfiniBand fabric as one node sees it: switches, links, subnet managers, errors that grow, and what the fabric lets a tenant do.

Asked on one node for its whole cluster, at most MAX_COMMANDS commands with a pause between any two; it resets no counter and sends no
key. Hosts stand under pseudonyms (see discreet.py); the judge knows which are ours. A subnet that the first sweep does not reach (rails
without a common spine) is swept from the port that is on it.
"""

from __future__ import annotations

import re

from ..discreet import DiscreetNode
from ..discreet import guid as pseudonym
from ..parsers import iblinkinfo, ibnetdiscover, ibqueryerrors, saquery, sminfo, smpquery
from . import ib_links, rdma

MAX_COMMANDS = 40
PAUSE_S = 1.0  # between any two commands
WINDOW_S = 20.0  # at least so long between the two readings of error counters
SWEEP_TIMEOUT_S = 180.0
CEILINGS = dict.fromkeys(("LinkErrorRecoveryCounter", "LinkDownedCounter"), 255)  # the others of the 32-bit set have 16 bits
CEILINGS.update(dict.fromkeys(("LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors"), 15))
NEIGHBOURS = 2  # how many hosts of others are asked for a port
NO_THRESHOLDS = ["--threshold-file", "/dev/null"]
OURS_FAILED = re.compile(
    r"(?i)umad|can(?:'|no)t open|no such (?:device|file)|permission|can't (?:find|resolve) (?:a )?(?:local|port|ca)|no active"
)


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/ib_fabric.json is its shape."""
    ports = rdma.read(gather)["ports"]
    up = [port for port in ports or [] if port["link_layer"] in ("InfiniBand", "IB") and port["state"] == "active"]
    data = {"ports_up": None if ports is None else [port["name"] for port in up], "subnets": [], "commands": []}
    if not up:
        return {**data, "subnets": [] if ports is not None else None}
    gather.node = DiscreetNode(gather.node)
    asker, guids, reached = _Asker(gather, data["commands"]), _guids(gather), set()
    for port in up:
        guid = guids.get(port["name"])
        if reached and (guid is None or guid in reached):  # without GUIDs nobody knows what a sweep has reached: one has to do
            continue
        data["subnets"].append(_subnet(asker, port, guid))
        reached |= {link["guid"] for link in data["subnets"][-1]["host_links"] or ()} or {guid}
    _errors(asker, data["subnets"])
    return {**data, "subnets": [ib_links.pack(subnet) for subnet in data["subnets"]]}


def _guids(gather) -> dict:
    """Port -> pseudonym of its GUID: the last half of its first GID."""
    tree = gather.tree(rdma.ROOT, ["*/ports/*/gids/0"], optional=True)
    found = {}
    for path, text in tree.files.items() if tree else ():
        device, _, number = path.split("/")[:3]
        digits = text.strip().replace(":", "").lower()
        if re.fullmatch("[0-9a-f]{32}", digits):
            found[f"{device}/{number}"] = pseudonym("0x" + digits[16:])
    return found


class _Asker:
    """Runs the tools of one node: counted, with a pause between any two."""

    def __init__(self, gather, commands):
        self.gather, self.commands, self.absent = gather, commands, set()

    def ask(self, argv, parse, timeout_s=30.0, keep=True):
        """(value, "") or (None, why). Without `keep`, only whether it was answered stays in the evidence."""
        if not keep:
            self.gather.node.ask_only(argv)
        if argv[0] in self.absent:
            return None, f"{argv[0]} is not installed on this node"
        if len(self.commands) >= MAX_COMMANDS:
            return None, f"not asked: {MAX_COMMANDS} commands are this collector's limit"
        if self.commands:
            self.gather.node.sleep(PAUSE_S)
        self.commands.append(" ".join(argv))
        before = len(self.gather.errors)
        value = self.gather.command(argv, parse, timeout_s=timeout_s, ok=None, streams="both", optional=True)
        if value is not None:
            return value, ""
        if self.gather.missing(" ".join(argv)):
            self.absent.add(argv[0])
            return None, f"{argv[0]} is not installed on this node"
        why = self.gather.errors[-1]["message"] if len(self.gather.errors) > before else "no answer"
        if not keep and not _ours(why):
            del self.gather.errors[before:]  # to be refused is an answer here
        return None, why


def _subnet(asker, port, guid) -> dict:
    local = ["-C", port["device"], "-P", str(port["port"])]
    found = _sweep(asker, local)
    links = found["host_links"] or []
    own_link = next((link for link in links if link["guid"] == guid), None)
    sm, why_sm = asker.ask(["sminfo", *local], sminfo.parse)
    states, why_states = asker.ask(["saquery", *local, "SMIR"], saquery.parse)
    tables, why_tables = asker.ask(["saquery", *local, "PKTR"], saquery.parse, keep=False)
    own, why_own = None, "this node's own port is not among those that the sweep found"
    if own_link:
        own, why_own = asker.ask(["smpquery", *local, "portinfo", str(own_link["lid"]), str(port["port"])], smpquery.parse)
    return {
        "from": port["name"],
        **found,
        "sm": sm,
        "sm_reason": why_sm,
        "sms": None if states is None or states["refused"] else [_sm(r) for r in states["records"] if r["record"] == "SMInfoRecord"],
        "sms_reason": why_states or (states or {}).get("refused", ""),
        "sa_pkey_tables": None if tables is None and _ours(why_tables) else "answered" if tables and tables["records"] else "refused",
        "sa_pkey_tables_reason": why_tables or (tables or {}).get("refused", ""),
        "mkey_protect_bits": _bits(own),
        "mkey_protect_bits_reason": why_own,
        "neighbours": [_neighbour(asker, local, link) for link in others(links, own_link)],
    }


def _sweep(asker, local) -> dict:
    """All links by iblinkinfo; by ibnetdiscover, which tells no states, where that does not work."""
    found, why = asker.ask(["iblinkinfo", *local], iblinkinfo.parse, SWEEP_TIMEOUT_S)
    tool = "iblinkinfo"
    if found is None:
        nodes, other = asker.ask(["ibnetdiscover", *local, "-p"], ibnetdiscover.parse_ports, SWEEP_TIMEOUT_S)
        tool, why = ("ibnetdiscover", "") if nodes else ("none", f"{why}; {other}")
        found = {"ports": [ib_links.without_state(entry) for entry in nodes["ports"]], "warnings": []} if nodes else None
    listed = found is not None
    if not listed:
        return {"tool": tool, "listed": None if _ours(why) else False, "listed_reason": why, **ib_links.nothing()}
    return {"tool": tool, "listed": True, "listed_reason": "", "warnings": found["warnings"][:10], **ib_links.read(found["ports"])}


def _sm(record):
    lid, state = record.get("LID", ""), record.get("SMState", "")
    return {"lid": int(lid) if lid.isdigit() else None, "state": sminfo.STATES.get(int(state)) if state.isdigit() else None}


def _bits(own):
    bits = own["fields"].get("ProtectBits") if own else None
    return int(bits) if bits and bits.isdigit() else None


def _ours(why: str) -> bool:
    """Is it this node that cannot ask, and not the fabric that will not answer?"""
    return "not installed" in why or "limit" in why or bool(OURS_FAILED.search(why))


def others(links, own_link) -> list:
    """Hosts to ask for a port: those that are not named like this node first, each host once, by LID."""
    hosts = {}
    for link in sorted((link for link in links if link["lid"]), key=lambda link: link["lid"]):
        hosts.setdefault((link["host"] or "").split(" ")[0], link)
    hosts.pop(own_link["host"].split(" ")[0] if own_link and own_link["host"] else "", None)
    names = sorted(hosts, key=lambda name: (not name.startswith("host-"), hosts[name]["lid"]))
    return [hosts[name] for name in names[:NEIGHBOURS]]


def _neighbour(asker, local, link) -> dict:
    """Does a host's port answer? Nothing of what it says is kept."""
    value, why = asker.ask(["smpquery", *local, "portinfo", str(link["lid"]), str(link["port"])], smpquery.parse, keep=False)
    return {"host": link["host"], "guid": link["guid"], "answered": True if value else None if _ours(why) else False, "reason": why}


def _errors(asker, subnets) -> None:
    """Two readings of the error counters of each subnet, a window apart; what grew in it."""
    first, node = [], asker.gather.node
    for subnet in subnets:
        device, number = subnet["from"].split("/")
        local = ["-C", device, "-P", number]
        first.append((local, node.now(), *asker.ask(["ibqueryerrors", *local, *NO_THRESHOLDS], ibqueryerrors.parse, SWEEP_TIMEOUT_S)))
    if any(before for _, _, before, _ in first):
        node.sleep(WINDOW_S)
    for subnet, (local, began, before, why) in zip(subnets, first):
        subnet["errors"] = {"reason": why, "window_s": None, "nodes_checked": None, "ports_checked": None, "failed": None, "grown": None}
        subnet["errors"]["at_ceiling"] = None
        if before is None:
            continue
        # its options stand in another order, so that a capture keeps both readings apart
        after, why = asker.ask(["ibqueryerrors", *NO_THRESHOLDS, *local], ibqueryerrors.parse, SWEEP_TIMEOUT_S)
        subnet["errors"]["reason"] = why
        if after:
            window = {"window_s": round(node.now() - began, 3), "grown": _grown(before["ports"], after["ports"], after["names"])}
            counts = {key: after[key] for key in ("nodes_checked", "ports_checked")}
            subnet["errors"].update(
                window, **counts, at_ceiling=_at_ceiling(after["ports"]), failed=len(before["failed"]) + len(after["failed"])
            )


def _at_ceiling(ports) -> list:
    """Counters that cannot grow any more: of so many bits that all are set."""
    found = []
    for key, counters in sorted(ports.items()):
        guid, port = key.split("/")
        found += [
            {"guid": guid, "port": int(port), "counter": name} for name, value in counters.items() if value == CEILINGS.get(name, 65535)
        ]
    return found


def _grown(before, after, names) -> list:
    """[{"guid", "port", "name", "counters": {name: [first, last]}}] of counters that are not the same in both readings."""
    grown = []
    for key in sorted(set(before) | set(after)):
        old, new = before.get(key, {}), after.get(key, {})
        changed = {name: [old.get(name, 0), new.get(name, 0)] for name in sorted(set(old) | set(new))}
        changed = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
        if changed:
            guid, port = key.split("/")
            grown.append({"guid": guid, "port": int(port), "name": names.get(guid), "counters": changed})
    return grown
