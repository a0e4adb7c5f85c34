"""What a sweep of an InfiniBand fabric amounts to: links that are narrow, slow or unsettled, uneven uplinks, hosts that are missing, errors
that grow, subnet managers, and what a tenant can see of others.

Hosts stand under pseudonyms in the sweep; those of the inventory get their names back here, all others are counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from accept_node import discreet
from accept_node.collectors.ib_fabric import OURS_FAILED
from accept_node.collectors.ib_links import unpack

from .. import fabric as fabrics
from ..attested import attested
from ..cabling import End, switch_name

ERRORS = ("SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors", "PortRcvRemotePhysicalErrors")
ERRORS += ("LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors", "EffectiveErrorCounter")
DISCARDS = ("PortXmitDiscards",)
NO_PORT = "the host in group head has no active InfiniBand port to ask the fabric from"
LISTS = ("narrow_links", "slow_links", "unsettled_links", "uneven_uplinks", "hosts_missing", "errors_growing", "discards_growing")
NOBODY = re.compile(r"no subnet manager in: .*(?:iberror|madrpc|failed: query)")  # it was asked for, over the fabric, and nobody answered
OF_WHOLE = ("uneven_uplinks", "hosts_missing")
FULL_WIDTH = 4  # lanes of a cable; a port of a split cable has two, and so have all of its kind
WORD = "ufm_secure_profile"  # the attestation that says what no node can see of the keys


def analyse(data: dict, run) -> dict:
    """Lists of texts by the names in LISTS, null with a reason where not known; subnets_without_sm, sm_standbys; foreign_hosts (count),
    foreign_ports_read (count), sa_pkey_tables ("refused", "answered"), management_keys (false: level 0 is seen here, or the
    provider says so; true: a level is seen and the provider has put the rest in writing; else null).
    """
    subnets = data.get("subnets") and [unpack(subnet) for subnet in data["subnets"]]
    if not subnets:
        reason = NO_PORT if subnets == [] else "the ports of the host in group head were not measured"
        return _unknown(
            (*LISTS, "subnets_without_sm", "sm_standbys", "foreign_hosts", "foreign_ports_read", "sa_pkey_tables"), reason
        ) | _keys([], run)
    fleet = fabrics.of(run)
    facts = {**_managers(subnets), **_tables(subnets), **_keys(subnets, run)}
    unlisted = [subnet for subnet in subnets if not subnet["listed"]]
    if unlisted:
        reason = f"the fabric could not be listed from {unlisted[0]['from']}: {unlisted[0]['listed_reason']}"
        return {**facts, **_unknown((*LISTS, "foreign_hosts", "foreign_ports_read"), reason)}
    who = _Who(subnets, fleet)
    facts |= {
        **_links(subnets, who),
        **_uplinks(subnets, who),
        **_missing(subnets, who, fleet),
        **_errors(subnets, who),
        **_foreign(subnets, who, run),
    }
    cut = next(filter(None, map(_cut, subnets)), "")
    if cut:  # what was found is there; what was not found, or is counted against the whole, may stand in the part that is not
        facts |= _unknown([name for name in (*LISTS, "foreign_hosts", "foreign_ports_read") if not facts[name] or name in OF_WHOLE], cut)
    return facts


def _cut(subnet) -> str:
    """Why a listing is not the whole fabric, or "": both ends of a link are nodes, and a whole listing holds each."""
    known = {one["guid"] for one in subnet["switches"]}
    stray = sum(link["switch"] not in known for link in subnet["host_links"])
    ends = len(subnet["host_links"]) - stray + 2 * len(subnet["switch_links"]) + (subnet.get("aggregation_nodes") or 0)
    stray += max(0, sum(one["connected"] for one in subnet["switches"]) - ends)
    return f"the listing from {subnet['from']} is cut: of {stray} links it lacks the other end" if stray else ""


def _unknown(names, reason) -> dict:
    return {key: value for name in names for key, value in ((name, None), (name + "_reason", reason))}


class _Who:
    """Names of ends: our hosts by GUID or name, switches; None is a host of others."""

    def __init__(self, subnets, fleet):
        self.guids, self.digests = fleet.ours or ({}, {})
        self.switches = {
            one["guid"]: switch_name(End(one["name"] or "", "", one["guid"])) for subnet in subnets for one in subnet["switches"]
        }
        self.at = {}
        for subnet in subnets:
            for link in subnet["host_links"]:
                self.at[(link["switch"], link["switch_port"])] = self.port(link) or "a host outside the inventory"
            for link in subnet["switch_links"]:
                self.at[(link["a"], link["a_port"])] = self.switch(link["b"], link["b_port"])
                self.at[(link["b"], link["b_port"])] = self.switch(link["a"], link["a_port"])

    def host(self, link):
        """The inventory's name of the host, or None."""
        known = self.guids.get(discreet.guid(link["guid"]))
        if known:
            return known.split(" ")[0]
        first = (link["host"] or "").split(" ")[0]
        return self.digests.get(first.rpartition("-")[2] if discreet.PSEUDONYM.fullmatch(first) else discreet.host(first))

    def port(self, link):
        known, host = self.guids.get(discreet.guid(link["guid"])), self.host(link)
        return known or (host and f"{host} {(link['host'] or '').partition(' ')[2] or 'port'}")

    def switch(self, guid, port):
        return f"{self.switches.get(guid, guid)} port {port}"


# --- links ------------------------------------------------------------------------------------------------------------------------------


def _named(subnets, who):
    """(kind, name, link) of each link that is ours or between switches."""
    for subnet in subnets:
        for link in subnet["host_links"]:
            port = who.port(link)
            if port:
                yield "host", f"{port} <-> {who.switch(link['switch'], link['switch_port'])}", link
        for link in subnet["switch_links"]:
            yield "switch", f"{who.switch(link['a'], link['a_port'])} <-> {who.switch(link['b'], link['b_port'])}", link


def _lanes(width):
    return int(width.rstrip("X")) if width else None


def _links(subnets, who) -> dict:
    links = list(_named(subnets, who))
    widths, speeds = defaultdict(Counter), defaultdict(Counter)
    for kind, _, link in links:
        widths[kind][_lanes(link["width"])] += 1
        speeds[kind][link["speed_gbps"]] += 1
    most = {name: {kind: _most(counts) for kind, counts in table.items()} for name, table in (("width", widths), ("speed", speeds))}
    facts = {"narrow_links": [], "slow_links": [], "unsettled_links": []}
    unread = Counter()
    for kind, name, link in links:
        lanes, gbps = _lanes(link["width"]), link["speed_gbps"]
        best = max(min(FULL_WIDTH, _lanes(link["could_be_width"]) or 0), most["width"][kind] or 0)
        if lanes is None:
            unread["narrow_links"] += 1
        elif lanes < best:
            facts["narrow_links"].append(f"{name}: {lanes}X, {'both ends support' if link['could_be_width'] else 'most have'} {best}X")
        if gbps is None:
            unread["slow_links"] += 1
        elif gbps < max(link["could_be_gbps"] or 0, most["speed"][kind] or 0):
            fast = max(link["could_be_gbps"] or 0, most["speed"][kind] or 0)
            facts["slow_links"].append(
                f"{name}: {gbps:g} Gb/s a lane, {'both ends support' if link['could_be_gbps'] else 'most have'} {fast:g}"
            )
        if link["state"] is None:
            unread["unsettled_links"] += 1
        elif link["state"] != "active":
            facts["unsettled_links"].append(f"{name}: {link['state']}, {link['phys_state']}")
    for key in list(facts):
        if not links or (not facts[key] and unread[key]):
            facts.update(
                _unknown([key], f"{unread[key]} of {len(links)} links do not tell it" if links else "no link of the inventory was found")
            )
    return facts


def _most(counts: Counter):
    """The value of most links; None without a majority."""
    ranking = counts.most_common(2)
    return ranking[0][0] if ranking and (len(ranking) == 1 or ranking[0][1] > ranking[1][1]) else None


def _uplinks(subnets, who) -> dict:
    """A leaf (a switch that our hosts are on) has as many uplinks as most leaves, and as many to each of its spines."""
    to = defaultdict(Counter)
    leaves = {link["switch"] for subnet in subnets for link in subnet["host_links"] if who.host(link)}
    for subnet in subnets:
        for link in subnet["switch_links"]:
            to[link["a"]][link["b"]] += 1
            to[link["b"]][link["a"]] += 1
    usual, found = _most(Counter(sum(to[leaf].values()) for leaf in leaves)), []
    for leaf in sorted(leaves - {None}, key=lambda guid: who.switches.get(guid, guid)):
        total, counts = sum(to[leaf].values()), to[leaf]
        if (usual is not None and total < usual) or len(set(counts.values())) > 1:
            ways = ", ".join(f"{who.switches.get(guid, guid)} {count}" for guid, count in sorted(counts.items())) or "none"
            found.append(
                f"{who.switches.get(leaf, leaf)}: {total} uplinks ({ways}), "
                f"most leaves have {usual if usual is not None else 'no one number'}"
            )
    return {"uneven_uplinks": found} if leaves else _unknown(["uneven_uplinks"], "no switch with hosts of the inventory was found")


def _missing(subnets, who, fleet) -> dict:
    ports = defaultdict(set)
    for subnet in subnets:
        for link in subnet["host_links"]:
            if who.host(link):
                ports[who.host(link)].add(link["guid"])
    if not fleet.hosts:
        return _unknown(["hosts_missing"], fleet.problem)
    usual = _most(Counter(len(ports[host]) for host in fleet.members if ports[host])) or max(map(len, ports.values()), default=0)
    found = [f"{host}: {len(ports[host])} of {usual} ports are on the fabric" for host in fleet.members if len(ports[host]) < usual]
    return {"hosts_missing": found} if usual else _unknown(["hosts_missing"], "no host of the inventory was recognised on the fabric")


# --- errors -----------------------------------------------------------------------------------------------------------------------------


def _errors(subnets, who) -> dict:
    facts = {}
    for key, names in (("errors_growing", ERRORS), ("discards_growing", DISCARDS)):
        found, why = [], []
        for subnet in subnets:
            errors = subnet.get("errors") or {"grown": None, "reason": "not asked"}
            if errors["grown"] is None:
                why.append(errors["reason"] or "error counters could not be read twice")
                continue
            if errors["failed"]:
                why.append(f"{errors['failed']} queries of ports were not answered")
            stuck = [one for one in errors["at_ceiling"] if one["counter"] in names]
            if stuck:
                why.append(
                    f"{len(stuck)} counters stand at their ceiling and cannot grow, e.g. {stuck[0]['counter']} of {_end(stuck[0], who)}"
                )
            for one in errors["grown"]:
                changed = {name: pair for name, pair in one["counters"].items() if name in names}
                if any(last < first for first, last in changed.values()):
                    why.append(f"counters of {_end(one, who)} went back: somebody reset them")
                said = [f"{name} +{last - first}" for name, (first, last) in changed.items() if last > first]
                if said and _end(one, who):
                    found.append(f"{_end(one, who)}: {', '.join(said)} in {errors['window_s']:.0f} s")
        facts.update({key: found} if found or not why else _unknown([key], "; ".join(dict.fromkeys(why))))
    return facts


def _end(one, who):
    """Both ends of the port of a counter; "" for a host of others."""
    if one["guid"] in who.switches:
        other = who.at.get((one["guid"], one["port"]))
        return who.switch(one["guid"], one["port"]) + (f" <-> {other}" if other else "")
    return who.guids.get(discreet.guid(one["guid"]), "")


# --- who may do what --------------------------------------------------------------------------------------------------------------------


def _managers(subnets) -> dict:
    """A subnet has one master; standbys where the administrator tells them."""
    without, unasked, standbys = [], [], []
    for subnet in subnets:
        states = [one["state"] for one in subnet["sms"] or ()]
        if subnet["sm"] is None and "master" not in states:
            nobody = NOBODY.search(subnet["sm_reason"]) and not OURS_FAILED.search(subnet["sm_reason"])
            (without if nobody else unasked).append(f"{subnet['from']}: {subnet['sm_reason']}")
        standbys.append(states.count("standby") if states else None)
    facts = {"subnets_without_sm": without} if without or not unasked else _unknown(["subnets_without_sm"], unasked[0])
    if None in standbys:
        reason = next(subnet["sms_reason"] for subnet in subnets if not subnet["sms"]) or "the subnet administrator lists no manager"
        return {**facts, **_unknown(["sm_standbys"], reason)}
    return {**facts, "sm_standbys": min(standbys)}


def _tables(subnets) -> dict:
    said = [subnet["sa_pkey_tables"] for subnet in subnets]
    if "answered" not in said and None in said:
        return _unknown(["sa_pkey_tables"], next(subnet["sa_pkey_tables_reason"] for subnet in subnets if subnet["sa_pkey_tables"] is None))
    return {"sa_pkey_tables": "answered" if "answered" in said else "refused"}


def _keys(subnets, run) -> dict:
    """Protection level 0 lets anybody read and write ports, whoever says what. Of the keys behind a higher one there is only a word."""
    levels = [subnet["mkey_protect_bits"] for subnet in subnets]
    if 0 in levels:
        return {"management_keys": False}
    said = attested(run, WORD)
    if said[WORD] is None:
        return _unknown(["management_keys"], "only the provider can show it: " + said[WORD + "_reason"])
    if not said[WORD].startswith("holds"):
        return {"management_keys": False}
    if not levels or None in levels:
        why = next((subnet["mkey_protect_bits_reason"] for subnet in subnets if subnet["mkey_protect_bits"] is None), NO_PORT)
        return _unknown(["management_keys"], f"the provider's word is there, and the protection level was not read: {why}")
    return {"management_keys": True}


def _foreign(subnets, who, run) -> dict:
    others = {(link["host"] or link["guid"]).split(" ")[0] for subnet in subnets for link in subnet["host_links"] if not who.host(link)}
    allowed = run.wanted.key("ib.other_hosts", {"value": 0, "source": "none are in the inventory"}).value
    facts = {"foreign_hosts": len(others)}
    if len(others) <= (allowed or 0):
        return {**facts, "foreign_ports_read": 0}
    asked = [one for subnet in subnets for one in subnet["neighbours"] if not who.host(one)]
    answers = [one["answered"] for one in asked]
    if True in answers:
        return {**facts, "foreign_ports_read": answers.count(True)}
    if not answers or None in answers:
        return {**facts, **_unknown(["foreign_ports_read"], asked[0]["reason"] if asked else "no host of others was asked for a port")}
    return {**facts, "foreign_ports_read": 0}
