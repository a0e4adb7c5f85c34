"""dmidecode: the SMBIOS records that name the firmware and the machine.

Shape: {"dmidecode": "3.3" | None, "bios": {"vendor", "version", "release_date", "revision"} | None,
"system": {"manufacturer", "product", "version", "serial", "uuid", "sku"} | None}
A field that the firmware leaves out, or says is not specified, is None.
"""

from __future__ import annotations

import re

from . import ParseError

NOTHING = {"", "not specified", "unknown", "none", "n/a", "default string", "to be filled by o.e.m.", "not provided", "empty"}
FIELDS = {
    "bios": {"vendor": "Vendor", "version": "Version", "release_date": "Release Date", "revision": "BIOS Revision"},
    "system": {
        "manufacturer": "Manufacturer",
        "product": "Product Name",
        "version": "Version",
        "serial": "Serial Number",
        "uuid": "UUID",
        "sku": "SKU Number",
    },
}
TITLES = {"BIOS Information": "bios", "System Information": "system"}


def parse(text: str) -> dict:
    tool = re.search(r"^# dmidecode ([0-9.]+)", text, re.M)
    found = {"dmidecode": tool.group(1) if tool else None, "bios": None, "system": None}
    record = None
    for line in text.splitlines():
        if line and not line[0].isspace():
            kind = TITLES.get(line.strip())
            record = {} if kind and found[kind] is None else None
            if record is not None:
                found[kind] = record
        elif record is not None and ":" in line:
            key, value = (part.strip() for part in line.split(":", 1))
            record.setdefault(key, None if value.lower() in NOTHING else value)
    if not tool and found["bios"] is None and found["system"] is None:
        raise ParseError("neither a dmidecode header nor a BIOS or system record")
    for kind, fields in FIELDS.items():
        if found[kind] is not None:
            found[kind] = {name: found[kind].get(key) for name, key in fields.items()}
    return found
