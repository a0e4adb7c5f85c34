"""What the RDMA ports of a node amount to: bit error rates by FEC, P_Key membership, names of the rails, planes of multi-port NICs."""

from __future__ import annotations

DEFAULT_KEY = 0x7FFF


def analyse(data: dict, run) -> dict:
    """rails: [{name, ...}] of the fabric's ports: `ber` (normal, warning, error with the numbers; null with ber_reason), `module_alarms`,
        `default_partition` (full, limited, none), `own_keys` (tenant partitions with full membership), `pkey_text`
    rail_names, rail_places: texts to compare between nodes; null where a rail is missing, which another check names
    plane_faults: NICs of several ports of which two reach the same switch; null without LLDP; [] also where each NIC has one port
    """
    ports = data.get("ports")
    if ports is None:
        return {"rails": None, "rail_names": None, "rail_places": None, "plane_faults": None}
    table = run.standards.catalogs.get("ber") or {}
    rails = [port for port in ports if port["rail"]]
    facts = {"rails": [{**_short(port), **_ber(port, table), **_module(port), **_keys(port)} for port in rails]}
    wanted = run.wanted.key("nic.count")
    whole = wanted.value in (None, len(rails))
    for key, text in (("rail_names", _join(port["device"] for port in rails)), ("rail_places", _places(rails))):
        facts[key] = text if whole and rails else None
        if facts[key] is None:
            facts[key + "_reason"] = (
                "the kernel tells no PCI address of " + _join(port["device"] for port in rails if port["pci"] is None)
                if whole and rails
                else f"{len(rails)} of {wanted.value} rails are there: names move up when one is missing"
            )
    return {**facts, **_planes(rails, data)}


def _short(port):
    keys = ("name", "link_layer", "state", "phys_state", "rate_gbps", "lanes", "mtu", "lid", "sm_lid")
    keys += ("errors_growing", "errors_growing_reason", "discards_growing", "discards_growing_reason", "counters_saturated")
    keys += ("counters_saturated_reason",)
    return {key: port[key] for key in keys if key in port}


def _join(parts):
    return " ".join(str(part) for part in parts)


def _places(rails):
    return None if any(port["pci"] is None for port in rails) else _join(f"{port['device']}={port['pci']}" for port in rails)


def _ber(port, table) -> dict:
    """The class of a port's bit error rates; a link that came up a short while ago has none yet."""
    link = port["link"]
    if not link or link["tool"] != "mlxlink":
        return {"ber": None, "ber_reason": "bit error rates need mlxlink (MFT) or mstlink, run as root"}
    row, least = table.get("fec", {}).get(link["fec_kind"]), table.get("min_uptime_min", {}).get("value")
    if row is None:
        return {"ber": None, "ber_reason": f"no published limits for FEC {link['fec'] or 'not known'}"}
    if link["uptime_min"] is None or link["uptime_min"] < least:
        return {"ber": None, "ber_reason": f"counted for {link['uptime_min']} minutes; the rule asks for {least}"}
    rates = {kind: link["ber"][kind] for kind in ("effective", "symbol") if link["ber"][kind] is not None}
    if not rates:
        return {"ber": None, "ber_reason": "mlxlink gives no rate for this port"}
    classes = [("normal", "")]
    for kind, rate in rates.items():
        for name in ("error", "warning"):
            if rate >= row[kind][name]:
                classes.append((name, f"{kind} {rate:.1e} (limit {row[kind][name]:.0e})"))
                break
    worst = max(classes, key=lambda entry: ("normal", "warning", "error").index(entry[0]))
    return {"ber": worst[0], "ber_text": worst[1]}


def _module(port) -> dict:
    module = (port["link"] or {}).get("module")
    if not module:
        return {
            "module_alarms": None,
            "module_alarms_reason": "neither mlxlink nor ethtool told the transceiver or cable",
            "module_part": None,
        }
    celsius, limits = module["temperature_c"], module.get("temperature_range_c")
    found = {"module_part": _join(filter(None, (module["vendor"], module["part"]))) or None}
    if celsius is None or not limits:  # a passive cable has no thermometer
        return {**found, "module_alarms": "none"}
    return {**found, "module_alarms": "none" if limits[0] <= celsius <= limits[1] else f"{celsius} °C, allowed {limits[0]} to {limits[1]}"}


def _keys(port) -> dict:
    table = port["pkeys"]
    if port["link_layer"] != "InfiniBand":
        return {}
    if table is None:
        return {"default_partition": None, "own_keys": None, "pkey_text": None}
    numbers = [(int(entry["key"], 16) & 0x7FFF, entry["member"]) for entry in table]
    default = {member for number, member in numbers if number == DEFAULT_KEY}
    return {
        "default_partition": "full" if "full" in default else "limited" if default else "none",
        "own_keys": [f"0x{number:04x}" for number, member in numbers if number != DEFAULT_KEY and member == "full"],
        "pkey_text": ", ".join(sorted(f"0x{number:04x} {member}" for number, member in numbers)) or "none",
    }


def _planes(rails, data) -> dict:
    cards: dict[str, list] = {}
    for port in rails:
        if port["link_layer"] == "Ethernet" and port["pci"]:
            cards.setdefault(port["pci"].rsplit(".", 1)[0], []).append(port)
    shared = {card: ports for card, ports in cards.items() if len(ports) > 1}
    if not shared:
        return {"plane_faults": "none"}
    if data["sources"].get("neighbours") != "lldpctl":
        return {"plane_faults": None, "plane_faults_reason": "the switches behind the ports are not known: lldpctl was not there"}
    faults = []
    for card, ports in sorted(shared.items()):
        switches = [port["neighbour"]["switch"] if isinstance(port["neighbour"], dict) else None for port in ports]
        if None in switches:
            return {"plane_faults": None, "plane_faults_reason": f"no LLDP neighbour on a port of {card}"}
        if len(set(switches)) < len(switches):
            faults.append(f"{card}: {', '.join(switches)}")
    return {"plane_faults": faults}
