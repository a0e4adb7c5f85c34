"""What the settings of RoCE ports amount to: one text per port to compare, and whether the traffic class lands in a lossless queue."""

from __future__ import annotations

import json
import re

from .. import nccl_gid


def analyse(data: dict, run) -> dict:
    """rails: the fabric's ports, each with
    qos_text: trust, PFC, DSCP of the lossless priorities, ECN, CNP as one text to compare between nodes
    ecn_on_lossless: [] or the lossless priorities without ECN; null where either is not known
    traffic_priority: the priority that the traffic class (forced by the driver, or NCCL_IB_TC) is sorted into
    traffic_lossless: true where PFC is on for it
    """
    ports = data.get("ports")
    if ports is None:
        return {"rails": None}
    settings = _settings(run)
    return {"rails": [_rail(port, settings) for port in ports if port["rail"]]}


def _rail(port, settings) -> dict:
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
    return {**facts, **_traffic(port, settings)}


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
