"""`rocm-smi ... --json` (ROCm 4.3 to 6), and its text tables.

parse: {"driver_version": "6.3.6", "gpus": [{"gpu": 0, "name": "...", "pci": "0000:83:00.0", "uuid", "serial", "vbios",
"memory_mib", "memory_used_mib", "temperature_c" (junction), "memory_temperature_c", "power_draw_w", "power_max_w", "utilization_pct",
"pcie": {"gen", "width", "replays"}}]}. Keys changed between releases; every value is text. `system` is no card.

parse_table, of the concise table: {"gpus": [{"gpu": 0, "values": {"Temp": None}}], "messages": ["ERROR: 15 GPU[0]: ..."]}.
"""

from __future__ import annotations

import json
import re

from ..values import integer, pci_address, quantity, word
from . import ParseError
from .amd_smi import GENERATIONS

LINK = re.compile(r"\(([0-9.]{1,5})GT/s x([0-9]{1,2})\)")


def parse(text: str) -> dict:
    """The JSON; see the module's docstring."""
    try:
        loaded = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError) as error:
        raise ParseError(f"rocm-smi printed no JSON but: {' '.join(text.split())[:120] or 'nothing'}") from error
    cards = {name: card for name, card in loaded.items() if re.fullmatch(r"card\d{1,4}", name) and isinstance(card, dict)}
    if not cards:
        raise ParseError("rocm-smi: no card in the JSON")
    system = loaded.get("system")
    driver = _text(system.get("Driver version")) if isinstance(system, dict) else None
    return {"driver_version": driver, "gpus": [_card(int(name[4:]), card) for name, card in sorted(cards.items())]}


def _text(value):
    return word(value) if isinstance(value, str) else None


def _card(number, card) -> dict:
    def first(read, *names):
        """The first of these keys that has a value."""
        return next((value for value in (read(_text(card.get(name)) or "") for name in names) if value is not None), None)

    def mib(name):
        value = first(integer, name)
        return value // 1024**2 if value is not None else None

    link = LINK.search(_text(card.get("pcie clock level")) or "")
    speed, width = link.groups() if link else ("", None)
    return {
        "gpu": number,
        "name": first(word, "Card series", "Card Series"),
        "pci": first(pci_address, "PCI Bus"),
        "uuid": first(word, "Unique ID"),
        "serial": first(word, "Serial Number"),
        "vbios": first(word, "VBIOS version"),
        "memory_mib": mib("VRAM Total Memory (B)"),
        "memory_used_mib": mib("VRAM Total Used Memory (B)"),
        "temperature_c": first(quantity, "Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)"),
        "memory_temperature_c": first(quantity, "Temperature (Sensor memory) (C)"),
        "power_draw_w": first(quantity, "Average Graphics Package Power (W)", "Current Socket Graphics Package Power (W)"),
        "power_max_w": first(quantity, "Max Graphics Package Power (W)"),
        "utilization_pct": first(quantity, "GPU use (%)"),
        "pcie": {
            "gen": GENERATIONS.get(quantity(speed)),
            "width": int(width) if width else None,
            "replays": first(integer, "PCIe Replay Count"),
        },
    }


def parse_table(text: str) -> dict:
    """The concise table of `rocm-smi` without --json."""
    names, gpus, messages = None, [], []
    for line in text.splitlines():
        cells = line.split()
        if cells[:1] == ["GPU"] and len(cells) > 2:
            names = cells[1:]
        elif names and re.fullmatch(r"[0-9]{1,4}", (cells or [""])[0]):
            if len(cells) != len(names) + 1:
                raise ParseError(f"rocm-smi: GPU row has {len(cells) - 1} cells, wanted {len(names)}")
            values = {name: None if cell in ("None", "unknown", "Unsupported") else word(cell) for name, cell in zip(names, cells[1:])}
            gpus.append({"gpu": int(cells[0]), "values": values})
        elif re.match(r"ERROR|WARNING|Expected", line):
            messages.append(" ".join(cells))
    if not gpus:
        raise ParseError(f"rocm-smi: no GPU row in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"gpus": gpus, "messages": messages}
