"""A burn-in's series, line by line on one time axis, as figures: what a report needs of hours. No thresholds. `summarise(lines)`.

The lines (JSON; engines/burn_in.py writes them; `t` is seconds since the beginning that all nodes have in common):

    {"schema": 1, "kind": "burn_in", "started_at_s", "columns", "sources", "settings", "ranks"}           the first
    {"t", "device": {"name", "slot", "model", "version", "matrix", "checked"}}                           a device is ready
    {"t", "gpu": [row of `columns` for each of sources.order], "load": {device: [products, TFLOP, seconds, wrong, checksum]},
     "net": {device: [[phase, operation, n, bytes, mean ms, min ms, max ms, GB/s, wrong], ...]}, "port": {port: {counter: growth}},
     "link": {port: new state}, "log": [records of /dev/kmsg], "nvlink": [errors of each GPU]}             a tick
    {"t", "event": {"what", "text", "device"}}, {"t", "end": "done|stopped"}

A stretch in which a device said nothing counts as one without work. `first` and `last` are means of the first and the last eighth of the
time after warm-up, `lowest` is the lowest mean of any ten seconds (three ticks where they are longer) in it.
"""

from __future__ import annotations

import json
import statistics

from .parsers import ParseError, kernel_log

BUCKETS, PART, WINDOW_S = 60, 8, 10.0
# bits of clocks_event_reasons.active: nvml.h, nvmlClocksEventReasons
REASONS = {
    0x1: "gpu_idle", 0x2: "applications_clocks_setting", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost", 0x20: "sw_thermal",
    0x40: "hw_thermal", 0x80: "hw_power_brake", 0x100: "display_clock_setting",
}  # fmt: skip
TOLD = ("reasons", "power_limit_w", "ecc_corrected", "ecc_uncorrected")
GAUGES = ("temperature_c", "memory_temperature_c", "power_w", "clock_mhz")


def summarise(lines) -> dict:
    """The figures of one node. Raises ParseError where there is no head."""
    head, ticks, devices, events, state, cut = _read(lines)
    settings = head["settings"]
    start, end = settings["offset_s"] + settings["warm_up_s"], settings["gemm_end_s"]
    axis = Axis(start, end, settings["offset_s"], settings["resolution_s"])
    order = {pci: place for place, pci in enumerate(head["sources"]["order"])}
    found = [_device(device, devices.get(device["name"], {}), ticks, axis, order, head["columns"]) for device in settings["devices"]]
    net = [(tick["t"], name, row) for tick in ticks for name, rows in tick.get("net", {}).items() for row in rows]
    last_s = ticks[-1]["t"] if ticks else None
    return {
        "engine": settings["engine"],
        "version": next((told["version"] for told in devices.values()), None),
        "state": state or "cut",
        "planned_s": end - settings["offset_s"],
        "offset_s": settings["offset_s"],
        "warm_up_s": settings["warm_up_s"],
        "resolution_s": settings["resolution_s"],
        "ran_s": None if last_s is None else round(max(0.0, min(last_s, end) - settings["offset_s"]), 1),
        "sampled_pct": axis.covered(ticks),
        "time_s": axis.middles(),
        "devices": found,
        "devices_loaded": sum(bool(device["iterations"]) for device in found),
        "ranks": head["ranks"],
        "exchange": _exchange(net, "burn", axis, events, settings),
        "soak": [_soak(net, operation, events, settings) for operation in settings["soak"]] if settings["exchange"] else None,
        "ports": _ports(ticks, head["sources"]["ports"]),
        "kernel": _kernel(ticks, head["sources"]["kernel_log"]),
        "events": events[:20],
        "lines_cut": cut,
    }


def _read(lines):
    head, ticks, devices, events, state, cut = None, [], {}, [], "", 0
    for text in lines:
        try:
            line = json.loads(text)
        except ValueError:
            cut += 1
            continue
        if head is None:
            if not isinstance(line, dict) or line.get("kind") != "burn_in" or line.get("schema") != 1:
                raise ParseError("no series of a burn-in: its first line is another")
            head = line
        elif "gpu" in line:
            ticks.append(line)
        elif "device" in line:
            devices[line["device"]["name"]] = line["device"]
        elif "event" in line:
            events.append({"at_s": line["t"], **line["event"]})
        elif "end" in line:
            state = line["end"]
    if head is None:
        raise ParseError("empty: no series of a burn-in")
    return head, ticks, devices, events, state, cut


class Axis:
    """The time under load after warm-up, in steps of the resolution."""

    def __init__(self, start, end, begun, step):
        self.start, self.end, self.begun, self.step = start, max(end, start + step), begun, step
        self.count = max(1, round((self.end - self.start) / step))
        self.width = max(1, -(-int(end - begun) // BUCKETS))

    def grid(self, spans):
        """The mean of (from, to, value) spans in each step; None where there is none."""
        sums, weights = [0.0] * self.count, [0.0] * self.count
        for first, last, value in spans:
            place = max(0, int((first - self.start) / self.step))
            while place < self.count and self.start + place * self.step < last:
                low = self.start + place * self.step
                share = min(last, low + self.step) - max(first, low)
                if share > 0:
                    sums[place] += share * value
                    weights[place] += share
                place += 1
        return [total / weight if weight > 0 else None for total, weight in zip(sums, weights)]

    def figures(self, grid, idle=None):
        """mean median min max of the steps that have a value; first last lowest lowest_at_s, where one without counts as `idle`."""
        values = [idle if value is None else value for value in grid]
        known = [value for value in grid if value is not None]
        if not known:
            return None
        part = max(1, len(values) // PART)
        width = max(3, round(WINDOW_S / self.step)) if len(values) >= 3 else 1
        lowest, at = _lowest(values, width)
        told = {"mean": statistics.fmean(known), "median": statistics.median(known), "min": min(known), "max": max(known)}
        told.update(first=_mean(values[:part]), last=_mean(values[-part:]), lowest=lowest)
        told = {key: None if value is None else _digits(value) for key, value in told.items()}
        return {**told, "lowest_at_s": None if at is None else round(self.start + at * self.step, 1)}

    def share(self, spans):
        """How much of the time after warm-up the spans fill, in percent."""
        filled = sum(max(0.0, min(last, self.end) - max(first, self.start)) for first, last, _ in spans)
        return round(min(100.0, 100.0 * filled / (self.end - self.start)), 1)

    def buckets(self, points):
        """The mean of (time, value) in each of about sixty parts of the whole load, for a plot."""
        parts = [[] for _ in self.middles()]
        for at, value in points:
            place = int((at - self.begun) // self.width)
            if value is not None and 0 <= place < len(parts):
                parts[place].append(value)
        return [_digits(statistics.fmean(part), 4) if part else None for part in parts]

    def middles(self):
        count = max(1, int(-(-(self.end - self.begun) // self.width)))
        return [round((place + 0.5) * self.width, 1) for place in range(count)]

    def covered(self, ticks):
        """How much of the planned time there are samples of, in percent. A sample stands for three steps at most."""
        got, before = 0.0, self.begun
        for tick in ticks:
            if self.begun < tick["t"] <= self.end + self.step:
                got += min(tick["t"] - before, 3 * self.step)
                before = tick["t"]
        return round(min(100.0, 100.0 * got / (self.end - self.begun)), 1)


def _lowest(values, width):
    """(the lowest mean of so many steps in a row that all have a value, where it begins)"""
    sums, gaps = [0.0], [0]
    for value in values:
        sums.append(sums[-1] + (value or 0.0))
        gaps.append(gaps[-1] + (value is None))
    whole = (place for place in range(len(values) - width + 1) if gaps[place + width] == gaps[place])
    total, at = min(((sums[place + width] - sums[place], place) for place in whole), default=(None, None))
    return (None, None) if at is None else (total / width, at)


def _digits(value, count=6):
    """So many digits that mean something, however small: a core alone does millionths of a TFLOPS."""
    return float(f"{value:.{count}g}")


def _mean(values):
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _device(device, told, ticks, axis, order, columns) -> dict:
    name = device["name"]
    blocks = [(tick["t"], tick["load"][name]) for tick in ticks if name in tick.get("load", {})]
    spans = [(at - block[2], at, block[1] / block[2]) for at, block in blocks if block[2] > 0]
    place = order.get(device.get("pci") or name)
    rows = [] if place is None else [(tick["t"], tick["gpu"][place]) for tick in ticks if tick["gpu"] and tick["gpu"][place]]
    where = {key: columns.index(key) for key in (*GAUGES, *TOLD)}
    gauge = {key: [(at, row[column]) for at, row in rows] for key, column in where.items()}
    checked, bad = bool(told.get("checked")), [at for at, block in blocks if block[3]]
    under = [(at, value) for at, value in gauge["reasons"] if value is not None and axis.begun < at <= axis.end]
    rates = [(at, block[1] / block[2]) for at, block in blocks if block[2] > 0]
    nvlink = [tick["nvlink"][place] for tick in ticks if place is not None and tick.get("nvlink") and place < len(tick["nvlink"])]
    return {
        "name": name,
        "slot": device["slot"],
        "pci": device.get("pci"),
        "model": told.get("model"),
        "loaded_pct": axis.share(spans),
        "iterations": sum(block[0] for _, block in blocks),
        "mismatches": sum(block[3] for _, block in blocks) if checked and blocks else None,
        "first_mismatch_s": bad[0] if bad else None,
        "checksum": blocks[0][1][4] if checked and blocks else None,
        "checksums": len({block[4] for _, block in blocks}) if checked and blocks else None,
        "tflops": axis.figures(axis.grid(spans), idle=0.0) if blocks else None,
        **{key: axis.figures(axis.grid(_spans(gauge[key], axis.step))) for key in GAUGES},
        "throttle_s": _throttled(under, axis.step) if under else None,
        "power_limit_w": _ends(gauge["power_limit_w"]),
        "ecc_corrected": _growth([value for _, value in gauge["ecc_corrected"]]),
        "ecc_uncorrected": _growth([value for _, value in gauge["ecc_uncorrected"]]),
        "nvlink_errors": _growth(nvlink),
        "series": {"tflops": axis.buckets(rates), **{key: axis.buckets(gauge[key]) for key in GAUGES if _ends(gauge[key])}},
    }  # fmt: skip


def _spans(points, step):
    """A sample speaks for the time since the one before it, three steps at most."""
    before = None
    for at, value in points:
        if value is not None:
            yield max(at - 3 * step, before if before is not None else at - step), at, value
        before = at


def _throttled(points, step) -> dict:
    seconds: dict = {}
    before = points[0][0] - step
    for at, value in points:
        for bit, name in REASONS.items():
            if int(value) & bit and name != "gpu_idle":
                seconds[name] = seconds.get(name, 0.0) + min(at - before, 3 * step)
        before = at
    return {name: round(value, 1) for name, value in sorted(seconds.items())}


def _growth(values):
    known = [value for value in values if value is not None]
    return int(max(0, known[-1] - known[0])) if len(known) > 1 else None


def _ends(points):
    known = [value for _, value in points if value is not None]
    return [known[0], known[-1], min(known)] if known else None


def _exchange(net, phase, axis, events, settings):
    """The all-to-all beside the products: rates of the slowest device, since a collective is as fast as that."""
    if not settings["exchange"]:
        return None
    rows = [(at, name, row) for at, name, row in net if row[0] == phase]
    if not rows:
        return {"operation": "all_to_all", "count": 0, "gbytes_s": None, "latency_ms": None, "wrong": None, "errors": _errors(events),
                "together_pct": None, "bytes": None, "series": []}  # fmt: skip
    one = [(at, row) for at, name, row in rows if name == rows[0][1]]
    spans = [(at - row[2] * row[4] / 1000, at, row[7]) for at, row in one]
    return {
        "operation": rows[0][2][1],
        "count": sum(row[2] for _, row in one),
        "bytes": rows[0][2][3],
        "gbytes_s": axis.figures(axis.grid(spans), idle=0.0),
        "latency_ms": {"mean": round(sum(row[2] * row[4] for _, row in one) / sum(row[2] for _, row in one), 4),
                       "min": min(row[5] for _, row in one), "max": max(row[6] for _, row in one)},
        "wrong": sum(row[8] for _, _, row in rows),
        "errors": _errors(events),
        "together_pct": axis.share(spans),
        "series": axis.buckets([(at, row[7]) for at, row in one]),
    }  # fmt: skip


def _soak(net, operation, events, settings) -> dict:
    rows = [row for _, _, row in net if row[0] == "soak" and row[1] == operation]
    at_s = settings["exchange_end_s"] + settings["soak"].index(operation) * settings["soak_s"]
    told = {"operation": operation, "count": sum(row[2] for row in rows), "bytes": rows[0][3] if rows else None}
    if not rows:
        return {**told, "gbytes_s": None, "latency_ms": None, "wrong": None, "errors": _errors(events, at_s, at_s + settings["soak_s"])}
    weights = sum(row[2] for row in rows)
    mean = sum(row[2] * row[7] for row in rows) / weights
    return {
        **told,
        "gbytes_s": {"mean": round(mean, 4), "min": min(row[7] for row in rows), "max": max(row[7] for row in rows)},
        "latency_ms": {
            "mean": round(sum(row[2] * row[4] for row in rows) / weights, 4),
            "min": min(r[5] for r in rows),
            "max": max(r[6] for r in rows),
        },
        "wrong": sum(row[8] for row in rows),
        "errors": _errors(events, at_s, at_s + settings["soak_s"]),
    }


def _errors(events, first=float("-inf"), last=float("inf")) -> int:
    return sum(event["what"] == "exchange" and first <= event["at_s"] < last for event in events)


def _ports(ticks, names) -> list:
    ports = {name: {"name": name, "changes": 0, "state": None, "errors": {}} for name in names}
    for tick in ticks:
        for name, grown in tick.get("port", {}).items():
            for key, value in grown.items():
                ports[name]["errors"][key] = ports[name]["errors"].get(key, 0) + value
        for name, state in tick.get("link", {}).items():
            ports[name]["changes"] += 1
            ports[name]["state"] = state
    for port in ports.values():
        downs = port["errors"].pop("carrier_changes", 0) // 2 + port["errors"].pop("link_downed", 0)
        port.update(link_downs=downs, error_count=sum(port["errors"].values()))
    return list(ports.values())


def _kernel(ticks, reason) -> dict:
    if reason:
        return {"measured": False, "reason": reason, "records": None, "events": None, "first_s": None}
    logs = [(tick["t"], tick["log"]) for tick in ticks if tick.get("log")]
    events = _events([line for _, lines in logs for line in lines])
    first = next((at for at, lines in logs if _events(lines)), None) if events else None
    keep = ("kind", "code", "pci", "severity", "text", "count")
    told = [{key: event.get(key) for key in keep} for event in events[:20]]
    return {"measured": True, "reason": "", "records": sum(len(lines) for _, lines in logs), "events": told, "first_s": first}


def _events(lines) -> list:
    try:
        return kernel_log.parse("\n".join(lines))["events"] if lines else []
    except ParseError:
        return []  # records, and none that any rule knows
