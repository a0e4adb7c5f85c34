"""Stands in for standards/profiles until they are written; goes away then."""


def _nvidia(name, form, count, memory, power, clock, gen, nics, rate):
    values = {"gpu.count": count, "gpu.memory_mib": memory, "gpu.power_limit_w": power, "gpu.max_clock_mhz": clock, "gpu.pcie_gen": gen,
              "gpu.pcie_width": 16, "nvlink.count": 18, "nic.count": nics, "nic.rate_gbps": rate}
    return {"vendor": "nvidia", "form": form, "smi_names": [name], "values": values}


PROFILES = {
    "b200_hgx": _nvidia("NVIDIA B200", "hgx", 8, 183359, 1000, 1965, 5, 8, 400),
    "gb300_nvl72": _nvidia("NVIDIA GB300", "nvl72", 4, 284208, 1400, 2070, 6, 8, 400),
}
