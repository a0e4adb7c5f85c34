"""`timedatectl show`: KEY=value lines (systemd)."""

from __future__ import annotations

from . import ParseError


def parse(text: str) -> dict:
    """{"synchronised": bool | None, "ntp_enabled": bool | None, "timezone": str | None}"""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if "NTPSynchronized" not in values and "Timezone" not in values:
        raise ParseError(f"not timedatectl's properties: {text.strip()[:60]!r}")
    truth = {"yes": True, "no": False}
    return {
        "synchronised": truth.get(values.get("NTPSynchronized", "")),
        "ntp_enabled": truth.get(values.get("NTP", "")),
        "timezone": values.get("Timezone"),
    }
