"""What an Xid or SXid of the ring buffer means: the catalogue's class, and what the message itself adds.

`sort(event, seen, catalog, driver)` gives (list name, meaning, reaction). Lists: hardware, contained, nvlink_nonfatal, application,
informational, unclear, secondary; for SXids fatal, nonfatal, unclear. The kernel's own word for the severity counts, nobody else's.
"""

from __future__ import annotations

import functools

# The class of a code is the list it goes to, but for those whose message decides.
LISTS = {"hardware", "contained", "application", "informational"}
NVLINK5_MASKS_FROM = 575  # nvlink5_decode: the registers' layout changed with this driver


class Catalogue:
    """The catalogues, looked up by code. Made once for all hosts."""

    def __init__(self, catalogs: dict):
        xid, sxid = catalogs["xid"], catalogs["sxid"]
        self.xids = {entry["code"]: entry for entry in xid["xids"]}
        self.sxids = {entry["code"]: entry for entry in sxid["sxids"]}
        self.reactions, self.rows = xid["reactions"], xid["nvlink5_decode"]["rows"]

    @functools.cached_property
    def row_masks(self):
        """(row, {column: (bits that count, their values)}) of the decode table."""
        return [(row, {column: _mask(row[column]) for column in ("intrinfo_lt_r575", "intrinfo_ge_r575")}) for row in self.rows]


_made: list = []


def catalogue(catalogs: dict) -> Catalogue:
    if not _made or _made[0] is not catalogs:
        _made[:] = [catalogs, Catalogue(catalogs)]
    return _made[1]


def _mask(text: str) -> tuple[int, int]:
    return int("".join("0" if bit == "-" else "1" for bit in text), 2), int(text.replace("-", "0"), 2)


def sort(event: dict, seen: dict, codes: Catalogue, driver: int | None) -> tuple[str, str, str]:
    """`seen`: PCI address -> codes of all Xids there; `driver`: branch of the NVIDIA driver, None where it is not known."""
    if event["kind"] == "sxid":
        return _sxid(event, codes)
    entry = codes.xids.get(event["code"])
    if entry is None:
        return "unclear", "not in the catalogue", "have it explained by the vendor"
    meaning, reaction = entry["meaning"], codes.reactions.get(entry["action"], entry["action"])
    if "why" in entry:
        reaction = entry["why"] if entry["action"] == "none" else f"{reaction}; {entry['why']}"
    if event["code"] == 45:
        return _torn_down(event, seen, codes, meaning, reaction)
    if entry["class"] == "decode":
        return _nvlink5(event, seen, codes, driver, meaning)
    if entry["class"] == "message":
        wanted = event["detail"].get("recovery_to")
        if wanted is None:
            return "unclear", meaning, reaction
        return ("informational", f"{meaning}: none", "nothing") if wanted == "None" else ("hardware", meaning, wanted.lower())
    return (entry["class"] if entry["class"] in LISTS else "unclear"), meaning, reaction


def _torn_down(event, seen, codes, meaning, reaction):
    """45 follows another error, or a program's end. Only where the error's own record is gone does it stand in for it."""
    cause = event["detail"].get("caused_by")
    others = seen.get(event["pci"], set()) - {45}
    if cause is None:
        return ("secondary", meaning, f"follow {min(others)}") if others else ("application", meaning, reaction)
    if cause in others:
        return "secondary", f"{meaning}: after {cause}", f"follow {cause}"
    root = codes.xids.get(cause)
    kind = root["class"] if root and root["class"] in LISTS else "unclear"
    told = f"caused by {cause}, whose own record is not in the log" + (f": {root['meaning']}" if root else "")
    return kind, told, codes.reactions.get(root["action"], root["action"]) if root else "have it explained by the vendor"


def _nvlink5(event, seen, codes, driver, meaning):
    row = decode(event, codes, driver)
    unit, fatal = event["detail"].get("unit"), event["severity"]
    meaning = f"{meaning}, {unit} {fatal}" if unit else meaning
    if row is None:
        known = {"Fatal": ("hardware", "reset the GPU"), "Nonfatal": ("nvlink_nonfatal", "watch the link")}
        kind, reaction = known.get(fatal, ("unclear", "have it explained by the vendor"))
        return kind, meaning, reaction
    reaction = {"RESET_GPU": "drain, reset the GPU", "IGNORE": "nothing"}.get(row["action"], "follow a 154, else restart the application")
    if row["action"] == "RESET_GPU":
        return "hardware", meaning, reaction
    if fatal == "Fatal":  # the table says harmless, the kernel does not
        return "unclear", meaning, reaction
    return ("secondary" if row["action"] == "XID_154_EVAL" and 154 in seen.get(event["pci"], ()) else "nvlink_nonfatal"), meaning, reaction


def decode(event: dict, codes: Catalogue, driver: int | None) -> dict | None:
    """The row of the decode table that fits, where all that fit agree on the action."""
    detail = event["detail"]
    if not detail.get("intr_info") or not detail.get("error_status"):
        return None
    info, status, unit = int(detail["intr_info"], 16), int(detail["error_status"], 16), set(detail["unit"].split("/"))
    both = {"lt": "intrinfo_lt_r575", "ge": "intrinfo_ge_r575"}
    columns = list(both.values()) if driver is None else [both["ge" if driver >= NVLINK5_MASKS_FROM else "lt"]]
    fitting = [
        (row, masks)
        for row, masks in codes.row_masks
        if row["xid"] == event["code"] and unit & set(row["unit"].split("/")) and status in {int(text, 16) for text in row["error_status"]}
    ]
    exact = [row for row, masks in fitting if any(info & masks[column][0] == masks[column][1] for column in columns)]
    rows = exact or [row for row, _ in fitting]
    return rows[0] if rows and len({row["action"] for row in rows}) == 1 else None


def _sxid(event, codes):
    entry = codes.sxids.get(event["code"])
    if entry is None:
        return "unclear", "not in the catalogue", "have it explained by the vendor"
    meaning = (entry.get("text") or [entry["name"]])[0]
    recovery = entry.get("recovery")
    always = entry["class"] == "always_fatal"
    fatal, harmless = recovery or "drain, reset all GPUs and NVSwitches or reboot", recovery or "nothing"
    # The message carries the word in most cases. It is cut, or has none: then the class, if it leaves no choice.
    if event["severity"] == "Fatal" or always or (event["severity"] is None and entry["class"] == "fatal"):
        return "fatal", meaning, fatal
    if event["severity"] in ("Non-fatal", "Correctable") or entry["class"] == "non_fatal":
        return "nonfatal", meaning, harmless
    return "unclear", meaning, recovery or "have it explained by the vendor"
