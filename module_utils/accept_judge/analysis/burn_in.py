"""What hours of load say of a node's devices: each against itself at the beginning, and against the same slot of its peers.

A product of matrices beside an all-to-all is not the same on every slot of a machine: a slot is compared with its like on other nodes, by
the median after warm-up. The robust z is (value - median) / (1.4826 MAD), the MAD no smaller than half a percent of the median, which is
how well one device repeats itself; it is told only with seven peers or more, and beside it how many false alarms so many devices give.
"""

from __future__ import annotations

import statistics

from . import burn_in_peers

FLOOR, PEERS_FOR_Z, TAIL = 0.005, 7, 0.00135  # the share of a normal distribution below -3
NO_SERIES = "no series came back"


def analyse(data: dict, run) -> dict:
    """judged: [{name, label, loaded_pct, mismatches, checksum_odd, degradation_pct, lowest_pct, clock_held_pct, hard_throttle_s, slot_pct,
        node..., over_slot_c, ecc_corrected, ecc_uncorrected, nvlink_errors}]; null with `<key>_reason`.
    outliers: [{label, robust_z}], [] with too few peers. ran_pct, gpus_loaded, node_pct, first_error ("none"), changed (lines),
    plots: the node's time axis, where it is the cluster's first or stands out;
    exchange_held_pct, soak_spread: [{operation, min_pct_of_mean}], kernel_errors: [{label, text}]
    """
    devices = data.get("devices")
    facts = {**_ran(data), "changed": _changed(data)}
    facts["gpus_loaded"] = (data["devices_loaded"] if data.get("engine") == "torch" else 0) if devices is not None else None
    if not devices:
        why = facts.get("ran_pct_reason") or NO_SERIES
        nothing = ("judged", "outliers", "node_pct", "first_error", "exchange_held_pct", "soak_spread", "kernel_errors", "port_errors")
        return {**facts, **dict.fromkeys(nothing), **{f"{key}_reason": why for key in (*nothing, "gpus_loaded")}}
    slots, shown = burn_in_peers.of(run)
    judged = [_device(device, data, slots) for device in devices]
    return {
        **facts,
        "judged": judged,
        "outliers": _outliers(judged, slots),
        **_node(data, slots),
        "first_error": _first_error(data),
        **_exchange(data),
        "soak_spread": _soak(data),
        **_kernel(data),
        "port_errors": data["ports"],
        "plots": burn_in_peers.plots(data, run.envelope.get("host"), shown),
    }


def _ran(data) -> dict:
    """How much of the planned time ran; an operator's stop measures nothing, and is no fault of the node."""
    job = data.get("job") or {}
    stopped = job.get("reason") == "stopped" or data.get("state") == "stopped"
    if stopped:
        return {
            "ran_pct": None,
            "ran_pct_reason": f"was stopped after {data.get('ran_s') or 0:.0f} s of {data.get('planned_s') or 0:.0f} s",
        }
    if data.get("ran_s") is not None:
        return {"ran_pct": round(100.0 * data["ran_s"] / data["planned_s"], 1)}
    if _restarted(data):
        return {"ran_pct": 0.0}
    if job.get("state") in ("lost", "absent"):
        return {"ran_pct": None, "ran_pct_reason": "the job's state is gone and the node has not restarted: it was stopped, or removed"}
    why = f"not begun: {job['message']}" if job.get("state") == "not_begun" else "" if not job else f"the job is {job.get('state')}"
    return {"ran_pct": None, "ran_pct_reason": why or "it was not begun"}


def _restarted(data) -> bool:
    ids = data.get("boot_id_before"), data.get("boot_id_after")
    return None not in ids and ids[0] != ids[1]


def _changed(data):
    """What is otherwise after the load than before it: a limit that was lowered, a node that restarted."""
    if data.get("boot_id_after") is None:
        return None
    lines = ["the node restarted"] if _restarted(data) else []
    before = data.get("limits_before") or {}
    for device in data.get("devices") or ():
        limits = [before.get(device["name"]), *(device["power_limit_w"] or ())]
        told = {round(value, 1) for value in limits if value is not None}
        if len(told) > 1:
            lines.append(f"power limit of {device['name']}: {max(told):g} W and {min(told):g} W")
    return lines


# --- a device -------------------------------------------------------------------------------------------------------------------------


def _device(device, data, slots) -> dict:
    tflops, clock, heat = device["tflops"], device["clock_mhz"], device["temperature_c"]
    peers = slots.get(burn_in_peers.slot(device, data), {})
    told = {key: device[key] for key in ("name", "loaded_pct", "mismatches", "ecc_corrected", "ecc_uncorrected", "nvlink_errors")}
    told["label"] = f"{device['name']} ({device['pci']})" if device["pci"] else device["name"]
    told["checksum"] = device["checksum"]
    told["checksum_odd"] = _odd(device["checksum"], peers.get("checksum"))
    told["degradation_pct"] = _drop(tflops)
    told["lowest_pct"] = _share(tflops, "lowest", "median")
    told["clock_held_pct"] = _share(clock, "last", "first")
    told["hard_throttle_s"] = burn_in_peers.hard(device["throttle_s"])
    told["slot_pct"] = _beside(tflops and tflops["median"], peers.get("tflops"))
    told["over_slot_c"] = None
    if heat and len(peers.get("heat", ())) > 2:
        told["over_slot_c"] = round(heat["mean"] - statistics.median(peers["heat"]), 1)
    told["robust_z"], told["peers"] = _z(tflops and tflops["median"], peers.get("tflops") or [])
    reasons = {
        "mismatches": "no result was checked",
        "checksum_odd": "fewer than three devices of one kind and version",
        "clock_held_pct": "the clock was not told",
        "hard_throttle_s": "the reasons of the clock were not told",
        "slot_pct": "fewer than two peers have this slot under the same load",
        "over_slot_c": "no temperature, or fewer than two peers",
    }
    idle = "no product was measured"
    return {
        **told,
        **{f"{key}_reason": reasons.get(key, idle if not tflops else "not told") for key, value in told.items() if value is None},
    }


def _drop(figures):
    if not figures or not figures["first"] or figures["last"] is None:
        return None
    return round(100.0 * (1 - figures["last"] / figures["first"]), 2)


def _share(figures, part, whole):
    if not figures or figures.get(part) is None or not figures.get(whole):
        return None
    return round(100.0 * figures[part] / figures[whole], 2)


def _beside(value, values):
    """Percent above or below the median of one slot; three devices are the fewest that have one."""
    if value is None or len(values or ()) < 3:
        return None
    middle = statistics.median(values)
    return round(100.0 * (value / middle - 1), 2) if middle else None


def _odd(checksum, checksums):
    """Another result than most devices of the same kind; with a tie nobody knows whose is right."""
    if checksum is None or len(checksums or ()) < 3:
        return None
    most = max(set(checksums), key=checksums.count)
    return None if 2 * checksums.count(most) <= len(checksums) else checksum != most


def _z(value, values):
    if value is None or len(values) <= PEERS_FOR_Z:
        return None, max(0, len(values) - 1)
    middle = statistics.median(values)
    spread = 1.4826 * statistics.median(abs(other - middle) for other in values)
    return round((value - middle) / max(spread, FLOOR * middle), 2), len(values) - 1


def _outliers(judged, slots) -> list:
    total = sum(len(slot["tflops"]) for slot in slots.values() if len(slot["tflops"]) > PEERS_FOR_Z)
    alarms = f"{total * TAIL:.2g} false alarms expected of {total} devices"
    return [
        {"label": f"{device['label']}, {device['peers']} peers, {alarms}", "robust_z": device["robust_z"]}
        for device in judged
        if device["robust_z"] is not None
    ]


def _node(data, slots) -> dict:
    rates = [device["tflops"]["median"] for device in data["devices"] if device["tflops"]]
    means = slots.get((data["engine"], data["devices"][0]["model"], "node"), {}).get("means")
    value = _beside(statistics.fmean(rates) if rates else None, means)
    return {"node_pct": value, **({} if value is not None else {"node_pct_reason": "fewer than two peers under the same load"})}


# --- the whole node -------------------------------------------------------------------------------------------------------------------


def _first_error(data) -> str:
    """The first thing that went wrong, and when."""
    found = [(event["at_s"], event["text"]) for event in data["events"]]
    found += [(device["first_mismatch_s"], f"{device['name']}: a wrong result") for device in data["devices"] if device["mismatches"]]
    found += [(data["kernel"]["first_s"], event["text"]) for event in (data["kernel"]["events"] or ())[:1]]
    if not found:
        return "none"
    at, text = min(found, key=lambda one: one[0])
    return f"at {at:.0f} s: {text}"


def _exchange(data) -> dict:
    exchange, none = data["exchange"], "no exchange: one device alone, or burn_in_exchange is none"
    if exchange is None:
        keys = ("exchange_held_pct", "together_pct", "exchange_wrong", "exchange_errors")
        return {**dict.fromkeys(keys), **{f"{key}_reason": none for key in keys}}
    held = _share(exchange["gbytes_s"], "last", "first")
    told = {"exchange_held_pct": held, "together_pct": exchange["together_pct"]}
    told.update(exchange_wrong=exchange["wrong"], exchange_errors=exchange["errors"])
    if not exchange["count"]:
        told["together_pct"] = 0.0  # it was to run, and did not
    return {**told, **{f"{key}_reason": "no all-to-all came to its end" for key, value in told.items() if value is None}}


def _soak(data) -> list | None:
    if data["soak"] is None:
        return None
    return [
        {
            "operation": one["operation"],
            "min_pct_of_mean": _share(one["gbytes_s"], "min", "mean"),
            "faults": None if one["wrong"] is None and not one["errors"] else (one["wrong"] or 0) + one["errors"],
            "faults_reason": "the operation did not run",
            "min_pct_of_mean_reason": "the operation did not run",
        }
        for one in data["soak"]
    ]


def _kernel(data) -> dict:
    kernel = data["kernel"]
    if not kernel["measured"]:
        return {"kernel_errors": None, "kernel_errors_reason": f"the kernel's ring buffer could not be read: {kernel['reason']}"}
    return {"kernel_errors": [{"label": _named(event), "text": event["text"]} for event in kernel["events"]]}


def _named(event) -> str:
    return " ".join(str(part) for part in (event["kind"], event["code"], event["pci"]) if part is not None)
