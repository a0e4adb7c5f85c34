"""JSON as tools print it: a blank line, a banner or a warning before it. One reading for all parsers that meet it."""

from __future__ import annotations

import json
import math
import re

from .parsers import ParseError


def load(text: str, what: str, kind=dict):
    """The JSON document of this kind (dict or list) in a text: from the first line that begins with it, else from its first sign.

    ParseError where there is none, or it is cut: a part of a cut document is not taken for the whole.
    """
    opening = "{" if kind is dict else "["
    line = re.search(r"^" + re.escape(opening), text, re.M)
    start = line.start() if line else text.find(opening)
    shown = " ".join(text.split())[:100] or "nothing"
    if start < 0:
        raise ParseError(f"{what}: no JSON in: {shown}")
    try:
        return json.JSONDecoder(parse_constant=lambda name: None).raw_decode(text, start)[0]
    except (ValueError, RecursionError) as error:
        raise ParseError(f"{what}: JSON is cut or broken in: {shown}") from error


def strict(text: str) -> dict:
    """The JSON object that a text is, with nothing around it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError("not JSON: %s" % str(error).split("\n")[0][:80]) from error
    if not isinstance(document, dict):
        raise ParseError("not an object: %r" % text.strip()[:60])
    return document


def whole(value):
    """A whole number of a JSON document, or of a text in it; None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    text = value.strip() if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.lstrip("-").isdigit() and len(text) <= 20 and text.count("-") <= 1 else None


def real(value):
    """A finite number of a JSON document, or of a text in it (15E-255); None where it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
