"""`nvidia-smi -q -x`: all that the driver says about its GPUs, as XML (nvsmi_device_v10 to v13).

Elements differ between drivers and are looked up where any of them had it; one that is not there is None. Shape::

    {"driver_version": "580.105.08", "cuda_version": "13.0", "attached_gpus": 8, "messages": ["WARNING: infoROM is corrupted ..."],
     "lost": [{"pci": "0000:ba:00.0", "reason": "Unknown Error"}],
     "gpus": [{"index": 0, "pci": "0000:1b:00.0", "name": "NVIDIA B200", "memory_mib": 183359, "pcie": {...}, "ecc": {...}, ...,
               "event_reasons": {"sw_power_cap": false}, "reasons": {"power_draw_w": "Unknown Error"}}]}

`attached_gpus` is what the driver counts and `gpus` what it describes: they can differ. `gpus` is None where the tool named lost GPUs and
described none, and [] where it found no device at all. `reasons` has every field that is printed without a value. A sum of error
counters is None where it would be 0 but a counter did not answer.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ..values import flag, integer, pci_address, quantity, reason, word
from . import ParseError

ROOT = re.compile(r"<nvidia_smi_log\b.*?</nvidia_smi_log\s*>", re.DOTALL)
LOST = re.compile(r"Unable to determine the device handle for GPU\s*([0-9a-fA-F:.]+?):?\s+(\S.*)", re.IGNORECASE)
EVENT = re.compile(r"clocks_(?:event|throttle)_reason_(\w+)")


def watts(text):
    return quantity(text, "W")


def whole(*units):
    return lambda text: integer(text, *units)


mib, mhz, celsius, count = whole("MiB"), whole("MHz"), whole("C"), whole()


def no_zero_uuid(text):
    """An all-zero cluster UUID says that the GPU belongs to no multi-node domain: a measured absence."""
    value = word(text)
    return "none" if value and not value.replace("-", "").strip("0") else value


def said(text):
    """A word of which `None` is a value: no action is needed."""
    value = word(text)
    return "none" if value == "None" else value


LINK = "pci/pci_gpu_link_info/"
POWER = ("gpu_power_readings/", "power_readings/")
FIELDS = (  # name, how to read it, where it stands (newest driver first)
    ("name", word, "product_name"),
    ("uuid", word, "uuid"),
    ("serial", word, "serial"),
    ("vbios", word, "vbios_version"),
    ("part_number", word, "board_part_number"),
    ("minor_number", count, "minor_number"),
    ("module_id", count, "platformInfo/module_id", "gpu_module_id"),
    ("chassis_serial", word, "platformInfo/chassis_serial_number"),
    ("slot", count, "platformInfo/slot_number"),
    ("tray", count, "platformInfo/tray_index"),
    ("persistence", flag, "persistence_mode"),
    ("c2c", flag, "c2c_mode"),
    ("mig.current", flag, "mig_mode/current_mig"),
    ("mig.pending", flag, "mig_mode/pending_mig"),
    ("recovery_action", said, "gpu_recovery_action"),
    ("reset_required", flag, "gpu_reset_status/reset_required"),
    ("pstate", word, "performance_state"),
    ("pcie.gen", count, LINK + "pcie_gen/current_link_gen"),
    ("pcie.gen_max", count, LINK + "pcie_gen/max_link_gen"),
    ("pcie.gen_device_max", count, LINK + "pcie_gen/max_device_link_gen"),
    ("pcie.width", whole("x"), LINK + "link_widths/current_link_width"),
    ("pcie.width_max", whole("x"), LINK + "link_widths/max_link_width"),
    ("pcie.replays", count, "pci/replay_counter"),
    ("memory_mib", mib, "fb_memory_usage/total"),
    ("memory_used_mib", mib, "fb_memory_usage/used"),
    ("utilization_pct", whole("%"), "utilization/gpu_util"),
    ("ecc.current", flag, "ecc_mode/current_ecc"),
    ("ecc.pending", flag, "ecc_mode/pending_ecc"),
    ("ecc.sram_threshold_exceeded", flag, "ecc_errors/aggregate/sram_threshold_exceeded"),
    ("ecc.channel_repair_pending", flag, "ecc_errors/channel_repair_pending"),
    ("ecc.tpc_repair_pending", flag, "ecc_errors/tpc_repair_pending"),
    ("ecc.unrepairable_memory", flag, "ecc_errors/unrepairable_memory"),
    ("retired_pages.single_bit", count, "retired_pages/multiple_single_bit_retirement/retired_count"),
    ("retired_pages.double_bit", count, "retired_pages/double_bit_retirement/retired_count"),
    ("retired_pages.pending", flag, "retired_pages/pending_retirement", "retired_pages/pending_blacklist"),
    ("remapped_rows.correctable", count, "remapped_rows/remapped_row_corr", "remapped_rows"),
    ("remapped_rows.uncorrectable", count, "remapped_rows/remapped_row_unc", "remapped_rows"),
    ("remapped_rows.pending", flag, "remapped_rows/remapped_row_pending", "remapped_rows"),
    ("remapped_rows.failed", flag, "remapped_rows/remapped_row_failure", "remapped_rows"),
    ("temperature_c", celsius, "temperature/gpu_temp"),
    ("temperature_headroom_c", celsius, "temperature/gpu_temp_tlimit"),
    ("memory_temperature_c", celsius, "temperature/memory_temp"),
    ("power_draw_w", watts, *[POWER[0] + kind + "power_draw" for kind in ("average_", "", "instant_")], POWER[1] + "power_draw"),
    ("power_limit_w", watts, POWER[0] + "current_power_limit", POWER[1] + "enforced_power_limit", POWER[1] + "power_limit"),
    ("power_requested_w", watts, POWER[0] + "requested_power_limit", POWER[1] + "power_limit"),
    ("power_default_w", watts, POWER[0] + "default_power_limit", POWER[1] + "default_power_limit"),
    ("power_min_w", watts, POWER[0] + "min_power_limit", POWER[1] + "min_power_limit"),
    ("power_max_w", watts, POWER[0] + "max_power_limit", POWER[1] + "max_power_limit"),
    ("clocks_mhz.graphics", mhz, "clocks/graphics_clock"),
    ("clocks_mhz.memory", mhz, "clocks/mem_clock"),
    ("clocks_mhz.max_graphics", mhz, "max_clocks/graphics_clock"),
    ("clocks_mhz.max_memory", mhz, "max_clocks/mem_clock"),
    ("fabric.state", word, "fabric/state"),
    ("fabric.status", word, "fabric/status"),
    ("fabric.clique_id", count, "fabric/cliqueId"),
    ("fabric.cluster_uuid", no_zero_uuid, "fabric/clusterUuid"),
    ("fabric.health", word, "fabric/health/summary"),
    ("fabric.bandwidth", word, "fabric/health/bandwidth"),
)


def parse(text: str) -> dict:
    """The XML log, whatever stands before and after it; the shape is in the module's docstring."""
    if not text.strip():
        raise ParseError("nvidia-smi printed nothing")
    match = ROOT.search(text)
    outside = text[: match.start()] + "\n" + text[match.end() :] if match else text
    messages = [line.strip() for line in outside.splitlines() if line.strip() and not line.lstrip().startswith("<")]
    lost = [{"pci": pci_address(m.group(1)) or m.group(1), "reason": m.group(2)} for m in map(LOST.search, messages) if m]
    found = {"driver_version": None, "cuda_version": None, "attached_gpus": None, "messages": messages, "lost": lost, "gpus": None}
    if not match:
        if "No devices were found" in text:
            return {**found, "attached_gpus": 0, "gpus": []}
        if lost:
            return found
        if "<nvidia_smi_log" in text:
            raise ParseError("nvidia-smi -q -x: the XML is cut before </nvidia_smi_log>")
        raise ParseError(f"nvidia-smi -q -x printed no XML but: {' '.join((messages or ['?'])[-1].split())[:160]}")
    try:
        root = ElementTree.fromstring(match.group())
    except (ElementTree.ParseError, ValueError) as error:
        raise ParseError(f"nvidia-smi -q -x: broken XML: {' '.join(str(error).split())[:120]}") from error
    return {
        **found,
        "driver_version": word(root.findtext("driver_version")),
        "cuda_version": word(root.findtext("cuda_version")),
        "attached_gpus": count(root.findtext("attached_gpus")),
        "gpus": [_gpu(index, element) for index, element in enumerate(root.findall("gpu"))],
    }


def _gpu(index: int, element) -> dict:
    gpu = {"index": index, "pci": pci_address(element.get("id")) or pci_address(element.findtext("pci/pci_bus_id"))}
    reasons = {}
    for name, read, *paths in FIELDS:
        texts = [text for text in map(element.findtext, paths) if text is not None]
        value = next((value for value in map(read, texts) if value is not None), None)
        if value is None and texts and texts[0].strip():
            reasons[name] = reason(texts[0]) or texts[0].strip()[:60]
        *group, leaf = name.split(".")
        (gpu.setdefault(group[0], {}) if group else gpu)[leaf] = value
    gpu["mig"]["devices"] = len(element.findall("mig_devices/mig_device"))
    for kind in ("volatile", "aggregate"):
        gpu["ecc"][kind] = {name: _errors(element.find("ecc_errors/" + kind), *how) for name, how in COUNTERS.items()}
    found = ((EVENT.fullmatch(child.tag), child.text) for child in element.iter())
    gpu["event_reasons"] = {match.group(1): flag(text) for match, text in found if match}
    gpu["reasons"] = reasons
    return gpu


COUNTERS = {
    "correctable": (re.compile(r"[sd]ram_correctable"), "single_bit/total"),
    "uncorrectable": (re.compile(r"[sd]ram_uncorrectable(_parity|_secded)?"), "double_bit/total"),
}


def _errors(element, names, old_total):
    """The sum of one kind of error counters."""
    if element is None:
        return None
    counts = [count(child.text) for child in element if names.fullmatch(child.tag)] or [count(element.findtext(old_total))]
    total = sum(value for value in counts if value is not None)
    return total if total or None not in counts else None
