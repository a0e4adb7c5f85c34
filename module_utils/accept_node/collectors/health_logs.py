"""Where the kernel's records go on a node: settings of rsyslog and journald, as an agent that reads a log file depends on them."""

from __future__ import annotations

from ..parsers import journald_conf, rsyslog_conf

RSYSLOG, JOURNALD = "/etc/rsyslog.conf", "/etc/systemd/journald.conf"


def read(gather) -> dict:
    """{"rsyslog": parsed | "none" | None, "journald": parsed | None}; "none": there is no rsyslog."""
    return {"rsyslog": _joined(gather, RSYSLOG, "/etc/rsyslog.d", rsyslog_conf.parse), "journald": _journald(gather)}


def _journald(gather):
    found = _joined(gather, JOURNALD, JOURNALD + ".d", journald_conf.parse)
    return journald_conf.parse("") if found == "none" else found  # as systemd ships it


def _joined(gather, path, folder, parse):
    """A file and those beside it, in the order in which they are read; "none" where neither is there."""
    text = gather.file(path, optional=True)
    beside = gather.tree(folder, ["*.conf"], optional=True)
    if (text is None and not gather.missing(path)) or (beside is None and not gather.missing(folder)):
        return None
    if beside and beside.errors:
        return gather.error(folder, "unreadable", f"{folder}: {len(beside.errors)} files could not be read")
    parts = [text or "", *(beside.files[name] for name in sorted(beside.files))] if beside else [text or ""]
    return gather._parsed(path, "\n".join(parts), parse) if "".join(parts).strip() else "none"
