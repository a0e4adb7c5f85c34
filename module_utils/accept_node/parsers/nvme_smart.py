"""Health of an NVMe drive: `nvme smart-log DEV -o json` (parse) and `smartctl -j -a DEV` (parse_smartctl), in one shape::

    {"critical_warning": 0, "temperature_c": 36, "available_spare_pct": 100, "spare_threshold_pct": 10, "percentage_used": 1,
     "media_errors": 0, "unsafe_shutdowns": 12, "power_on_hours": 9000}

nvme-cli gives Kelvin, and the critical warning as a number or, in newer releases, as {"value": 0, ...}.
"""

from __future__ import annotations

import json

from . import ParseError

NAMES = {  # ours: nvme-cli, smartctl
    "critical_warning": ("critical_warning", "critical_warning"),
    "temperature_c": ("temperature", "temperature"),
    "available_spare_pct": ("avail_spare", "available_spare"),
    "spare_threshold_pct": ("spare_thresh", "available_spare_threshold"),
    "percentage_used": ("percent_used", "percentage_used"),
    "media_errors": ("media_errors", "media_errors"),
    "unsafe_shutdowns": ("unsafe_shutdowns", "unsafe_shutdowns"),
    "power_on_hours": ("power_on_hours", "power_on_hours"),
}
ZERO_C = 273


def parse(text: str) -> dict:
    """nvme-cli."""
    log = _load(text, "nvme smart-log")
    found = {ours: _count(log.get(theirs)) for ours, (theirs, _) in NAMES.items()}
    if found["critical_warning"] is None:
        raise ParseError(f"nvme smart-log: no critical_warning in: {' '.join(text.split())[:120]}")
    if found["temperature_c"] is not None:
        found["temperature_c"] -= ZERO_C
    return found


def parse_smartctl(text: str) -> dict:
    """smartctl; a drive that it could open but not ask gives its own message."""
    loaded = _load(text, "smartctl")
    log = loaded.get("nvme_smart_health_information_log")
    if not isinstance(log, dict):
        tool = loaded.get("smartctl")
        messages = tool.get("messages") if isinstance(tool, dict) else None
        said = [str(message.get("string")) for message in messages or [] if isinstance(message, dict)] if isinstance(messages, list) else []
        raise ParseError(f"smartctl: no NVMe health log: {' '.join(' '.join(said).split())[:120]}")
    return {ours: _count(log.get(theirs)) for ours, (_, theirs) in NAMES.items()}


def _load(text, what) -> dict:
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{what} printed no JSON but: {' '.join(text.split())[:120] or 'nothing'}") from error
    if not isinstance(loaded, dict):
        raise ParseError(f"{what}: a JSON object was wanted")
    return loaded


def _count(value):
    """Whole numbers; large counters come as floats or text in some releases."""
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 40:
        value = int(value)
    if isinstance(value, float) and value == value and abs(value) < 1e38 and value == int(value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
