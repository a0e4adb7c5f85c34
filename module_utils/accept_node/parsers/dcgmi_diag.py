"""`dcgmi diag`: JSON of DCGM 3 (top key `DCGM GPU Diagnostic` or `DCGM Diagnostic`, results by gpu_id) and 4 (entities, metadata,
test_summary), and the text table; `parse_preflight` reads the log of NVSentinel's check before a job, JSON objects one after the other.

`parse(text)` -> {"format": "v3" | "v4" | "table", "version": str | None, "complete": bool, "runtime_error": str | None, "worst": status,
"counts": {status: n}, "tests": [{"category", "name", "status", "results": [{"entity": int | None, "status", "error_ids": [], "text"}]}]}
A status is Pass, Fail, Warn, Skip, Not Run or what the tool said else; `worst` is the worst of all, None where no test ran. A test that
passes although its message names an error (a failed allocation) is Warn. `complete` False: the text is cut, and what follows was not seen.
`parse_preflight(text)` -> {"passed", "failed", "warned", "skipped", "total": int | None,
"tests": [{"gpu", "test", "level", "error_code", "text"}]}
"""

from __future__ import annotations

import json
import re

from . import ParseError

RANK = {"pass": 0, "skip": 1, "not run": 1, "warn": 2, "fail": 4}
SECTION = re.compile(r"[|+]-+\s+(\w[\w ]*?)\s+-+\+?-*\s*[|+]?")
ROW = re.compile(r"\|\s*([^|]*?)\s*\|\s*([^|]*?)\s*\|\s*")
ENTITY = re.compile(r"(?:GPU|CPU|Switch)\s?(\d{1,4}): (Pass|Fail|Warn|Skip|Not Run)")
HIDDEN = ("DCGM_FR_MEMORY_ALLOC", "Could not allocate", "Unable to allocate")


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no diagnostic")
    start = text.find("{")
    if start < 0 or "| Diagnostic" in text[:start]:
        return _table(text)
    documents = _documents(text[start:])
    document = next((one for one in documents if isinstance(one, dict) and _top(one) is not None), None)
    if document is None:
        raise ParseError("no diagnostic in the JSON")
    return _of_json(document)


def _top(document):
    for key in ("DCGM Diagnostic", "DCGM GPU Diagnostic"):
        if isinstance(document.get(key), dict):
            return document[key]
    return None


def _of_json(document) -> dict:
    top, metadata = _top(document), document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    version = metadata.get("version") or document.get("version") or top.get("version")
    error = top.get("runtime_error")
    tests = []
    for category in _dicts(top.get("test_categories")):
        for test in _dicts(category.get("tests")):
            tests.append(_test(category, test))
    if not tests and not error:
        raise ParseError("a diagnostic without tests")
    modern = bool(metadata) or any(
        "entity_id" in one for c in _dicts(top.get("test_categories")) for t in _dicts(c.get("tests")) for one in _dicts(t.get("results"))
    )
    return _summary("v4" if modern else "v3", version, tests, True, error)


def _test(category, test) -> dict:
    results = [_result(one) for one in _dicts(test.get("results"))]
    summary = test.get("test_summary")
    own = _status(summary.get("status")) if isinstance(summary, dict) else None
    statuses = [one["status"] for one in results] + ([own] if own else [])
    return {"category": _text(category.get("category")), "name": _text(test.get("name")), "status": _worst(statuses), "results": results}


def _result(one) -> dict:
    entity = next((one[key] for key in ("entity_id", "gpu_id", "gpu_ids") if key in one), None)
    warnings = _dicts(one.get("warnings"))
    said = (
        " ".join(_text(warning.get("warning")) or "" for warning in warnings) or _text(one.get("warnings")) or _text(one.get("info")) or ""
    )
    status = _status(one.get("status"))
    if status == "Pass" and any(word in said for word in HIDDEN):
        status = "Warn"
    codes = [warning["error_id"] for warning in warnings if isinstance(warning.get("error_id"), int)]
    text = str(entity).strip() if entity is not None else ""
    return {
        "entity": int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None,
        "status": status,
        "error_ids": codes,
        "text": said[:300],
    }


def _table(text) -> dict:
    if not re.search(r"\|\s*Diagnostic\s*\|", text):
        raise ParseError(f"no diagnostic: {text.strip()[:60]!r}")
    tests, category, version = [], None, None
    lines = text.splitlines()
    for line in lines:
        section, row = SECTION.fullmatch(line.strip()), ROW.fullmatch(line.strip())
        if section:
            category = section.group(1)
        elif row and row.group(1) and row.group(1) != "Diagnostic":
            status, _, rest = row.group(2).partition(" - ")
            if category == "Metadata":
                version = row.group(2) if row.group(1) == "DCGM Version" else version
                continue
            if re.match(r"(?:Warning|Info|Error)(?:[:\s]|$)", row.group(1)):
                if tests:
                    _below(tests[-1], row.group(2))
                continue
            result = {"entity": None, "status": _status(status), "error_ids": [], "text": rest[:300]}
            tests.append({"category": category, "name": row.group(1), "status": _status(status), "results": [result]})
        elif row and tests and not row.group(1):  # what belongs to the test above: its entities, its warnings
            _below(tests[-1], row.group(2))
    if not tests:
        raise ParseError(f"no diagnostic: {text.strip()[:60]!r}")
    last = next(line.strip() for line in reversed(lines) if line.strip())
    return _summary("table", version, tests, re.fullmatch(r"\+[-+]+\+", last) is not None and not SECTION.fullmatch(last), None)


def _below(test, text):
    entity = ENTITY.fullmatch(text)
    if entity:
        test["results"].append({"entity": int(entity.group(1)), "status": _status(entity.group(2)), "error_ids": [], "text": ""})
        test["status"] = _worst([one["status"] for one in test["results"]])
    else:
        last = test["results"][-1]
        last["text"] = (last["text"] + " " + text).strip()[:300]


def _summary(shape, version, tests, complete, error) -> dict:
    counts = {}
    for test in tests:
        counts[test["status"]] = counts.get(test["status"], 0) + 1
    return {
        "format": shape,
        "version": _text(version),
        "complete": complete and not error,
        "runtime_error": _text(error),
        "worst": _worst([test["status"] for test in tests]) if tests else None,
        "counts": counts,
        "tests": tests,
    }


def _worst(statuses):
    """The worst; a word that nobody knows is worse than a warning. No status at all: it did not run."""
    return max(statuses, key=lambda status: RANK.get(status.lower(), 3)) if statuses else "Not Run"


def _status(value):
    text = _text(value)
    return {"pass": "Pass", "fail": "Fail", "warn": "Warn", "skip": "Skip"}.get(text.lower(), text) if text else "Not Run"


def parse_preflight(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no log")
    counts, tests = {}, []
    for one in _documents(text[max(text.find("{"), 0) :], cut=True):
        if not isinstance(one, dict):
            continue
        if one.get("event") == "Diagnostic summary":
            counts = {
                key: one[key] if isinstance(one.get(key), int) else None for key in ("passed", "failed", "warned", "skipped", "total")
            }
        elif "test" in one:
            words = {"gpu": _text(one.get("gpu")), "test": _text(one.get("test")), "level": _text(one.get("level"))}
            code = one.get("error_code")
            tests.append({**words, "error_code": code if isinstance(code, int) else None, "text": (_text(one.get("detail")) or "")[:300]})
    if not counts and not tests:
        raise ParseError("no event of a diagnostic")
    return {**dict.fromkeys(("passed", "failed", "warned", "skipped", "total")), **counts, "tests": tests}


def _documents(text, cut=False):
    """JSON objects one after the other. `cut`: the last may be cut; else that is an error."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            if found:
                break
            if cut:
                return []
            raise ParseError(f"not JSON: {error}") from None
        found.append(document)
        while at < len(text) and text[at] not in "{[":
            at += 1
    return found


def _dicts(value):
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value):
    return value if isinstance(value, str) and value.strip() else None
