"""What the settings of RoCE ports amount to: one text per port to compare, and whether the traffic class lands in a lossless queue."""

from __future__ import annotations

import json
import re

from .. import documents, nccl_gid, switch_ports
from ..cabling import End, switch_name

EXPORT = "ask the network's owner for switch_ports.csv (docs/switch-ports.md)"


def analyse(data: dict, run) -> dict:
    """rails: the fabric's ports, each with
    qos_text: trust, PFC, DSCP of the lossless priorities, ECN, CNP as one text to compare between nodes
    ecn_on_lossless: [] or the lossless priorities without ECN; null where either is not known
    traffic_priority: the priority that the traffic class (forced by the driver, or NCCL_IB_TC) is sorted into
    traffic_lossless: true where PFC is on for it
    cable: "rail0 to leaf-1 swp3"; switch_pfc, switch_ecn (priorities), switch_mtu (bytes): of its other end; null with a reason
    """
    ports = data.get("ports")
    if ports is None:
        return {"rails": None}
    settings, exported = _settings(run), _exported(run)
    return {"rails": [_rail(port, settings, exported) for port in ports if port["rail"]]}


def _rail(port, settings, exported) -> dict:
    facts = dict(port)
    facts["qos_text"] = _text(port)
    if facts["qos_text"] is None:
        facts["qos_text_reason"] = port.get("trust_reason") or "not all of trust, PFC and DSCP was read"
    lossless, points = port["pfc"], (port["ecn_np"], port["ecn_rp"])
    if lossless is None or None in points:
        facts["ecn_on_lossless"] = None
        facts["ecn_on_lossless_reason"] = port.get("pfc_reason") or "the driver shows no ECN settings in sysfs"
    else:
        facts["ecn_on_lossless"] = [p for p in lossless if p not in points[0] or p not in points[1]]
    return {**facts, **_traffic(port, settings), **_switch(port, *exported)}


def _exported(run):
    """(what the switches' owner has exported, why there is nothing)"""
    path = run.run_dir / switch_ports.FILE
    if not path.exists():
        return {}, f"no export of the switch ports: {EXPORT}"
    try:
        return switch_ports.load(path), ""
    except documents.DocumentError as error:
        return {}, error.errors[0]


def _switch(port, table, problem) -> dict:
    """The other end of the cable: what the switch port says of itself over LLDP comes before what its owner has written down."""
    peer, netdev = port.get("peer"), port["netdev"] or port["name"]
    if not isinstance(peer, dict):
        heard = "needs lldpd on the node" if peer is None else "no neighbour is heard there"
        where = f"{netdev}: which switch port it is plugged into is not known (LLDP: {heard})"
        return {"cable": f"{netdev} to an unknown switch port", **_sides({}, dict.fromkeys(("pfc", "ecn", "mtu"), where))}
    end = End(peer["switch"] or "", peer["port"] or "", peer["chassis"] or "", peer["description"] or "")
    cable = f"{netdev} to {switch_name(end) or 'a switch'} {end.port or end.description or 'on a port without a name'}"
    found = switch_ports.find(table, end)
    told = {key: getattr(found, key) for key in ("pfc", "ecn", "mtu")} if found else {}
    if peer["pfc"] is not None:
        told["pfc"] = peer["pfc"]
    missing = problem or ("the export does not say it" if found else f"{switch_ports.FILE} has no such port")
    silent = "the switch does not tell its PFC over LLDP (DCBX), and "
    return {"cable": cable, **_sides(told, {"pfc": silent + missing, "ecn": missing, "mtu": missing})}


def _sides(told, reasons) -> dict:
    facts = {}
    for key, reason in reasons.items():
        facts["switch_" + key] = told.get(key)
        if told.get(key) is None:
            facts[f"switch_{key}_reason"] = reason
    return facts


def _text(port):
    if port["trust"] is None or port["pfc"] is None:
        return None
    dscp = port["dscp_priority"] or {}
    parts = [f"trust {port['trust']}", f"PFC {_list(port['pfc'])}"]
    parts += [f"DSCP {dscp.get(str(priority), 'none')} to {priority}" for priority in port["pfc"]]
    for name, key in (("ECN np", "ecn_np"), ("ECN rp", "ecn_rp"), ("CNP DSCP", "cnp_dscp"), ("traffic class", "traffic_class")):
        value = port[key]
        parts.append(f"{name} {_list(value) if isinstance(value, list) else value if value is not None else '?'}")
    return ", ".join(parts)


def _list(values):
    return "+".join(map(str, values)) or "off"


def _settings(run):
    """The NCCL settings that gid_check read on this node in this run."""
    try:
        path = run.run_dir / "facts" / str(run.envelope.get("host")) / "gid_check.json"
        found = json.loads(path.read_bytes())["data"]["settings"]["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return nccl_gid.in_force(found)


def _traffic(port, settings) -> dict:
    """A class that the driver forces wins over what the application asks for."""
    tc = port["traffic_class"] if isinstance(port["traffic_class"], int) else nccl_gid.number(settings.get("NCCL_IB_TC"))
    if tc is None or tc < 0:
        why = "no traffic class is forced by the driver or set for NCCL on the node: a job that sets none sends unmarked"
        return {"traffic_priority": None, "traffic_lossless": None, "traffic_lossless_reason": why}
    if port["dscp_priority"] is None or port["pfc"] is None:
        return {"traffic_priority": None, "traffic_lossless": None, "traffic_lossless_reason": "DSCP table or PFC was not read"}
    if not port["pfc"]:
        return {"traffic_priority": None, "traffic_lossless": None, "traffic_lossless_reason": "no priority is lossless: PFC is off"}
    priority = next((int(key) for key, text in port["dscp_priority"].items() if _holds(text, tc >> 2)), 0)
    return {"traffic_priority": priority, "traffic_lossless": priority in port["pfc"]}


def _holds(text, dscp) -> bool:
    return any(int(low) <= dscp <= int(high or low) for low, high in re.findall(r"(\d+)(?:-(\d+))?", text))
