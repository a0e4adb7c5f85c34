"""What a quick look at the GPUs says beside the profile's figures and beside the other GPUs of the cluster.

A published figure is a fleet's baseline, or the largest rate that somebody measured over many shapes. What a chip could do in theory is no
floor: where nobody has published a measured one, the row says so and does not pass.
"""

from __future__ import annotations

import statistics

CONCERN = "gpu_compute"
GEMM = "gemm_"


def analyse(data: dict, run) -> dict:
    """baseline, published, unpublished: [{label, tflops, pct_of_baseline | pct_of_published | pct_of_floor}] of the products;
    beside: [{label, pct}] of every figure beside the cluster's median; memory: [{label, hbm_pct, gemv_pct}];
    copies_judged: [{label, h2d, d2h}]; gpus_measured, dcgm_bad
    """
    gpus = data["gpus"]
    dcgm = data["dcgm"]
    told = {"dcgm_bad": None if dcgm is None or not dcgm["complete"] else [{"label": text} for text in dcgm["bad"]]}
    if told["dcgm_bad"] is None:
        told["dcgm_bad_reason"] = data["dcgm_reason"] or "dcgmi diag did not come to its end"
    if gpus is None:
        keys = ("baseline", "published", "unpublished", "beside", "memory", "gpus_measured")
        return {**told, **_copies(data), **dict.fromkeys(keys), **{f"{key}_reason": data["gpus_reason"] for key in keys}}
    return {
        **told,
        **_copies(data),
        **_products(gpus, run),
        "memory": [_memory(gpu, run) for gpu in gpus],
        "beside": _beside(gpus, run),
        "gpus_measured": sum(any(result["value"] for result in gpu["results"].values()) for gpu in gpus),
    }


def _label(gpu) -> str:
    return f"gpu{gpu['index']}" + (f" ({gpu['pci']})" if gpu["pci"] else "")


def _value(gpu, test):
    """(value, why there is none)"""
    result = gpu["results"].get(test) or {"value": None, "reason": "not tested"}
    return result["value"], result["reason"] or "not measured"


def _products(gpus, run) -> dict:
    found = {"baseline": [], "published": [], "unpublished": []}
    for gpu in gpus:
        for test in gpu["results"]:
            if test.startswith(GEMM):
                _product(found, gpu, test, run)
    return found


def _product(found, gpu, test, run):
    precision = test[len(GEMM) :]
    baseline, published, floor = (
        run.wanted.key(f"gemm.{name}").value
        for name in (f"{precision}_baseline_tflops", f"mamf_{precision}_tflops", f"{precision}_floor_tflops")
    )
    value, reason = _value(gpu, test)
    theory = run.wanted.key(f"gpu.dense_{precision}_tflops").value
    for kind, reference in (("baseline", baseline), ("published", published)):
        if reference:
            found[kind].append(_row(gpu, precision, f"pct_of_{kind}", value, reference, reason))
    if not baseline and not published and (value is not None or theory):
        if floor is None and value is not None:
            reason = f"no measured floor is published for {precision}; a contract may set gemm.{precision}_floor_tflops"
        found["unpublished"].append(_row(gpu, precision, "pct_of_floor", value, floor, reason))


def _row(gpu, precision, key, value, reference, reason) -> dict:
    row = {"label": f"{_label(gpu)} {precision}", "tflops": value, key: round(100 * value / reference, 1) if value and reference else None}
    return {**row, **({f"{key}_reason": reason} if row[key] is None else {})}


def _memory(gpu, run) -> dict:
    peak, row = run.wanted.key("gpu.hbm_bw_tbytes_s").value, {"label": _label(gpu)}
    for key, test in (("hbm_pct", "hbm_copy"), ("gemv_pct", "gemv_bf16")):
        value, reason = _value(gpu, test)
        row[key] = round(100 * value / (1000 * peak), 1) if value and peak else None
        if row[key] is None:
            row[f"{key}_reason"] = reason if value is None else "no profile says what this memory can do"
    return row


def _copies(data) -> dict:
    """Of each GPU what nvbandwidth measured, else PyTorch."""
    gpus = data["gpus"] or []
    copies = data["copies"]
    count = max([len(gpus), *(len(row) for row in copies.values() if row)])
    if not count:
        return {"copies_judged": None, "copies_judged_reason": f"{data['copies_reason']}; {data['gpus_reason']}"}
    rows = []
    for place in range(count):
        row = {"label": _label(gpus[place]) if place < len(gpus) else f"gpu{place}"}
        for key, values in copies.items():
            own = values[place] if values and place < len(values) else None
            value, reason = (own, "") if own is not None else _value(gpus[place], key) if place < len(gpus) else (None, "not measured")
            row.update({key: value, **({f"{key}_reason": reason} if value is None else {})})
        rows.append(row)
    return {"copies_judged": rows}


_known: dict = {}


def _beside(gpus, run) -> list:
    """Every figure of every GPU in percent above or below the median of all GPUs of its kind in the cluster."""
    key = (str(run.run_dir), (run.run or {}).get("run_id"), run.hosts)
    if key not in _known:
        _known.clear()
        values: dict = {}
        for host in run.hosts:
            for gpu in (run.fact(host, CONCERN).data or {}).get("gpus") or ():
                for test, result in gpu["results"].items():
                    if result["value"]:
                        values.setdefault((gpu["name"], test), []).append(result["value"])
        _known[key] = {kind: statistics.median(found) for kind, found in values.items() if len(found) > 2}
    medians, rows = _known[key], []
    for gpu in gpus:
        for test, result in gpu["results"].items():
            middle = medians.get((gpu["name"], test))
            if result["value"] and middle:
                rows.append({"label": f"{_label(gpu)} {test}", "pct": round(100 * (result["value"] / middle - 1), 1)})
    return rows
