"""`amd-smi static --json` and `amd-smi metric --json`.

Releases differ: a bare list of GPUs or {"gpu_data": [...]}, text before the JSON (warnings about groups, the watch hint), "N/A" strings
where others have objects, numbers as {"value", "unit"}. Both functions give
{"gpus": [...], "messages": [text before the JSON], "cut": false}.
Of cut output the fields that came whole are kept and `cut` is true.

parse (static): {"gpu": 0, "name": "AMD Instinct MI300X", "pci": "0000:05:00.0", "uuid", "serial", "vbios", "memory_mib",
"pcie": {"gen_max", "width_max"}, "power_limit_w", "power_max_w", "numa", "compute_partition", "memory_partition", "driver_version",
"ecc_enabled"}. amd-smi says MB and means MiB.

parse_metric: {"gpu": 0, "pcie": {"gen", "width", "replays"}, "temperature_c" (hot spot), "memory_temperature_c", "power_draw_w",
"throttle_status", "utilization_pct", "memory_used_mib", "ecc": {"correctable", "uncorrectable", "deferred"}}.
"""

from __future__ import annotations

import json

from ..values import pci_address, quantity, word
from . import ParseError

# GT/s of a PCIe generation
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
SCALE_MIB = {"MB": 1, "MiB": 1, "GB": 1024, "GiB": 1024}


def parse(text: str) -> dict:
    """static: what the GPUs are."""
    return _load(text, "static", _static)


def parse_metric(text: str) -> dict:
    """metric: how they are now."""
    return _load(text, "metric", _metric)


def _load(text, what, read):
    """The GPU objects, what was printed before them, and whether they are all."""
    starts = [place for place in (text.find("["), text.find("{")) if place >= 0]
    start = min(starts) if starts else len(text)
    messages = [line.strip() for line in text[:start].splitlines() if line.strip()]
    loaded, cut = _decoded(text[start:])
    if isinstance(loaded, dict):
        loaded = loaded.get("gpu_data", [loaded])
    gpus = [gpu for gpu in loaded if isinstance(gpu, dict) and "gpu" in gpu] if isinstance(loaded, list) else []
    if not gpus:
        raise ParseError(f"amd-smi {what}: no GPU in: {' '.join(text.split())[:120] or 'nothing'}")
    return {"gpus": [read(gpu) for gpu in gpus], "messages": messages, "cut": cut}


def _decoded(text):
    """The JSON value at the start of the text and whether it was cut; (None, True) where nothing can be read."""
    decoder = json.JSONDecoder(parse_constant=lambda name: None)
    for number, candidate in enumerate((text, _closed(text))):
        try:
            return decoder.raw_decode(candidate)[0], bool(number)
        except (ValueError, RecursionError):
            continue
    return None, True


def _closed(text):
    """Cut JSON up to its last whole field, with what is open closed again."""
    opened, ends, quoted, escaped = [], "", False, False
    best = ""
    for place, letter in enumerate(text):
        if quoted:
            escaped, quoted = letter == "\\" and not escaped, letter != '"' or escaped
        elif letter == '"':
            quoted = True
        elif letter in "[{":
            opened.append("]" if letter == "[" else "}")
        elif letter in "]}" and opened:
            opened.pop()
        elif letter == ",":
            best, ends = text[:place], "".join(reversed(opened))
    return best + ends


def _at(value, *path):
    """What stands at a path, or None; lists and strings on the way are dead ends."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value):
    """A word; None for N/A and for what is no text."""
    return word(value) if isinstance(value, str) else str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value, *units):
    """The number in {"value": 750, "unit": "W"}, 750, "750" or "750 W"."""
    if isinstance(value, dict):
        unit = value.get("unit")
        return _number(value.get("value")) if unit in units or unit in (None, "") else None
    return quantity(str(value), *units) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else None


def _whole(value, *units):
    number = _number(value, *units)
    return int(number) if number is not None and number == int(number) else None


def _mib(value):
    number, unit = _number(value, *SCALE_MIB), _at(value, "unit")
    return int(number * SCALE_MIB.get(unit, 1)) if number is not None else None


def _serial(value):
    """A serial number; boards without one say 0."""
    text = _text(value)
    return text if text and text.strip("0x") else None


def _vbios(vbios):
    """Part number and version together, as far as they are said: either may differ between two GPUs."""
    parts = [_text(_at(vbios, name)) for name in ("part_number", "version")]
    return " ".join(part for part in parts if part) or _text(_at(vbios, "name"))


def _static(gpu) -> dict:
    limit = _at(gpu, "limit")
    return {
        "gpu": _whole(gpu["gpu"]),
        "name": _text(_at(gpu, "asic", "market_name")),
        "pci": pci_address(_text(_at(gpu, "bus", "bdf"))),
        "uuid": _text(gpu.get("uuid")),
        "serial": _serial(_at(gpu, "asic", "asic_serial")) or _serial(_at(gpu, "board", "product_serial")),
        "vbios": _vbios(_at(gpu, "vbios")),
        "memory_mib": _mib(_at(gpu, "vram", "size")),
        "pcie": {
            "gen_max": GENERATIONS.get(_number(_at(gpu, "bus", "max_pcie_speed"), "GT/s")),
            "width_max": _whole(_at(gpu, "bus", "max_pcie_width")),
        },
        "power_limit_w": _number(_at(limit, "socket_power"), "W"),
        "power_max_w": _number(_at(limit, "max_power"), "W"),
        "numa": _whole(_at(gpu, "numa", "node")),
        "compute_partition": _text(_at(gpu, "partition", "compute_partition") or _at(gpu, "partition", "accelerator_partition")),
        "memory_partition": _text(_at(gpu, "partition", "memory_partition")),
        "driver_version": _text(_at(gpu, "driver", "version")),
        "ecc_enabled": {"ENABLED": True, "DISABLED": False}.get(_text(_at(gpu, "ras", "ecc_block_state", "UMC"))),
    }


def _metric(gpu) -> dict:
    def ecc(name):
        return _whole(_at(gpu, "ecc", name))

    return {
        "gpu": _whole(gpu["gpu"]),
        "pcie": {
            "gen": GENERATIONS.get(_number(_at(gpu, "pcie", "speed"), "GT/s")),
            "width": _whole(_at(gpu, "pcie", "width")),
            "replays": _whole(_at(gpu, "pcie", "replay_count")),
        },
        "temperature_c": _number(_at(gpu, "temperature", "hotspot"), "C"),
        "memory_temperature_c": _number(_at(gpu, "temperature", "mem"), "C"),
        "power_draw_w": _number(_at(gpu, "power", "socket_power"), "W"),
        "throttle_status": _text(_at(gpu, "power", "throttle_status")),
        "utilization_pct": _number(_at(gpu, "usage", "gfx_activity"), "%"),
        "memory_used_mib": _mib(_at(gpu, "mem_usage", "used_vram")),
        "ecc": {
            "correctable": ecc("total_correctable_count"),
            "uncorrectable": ecc("total_uncorrectable_count"),
            "deferred": ecc("total_deferred_count"),
        },
    }


def parse_bad_pages(text: str) -> dict:
    """sysfs `ras/gpu_vram_bad_pages`, lines `address : size : R|P|F`: {"retired": 2, "pending": 0, "unreservable": 0}.

    No line is a measured absence of bad pages.
    """
    counts = {"R": 0, "P": 0, "F": 0}
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(":")]
        if len(parts) != 3 or parts[2] not in counts or not parts[0].startswith("0x"):
            if line.strip():
                raise ParseError(f"gpu_vram_bad_pages: not a page: {' '.join(line.split())[:80]}")
            continue
        counts[parts[2]] += 1
    return {"retired": counts["R"], "pending": counts["P"], "unreservable": counts["F"]}
