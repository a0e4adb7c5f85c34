"""Values as words. What a node printed is shown, never obeyed: no control characters, no text that runs backwards."""

from __future__ import annotations

import re
from urllib.parse import quote

# C0 and C1 controls but tab and newline, zero-width and bidirectional controls, lone surrogates, non-characters
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")


def clean(value):
    """The same value with every character that could deceive or break a document replaced by U+FFFD."""
    if isinstance(value, str):
        return value if value.isascii() and value.isprintable() else UNSAFE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list) else value


def say(value) -> str:
    """A value of the scorecard in one line: lists by commas, true and false as in YAML, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, dict):
        return ", ".join(f"{key}: {say(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(say, value)) or "none"
    return str(value)


def link(path: str, host: str) -> str:
    """A relative link to a file of the run's folder: `{host}` filled in, nothing left that a browser could take for a scheme."""
    parts = path.replace("{host}", host).split("/")
    return "/".join(quote(part, safe="") for part in parts if part not in ("", ".", ".."))


def when(time) -> str:
    """2026-11-30T09:15:00.402Z -> 2026-11-30 09:15 UTC; any other text as it is."""
    return re.sub(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*Z$", r"\1 \2 UTC", say(time))


def plural(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}".replace(",", "\u202f")
