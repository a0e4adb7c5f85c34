"""Named faults: each public function puts one into a node. First line of the docstring: what `tools/simulate --faults` prints.

`rng` is seeded by spec, node and place in the spec: the same spec makes the same faults. Near misses, which must stay green, are here too.
"""

from __future__ import annotations


def _log(node, rng, *texts, priority=3, ago_s=None):
    """Ring buffer records some hours before the capture, in one burst."""
    at = node.uptime_s - (rng.uniform(1800, 36000) if ago_s is None else ago_s)
    for text in texts:
        node.kernel_log.append((round(at, 6), priority, text))
        at += rng.uniform(0.0001, 0.004)


def _xid(gpu, number, rest):
    return f"NVRM: Xid (PCI:{gpu.pci[:-2]}): {number}, {rest}"


def _present(node):
    return [gpu for gpu in node.gpus if gpu.present]


# --- versions ---------------------------------------------------------------------------------------------------------------------


def old_container_toolkit(node, rng, *, version="1.16.1"):
    """A container toolkit two years old"""
    node.versions["nvidia_container_toolkit"] = version


def odd_driver(node, rng, *, version="580.95.05"):
    """Another GPU driver than the other nodes have, fabric manager with it"""
    node.versions["nvidia_driver"] = version
    if node.versions.get("fabric_manager"):
        node.versions["fabric_manager"] = version


def fabric_manager_mismatch(node, rng, *, version="580.126.09"):
    """A fabric manager of another release than the driver"""
    node.versions["fabric_manager"] = version


def odd_version(node, rng, *, component="dcgm", version="4.2.3"):
    """Any component at another version; an empty version takes it away"""
    node.versions[component] = version


def old_nic_firmware(node, rng, *, nic=0, firmware="28.43.2026"):
    """One NIC at older firmware"""
    node.nics[nic].firmware = firmware


def odd_kernel_cmdline(node, rng, *, add="iommu=on", remove="iommu=pt"):
    """A kernel started with other parameters"""
    words = [word for word in node.kernel_cmdline.split() if word != remove]
    node.kernel_cmdline = " ".join([*words, add]).strip()


def odd_bios(node, rng, *, version="1.2.0"):
    """A BIOS of another version"""
    node.versions["bios"] = version


# --- GPUs -------------------------------------------------------------------------------------------------------------------------


def gpu_half_pcie_width(node, rng, *, gpu=0, width=8):
    """A GPU trained at half its PCIe width"""
    node.gpus[gpu].pcie_width = width


def slow_pcie_gen(node, rng, *, gpu=0, gen=3):
    """A GPU trained at an older PCIe generation, under load too"""
    node.gpus[gpu].pcie_gen = gen


def pending_row_remap(node, rng, *, gpu=0, rows=1):
    """A row remap that waits for a reset"""
    one = node.gpus[gpu]
    one.remap_pending, one.remapped_uncorrectable = True, one.remapped_uncorrectable + rows
    one.ecc_aggregate_uncorrectable += rows
    _log(node, rng, _xid(one, 63, f"pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate. ({rows})"))


def failed_row_remap(node, rng, *, gpu=0):
    """A row that could not be remapped"""
    node.gpus[gpu].remap_failed = True
    _log(node, rng, _xid(node.gpus[gpu], 64, "pid='<unknown>', name=<unknown>, Row Remapper: Failed to remap a row"))


def corrected_row_remap(node, rng, *, gpu=0, rows=2):
    """Near miss: rows remapped after correctable errors, active, nothing pending"""
    node.gpus[gpu].remapped_correctable += rows
    node.gpus[gpu].ecc_aggregate_correctable += 40 * rows


def ecc_uncorrectable(node, rng, *, gpu=0, count=1):
    """Uncorrectable ECC errors since the last reset"""
    one = node.gpus[gpu]
    one.ecc_volatile_uncorrectable += count
    one.ecc_aggregate_uncorrectable += count
    place = "FBHUB: physAddr: 0x00000001 partition: 2, subpartition: 1"
    _log(node, rng, _xid(one, 48, f"pid='<unknown>', name=<unknown>, DBE (double bit error) ECC Error: An uncorrectable error was detected, {place}"))


def ecc_off(node, rng, *, gpu=0):
    """ECC switched off on one GPU"""
    node.gpus[gpu].ecc = False


def gpu_fallen_off_bus(node, rng, *, gpu=0):
    """A GPU fallen off the bus: XID 79 in the log, no longer listed"""
    one = node.gpus[gpu]
    _log(
        node,
        rng,
        _xid(one, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
        f"NVRM: GPU {one.pci}: GPU has fallen off the bus.",
        f"NVRM: GPU {one.pci}: GPU serial number is {one.serial}.",
        _xid(one, 154, "pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
    )
    one.present, one.recovery_action = False, "Reboot"


def gpu_missing_from_smi(node, rng, *, gpu=0):
    """A GPU that no tool lists, without a word in the log"""
    node.gpus[gpu].present = False


def mixed_vbios(node, rng, *, gpu=0, vbios="97.00.88.00.0F"):
    """A GPU with another VBIOS than its neighbours"""
    node.gpus[gpu].vbios = vbios


def lowered_power_limit(node, rng, *, gpu=-1, watts=700.0):
    """A power limit below the default; gpu -1: all of the node"""
    for one in node.gpus if gpu < 0 else [node.gpus[gpu]]:
        one.power_limit_w = float(watts)


def mig_left_on(node, rng, *, gpu=0):
    """MIG mode left on"""
    node.gpus[gpu].mig = True


def persistence_off(node, rng):
    """Persistence mode off on all GPUs"""
    for one in node.gpus:
        one.persistence = False


def thermal_throttle(node, rng, *, gpu=0, celsius=91):
    """A GPU slowed down by heat, in hardware"""
    one = node.gpus[gpu]
    one.event_reasons = {"hw_slowdown", "hw_thermal_slowdown"}
    one.temperature_c, one.power_draw_w, one.clock_mhz = celsius, round(one.power_default_w * 0.7, 2), 1005


def power_brake(node, rng, *, gpu=-1):
    """GPUs held back by the power brake signal of the rack or PSU"""
    for one in node.gpus if gpu < 0 else [node.gpus[gpu]]:
        one.event_reasons = {"hw_slowdown", "hw_power_brake_slowdown"}
        one.clock_mhz = 570


def power_cap_at_tdp(node, rng, *, gpu=0):
    """Near miss: a busy GPU at its full power limit, held there by the software power cap"""
    one = node.gpus[gpu]
    one.event_reasons = {"sw_power_cap"}
    one.power_draw_w, one.temperature_c, one.clock_mhz = round(one.power_limit_w - 2.4, 2), 66, one.max_clock_mhz - 180


def lowered_max_clock(node, rng, *, gpu=0, mhz=1200):
    """A GPU whose clock is locked below its maximum"""
    node.gpus[gpu].max_clock_mhz = mhz


def xid_79(node, rng, *, gpu=0):
    """XID 79 in the log, the GPU still listed: it needs the node restarted"""
    _log(node, rng, _xid(node.gpus[gpu], 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."))
    node.gpus[gpu].recovery_action = "Reboot"


def xid_94(node, rng, *, gpu=0):
    """XID 94: a contained memory error; the job that met it is lost, the GPU wants a reset when idle"""
    _log(node, rng, _xid(node.gpus[gpu], 94, "pid=20817, name=python3, Contained: SM (0x1). RST: No, D-RST: No"))


def xid_95(node, rng, *, gpu=0):
    """XID 95: an uncontained memory error"""
    _log(node, rng, _xid(node.gpus[gpu], 95, "pid='<unknown>', name=<unknown>, Uncontained: LTC TAG (0x5,0x0). RST: Yes, D-RST: No"))
    node.gpus[gpu].recovery_action = "Reset"


def xid_119(node, rng, *, gpu=0):
    """XID 119: the GPU's system processor does not answer"""
    _log(node, rng, _xid(node.gpus[gpu], 119, "pid=31337, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU GSP! Expected function 76 (GSP_RM_CONTROL)"))
    node.gpus[gpu].recovery_action = "Reset"


def xid_45_storm(node, rng, *, gpu=0, count=64):
    """A storm of XID 45, which only says that an application was stopped"""
    one = node.gpus[gpu]
    _log(node, rng, *[_xid(one, 45, f"pid=48213, name=python3, Ch {channel:08x}") for channel in range(count)], priority=4)


def xid_13_user(node, rng, *, gpu=0):
    """Near miss: XID 13 and 31, an application's own fault"""
    one = node.gpus[gpu]
    _log(
        node,
        rng,
        _xid(one, 13, "pid=5120, name=python3, Graphics SM Warp Exception on (GPC 3, TPC 2, SM 0): Out Of Range Address"),
        _xid(one, 31, "pid=5120, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 faulted @ 0x7f3a_0e000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"),
        priority=4,
    )


# --- NVLink, NVSwitch, fabric -------------------------------------------------------------------------------------------------------


def nvlink_down(node, rng, *, gpu=0, links=1):
    """NVLinks of a GPU inactive"""
    one = node.gpus[gpu]
    for index in range(links):
        one.nvlinks_gbytes_s[index] = None
    flags = "0x00000004 0x00000100 0x00000000 0x00000000 0x00000000 0x00000000"
    _log(node, rng, *[_xid(one, 149, f"NETIR_LINK_EVT  Fatal   XC0 i0 Link {index:02d} ({flags})") for index in range(links)])


def nvlink5_error(node, rng, *, gpu=0, link=8):
    """XID 145: a fatal NVLink 5 error of one link"""
    flags = "0x00000004 0x00000040 0x00000000 0x00000000 0x00000000 0x00000000"
    _log(node, rng, _xid(node.gpus[gpu], 145, f"RLW_REMAP       Fatal   XC1 i0 Link {link:02d} ({flags})"))


def sxid_fatal(node, rng, *, switch=1, link=30):
    """A fatal SXID of an NVSwitch (HGX before NVLink 5)"""
    text = f"nvidia-nvswitch{switch}: SXid (PCI:0000:{5 + switch:02x}:00.0)"
    _log(node, rng, f"{text}: 20034, Fatal, Link {link:02d} LTSSM Fault Up", f"{text}: 20034, Severity 1 Engine instance {link:02d} Sub-engine instance 00")


def nvlink_domain_split(node, rng, *, clique=2):
    """A tray in another NVLink clique than its rack"""
    for one in node.gpus:
        one.clique_id = clique


def foreign_nvlink_domain(node, rng):
    """A tray whose cluster UUID is that of another NVLink domain"""
    other = f"{rng.getrandbits(32):08x}-{rng.getrandbits(16):04x}-4{rng.getrandbits(12):03x}-a{rng.getrandbits(12):03x}-{rng.getrandbits(48):012x}"
    for one in node.gpus:
        one.cluster_uuid = other


def fabric_not_ready(node, rng):
    """GPUs that have not joined their NVLink fabric"""
    for one in node.gpus:
        one.fabric_state, one.fabric_status, one.cluster_uuid, one.clique_id = "In Progress", "N/A", None, None


def missing_nic(node, rng, *, nic=0):
    """A NIC that is not there"""
    del node.nics[nic]


def half_rate_port(node, rng, *, nic=0):
    """A port that came up at half its rate"""
    node.nics[nic].rate_gbps //= 2


def port_down(node, rng, *, nic=0):
    """A port without a link"""
    node.nics[nic].port_state, node.nics[nic].phys_state = "DOWN", "Polling" if node.nics[nic].link_layer == "InfiniBand" else "Disabled"


def nic_half_pcie_width(node, rng, *, nic=0, width=8):
    """A NIC trained at half its PCIe width"""
    node.nics[nic].pcie_width = width


def mlx5_link_flap(node, rng, *, nic=0, times=6):
    """A port whose link went down and came back again and again"""
    one = node.nics[nic]
    for _ in range(times):
        at = rng.uniform(1800, 36000)
        _log(node, rng, f"mlx5_core {one.pci} {one.netdev}: Link down", priority=6, ago_s=at)
        _log(node, rng, f"mlx5_core {one.pci} {one.netdev}: Link up", priority=6, ago_s=at - 4)
    node.kernel_log.sort(key=lambda record: record[0])


def mlx5_slot_power(node, rng, *, nic=0):
    """A NIC that says its slot gives too little power"""
    text = f"mlx5_core {node.nics[nic].pci}: mlx5_pcie_event:299:(pid 1178): Detected insufficient power on the PCIe slot (27W)."
    _log(node, rng, text, priority=4)


def acs_redirect_on(node, rng):
    """PCIe ACS redirect on: traffic between GPU and NIC goes by the CPU"""
    node.acs_redirect = True


# --- the host -----------------------------------------------------------------------------------------------------------------------


def unreachable(node, rng, *, reason="ssh: connect to host: Connection timed out"):
    """A node that does not answer at all"""
    node.unreachable = reason


def hung_tool(node, rng, *, tool="nvidia-smi"):
    """A tool that does not come back"""
    node.hung_tools.add(tool)


def rubbish_tool(node, rng, *, tool="nvidia-smi", prints="Segmentation fault (core dumped)"):
    """A tool that fails and prints something else"""
    node.broken_tools[tool] = prints


def clock_skew(node, rng, *, seconds=4.2):
    """A clock that is off and not disciplined"""
    node.clock_offset_s = float(seconds)


def full_disk(node, rng, *, free_bytes=150_000_000):
    """A file system that is full"""
    node.free_bytes = free_bytes


def nvme_worn(node, rng, *, drive=0, used=104):
    """An NVMe drive beyond its rated endurance"""
    one = node.nvmes[drive]
    one.percentage_used, one.available_spare_pct, one.critical_warning = used, 6, 0x01


def nvme_missing(node, rng, *, drive=0):
    """An NVMe drive that is not there"""
    del node.nvmes[drive]


def less_memory(node, rng, *, gib=64):
    """A memory module that did not train"""
    node.memory_gib -= gib


def oom(node, rng):
    """The kernel killed a process for want of memory"""
    _log(
        node,
        rng,
        "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        "Out of memory: Killed process 48213 (python3) total-vm:1981214848kB, anon-rss:1874382012kB, file-rss:0kB, shmem-rss:16384kB, UID:0 pgtables:3682432kB oom_score_adj:0",
    )


def aer_errors(node, rng, *, gpu=0):
    """An uncorrectable PCIe error of a GPU"""
    pci = node.gpus[gpu].pci
    _log(
        node,
        rng,
        f"pcieport {pci[:5]}00:01.0: AER: Uncorrectable (Fatal) error message received from {pci}",
        f"nvidia {pci}: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)",
    )


def mce(node, rng):
    """An uncorrectable memory error of the host"""
    _log(node, rng, "EDAC MC3: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#2_DIMM#0 (channel:2 slot:0 page:0xb757589 offset:0x140 grain:32)", "mce: [Hardware Error]: Machine check events logged")


def soft_lockup(node, rng, *, cpu=94):
    """A CPU that was stuck in the kernel"""
    _log(node, rng, f"watchdog: BUG: soft lockup - CPU#{cpu} stuck for 26s! [kworker/{cpu}:1:7142]", priority=0)


def benign_lines(node, rng):
    """Near miss: lines of healthy boots that look like errors"""
    texts = {
        "amd": [f"amdgpu {node.gpus[0].pci}: amdgpu: RAS: optional ras ta ucode is not available", f"amdgpu {node.gpus[0].pci}: amdgpu: SECUREDISPLAY: securedisplay ta ucode is not available"],
        "nvidia": ["nvidia-nvswitch2: open (major=510)", "nvidia-peermem: module loaded; no error found in XID table", "NVRM: loading NVIDIA UNIX Open Kernel Module"],
    }
    _log(node, rng, *texts[node.vendor], priority=6)
