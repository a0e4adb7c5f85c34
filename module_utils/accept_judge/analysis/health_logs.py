"""Does a record come into the log files that an agent reads? By rsyslog's and journald's settings, as the node told them.

What a program writes to /dev/kmsg bears the facility user: imklog drops it unless told otherwise, the journal has it
(https://www.rsyslog.com/doc/configuration/modules/imklog.html, PermitNonKernelFacility; imjournal reads the journal whole).
"""

from __future__ import annotations

UNKNOWN = "it is not known what comes into its file: "


def paths_of(agent) -> set:
    """The log files that its scripts name."""
    texts = [text for script in agent["scripts"] for text in (script["line"], script["data"]) if text]
    return {wire.partition(":")[2] for text in texts for wire in text["wires"] if wire.startswith("file:")}


def reached(logs: dict, paths: set) -> tuple:
    """({"kmsg_user": true | false | null, "kmsg_kernel": ...}, why): records that a program wrote to /dev/kmsg, and the kernel's own.

    `paths`: the files that are read; none stands for any of them.
    """
    rsyslog, journald = logs.get("rsyslog"), logs.get("journald") or {}
    nothing = {"kmsg_user": None, "kmsg_kernel": None}
    if not rsyslog:
        return {**nothing, "kmsg_kernel": True}, UNKNOWN + "rsyslog's settings could not be read"
    if rsyslog == "none":
        return nothing, UNKNOWN + "there is no rsyslog"
    klog, journal = "imklog" in rsyslog["inputs"], "imjournal" in rsyslog["inputs"] and journald.get("read_kmsg") is not False
    if not klog and not journal:
        return {"kmsg_user": False, "kmsg_kernel": False}, "rsyslog takes in no records of the kernel: its file never sees one"
    user = journal or (klog and rsyslog["permit_non_kernel"])
    written = [entry for entry in rsyslog["files"] if not paths or entry["path"] in paths]
    kernel_file, user_file = (any(entry[name] for entry in written) for name in ("kernel", "user"))
    unsure = None if rsyslog["intricate"] else False
    why = "imjournal takes in what a program wrote to /dev/kmsg" if journal else "imklog drops what a program wrote to /dev/kmsg"
    why = "imklog is told to take in what a program wrote to /dev/kmsg" if user and not journal else why
    return {"kmsg_user": (user_file or unsure) if user else False, "kmsg_kernel": kernel_file or unsure}, why
