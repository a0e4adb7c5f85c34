"""What must be known of a node before anything else is believed: who answers, with which rights, room and clock."""

from __future__ import annotations

from ..parsers import chronyc, df, timedatectl

DF = ["df", "-B1", "-P", "/", "/tmp", "/run", "/var/log"]


def collect(gather) -> dict:
    """{python, uid, hostname, machine, sudo, free: [{path, free_bytes, size_bytes}] | None, time_sync, clock_offset_s}

    `sudo`: may this user become root without a password; None when it is root already. `clock_offset_s`: an interval in seconds, the node's
    clock minus the controller's; the wrapper measures it, a capture may hold it.
    """
    identity = gather.node.identity()
    root = identity.get("uid") == 0
    return {
        "python": identity.get("python"),
        "uid": identity.get("uid"),
        "hostname": identity.get("hostname"),
        "machine": identity.get("machine"),
        "sudo": None if root else _sudo(gather),
        "free": _free(gather),
        "time_sync": _time_sync(gather),
        "clock_offset_s": identity.get("clock_offset_s"),
    }


def _sudo(gather):
    result = gather.node.run(["sudo", "-n", "true"], timeout_s=10)
    return None if result.reason in ("timeout", "not_recorded") else result.rc == 0


def _free(gather):
    # df exits 1 when one of the paths does not exist; the others it tells.
    table = gather.command(DF, df.parse, timeout_s=15, ok=(0, 1))
    return table and [
        {"path": fs["mounted_on"], "free_bytes": fs["free_bytes"], "size_bytes": fs["size_bytes"]}
        for fs in {fs["mounted_on"]: fs for fs in table["filesystems"]}.values()
    ]


def _time_sync(gather):
    """{source, synchronised, offset_s}: by the first time service that answers; source "none" when none is there to ask."""
    tracking = gather.command(["chronyc", "-c", "tracking"], chronyc.parse, timeout_s=10, optional=True)
    if tracking:
        return {"source": "chrony", "synchronised": tracking["synchronised"], "offset_s": tracking["offset_s"]}
    shown = gather.command(["timedatectl", "show"], timedatectl.parse, timeout_s=10, optional=True)
    if shown:
        return {"source": "timedatectl", "synchronised": shown["synchronised"], "offset_s": None}
    absent = gather.missing("chronyc -c tracking") and gather.missing("timedatectl show")
    return {"source": "none" if absent else None, "synchronised": None, "offset_s": None}
