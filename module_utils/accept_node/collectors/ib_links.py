"""The links of a fabric from what a sweep lists, each once. No concern of its own."""

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
