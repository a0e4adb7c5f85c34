"""`nvbandwidth`, text or `-j`: copies between host and GPUs, and among GPUs, as matrices.

    {"version": "v0.8" | None, "tests": [{"name": "host_to_device_memcpy_ce", "status": "passed|waived|error|not_found|cut",
      "reason": "", "gbytes_s": [[26.03, None, ...]], "sum_gbytes_s": 1985.6 | None}]}

GB/s of 10^9 bytes. Rows are the CPU (or the GPU that a copy starts from), columns are GPUs. `N/A` is None, and so is the 0.00 with which
some versions print a GPU's copy to itself. `cut`: the matrix has fewer rows or cells than its head announces. `sum_gbytes_s` is what the
tool printed, None where it printed none. Format: github.com/NVIDIA/nvbandwidth, README.md and json_output.cpp.
"""

from __future__ import annotations

import json
import re

from . import ParseError

VERSION = re.compile(r"nvbandwidth Version:\s*(v?\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)")
RUNNING = re.compile(r"Running (\w{1,100})\.\s*$")
SUM = re.compile(r"SUM (\w{1,100}) (\d{1,9}(?:\.\d{1,4})?)\s*$")
STATUS = {"passed": "passed", "waived": "waived", "error": "error", "not found": "not_found"}
ERRORS = ("ERROR:", "[CUDA_ERROR", "[NVML_ERROR", "CUDA_ERROR", "Exception")


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("nvbandwidth printed nothing")
    start = text.find("{\n")
    start = text.find("{") if start < 0 else start
    if start >= 0 and '"nvbandwidth"' in text:
        return _of_json(text[start:])
    version = VERSION.search(text)
    tests = _tests(text.splitlines())
    if not tests:
        said = next((line.strip() for line in text.splitlines() if any(word in line for word in ERRORS)), text.strip().splitlines()[-1])
        raise ParseError(f"nvbandwidth ran no test: {said[:160]}")
    return {"version": version[1] if version else None, "tests": tests}


def _tests(lines) -> list:
    tests, width = [], None
    for line in lines:
        running, total = RUNNING.match(line.strip()), SUM.match(line.strip())
        if running:
            tests.append({"name": running[1], "status": "cut", "reason": "", "gbytes_s": [], "sum_gbytes_s": None})
            width = None
        elif not tests:
            continue
        elif total and total[1] == tests[-1]["name"]:
            tests[-1]["sum_gbytes_s"] = float(total[2])
        elif line.strip().startswith("Waived"):
            if not tests[-1]["gbytes_s"]:
                tests[-1]["status"] = "waived"
        elif any(word in line for word in ERRORS):
            tests[-1].update(status="error", reason=line.strip()[:160])
        else:
            width = _row(tests[-1], line.split(), width)
    for test in tests:
        if test["status"] == "cut" and test["gbytes_s"]:
            test["status"] = "passed"
        elif test["status"] == "cut":
            test["reason"] = "no row of its matrix"
        test.pop("rows_short", None) and test.update(status="cut", reason="a row of its matrix is shorter than its head")
    return tests


def _row(test, cells, width):
    """The head's 0 1 2 ... gives the width; a row begins with its number."""
    if not cells or not all(re.fullmatch(r"\d{1,9}(\.\d{1,4})?|N/A", cell) for cell in cells):
        return width
    if width is None:
        return len(cells) if cells == [str(number) for number in range(len(cells))] else None
    if not cells[0].isdigit() or int(cells[0]) != len(test["gbytes_s"]):
        return width
    values, row = [_number(cell) for cell in cells[1:]], len(test["gbytes_s"])
    if "device_to_device" in test["name"] and row < len(values) and not values[row]:
        values[row] = None  # a GPU's copy to itself is not measured
    test["gbytes_s"].append(values)
    if len(values) < width and "all_to" not in test["name"] and "to_all" not in test["name"] and "from_all" not in test["name"]:
        test["rows_short"] = True
    return width


def _number(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def _of_json(text) -> dict:
    try:
        top = json.JSONDecoder().raw_decode(text)[0]["nvbandwidth"]
        tests = top["testcases"]
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(f"nvbandwidth -j: the JSON is cut or another: {' '.join(str(error).split())[:100]}") from error
    if not isinstance(tests, list):
        raise ParseError("nvbandwidth -j: no list of testcases")
    version = top.get("git_version") or top.get("Nvbandwidth Version") or top.get("version")
    return {"version": str(version) if version else None, "tests": [_test(one) for one in tests if isinstance(one, dict)]}


def _test(one) -> dict:
    matrix = one.get("bandwidth_matrix")
    rows = [[_number(cell) for cell in row] for row in matrix if isinstance(row, list)] if isinstance(matrix, list) else []
    if "device_to_device" in str(one.get("name")):
        rows = [[None if place == number and not cell else cell for place, cell in enumerate(row)] for number, row in enumerate(rows)]
    status = STATUS.get(str(one.get("status", "")).lower(), "error")
    return {
        "name": str(one.get("name") or "")[:100],
        "status": status,
        "reason": str(one.get("error") or one.get("reason") or "")[:160] if status != "passed" else "",
        "gbytes_s": rows,
        "sum_gbytes_s": _number(one.get("sum")),
    }
