"""Sizes of messages as people write them."""

from __future__ import annotations

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(size: int) -> str:
    """131072 -> 128 KiB; what is no round number keeps one decimal."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {UNITS[unit]}" if value == int(value) else f"{value:.1f} {UNITS[unit]}"
