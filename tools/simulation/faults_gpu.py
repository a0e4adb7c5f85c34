"""Named faults of GPUs. Each public function puts one into a node; `tools/simulate --faults` prints its docstring.

`rng` is seeded by spec, node and place in the spec: the same spec makes the same faults. Near misses, which must stay green, are here too.
"""

from __future__ import annotations

from .faults_common import log, xid


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
    log(
        node,
        rng,
        xid(one, 63, f"pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate. ({rows})"),
    )


def failed_row_remap(node, rng, *, gpu=0):
    """A row that could not be remapped"""
    node.gpus[gpu].remap_failed = True
    node.gpus[gpu].remapped_uncorrectable += 1
    log(node, rng, xid(node.gpus[gpu], 64, "pid='<unknown>', name=<unknown>, Row Remapper: Failed to remap a row"))


def retired_rows(node, rng, *, gpu=0, rows=3):
    """Rows remapped for uncorrectable errors, active, nothing pending"""
    node.gpus[gpu].remapped_uncorrectable += rows
    node.gpus[gpu].ecc_aggregate_uncorrectable += rows


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
    log(
        node,
        rng,
        xid(one, 48, f"pid='<unknown>', name=<unknown>, DBE (double bit error) ECC Error: An uncorrectable error was detected, {place}"),
    )


def ecc_off(node, rng, *, gpu=0):
    """ECC switched off on one GPU"""
    node.gpus[gpu].ecc = False


def gpu_fallen_off_bus(node, rng, *, gpu=0):
    """A GPU fallen off the bus: XID 79 in the log, no longer listed"""
    one = node.gpus[gpu]
    log(
        node,
        rng,
        xid(one, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
        f"NVRM: GPU {one.pci}: GPU has fallen off the bus.",
        f"NVRM: GPU {one.pci}: GPU serial number is {one.serial}.",
        xid(one, 154, "pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
    )
    one.present, one.recovery_action = False, "Reboot"


def gpu_missing_from_smi(node, rng, *, gpu=0):
    """A GPU that no tool lists, without a word in the log"""
    node.gpus[gpu].present = False


def copied_identity(node, rng, *, gpu=0, uuid="GPU-5d2c1a90-77f3-4b1e-8c0d-3a9e6f41b207", boot_id="3a1f0c55-6d0e-4e7b-9b59-5d0f2c8e7a11"):
    """Nodes that answer with one machine's identity: the same GPU and the same boot id on each node it is put on"""
    node.gpus[gpu].uuid, node.boot_id = uuid, boot_id


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
    log(node, rng, xid(node.gpus[gpu], 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."))
    node.gpus[gpu].recovery_action = "Reboot"


def xid_94(node, rng, *, gpu=0):
    """XID 94: a contained memory error; the job that met it is lost, the GPU wants a reset when idle"""
    log(node, rng, xid(node.gpus[gpu], 94, "pid=20817, name=python3, Contained: SM (0x1). RST: No, D-RST: No"))


def xid_95(node, rng, *, gpu=0):
    """XID 95: an uncontained memory error"""
    log(node, rng, xid(node.gpus[gpu], 95, "pid='<unknown>', name=<unknown>, Uncontained: LTC TAG (0x5,0x0). RST: Yes, D-RST: No"))
    node.gpus[gpu].recovery_action = "Reset"


def xid_119(node, rng, *, gpu=0):
    """XID 119: the GPU's system processor does not answer"""
    log(
        node,
        rng,
        xid(
            node.gpus[gpu],
            119,
            "pid=31337, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU GSP! Expected function 76 (GSP_RM_CONTROL)",
        ),
    )
    node.gpus[gpu].recovery_action = "Reset"


def xid_45_storm(node, rng, *, gpu=0, count=64):
    """A storm of XID 45, which only says that an application was stopped"""
    one = node.gpus[gpu]
    log(node, rng, *[xid(one, 45, f"pid=48213, name=python3, Ch {channel:08x}") for channel in range(count)], priority=4)


def xid_13_user(node, rng, *, gpu=0):
    """Near miss: XID 13 and 31, an application's own fault"""
    one = node.gpus[gpu]
    log(
        node,
        rng,
        xid(one, 13, "pid=5120, name=python3, Graphics SM Warp Exception on (GPC 3, TPC 2, SM 0): Out Of Range Address"),
        xid(
            one,
            31,
            "pid=5120, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 faulted @ 0x7f3a_0e000000."
            " Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
        ),
        priority=4,
    )


def sw_thermal(node, rng, *, gpu=0, celsius=84):
    """A GPU slowed down by the driver for its heat"""
    one = node.gpus[gpu]
    one.event_reasons = {"sw_thermal_slowdown"}
    one.temperature_c, one.clock_mhz = celsius, 1290


def other_gpu(node, rng, *, gpu=0, name="NVIDIA H100 PCIe", memory_mib=81559):
    """A GPU of another kind, with another memory"""
    node.gpus[gpu].name, node.gpus[gpu].memory_mib = name, memory_mib
