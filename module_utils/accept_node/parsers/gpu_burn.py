"""gpu-burn: progress lines parted by carriage returns, then a verdict for each GPU.

    {"gpus": [{"gpu": 0, "gflops": 16942.0 | None, "errors": 0 | None, "temperature_c": 62 | None, "ok": true | false | None}],
     "complete": bool}

The values are the last ones told. `complete`: the list "Tested N GPUs" is there with all of them; without it nobody has said that they are
well. Format: github.com/wilicc/gpu-burn, gpu_burn-drv.cpp.
"""

from __future__ import annotations

import re

from . import ParseError

PROGRESS = re.compile(r"proc'd: (.{1,20000}?) {2,4}errors: (.{1,20000}?) {2,4}temps: (.{1,20000}?)(?:\s{2,}|$|\d{1,3}\.\d%)", re.S)
RATE = re.compile(r"-?\d{1,12} \((-?\d{1,12}) Gflop/s\)")
TESTED = re.compile(r"Tested (\d{1,4}) GPUs:")
VERDICT = re.compile(r"GPU (\d{1,4}): (OK|FAULTY)")


def parse(text: str) -> dict:
    if not text.strip():
        raise ParseError("gpu-burn printed nothing")
    progress = None
    for line in re.split(r"[\r\n]+|(?=\d{1,3}\.\d%  proc'd:)", text):
        found = PROGRESS.search(line + "  ")
        progress = found or progress
    tested = TESTED.search(text)
    verdicts = {int(gpu): word == "OK" for gpu, word in VERDICT.findall(text[tested.end() :])} if tested else {}
    if progress is None and not verdicts:
        raise ParseError(f"no output of gpu-burn: {text.strip().splitlines()[0][:100]}")
    rates = [float(rate) for rate in RATE.findall(progress[1])] if progress else []
    errors = [_whole(cell) for cell in progress[2].split(" - ")] if progress else []
    heat = [_whole(cell.replace("C", "")) for cell in progress[3].split(" - ")] if progress else []
    count = max(len(rates), len(verdicts))
    gpus = [
        {"gpu": n, "gflops": _at(rates, n), "errors": _at(errors, n), "temperature_c": _at(heat, n), "ok": verdicts.get(n)}
        for n in range(count)
    ]
    return {"gpus": gpus, "complete": bool(tested) and len(verdicts) == int(tested[1])}


def _whole(cell):
    found = re.match(r"\s*(-?\d{1,12})(?!\d)", cell)
    return int(found[1]) if found else None


def _at(values, place):
    return values[place] if place < len(values) else None
