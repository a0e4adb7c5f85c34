"""Settings of an agent in INI, in TOML or in YAML, as far as they are plain: sections, names and scalars or lists of scalars on one line.

`parse(text)` of INI and TOML -> {"sections": [{"name": "" | "dcgm" | ..., "values": {name: str | int | float | bool | list}}]}; `[[name]]`
may come again and again. `parse_yaml(text)` of nested YAML maps -> {"values": {"gpu.xid.warning": [43, 63], ...}}, keys joined by dots.
`parse_xid_csv(text)` of NVSentinel's table `CODE,NAME,ACTION[,SEVERITY]` -> {"xids": {"13": {"name", "action", "severity": str | None}}}
What is not plain is a ParseError: a setting half read would be a setting misread.
"""

from __future__ import annotations

import re

from . import ParseError

SECTION = re.compile(r"\[{1,2}\s*([\w.\" -]{1,80}?)\s*\]{1,2}\s*(?:[#;].*)?")
PAIR = re.compile(r"([\w.\"-]{1,80})\s*[=:]\s*(.*)")
INTEGER, FLOAT = re.compile(r"-?\d{1,15}"), re.compile(r"-?\d{1,15}\.\d{1,9}")
WORDS = {"true": True, "false": False}


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no settings")
    sections = [{"name": "", "values": {}}]
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith(("#", ";")):
            continue
        section, pair = SECTION.fullmatch(bare), PAIR.fullmatch(bare)
        if section:
            sections.append({"name": section.group(1).strip('"'), "values": {}})
        elif pair:
            sections[-1]["values"][pair.group(1).strip('"')] = _value(pair.group(2), number)
        else:
            raise ParseError(f"line {number} is no plain setting: {bare[:60]!r}")
    if not any(section["values"] for section in sections):
        raise ParseError("no setting")
    return {"sections": [section for section in sections if section["name"] or section["values"]]}


def parse_yaml(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no settings")
    values, path = {}, []  # path: (indent, key) of the maps above
    last = None  # the key whose list may follow in lines of its own
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith("#") or bare == "---":
            continue
        indent = len(line) - len(line.lstrip(" "))
        if bare.startswith("- ") or bare == "-":
            if last is None or values.get(last, []) is None or not isinstance(values.setdefault(last, []), list):
                raise ParseError(f"line {number} is no plain setting: {bare[:60]!r}")
            values[last].append(_value(bare[1:].strip(), number))
            continue
        key, colon, rest = bare.partition(":")
        if not colon or (rest and not rest.startswith(" ")) or not re.fullmatch(r"[\w./-]{1,80}", key.strip("\"'")):
            raise ParseError(f"line {number} is no plain setting: {bare[:60]!r}")
        while path and path[-1][0] >= indent:
            path.pop()
        name = ".".join([*(one for _, one in path), key.strip("\"'")])
        rest = rest.strip()
        if rest and not rest.startswith("#"):
            values[name], last = _value(rest, number), None
        else:
            path.append((indent, key.strip("\"'")))
            last = name
    if not values:
        raise ParseError("no setting")
    return {"values": values}


def parse_xid_csv(text: str) -> dict:
    xids = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) >= 3 and INTEGER.fullmatch(cells[0]) and re.fullmatch(r"[A-Z][A-Z0-9_]{1,40}", cells[2]):
            xids[str(int(cells[0]))] = {
                "name": cells[1][:120],
                "action": cells[2],
                "severity": cells[3] if len(cells) > 3 and cells[3] else None,
            }
        elif line.strip() and not line.startswith("#") and xids:
            raise ParseError(f"not a row of codes: {line.strip()[:60]!r}")
    if not xids:
        raise ParseError(f"no code: {text.strip()[:60]!r}" if text.strip() else "empty: no table of codes")
    return {"xids": xids}


def _value(text, number):
    text = text.strip()
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        if end < 0 or text[end + 1 :].strip()[:1] not in ("", "#", ";"):
            raise ParseError(f"line {number}: a text without end: {text[:60]!r}")
        return text[1:end]
    if text.startswith("["):
        body, closed, rest = text[1:].partition("]")
        if not closed or "[" in body or rest.strip()[:1] not in ("", "#", ";"):
            raise ParseError(f"line {number}: a list that is not plain: {text[:60]!r}")
        return [_value(part, number) for part in body.split(",") if part.strip()]
    if text[:1] in ("{", "&", "*", "|", ">"):
        raise ParseError(f"line {number} is no plain value: {text[:60]!r}")
    text = re.split(r"\s[#;]", text)[0].strip()
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if FLOAT.fullmatch(text) else WORDS.get(text.lower(), text)
