"""Ports and exports of other hosts, tried from the head by written authority. Counts only; no name of a host is kept."""

from __future__ import annotations

from ..parsers import probe_counts
from ..probe import EXPORTS, PORTS


def collect(gather) -> dict | None:
    """{"ports": [{port, asked, open, refused, silent}] | None, "exports": {servers, answered, exports, open_to_all} | None}"""
    ports = gather.command(PORTS, probe_counts.parse, timeout_s=600)
    exports = gather.command(EXPORTS, probe_counts.parse_exports, timeout_s=600)
    return None if ports is None and exports is None else {"ports": ports and ports["ports"], "exports": exports}
