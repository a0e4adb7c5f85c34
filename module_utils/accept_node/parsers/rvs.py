"""ROCm Validation Suite: its result as JSON, suites of tests of GPUs.

{"version": str | None, "results": [{"suite", "test", "gpu": int | None, "passed": bool | None}],
"failed": [the results that did not pass]}
RVS writes numbers and booleans as text; a suite's sibling `version` is no suite.
"""

from __future__ import annotations

from ..loose_json import strict
from . import ParseError

PASSED = {"true": True, "pass": True, "false": False, "fail": False}


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("empty: no result")
    document = strict(text)
    results = []
    for suite, tests in document.items():
        for test, gpus in tests.items() if isinstance(tests, dict) else ():
            for one in gpus if isinstance(gpus, list) else ():
                if isinstance(one, dict):
                    results.append({"suite": suite, "test": test, "gpu": _number(one.get("gpu_index")), "passed": _passed(one.get("pass"))})
    if not results:
        raise ParseError("not a result: no test of a GPU in it")
    version = document.get("version")
    failed = [one for one in results if one["passed"] is not True]
    return {"version": version if isinstance(version, str) else None, "results": results, "failed": failed}


def _passed(value):
    if isinstance(value, bool):
        return value
    return PASSED.get(value.strip().lower()) if isinstance(value, str) else None


def _number(value):
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 and not isinstance(value, bool) else None
