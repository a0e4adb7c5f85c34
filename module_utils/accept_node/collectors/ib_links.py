"""The links of a fabric from what a sweep lists, each once, and how they are kept: what repeats is said once. No concern of its own.

Packed, a subnet has `kinds`, [[state, phys_state, width, speed_gbps, could_be_width, could_be_gbps]]; links say which:
host_links {first word of the host's description: [[rest of it | null, GUID, LID, port, switch, switch port, kind]]}; switch_links
[[a, port, b, port, kind]]. A switch is its place in `switches`; where it is none of them, [GUID, name].
"""

from __future__ import annotations

from ..discreet import AGGREGATION
from ..discreet import guid as pseudonym

KEYS = ("state", "phys_state", "width", "speed_gbps", "could_be_width", "could_be_gbps")


def nothing() -> dict:
    """What is known of a fabric that could not be listed."""
    return {"warnings": [], "switches": None, "host_links": None, "switch_links": None, "aggregation_nodes": None}


def without_state(entry) -> dict:
    """A port as `ibnetdiscover -p` tells it: neither states nor the speed of a lane."""
    return {**dict.fromkeys(KEYS), **{key: entry[key] for key in ("kind", "guid", "name", "lid", "port", "width", "peer")}}


def read(ports) -> dict:
    """A host's link by its end at the host, one between switches by the end with the lower GUID; `open`: a switch's ports without link."""
    switches, host_links, switch_links, aggregation = {}, [], [], set()
    of_lid = {entry["lid"]: entry["guid"] for entry in ports if entry["kind"] == "switch"}
    for entry in ports:
        peer, guid, port = entry["peer"], entry["guid"], entry["port"]
        if entry["kind"] == "switch":
            count = switches.setdefault(guid, {"guid": guid, "name": entry["name"], "lid": entry["lid"], "connected": 0, "open": 0})
            count["connected" if peer else "open"] += 1
        if peer is None:
            continue
        other, link = of_lid.get(peer["lid"]), {key: entry[key] for key in KEYS}
        if entry["kind"] == "switch":
            if other and (guid, port) < (other, peer["port"]):
                switch_links.append({"a": guid, "a_port": port, "b": other, "b_port": peer["port"], **link})
        elif AGGREGATION in (entry["name"] or ""):
            aggregation.add(guid)
        else:
            at = {"switch": other, "switch_name": peer["name"], "switch_port": peer["port"]}
            host_links.append({"host": entry["name"], "guid": pseudonym(guid), "lid": entry["lid"], "port": port, **at, **link})
    counts = {"switches": list(switches.values()), "aggregation_nodes": len(aggregation)}
    return {**counts, "host_links": host_links, "switch_links": switch_links}


def pack(subnet) -> dict:
    """A subnet with its links in short; what is not known stays null."""
    if subnet["host_links"] is None:
        return {**subnet, "kinds": None}
    kinds, places = {}, {one["guid"]: place for place, one in enumerate(subnet["switches"])}

    def kind(link):
        return kinds.setdefault(tuple(link[key] for key in KEYS), len(kinds))

    def switch(guid, name):
        known = guid in places and subnet["switches"][places[guid]]["name"] == name
        return places[guid] if known else [guid, name]

    hosts = {}
    for link in subnet["host_links"]:
        first, space, rest = (link["host"] or "").partition(" ")
        at = [switch(link["switch"], link["switch_name"]), link["switch_port"], kind(link)]
        hosts.setdefault(first, []).append([rest if space else None, link["guid"], link["lid"], link["port"], *at])
    between = [
        [places.get(link["a"], [link["a"], None]), link["a_port"], places.get(link["b"], [link["b"], None]), link["b_port"], kind(link)]
        for link in subnet["switch_links"]
    ]
    return {**subnet, "host_links": hosts, "switch_links": between, "kinds": [list(one) for one in kinds]}


def unpack(subnet) -> dict:
    """A subnet with its links as `read` gives them."""
    if not isinstance(subnet.get("host_links"), dict):
        return subnet
    kinds = [dict(zip(KEYS, one)) for one in subnet["kinds"]]

    def switch(place):
        if isinstance(place, list):
            return place[0], place[1]
        return subnet["switches"][place]["guid"], subnet["switches"][place]["name"]

    hosts = []
    for first, links in subnet["host_links"].items():
        for rest, guid, lid, port, place, switch_port, kind in links:
            name = first if rest is None else "%s %s" % (first, rest)
            at = dict(zip(("switch", "switch_name"), switch(place)), switch_port=switch_port)
            hosts.append({"host": name or None, "guid": guid, "lid": lid, "port": port, **at, **kinds[kind]})
    between = [
        {"a": switch(a)[0], "a_port": a_port, "b": switch(b)[0], "b_port": b_port, **kinds[kind]}
        for a, a_port, b, b_port, kind in subnet["switch_links"]
    ]
    return {**{key: value for key, value in subnet.items() if key != "kinds"}, "host_links": hosts, "switch_links": between}
