"""What a schema cannot say about checks: references that lead nowhere, paths that cannot be read, wants that do not fit their operator."""

from __future__ import annotations

import re

from . import paths
from .operators import COLLECTIVE, OPERATORS, WITHOUT_WANT

CONTEXT_KEYS = frozenset(("sku", "vendor", "form", "platform", "transport", "scheduler", "tenancy", "tenant_access", "tier", "definition"))


def references(want) -> list[str]:
    """The keys that a want looks up, at any depth: "$gpu.count" -> gpu.count."""
    if isinstance(want, str):
        return [want[1:]] if want.startswith("$") else []
    parts = want.values() if isinstance(want, dict) else want if isinstance(want, list) else ()
    return [key for part in parts for key in references(part)]


def faults(standards) -> list[str]:
    """All that is wrong with the checks, as `file: key: message`."""
    found = []
    for check in standards.checks:
        where = f"checks/{check['concern']}.yml: {check['id']}"
        found += [f"{where}.{key}: {message}" for key, message in _check_faults(check, standards)]
    return found


def _check_faults(check: dict, standards):
    op = check["op"]
    for key, compile_path in (("applies", paths.truth), ("each", paths.lister), ("value", paths.getter), ("label", paths.getter)):
        try:
            if key in check:
                compile_path(check[key])
        except ValueError as error:
            yield key, str(error)
            return
    if "applies" in check and paths.fields(check["applies"]) - CONTEXT_KEYS:
        yield (
            "applies",
            f"unknown: {', '.join(sorted(paths.fields(check['applies']) - CONTEXT_KEYS))} (known: {', '.join(sorted(CONTEXT_KEYS))})",
        )
    if op not in OPERATORS and op not in COLLECTIVE:
        yield "op", f"{op} is none of {', '.join(sorted([*OPERATORS, *COLLECTIVE]))}"
    elif "want" not in check and op not in (*WITHOUT_WANT, *COLLECTIVE):
        yield "want", f"{op} needs one"
    elif "want" in check and op in WITHOUT_WANT:
        yield "want", f"{op} takes none"
    elif "want" in check:
        message = want_fault(op, check["want"])
        if message:
            yield "want", message
    if op in COLLECTIVE and check["scope"] in ("node", "run") and "each" not in check and "value" not in check:
        yield "op", f"{op} compares many: it needs scope rack or cluster, or each"
    lost = [key for key in references(check.get("want")) if "default" not in check and not standards.known(key)]
    for key in lost:
        yield "want", f"${key} stands in no profile, tier or baseline, and there is no default"
    if "default" in check and len(references(check.get("want"))) != 1:
        yield "default", "serves a want of exactly one $reference"
    if "default" in check:
        message = want_fault(op, put(check["want"], check["default"]["value"]))
        if message:
            yield "default", message


def put(want, value):
    """The want with every reference replaced."""
    if isinstance(want, str) and want.startswith("$"):
        return value
    if isinstance(want, dict):
        return {key: put(part, value) for key, part in want.items()}
    return [put(part, value) for part in want] if isinstance(want, list) else want


def _is_reference(want) -> bool:
    return isinstance(want, str) and want.startswith("$")


def _number(want) -> bool:
    return _is_reference(want) or (isinstance(want, int | float) and not isinstance(want, bool))


def _pair(want) -> bool:
    return _is_reference(want) or (isinstance(want, list) and len(want) == 2 and all(map(_number, want)))


def _pattern(want) -> bool:
    try:
        return isinstance(want, str) and re.compile(want) is not None
    except re.error:
        return False


def _tolerance(want) -> bool:
    return isinstance(want, dict) and set(want) == {"of", "pct"} and all(map(_number, want.values()))


FORMS = {
    **dict.fromkeys(("ge", "gt", "le", "lt"), (_number, "a number")),
    **dict.fromkeys(("in", "not_in", "subset"), (lambda want: _is_reference(want) or (isinstance(want, list) and want != []), "a list")),
    **dict.fromkeys(("matches", "not_matches"), (_pattern, "a regular expression")),
    "between": (_pair, "[low, high]"),
    "within_pct": (_tolerance, "{of: number, pct: number}"),
    "version_ge": (lambda want: isinstance(want, str), "a version, as text"),
}


def want_fault(op: str, want) -> str:
    """Why a want does not fit its operator, or nothing."""
    fits, form = FORMS.get(op, (lambda want: True, ""))
    return "" if fits(want) else f"{op} wants {form}"
