"""Named faults that are lines of the kernel's ring buffer. `{gpu}` and `{nic}` stand for PCI addresses of the node."""

from __future__ import annotations

from .faults_common import log, xid

LINES = {
    "gpu_init_failed": "NVRM: GPU {gpu}: RmInitAdapter failed! (0x62:0x55:2477)",
    "peermem": "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
    "pcie_corrected": "nvidia {gpu}: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
    "memory_corrected": "EDAC MC1: 1 CE memory read error on CPU_SrcID#0_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x3a1f)",
    "machine_check_logged": "mce: [Hardware Error]: Machine check events logged",
    "cpu_hot": "mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 841)",
    "oom_cgroup": "Memory cgroup out of memory: Killed process 48213 (python3) total-vm:81214848kB, anon-rss:74382012kB, file-rss:0kB",
    "hung_task": "INFO: task python3:48213 blocked for more than 120 seconds.",
    "rcu_stall": "rcu: INFO: rcu_preempt self-detected stall on CPU",
    "kernel_bug": "BUG: unable to handle page fault for address: ffffb2f8c0a1d000",
    "gpu_library_crash": "python3[48213]: segfault at 7f2c00000010 ip 00007f2d1c2b1f3a error 4 in libnccl.so.2[7f2d1c200000+1a00000]",
    "file_limit": "VFS: file-max limit 1048576 reached",
    "lustre_lost": "Lustre: scratch-OST0003-osc-ffff9a10: Connection to scratch-OST0003 (at 10.20.0.12@o2ib) was lost",
    "nfs_timeout": "nfs: server 10.30.0.20 not responding, still trying",
    "nvme_reset": "nvme nvme1: I/O 512 QID 4 timeout, aborting",
    "io_error": "I/O error, dev nvme1n1, sector 2048 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
    "nic_health": "mlx5_core {nic}: poll_health:825:(pid 0): device's health compromised - reached miss count",
    "nic_hot": "mlx5_core {nic}: Port module event[error]: module 0, Cable error, High Temperature",
    "nic_command_error": "mlx5_core {nic}: mlx5_cmd_out_err:834:(pid 1178): ACCESS_REG(0x805) op_mod(0x1) failed, status bad resource(0x5)",
    "amd_ras_uncorrected": "amdgpu {gpu}: amdgpu: 2 uncorrectable hardware errors detected in umc block",
    "amd_ras_corrected": "amdgpu {gpu}: amdgpu: 5 correctable hardware errors detected in total in umc block",
    "amd_page_fault": "amdgpu {gpu}: amdgpu: [mmhub0] no-retry page fault (src_id:0 ring:0 vmid:1 pasid:32770)",
    "amd_throttled": "amdgpu {gpu}: amdgpu: WARN: GPU is throttled, expect performance decrease. thermal",
}


def kernel_line(node, rng, *, kind="hung_task", gpu=0, nic=0, priority=3):
    """One line of the kernel, by its kind (below)"""
    if kind not in LINES:
        raise ValueError(f"kernel_line: kind {kind!r} is none of {', '.join(LINES)}")
    log(node, rng, LINES[kind].format(gpu=node.gpus[gpu].pci, nic=node.nics[nic].pci), priority=priority)


def xid_any(node, rng, *, gpu=0, code=122, text="SPI PMU RPC Read Failure"):
    """Any XID with any text, as the driver writes it"""
    log(node, rng, xid(node.gpus[gpu], code, f"pid='<unknown>', name=<unknown>, {text}"))


def nvlink5_nonfatal(node, rng, *, gpu=0, link=3):
    """Near miss: XID 145 of a link that says nonfatal"""
    flags = "0x00000004 0x00000001 0x00000000 0x00000000 0x00000000 0x00000000"
    log(node, rng, xid(node.gpus[gpu], 145, f"RLW_REMAP       Nonfatal XC0 i0 Link {link:02d} ({flags})"), priority=4)


def sxid_any(node, rng, *, switch=0, code=20009, severity="Non-fatal", text="Link 04 RX Short Error Rate"):
    """Any SXID (HGX before NVLink 5)"""
    log(node, rng, f"nvidia-nvswitch{switch}: SXid (PCI:0000:{5 + switch:02x}:00.0): {code}, {severity}, {text}")


def injected_xid(node, rng, *, gpu=0):
    """Near miss: an XID that a program wrote to /dev/kmsg, not the kernel: a drill"""
    before = "[    0.000000] efi: EFI v2.9 by firmware\n"
    line = "user  :crit  : [    0.000000] " + xid(node.gpus[gpu], 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
    node.edits.append(("dmesg --decode", before, before + line + "\n"))


def log_overwritten(node, rng, *, dropped=4711):
    """A ring buffer that lost records: what they said was not seen"""
    log(node, rng, f"** {dropped} printk messages dropped **", priority=4)
