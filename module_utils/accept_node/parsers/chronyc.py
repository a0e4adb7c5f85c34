"""`chronyc -c tracking`: one line of comma-separated values (chrony's documentation, report format of `tracking`)."""

from __future__ import annotations

import math

from . import ParseError

FIELDS = 14  # reference id, name, stratum, time, system time offset, last offset, rms offset, ..., leap status


def parse(text: str) -> dict:
    """{"synchronised": bool, "offset_s": float | None, "stratum": int | None, "leap": str}"""
    lines = [line for line in text.splitlines() if line.strip()]
    fields = lines[-1].split(",") if lines else []
    if len(fields) < FIELDS:
        raise ParseError(f"not a tracking report: {text.strip()[:60]!r}")
    leap = fields[13].strip()
    stratum = int(fields[2]) if fields[2].isascii() and fields[2].isdigit() and len(fields[2]) < 4 else None
    synchronised = leap != "Not synchronised" and bool(stratum)
    return {"synchronised": synchronised, "offset_s": _float(fields[4]) if synchronised else None, "stratum": stratum, "leap": leap}


def _float(text):
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
