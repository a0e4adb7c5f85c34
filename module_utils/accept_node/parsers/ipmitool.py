"""ipmitool: the controller (`ipmitool mc info`) and its event log (`ipmitool sel list`).

mc info: {"firmware": "1.12", "manufacturer": "..." | None, "product": "..." | None}; an auxiliary revision follows: "1.12+00.04.07.00"
sel list (`parse`): {"entries": [{"id": 1 (hexadecimal in the text), "date": "12/24/2025" | None, "time": "13:58:36" | None,
"sensor": "Voltage #0x4d", "event": "...", "asserted": True | False | None}], "asserted": ["sensor: event", ...]}
`asserted` of the log holds what was raised and not cleared again.
"""

from __future__ import annotations

import re

from . import ParseError


def parse(text: str) -> dict:
    entries = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) < 2:
            if line.strip() and not line.startswith("SEL has no entries"):
                raise ParseError("not a line of the event log: %r" % line.strip()[:80])
            continue
        if not re.fullmatch(r"[0-9a-fA-F]{1,8}", fields[0]):
            raise ParseError("an entry without its number: %r" % line.strip()[:80])
        clocked = len(fields) > 4 and re.match(r"^[0-9]+/[0-9]+/[0-9]+$", fields[1])
        date, time, rest = (fields[1], fields[2], fields[3:]) if clocked else (None, None, fields[1:])
        if len(rest) > 1 and date is None and rest[0].lower() == "pre-init":
            rest = rest[2:] if len(rest) > 3 else rest[1:]
        state = rest[-1].lower() if rest else ""
        asserted = True if state == "asserted" else False if state == "deasserted" else None
        words = rest if asserted is None else rest[:-1]
        entries.append(
            {
                "id": int(fields[0], 16),
                "date": date,
                "time": time,
                "sensor": words[0] if words else "",
                "event": " | ".join(words[1:]),
                "asserted": asserted,
            }
        )
    if not entries and "SEL has no entries" not in text:
        raise ParseError("no entry, and no word that there is none")
    standing = {}
    for entry in entries:
        standing[(entry["sensor"], entry["event"])] = entry["asserted"]
    return {"entries": entries, "asserted": ["%s: %s" % name for name, up in standing.items() if up]}


def parse_mc_info(text: str) -> dict:
    fields = dict(re.findall(r"^([A-Z][A-Za-z ]+?)\s*: *(\S.*?)\s*$", text, re.M))
    if not re.fullmatch(r"[0-9]+\.[0-9]+", fields.get("Firmware Revision", "")):
        raise ParseError("no firmware revision in it")
    auxiliary = re.search(r"^Aux Firmware Rev Info\s*:\s*((?:\n?\s+0x[0-9a-fA-F]{2})+)", text, re.M)
    digits = re.findall(r"0x([0-9a-fA-F]{2})", auxiliary.group(1)) if auxiliary else []
    return {
        "firmware": fields["Firmware Revision"] + ("+" + ".".join(digits) if digits else ""),
        "manufacturer": fields.get("Manufacturer Name"),
        "product": fields.get("Product Name"),
    }
