"""What an agent does for each Xid, against the catalogue: what it would drain for nothing, what it would miss, what nobody knows.

`table(agent, catalogue)` -> ({code: effect} | None, why not known). `None` as a code stands for every Xid.
"""

from __future__ import annotations

import functools
import re

from .health_agents import STRENGTH

ACTS = {"drain", "reset", "reboot", "replace"}
FAMILY = (("gb", "grace_blackwell"), ("b", "blackwell"), ("h", "hopper"), ("a", "ampere"))
CODES = 255  # as many are tried on a pattern: one that finds them all is for every Xid
NVSENTINEL = {"NONE": "none", "IGNORE": "none", "RESTART_APP": "none"}
NESTED = re.compile(r"\([^()]*[*+{][^()]*\)[*+{]")  # a quantified group with a quantifier inside: may take for ever


def table(agent: dict, catalogue: dict):
    entry = next((one for one in catalogue["agents"] if one["id"] == agent["id"]), None)
    if agent["id"] == "nhc":
        return _of_nhc(agent, catalogue)
    if agent["id"] == "node_problem_detector":
        return _of_npd(agent)
    if entry is None:
        return _of_scripts(agent)
    told = _of_config(agent)
    if told is not None:
        return told, ""
    if "xids" not in entry:
        return None, f"it is not known for which Xids {entry['title']} acts"
    if agent["flags"].get("processing-strategy") == "STORE_ONLY":
        return _expanded({"report": entry["xids"].get("drain", [])}), ""
    return _expanded(entry["xids"]), ""


def _expanded(xids) -> dict:
    found = {}
    for effect, codes in xids.items():
        if effect.endswith("_all_but"):
            found.update(dict.fromkeys(codes, "none"))
            found[None] = effect[: -len("_all_but")]
        else:
            found.update(dict.fromkeys(codes, effect))
    return found


def _of_config(agent):
    """A table in the node's own configuration goes before what the project ships."""
    for config in agent["configs"]:
        data = config["data"] or {}
        if config["kind"] == "xid_csv" and "xids" in data:
            return {int(code): NVSENTINEL.get(row["action"], "drain") for code, row in data["xids"].items()}
        if config["kind"] == "yaml" and any(key.startswith("gpu.xid.") for key in data.get("values", ())):
            lists = {key[len("gpu.xid.") :]: _codes(value) for key, value in data["values"].items() if key.startswith("gpu.xid.")}
            found = dict.fromkeys(lists.get("error", []), "report")
            if not found:
                found[None] = "report"
            return {**found, **dict.fromkeys(lists.get("warning", []) + lists.get("ignore", []), "none")}
    return None


def _codes(value):
    return [code for code in value if isinstance(code, int)] if isinstance(value, list) else []


def _of_nhc(agent, catalogue):
    if not agent["configs"]:
        return None, "its configuration was not found"
    unread = [config["reason"] for config in agent["configs"] if config["data"] is None]
    if unread:
        return None, unread[0]
    checks = {check["check"] for config in agent["configs"] for check in config["data"].get("checks", ())}
    rows = {row["check"] for row in catalogue["nhc_checks"]}
    strange = sorted(check for check in checks - rows if re.search("xid|gpu|nvidia|nv_", check, re.I))
    if strange:
        return None, f"what NHC's {', '.join(strange[:3])} does is not known"
    found = {}
    for row in catalogue["nhc_checks"]:
        if row["check"] in checks:
            found.update(dict.fromkeys(row["xids"], agent["effect"]))
    return found, ""


def _of_scripts(agent):
    texts = [text for script in agent["scripts"] for text in (script["line"], script["data"]) if text]
    if not any(script["data"] for script in agent["scripts"]):
        reasons = [script["reason"] for script in agent["scripts"] if script["reason"]]
        return None, reasons[0] if reasons else "there is no text to read what it does from"
    found = {}
    for text in texts:
        found.update(dict.fromkeys(text["xids"]["ignores"], "none"))
    if any(text["any_xid"] for text in texts) and not any(codes for text in texts for codes in text["xids"].values()):
        found[None] = agent["effect"] or "report"
    for text in texts:
        found.update(dict.fromkeys(text["xids"]["acts"], agent["effect"] or "report"))
        if text["xids"]["listed"] and not text["xids"]["acts"]:
            return None, "it names codes, but not what they are for"
    return found, ""


def _of_npd(agent):
    """Its rules, held against the line that the driver writes for each code."""
    if not agent["configs"]:
        return None, "its configuration was not found"
    found = {}
    for config in agent["configs"]:
        if config["data"] is None:
            return None, config["reason"]
        for rule in config["data"]["rules"]:
            if not rule["pattern"]:
                continue
            codes, reason = matched(rule["pattern"])
            if reason:
                return None, f"{config['path']}: {reason}"
            effect = "label" if rule["type"] == "permanent" else "report"
            found.update({None: effect} if len(codes) == CODES else dict.fromkeys(codes, effect))
    return found, ""


@functools.lru_cache(maxsize=512)
def matched(pattern: str) -> tuple:
    """((codes whose line the pattern finds), why that cannot be told)."""
    if len(pattern) > 2000 or NESTED.search(pattern):
        return (), "a pattern too intricate to be tried"
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return (), f"a pattern that cannot be read: {error}"
    lines = ((code, f"NVRM: Xid (PCI:0000:3b:00): {code}, pid=1234, name=python3, text") for code in range(1, CODES + 1))
    return tuple(code for code, line in lines if compiled.search(line)), ""


def compare(tables: dict, unknown: dict, xids: dict, sku: str | None) -> dict:
    """`tables`: title of each agent -> its table. The four lists, each a line an agent and kind; missed None where a table is not known."""
    by_code = {entry["code"]: entry for entry in xids["xids"]}
    false, needless, odd = [], [], []
    for title, codes in tables.items():
        acting = {code: effect for code, effect in codes.items() if effect in ACTS}
        if None in acting:
            rest = {code: acting[None] for code in by_code if code not in codes}
            acting = {**rest, **{code: effect for code, effect in acting.items() if code is not None}}
        user = {c: e for c, e in acting.items() if _wrong(by_code.get(c), e)}
        calm = {c: e for c, e in acting.items() if _harmless(by_code.get(c))}
        false += _lines(title, user, by_code, xids["reactions"])
        needless += _lines(title, calm, by_code, xids["reactions"])
        odd += [f"Xid {code} of {title}: the catalogue has no such code" for code in sorted(c for c in codes if c and c not in by_code)]
    return {
        "xid_false_drains": false,
        "xid_needless_drains": needless,
        "xid_unknown": odd,
        **_missed(tables, unknown, by_code, xids["reactions"], sku),
    }


def _wrong(entry, effect) -> bool:
    """A program's own fault may not cost a node; a contained memory error may drain it, and no more."""
    if entry is None:
        return False
    return entry["class"] == "application" or (entry["class"] == "contained" and effect != "drain")


def _harmless(entry) -> bool:
    """The catalogue says to do nothing (not: says nothing)."""
    return entry is not None and (entry["class"], entry["action"]) == ("informational", "none")


def _lines(title, codes, by_code, reactions):
    """One line for each effect: the codes first, and for the first of them what would be right."""
    lines = []
    for effect in sorted(set(codes.values()), key=STRENGTH.index):
        mine = sorted(code for code, one in codes.items() if one == effect)
        right = by_code[mine[0]]
        lines.append(
            f"Xid {_folded(mine)}: {title} does {effect}; right for {mine[0]} is: {reactions.get(right['action'], right['action'])}"
        )
    return lines


def _folded(codes) -> str:
    """1,2,3,7 -> 1-3,7"""
    parts, start = [], None
    for here, after in zip(codes, [*codes[1:], None]):
        start = here if start is None else start
        if after != here + 1:
            parts.append(str(start) if start == here else f"{start}-{here}")
            start = None
    return ",".join(parts)


def _missed(tables, unknown, by_code, reactions, sku) -> dict:
    """Codes of the hardware for which no agent of the node does anything, as far as the SKU's GPUs have them."""
    family = next((name for start, name in FAMILY if (sku or "").startswith(start)), None)
    if not tables and not unknown:
        return {"xid_missed": None, "xid_missed_reason": "no health agent was found on the node"}
    seen: set = set()
    for codes in tables.values():
        if codes.get(None, "none") != "none":
            seen |= {code for code in by_code if codes.get(code) != "none"}
        seen |= {code for code, effect in codes.items() if effect != "none"}
    wanted = [
        e
        for e in by_code.values()
        if e["class"] == "hardware" and e["action"] != "unspecified" and (family is None or family in e.get("families", [family]))
    ]
    missed = sorted(entry["code"] for entry in wanted if entry["code"] not in seen)
    if missed and unknown:
        why = "; ".join(f"{title}: {reason}" for title, reason in sorted(unknown.items()))[:300]
        return {"xid_missed": None, "xid_missed_reason": f"Xid {_folded(missed)} may be missed; what is not known: {why}"}
    lines = [
        f"Xid {code}: {by_code[code]['meaning']}; {reactions.get(by_code[code]['action'], by_code[code]['action'])}" for code in missed
    ]
    return {"xid_missed": lines}
