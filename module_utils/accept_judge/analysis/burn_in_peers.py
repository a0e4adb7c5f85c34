"""What the nodes of a cluster say together of a burn-in: figures by slot, and whose time axis is worth drawing."""

from __future__ import annotations

import statistics

CONCERN = "burn_in"
HARD = ("hw_thermal", "hw_power_brake", "sw_thermal")  # sw_power_cap at the limit is what full load looks like
SHOWN = 8  # nodes of a cluster whose time axis is drawn, beside its first
STRIPS = {"tflops": "TFLOPS", "temperature_c": "Temperature, °C", "power_w": "Power, W", "clock_mhz": "Clock, MHz"}


def hard(seconds):
    """Seconds in which heat or the power supply held a clock back; the general reason may be set without its kind."""
    if seconds is None:
        return None
    return round(max(sum(seconds.get(name, 0.0) for name in HARD), seconds.get("hw_slowdown", 0.0)), 1)


_known: dict = {}


def slot(device, data):
    """By its address on the bus: where a GPU has vanished those behind it have moved up, and still sit where they sat."""
    return data["engine"], device["model"], device["pci"] or device["slot"]


def of(run) -> tuple:
    """((engine, model, slot) -> figures, hosts whose time axis is drawn) of all nodes of the cluster, read once for all of them."""
    key = (str(run.run_dir), (run.run or {}).get("run_id"), run.hosts)
    if key not in _known:
        _known.clear()
        _known[key] = _read(run)
    return _known[key]


def _read(run) -> tuple:
    slots: dict = {}
    odd: dict = {}
    for host in run.hosts:
        data = run.fact(host, CONCERN).data or {}
        devices = data.get("devices") or ()
        happened = [*(data.get("events") or ()), *((data.get("kernel") or {}).get("events") or ())]
        odd[host] = max((_oddness(device) for device in devices), default=0.0) + len(happened)
        for device in devices:
            own = slots.setdefault(slot(device, data), {"tflops": [], "heat": []})
            if device["tflops"]:
                own["tflops"].append(device["tflops"]["median"])
            if device["temperature_c"]:
                own["heat"].append(device["temperature_c"]["mean"])
            kind = slots.setdefault((data["engine"], device["model"], data.get("version")), {"tflops": [], "checksum": []})
            if device["checksum"]:
                kind["checksum"].append(device["checksum"])
            own["checksum"] = kind["checksum"]  # a result is the same on every slot
        rates = [device["tflops"]["median"] for device in devices if device["tflops"]]
        if rates:
            kind = (data["engine"], devices[0]["model"], "node")
            slots.setdefault(kind, {"tflops": [], "means": []})["means"].append(statistics.fmean(rates))
    most = sorted((host for host in odd if odd[host] > 0.02), key=lambda host: -odd[host])[:SHOWN]
    return slots, {*run.hosts[:1], *most}


def _oddness(device) -> float:
    """How much there is to see in a device's time axis; it only says whose is drawn."""
    tflops = device["tflops"]
    if not tflops or not tflops["median"]:
        return 2.0
    ends = [tflops[key] for key in ("lowest", "first", "last") if tflops[key] is not None]
    swing = (max([*ends, tflops["median"]]) - min([*ends, tflops["median"]])) / tflops["median"]
    return swing + bool(device["mismatches"]) + bool(hard(device["throttle_s"]))


def plots(data, host, shown) -> list:
    """The node's time axis, where it is one of those that are drawn."""
    if host not in shown:
        return []
    rows = [
        {"name": name, "lines": [{"label": device["name"], "values": device["series"].get(key, [])} for device in data["devices"]]}
        for key, name in STRIPS.items()
    ]
    if data["exchange"]:
        rows.append({"name": "All-to-all, GB/s", "lines": [{"label": "all ranks", "values": data["exchange"]["series"]}]})
    since = data["offset_s"]
    marks = [{"at_s": event["at_s"] - since, "text": event["text"]} for event in data["events"]]
    marks += [
        {"at_s": device["first_mismatch_s"] - since, "text": f"{device['name']}: a wrong result"}
        for device in data["devices"]
        if device["mismatches"]
    ]
    events = data["kernel"]["events"] or ()
    marks += [{"at_s": data["kernel"]["first_s"] - since, "text": events[0]["text"]}] if events else []
    return [{"kind": "burn_in", "title": f"Burn-in of {host}", "time_s": data["time_s"], "rows": rows, "marks": marks}]
