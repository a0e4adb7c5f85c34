"""`nvidia-smi topo -m`: how GPUs and NICs reach each other, and the CPUs and NUMA node next to each GPU.

Columns are parted by tabs or, in pasted text, by blanks; the header is underlined with escape codes; newer tools number the NICs and
explain them in a legend. Shape::

    {"gpus": ["GPU0"], "nics": ["mlx5_0"], "links": {"GPU0": {"GPU1": "NV18", "mlx5_0": "PXB"}},
     "cpu_affinity": {"GPU0": "0-55,112-167"}, "numa": {"GPU0": 0}, "cut": ["GPU6"], "missing": ["GPU7"]}

`links` has every device that has a complete row. A row with too few columns is named in `cut`, a device without a row in `missing`.
"""

from __future__ import annotations

import re

from ..values import integer, word
from . import ParseError

ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
GPU = re.compile(r"GPU\d{1,4}")
LEGEND = re.compile(r"\s*(NIC\d{1,3}): (\S+)\s*$")
AFFINITY = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


def parse(text: str) -> dict:
    """The matrix; see the module's docstring."""
    lines = [ESCAPE.sub("", line).rstrip() for line in text.splitlines()]
    start = next((number for number, line in enumerate(lines) if _is_header(line)), None)
    if start is None:
        raise ParseError(f"nvidia-smi topo -m: no header line in: {' '.join(text.split())[:120] or 'nothing'}")
    header = _fields(lines[start])
    devices = [name for name in header if name not in AFFINITY]
    names = {match.group(1): match.group(2) for match in map(LEGEND.match, lines) if match}
    known = [names.get(device, device) for device in devices]
    gpus = [name for name in known if GPU.fullmatch(name)]
    found = {"gpus": gpus, "nics": [name for name in known if name not in gpus], "links": {}, "cpu_affinity": {}, "numa": {}, "cut": []}
    seen = set()
    for line in lines[start + 1 :]:
        name, *cells = _fields(line) or [""]
        if name not in devices or name in seen:
            continue
        seen.add(name)
        if len(cells) < len(devices):
            found["cut"].append(names.get(name, name))
            continue
        pairs = zip(known, cells)
        found["links"][names.get(name, name)] = {other: cell for other, cell in pairs if cell != "X"}
        if GPU.fullmatch(name):
            rest = dict(zip(header[len(devices) :], cells[len(devices) :]))
            found["cpu_affinity"][name] = word(rest.get("CPU Affinity"))
            found["numa"][name] = integer(rest.get("NUMA Affinity"))
    found["missing"] = [names.get(device, device) for device in devices if device not in seen]
    return found


def _fields(line: str) -> list:
    """The cells of a line, empty ones left out."""
    parts = line.split("\t") if "\t" in line else re.split(r"\s{2,}", line.strip())
    return [part.strip() for part in parts if part.strip()]


def _is_header(line: str) -> bool:
    """It starts with white space and names GPU0 first; a note that mentions GPU0 does not."""
    fields = _fields(line)
    return line[:1].isspace() and bool(fields) and bool(GPU.fullmatch(fields[0]))
