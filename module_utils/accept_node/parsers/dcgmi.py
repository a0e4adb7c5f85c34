"""`dcgmi`, DCGM's command: text tables and JSON of DCGM 3 and 4 (dcgmi/*.cpp of the project). One function an output:

`parse`          discovery -l         {"connected": bool, "gpus_found": int | None, "active": bool | None,
                                       "gpus": [{"id", "name", "pci", "uuid"}] | None}; a name `<<<NULL>>>` is None
`parse_groups`   group -l             {"connected", "groups": [{"id", "name"}] | None}
`parse_watches`  health -g G -f       {"connected", "watches": {"PCIe": True, ...} | None}
`parse_health`   health -g G -c -j    {"connected", "watches_on": bool, "overall": "Healthy" | "Warning" | "Failure" | None,
                                       "gpus": {"0": {"health", "systems": {name: {"health", "text"}}}}}
`parse_policy`   policy -g G --get    {"connected", "group": str | None, "conditions": [...] | None, "action": str | None,
                                       "validation": str | None, "mixed": bool}; None: they differ within the group (`****`)
`parse_nvlink`   nvlink -s            {"gpus": [{"id", "up", "down", "disabled"}]}
`parse_inject`   test --inject        {"injected": bool, "message": str}

Not connected: no host engine answers, and nothing is known.
"""

from __future__ import annotations

import json
import re

from . import ParseError

NOT_CONNECTED = re.compile(r"[Uu]nable to (?:establish a connection|connect to host engine)|Host engine connection invalid", re.I)
FOUND = re.compile(r"(\d{1,4}) GPUs? found(?: \((\w+)\))?")
ROW = re.compile(r"\|\s*([^|]*?)\s*\|\s*([^|]*?)\s*\|?\s*")
ENTITY = re.compile(r"gpuId (\d{1,4}):|GPU (\d{1,4}):?\s*$", re.M)
NULL = ("<<<NULL>>>", "", "N/A", "[N/A]", "Unknown")


def parse(text: str) -> dict:
    if _lost(text):
        return {"connected": False, "gpus_found": None, "active": None, "gpus": None}
    found = FOUND.search(text)
    if not found:
        raise ParseError(f"no count of GPUs: {text.strip()[:60]!r}")
    gpus = []
    table = re.split(r"\d+ (?:NvSwitch|Switch|ConnectX|CPU)\w*(?: \w+)? found", text[found.end() :])[0]  # GPUs come first
    for key, value in _rows(table):
        if key.isdigit() and len(key) < 5 and value.startswith("Name:"):
            gpus.append({"id": int(key), "name": _known(value.partition(":")[2]), "pci": None, "uuid": None})
        elif gpus and not key and value.startswith("PCI Bus ID:"):
            gpus[-1]["pci"] = _known(value.partition(":")[2])
        elif gpus and not key and value.startswith("Device UUID:"):
            gpus[-1]["uuid"] = _known(value.partition(":")[2])
    return {
        "connected": True,
        "gpus_found": int(found.group(1)),
        "active": found.group(2) == "Active" if found.group(2) else None,
        "gpus": gpus,
    }


def parse_groups(text: str) -> dict:
    if _lost(text):
        return {"connected": False, "groups": None}
    if "group" not in text.lower():
        raise ParseError(f"no list of groups: {text.strip()[:60]!r}")
    groups = []
    for key, value in _rows(text):
        name = key.lstrip("-> ").strip()
        if name == "Group ID" and value.isdigit() and len(value) < 10:
            groups.append({"id": int(value), "name": None})
        elif name == "Group Name" and groups:
            groups[-1]["name"] = _known(value)
    return {"connected": True, "groups": groups}


def parse_watches(text: str) -> dict:
    if _lost(text):
        return {"connected": False, "watches": None}
    watches = {key: value == "On" for key, value in _rows(text) if key and value in ("On", "Off")}
    if not watches:
        raise ParseError(f"no watch: {text.strip()[:80]!r}")
    return {"connected": True, "watches": watches}


def parse_health(text: str) -> dict:
    if _lost(text):
        return {"connected": False, "watches_on": False, "overall": None, "gpus": {}}
    if "Health watches not enabled" in text:
        return {"connected": True, "watches_on": False, "overall": None, "gpus": {}}
    body = _json(text).get("body")
    if not isinstance(body, dict):
        raise ParseError("no body in the report")
    gpus = {}
    for key, entity in _children(body.get("GPU")).items():
        systems = _children(_children(entity).get("Errors"))
        gpus[key] = {
            "health": _value(entity),
            "systems": {name: {"health": _value(one), "text": _overflow(one)} for name, one in systems.items()},
        }
    overall = _value(body.get("Overall Health"))
    if overall is None:
        raise ParseError("the report names no overall health")
    return {"connected": True, "watches_on": True, "overall": overall, "gpus": gpus}


def parse_policy(text: str) -> dict:
    if _lost(text):
        return {"connected": False, "group": None, "conditions": None, "action": None, "validation": None, "mixed": False}
    if "Policy Information" not in text:
        raise ParseError(f"no policy: {text.strip()[:60]!r}")
    fields, last, group = {}, None, None
    for line in text.splitlines():
        single = re.fullmatch(r"\|\s*([^|]+?)\s*\|\s*", line)
        if single and single.group(1) != "Policy Information" and not fields:
            group = single.group(1)
    for key, value in _rows(text):
        last = key or last
        if last and value:
            fields.setdefault(last, []).append(value)
    if "Violation conditions" not in fields:
        raise ParseError("the policy names no conditions")
    conditions = fields["Violation conditions"]
    return {
        "connected": True,
        "group": group,
        "conditions": None if "****" in conditions else [] if conditions == ["None"] else conditions,
        "action": _plain(fields.get("Action on violation")),
        "validation": _plain(fields.get("Validation after action")),
        "mixed": any("****" in values for values in fields.values()),
    }


def parse_nvlink(text: str) -> dict:
    starts = list(ENTITY.finditer(text))
    gpus = []
    for here, after in zip(starts, [*starts[1:], None]):
        words = text[here.end() : after.start() if after else len(text)].split("NvSwitch")[0].split()
        links = [word for word in words if word in ("U", "D", "X", "_")]
        if not links:
            continue
        gpus.append(
            {
                "id": int(here.group(1) or here.group(2)),
                **{name: links.count(mark) for name, mark in (("up", "U"), ("down", "D"), ("disabled", "X"))},
            }
        )
    if not gpus:
        raise ParseError(f"no links of a GPU: {text.strip()[:60]!r}")
    return {"gpus": gpus}


def parse_inject(text: str) -> dict:
    line = next((line.strip() for line in text.splitlines() if "Successfully injected field info" in line), None)
    if line:
        return {"injected": True, "message": line[:200]}
    line = next((line.strip() for line in text.splitlines() if "Error" in line), None)
    if line:
        return {"injected": False, "message": line[:200]}
    raise ParseError(f"neither injected nor refused: {text.strip()[:60]!r}" if text.strip() else "empty: dcgmi printed nothing")


def _lost(text) -> bool:
    if not text.strip():
        raise ParseError("empty: dcgmi printed nothing")
    return NOT_CONNECTED.search(text) is not None


def _rows(text):
    """(first, second) cell of each row of two cells."""
    for line in text.splitlines():
        match = ROW.fullmatch(line.rstrip())
        if match:
            yield match.group(1), match.group(2)


def _known(text):
    text = text.strip()
    return None if text in NULL else text


def _plain(values):
    return None if not values or "****" in values else values[0]


def _json(text):
    start = text.find("{")
    try:
        document = json.loads(text[start:]) if start >= 0 else None
    except ValueError as error:
        raise ParseError(f"not JSON: {error}") from None
    except RecursionError:
        raise ParseError("not JSON: nested too deep") from None
    if not isinstance(document, dict):
        raise ParseError(f"not JSON: {text.strip()[:60]!r}")
    return document


def _children(node):
    children = node.get("children") if isinstance(node, dict) else None
    return {str(key): one for key, one in children.items() if isinstance(one, dict)} if isinstance(children, dict) else {}


def _value(node):
    value = node.get("value") if isinstance(node, dict) else None
    return value if isinstance(value, str) and value else None


def _overflow(node) -> str:
    lines = node.get("overflow")
    return " ".join(line for line in lines if isinstance(line, str))[:300] if isinstance(lines, list) else ""
