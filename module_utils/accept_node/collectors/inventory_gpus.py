"""GPUs for the inventory: what the vendor's tool says of each, in one shape for NVIDIA and AMD, with NVLinks and the nearest NIC."""

from __future__ import annotations

from ..parsers import amd_smi, nvidia_smi, nvidia_smi_nvlink, nvidia_smi_topo, rocm_smi

SMI = ["nvidia-smi", "-q", "-x"]
NVLINK = ["nvidia-smi", "nvlink", "-s"]
TOPO = ["nvidia-smi", "topo", "-m"]
AMD_STATIC = ["amd-smi", "static", "--json"]
AMD_METRIC = ["amd-smi", "metric", "--json"]
ROCM = [*"rocm-smi --showproductname --showuniqueid --showserial --showvbios --showbus --showmeminfo vram".split()]
ROCM += ["--showmaxpower", "--showtemp", "--json"]
AMD_STATIC_KEYS = ("name", "pci", "uuid", "serial", "vbios", "memory_mib", "numa", "compute_partition", "memory_partition")
AMD_METRIC_KEYS = ("temperature_c", "memory_temperature_c", "power_draw_w", "utilization_pct", "memory_used_mib", "throttle_status")
TIMEOUT_S = 60.0  # a driver that has to wake eight GPUs takes its time
NEAREST_FIRST = ("PIX", "PXB", "PHB", "NODE", "SYS")


def collect(gather, devices) -> dict:
    """`devices`: what lspci found, or None. Keys: docs of the concern, standards/schema/concerns/inventory_audit.json."""
    on_bus = None if devices is None else [device for device in devices if device["kind"] == "gpu"]
    vendors = {"nvidia", "amd"} if on_bus is None else {device["vendor"] for device in on_bus}
    found, vendor = _nvidia(gather, "nvidia" in vendors and on_bus is not None), "nvidia"
    if not found["gpus"] and "amd" in vendors:
        amd = _amd(gather, on_bus is not None)
        found, vendor = (amd, "amd") if amd["gpus"] is not None or on_bus is not None else (found, vendor)
    if found["gpus"] is None and on_bus == []:
        found["gpus"] = []  # nothing on the bus and no tool: that is no GPU, measured
    gpus, named = found["gpus"], found.pop("lost")
    for gpu in gpus or []:
        pcie = gpu["pcie"]
        pcie["width_reduced"] = None if pcie["width"] is None or pcie["width_max"] is None else pcie["width"] < pcie["width_max"]
        pcie["gen_settled"] = _settled(pcie, gpu.get("pstate"))
    attached = found["attached_gpus"]
    return {
        **found,
        "gpus_undescribed": None if gpus is None or attached is None else attached - len(gpus),
        "vendor": vendor if gpus else "none" if gpus == [] and not on_bus else None if gpus is None else vendor,
        "gpu_count": None if gpus is None else len(gpus),
        "pci_gpu_count": None if on_bus is None else len(on_bus),
        "gpus_lost": _lost(gpus, on_bus, named),
    }


def _lost(gpus, on_bus, named):
    """GPUs on the bus that their tool does not list, or that do not answer; None where it cannot be told."""
    lost = {entry["pci"]: entry["reason"] for entry in named}
    listed = None if gpus is None else {gpu["pci"] for gpu in gpus}
    nameless = bool(listed) and None in listed  # one without an address may be any of those on the bus
    for device in on_bus or []:
        if device["lost"]:
            lost[device["pci"]] = "revision ff: it does not answer on the bus"
        elif listed is not None and not nameless and device["pci"] not in listed:
            lost.setdefault(device["pci"], "on the bus, not listed by its tool")
    unknown = on_bus is None or ((listed is None or nameless) and on_bus)
    return [{"pci": pci, "reason": reason} for pci, reason in sorted(lost.items())] or (None if unknown else [])


def _nvidia(gather, expected) -> dict:
    # every exit status: a lost GPU makes the tool fail, and what it says about it is the fact
    report = gather.command(SMI, nvidia_smi.parse, timeout_s=TIMEOUT_S, ok=None, streams="both", optional=not expected)
    if report is None:
        return {"driver_version": None, "attached_gpus": None, "messages": [], "lost": [], "gpus": None}
    report.pop("cuda_version")
    gpus = report["gpus"]
    if gpus:
        links = gather.command(NVLINK, nvidia_smi_nvlink.parse, timeout_s=TIMEOUT_S, streams="both", ok=None)
        by_uuid = {entry["uuid"]: entry for entry in links["gpus"]} if links else {}
        for gpu in gpus:
            gpu["nvlink"] = _nvlink(by_uuid.get(gpu["uuid"]))
            limit, default = gpu["power_limit_w"], gpu["power_default_w"]
            gpu["power_limit_lowered"] = None if limit is None or default is None else limit < default
            gpu["throttle_status"] = None
            gpu["repairs_pending"] = _repairs(gpu["ecc"])
            for name, said in gpu.pop("reasons").items():  # where the judge looks for the reason of a null
                gpu[name + "_reason"] = "nvidia-smi printed " + said
    elif gpus is None:
        gather.error(" ".join(SMI), "failed", "nvidia-smi -q -x describes no GPU: " + "; ".join(report["messages"])[:200])
    return report


def _settled(pcie, pstate):
    """The link's generation where it means something: at its maximum, or while the GPU is awake. An idle link may rest at a lower one."""
    gen = pcie["gen"]
    return gen if gen is not None and (gen == pcie["gen_max"] or pstate in ("P0", "P1", "P2")) else None


def _repairs(ecc):
    """Memory repairs that wait for a reset, or that cannot be made; None where the driver says nothing of them."""
    said = {name: ecc[name] for name in ("channel_repair_pending", "tpc_repair_pending", "unrepairable_memory")}
    return sorted(name for name, on in said.items() if on) if any(on is not None for on in said.values()) else None


def _nvlink(entry) -> dict:
    """Links of one GPU: how many are up, which are down, the slowest rate of those that are up."""
    if entry is None or entry["cut"] or any(link["active"] is None for link in entry["links"]):
        return {"active": None, "inactive": None, "slowest_gbytes_s": None}
    rates = [link["gbytes_s"] for link in entry["links"] if link["active"]]
    inactive = [link["link"] for link in entry["links"] if not link["active"]]
    return {"active": len(rates), "inactive": inactive, "slowest_gbytes_s": min(rates) if rates else None}


def topology(gather, gpus, nics) -> dict:
    """Give each GPU its NUMA node and nearest NIC, from `topo -m`; `nics`: names of the NICs that count, None: all."""
    topo = gather.command(TOPO, nvidia_smi_topo.parse, timeout_s=TIMEOUT_S) or {"links": {}, "numa": {}}
    for gpu in gpus:
        name = "GPU%d" % gpu["index"]
        near = {nic: how for nic, how in topo["links"].get(name, {}).items() if nic in (topo["nics"] if nics is None else nics)}
        best = next((how for how in NEAREST_FIRST if how in near.values()), None)
        gpu["numa"] = topo["numa"].get(name)
        gpu["nearest_nic_link"] = best or ("none" if name in topo["links"] and not near else None)
        gpu["nearest_nics"] = sorted(nic for nic, how in near.items() if how == best) if best else None
    return {"complete": bool(topo["links"]) and not topo["cut"] and not [name for name in topo["missing"] if name in topo["gpus"]]}


def _amd(gather, expected) -> dict:
    found = {"driver_version": None, "attached_gpus": None, "messages": [], "lost": [], "gpus": None}
    static = gather.command(AMD_STATIC, amd_smi.parse, timeout_s=TIMEOUT_S, optional=True)
    if static is None and gather.missing(" ".join(AMD_STATIC)):
        cards = gather.command(ROCM, rocm_smi.parse, timeout_s=TIMEOUT_S, optional=not expected)
        if cards is None:
            return found
        return {**found, "driver_version": cards["driver_version"], "gpus": [_amd_gpu(card, {}) for card in cards["gpus"]]}
    if static is None:
        return found
    if static["cut"]:
        gather.error(" ".join(AMD_STATIC), "unparsable", "amd-smi static --json: the JSON is cut; fields after the cut are not known")
    metric = gather.command(AMD_METRIC, amd_smi.parse_metric, timeout_s=TIMEOUT_S)
    now = {gpu["gpu"]: gpu for gpu in metric["gpus"]} if metric else {}
    pages = _bad_pages(gather)
    gpus = [_amd_gpu(gpu, now.get(gpu["gpu"], {})) for gpu in static["gpus"]]
    for gpu in gpus:
        gpu["bad_pages"] = pages.get(gpu["pci"])
    return {**found, "driver_version": static["gpus"][0]["driver_version"], "messages": static["messages"], "gpus": gpus}


def _bad_pages(gather) -> dict:
    """PCI address -> bad pages of memory; the error counters beside them are left alone: reading those clears them."""
    tree = gather.tree("/sys/class/drm", ["card*/device", "card*/device/ras/gpu_vram_bad_pages"], optional=True)
    pages = {}
    for path, text in (tree.files if tree else {}).items():
        device = tree.links.get(path.split("/ras/")[0], "")
        try:
            pages[device.rsplit("/", 1)[-1]] = amd_smi.parse_bad_pages(text)
        except amd_smi.ParseError as error:
            gather.error("/sys/class/drm/" + path, "unparsable", str(error))
    return pages


def _amd_gpu(static, now) -> dict:
    """The shape of an NVIDIA GPU, as far as AMD's tools say it."""
    pcie = {**static.get("pcie", {}), **now.get("pcie", {})}
    ecc = now.get("ecc", {})
    gpu = {key: static.get(key) for key in AMD_STATIC_KEYS}
    gpu.update({key: now.get(key, static.get(key)) for key in AMD_METRIC_KEYS})
    counters = {key: ecc.get(key) for key in ("correctable", "uncorrectable", "deferred")}
    return {
        "index": static["gpu"],
        **gpu,
        "pcie": {key: pcie.get(key) for key in ("gen", "gen_max", "width", "width_max", "replays")},
        "ecc": {"current": static.get("ecc_enabled"), "volatile": counters},
        "power_limit_w": static.get("power_limit_w"),
        "power_max_w": static.get("power_max_w"),
        "memory_gib": round(static["memory_mib"] / 1024, 2) if static.get("memory_mib") is not None else None,
        "bad_pages": None,
    }
