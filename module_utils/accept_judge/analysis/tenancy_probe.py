"""The services behind the ports that were tried, and exports as far as all servers answered."""

from __future__ import annotations


def analyse(data: dict, run) -> dict:
    """probed: [{service, open, asked}], exports_open: N; null where nothing was learned."""
    return {**_ports(data, run), **_exports(data["exports"])}


def _exports(found) -> dict:
    """exports_open: how many everybody may mount; none found counts only where each server answered."""
    if not found or not found["servers"]:
        return {"exports_open": None, "exports_open_reason": "no NFS server was asked"}
    if found["open_to_all"] or found["answered"] == found["servers"]:
        return {"exports_open": found["open_to_all"]}
    return {"exports_open": None, "exports_open_reason": f"{found['answered']} of {found['servers']} servers told their exports"}


def _ports(data, run) -> dict:
    """probed: [{service, open, asked}]; null where no port was tried. Where no host answered in any way, nothing was learned."""
    rows, names = data["ports"], {row["port"]: row["service"] for row in run.standards.catalogs["ports"]["ports"]}
    if not rows or not any(row["asked"] for row in rows):
        return {"probed": None}
    heard = any(row["open"] or row["refused"] for row in rows)
    probed = [{"service": f"{names.get(row['port'], 'port')} {row['port']}", "asked": row["asked"], "open": row["open"]} for row in rows]
    if not heard:
        reason = "no host answered on any port, not even with a refusal: it may be that nothing gets there"
        probed = [{**row, "open": None, "open_reason": reason} for row in probed]
    return {"probed": probed}
