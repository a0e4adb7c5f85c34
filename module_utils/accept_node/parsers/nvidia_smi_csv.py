"""`nvidia-smi --query-gpu=... --format=csv[,noheader][,nounits]`.

{"columns": ["name", "power.draw"] | None, "rows": [[...]]}: rows are lists in the order of the columns, which are None where the output
has no header. A value with a unit and a short whole number become numbers, a bare decimal only where its column is known not to be a
version; a PCI address takes the usual form, what is no value is None. Serial numbers stay text.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from ..values import NUMBER, pci_address, reason
from . import ParseError

HEADER = re.compile(r"[a-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*( \[[A-Za-z%/]+\])?")


def parse(text: str) -> dict:
    """See the module's docstring."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or ("," not in lines[0] and len(lines[0].split()) > 6):
        raise ParseError(f"nvidia-smi csv: not a table: {' '.join(text.split())[:120] or 'nothing'}")
    columns = None
    names = [cell.strip() for cell in lines[0].split(",")]
    if all(HEADER.fullmatch(name) for name in names) and any("." in name or "_" in name for name in names):
        columns, lines = [name.split(" [")[0] for name in names], lines[1:]
    width = len(columns) if columns else len(names)
    cells = [line.split(",") for line in lines]
    for number, row in enumerate(cells, 1):
        if len(row) != width:
            raise ParseError(f"nvidia-smi csv: row {number} has {len(row)} cells, wanted {width}")
    return {"columns": columns, "rows": [[_value(text.strip(), name) for text, name in zip_longest(row, columns or [])] for row in cells]}


def _value(text, column):
    if reason(text):
        return None
    match = NUMBER.fullmatch(text)
    bare_decimal = "." in text and (column is None or column.endswith("version"))
    if match and (match.group(2) or (len(text) < 12 and not re.match(r"0[0-9]", text) and not bare_decimal)):
        number = float(match.group(1))
        return number if "." in match.group(1) else int(number)
    return pci_address(text) or text
