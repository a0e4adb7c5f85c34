"""What the kernel of a simulated node says: its ring buffer since boot, small files of /proc, and the firmware's of /sys/class/dmi."""

from __future__ import annotations

from .model import SimNode
from .records import command, file, missing_file, tree

DMESG = ["dmesg", "--decode"]
JOURNAL = ["journalctl", "-k", "-b", "-o", "short-monotonic", "--no-pager"]
OUT_OF_TREE = ("nvidia", "mlx", "ib_", "rdma", "lustre", "lnet", "amdgpu")
LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")
MACHINES = {  # per form: vendor of the firmware, product
    "hgx": ("American Megatrends International, LLC.", "HGX 8-GPU Server"),
    "nvl72": ("NVIDIA", "GB NVL72 Compute Tray"),
    "oam": ("American Megatrends International, LLC.", "OAM 8-GPU Server"),
}
PSEUDO = """sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0
proc /proc proc rw,nosuid,nodev,noexec,relatime,gid=4,hidepid=invisible 0 0
udev /dev devtmpfs rw,nosuid,relatime,size=1056584448k,nr_inodes=264146112,mode=755 0 0
cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0
debugfs /sys/kernel/debug debugfs rw,nosuid,nodev,noexec,relatime 0 0
tracefs /sys/kernel/tracing tracefs rw,nosuid,nodev,noexec,relatime 0 0
"""
SYSCTL = {
    "panic": "10",
    "panic_on_oops": "1",
    "hung_task_panic": "0",
    "hung_task_timeout_secs": "120",
    "softlockup_panic": "0",
    "watchdog": "1",
    "soft_watchdog": "1",
    "watchdog_thresh": "10",
    "printk_devkmsg": "on",
    "dmesg_restrict": "1",
}


def render(node: SimNode) -> dict:
    """The records of the boot concern; GPU tools are the GPU renderer's."""
    firmware, hidden = _dmi(node), {}
    if node.uid:
        hidden = dict.fromkeys(("product_serial", "board_serial"), "permission")
        firmware = {name: value for name, value in firmware.items() if name not in hidden}
    mounts = PSEUDO + "".join(" ".join(mount) + " 0 0\n" for mount in node.mounts)
    return {
        "commands": _log(node),
        "files": [
            file("/proc/uptime", f"{node.uptime_s:.2f} {node.uptime_s * _cpus(node) * 0.97:.2f}\n"),
            file("/proc/sys/kernel/random/boot_id", node.boot_id + "\n"),
            file("/etc/machine-id", node.machine_id + "\n"),
            file("/proc/cmdline", node.kernel_cmdline + "\n"),
            file("/proc/mounts", mounts),
            file("/proc/modules", _modules(node)),
            file("/proc/sys/kernel/tainted", f"{_tainted(node)}\n"),
            _nvidia_module(node),
        ],
        "trees": [
            tree("/proc/sys/kernel", {name: value + "\n" for name, value in SYSCTL.items()}),
            tree("/sys/class/dmi/id", {name: value + "\n" for name, value in firmware.items()}, errors=hidden),
        ],
    }


def _log(node) -> list:
    if node.uid:
        denied = "dmesg: read kernel buffer failed: Operation not permitted\n"
        return [command(DMESG, rc=1, stderr=denied, duration_s=0.01), command(JOURNAL, "-- No entries --\n", duration_s=0.03)]
    return [command(DMESG, _dmesg(node), duration_s=0.02)]


def _nvidia_module(node) -> dict:
    path, version = "/sys/module/nvidia/version", node.vendor == "nvidia" and node.versions.get("nvidia_driver")
    return file(path, version + "\n") if version else missing_file(path)


def _cpus(node) -> int:
    return node.sockets * node.cores_per_socket * (1 if node.arch == "aarch64" else 2)


def _dmi(node) -> dict:
    vendor, product = MACHINES["oam" if node.vendor == "amd" else "nvl72" if "nvl72" in node.sku else "hgx"]
    serial = node.chassis_serial
    found = {"bios_vendor": vendor, "bios_version": node.versions.get("bios", ""), "bios_date": "06/18/2026", "product_name": product}
    return {**found, "product_serial": serial and f"{serial}-{node.slot:02d}", "board_serial": serial and f"B{serial}{node.slot:02d}"}


def _tainted(node) -> int:
    """Proprietary, out-of-tree and unsigned modules, as on every such node; and what the log says was worse."""
    texts = "\n".join(text for _, _, text in node.kernel_log)
    value = 1 << 0 | 1 << 12 | 1 << 13
    return value | ("Machine check events" in texts) << 4 | ("soft lockup" in texts) << 14


def _modules(node) -> str:
    lines = []
    for place, name in enumerate(reversed(node.modules)):
        taint = " (POE)" if name == "nvidia" else " (OE)" if name.startswith(OUT_OF_TREE) else ""
        lines.append(f"{name} {16384 * (1 + 7 * place % 60)} {place % 4} - Live 0x0000000000000000{taint}\n")
    return "".join(lines)


def _dmesg(node) -> str:
    records = sorted([*_boot(node), *node.kernel_log], key=lambda record: record[0])
    return "".join(f"kern  :{LEVELS[priority]:<6}: [{seconds:12.6f}] {text}\n" for seconds, priority, text in records)


def _boot(node):
    """Records of a healthy start, those with words that look like trouble among them."""
    kernel = node.versions.get("kernel", "6.8.0")
    yield 0.0, 5, f"Linux version {kernel} (buildd@builder) (gcc 13.3.0, GNU ld 2.42) #1 SMP PREEMPT_DYNAMIC"
    yield 0.0, 6, f"Command line: {node.kernel_cmdline}"
    yield 0.0, 6, "efi: EFI v2.9 by firmware"
    yield 0.0, 6, f"DMI: {_dmi(node)['product_name']}, BIOS {_dmi(node)['bios_version']} 06/18/2026"
    yield 0.41, 6, f"smp: Brought up {node.numa_nodes} nodes, {_cpus(node)} CPUs"
    yield 1.402117, 6, "EDAC MC: Ver: 3.0.0"
    yield 1.61, 6, "pcieport 0000:00:01.0: AER: enabled with IRQ 121"
    yield 2.71, 6, "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter."
    yield 4.2, 6, "systemd[1]: Detected architecture " + node.arch.replace("_", "-").replace("aarch64", "arm64") + "."
    at = 5.0
    for drive in node.nvmes:
        at += 0.011
        yield at, 6, f"nvme {drive.name}: Shutdown timeout set to 10 seconds"
        yield at + 0.4, 6, f"nvme {drive.name}: 64/0/0 default/read/poll queues"
    at = 8.0
    for nic in node.nics:
        at += 0.31
        yield at, 6, f"mlx5_core {nic.pci}: firmware version: {nic.firmware}"
        yield at + 0.1, 6, f"mlx5_core {nic.pci}: Port module event: module 0, Cable plugged"
        if nic.link_layer == "Ethernet" and nic.netdev:
            yield at + 9, 6, f"mlx5_core {nic.pci} {nic.netdev}: Link up"
    yield from _amdgpu(node) if node.vendor == "amd" else _nvidia(node)
    if any(mount[2] == "lustre" for mount in node.mounts):
        yield 46.2, 4, "Lustre: Mounted scratch-client"


def _nvidia(node):
    driver = node.versions.get("nvidia_driver")
    if not driver:
        return
    yield 14.1, 4, "nvidia: loading out-of-tree module taints kernel."
    yield 14.4, 6, f"nvidia-nvlink: Nvlink Core is being initialized, major device number {234 + node.slot % 8}"
    yield 14.9, 4, f"NVRM: loading NVIDIA UNIX Open Kernel Module for {node.arch}  {driver}  Release Build  (dvs-builder@build)"
    if node.sku in ("h100_hgx", "h200_hgx"):  # later NVSwitches are not driven by the host
        for switch in range(4):
            yield 15.2 + switch / 10, 6, f"nvidia-nvswitch{switch}: open (major=510)"
    yield 16.0, 6, f"nvidia-modeset: Loading NVIDIA UNIX Open Kernel Mode Setting Driver for {node.arch}  {driver}"
    yield 17.3, 6, "nvidia-uvm: Loaded the UVM driver, major device number 508."


def _amdgpu(node):
    at = 14.0
    for gpu in node.gpus:
        at += 0.9
        yield at, 6, f"amdgpu {gpu.pci}: amdgpu: RAS: optional ras ta ucode is not available"
        yield at + 0.1, 6, f"amdgpu {gpu.pci}: amdgpu: SECUREDISPLAY: securedisplay ta ucode is not available"
        yield at + 0.2, 6, f"amdgpu {gpu.pci}: amdgpu: SMU is initialized successfully!"
        yield at + 0.3, 6, f"amdgpu {gpu.pci}: amdgpu: no uncorrectable hardware errors detected in umc block"
