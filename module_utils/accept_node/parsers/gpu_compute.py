"""What this project's own engine prints of a quick look at GPUs (engines/gpu_compute.py): one JSON object, noise of libraries around it.

{"torch": str, "runtime": str | None, "gpus": [{"index", "pci", "name", "results": {test: {"value", "unit", "reason"}}}]}
"""

from __future__ import annotations

import json
import math

from . import ParseError

UNITS = ("tflops", "gbytes_s")


def parse(text: str) -> dict:
    line = next((line for line in reversed(text.splitlines()) if line.startswith("{")), "")
    try:
        told = json.loads(line)
        return {"torch": str(told["torch"]), "runtime": told["runtime"], "gpus": [_gpu(one) for one in told["gpus"]]}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        said = " ".join((text.strip().splitlines() or ["nothing"])[-1].split())[:120]
        raise ParseError(f"no result of the engine but: {said}") from error


def _gpu(one) -> dict:
    results = {str(name): _result(result) for name, result in one["results"].items()}
    return {"index": int(one["index"]), "pci": one["pci"], "name": str(one["name"]), "results": results}


def _result(result) -> dict:
    value = result["value"]
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value > 0
    reason = str(result.get("reason") or "")
    return {"value": float(value) if good else None, "unit": result["unit"], "reason": reason or ("" if good else "no number")}
