"""How a node was started and what its kernel has said since: boot id, command line, mounts, modules, ring buffer; and a snapshot.

The snapshot is what later phases compare with: the same machine, the same parts, the same settings. It reads, and changes nothing.
"""

from __future__ import annotations

import hashlib
import re

from ..envelope import utc
from ..parsers import amd_smi, kernel_log, nvidia_smi, proc_kernel, proc_modules, proc_mounts

# Not --raw, which loses the facility: it tells the kernel's own records from those that a program wrote.
DMESG = ["dmesg", "--decode"]
JOURNAL = ["journalctl", "-k", "-b", "-o", "short-monotonic", "--no-pager"]
SMI = ["nvidia-smi", "-q", "-x"]  # word for word what the inventory asks: one run serves both
AMD = ["amd-smi", "static", "--json"]
GPU_KEYS = ("index", "pci", "uuid", "serial", "vbios", "power_limit_w", "power_default_w")
UNPROGRAMMED = ("", "none", "not specified", "to be filled by o.e.m.", "default string", "system serial number", "0123456789")
DMI = ("bios_vendor", "bios_version", "bios_date", "product_name", "product_serial", "board_serial")
SYSCTL = (
    "panic",
    "panic_on_oops",
    "hung_task_panic",
    "hung_task_timeout_secs",
    "softlockup_panic",
    "watchdog",
    "soft_watchdog",
    "watchdog_thresh",
    "printk_devkmsg",
    "dmesg_restrict",
)
# File systems that hold no data, or belong to single containers and sessions.
NO_DATA = set(
    "autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs fusectl mqueue nsfs overlay proc pstore ramfs "
    "rpc_pipefs securityfs selinuxfs squashfs sysfs tmpfs tracefs nfsd fuse.lxcfs fuse.snapfuse".split()
)
OF_CONTAINERS = re.compile(r"/(?:run|proc|snap|var/lib/(?:kubelet|containerd|docker|containers|enroot))/")


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/boot.json is its shape."""
    uptime = gather.file("/proc/uptime", proc_kernel.parse_uptime)
    boot_id = gather.file("/proc/sys/kernel/random/boot_id", proc_kernel.parse_boot_id)
    modules = gather.file("/proc/modules", proc_modules.parse, optional=True)
    mounts = gather.file("/proc/mounts", proc_mounts.parse)
    tainted = gather.file("/proc/sys/kernel/tainted", proc_kernel.parse_tainted)
    nvidia = gather.file("/sys/module/nvidia/version", optional=True)
    found = {
        "boot_id": boot_id and boot_id["boot_id"],
        "machine_id_sha256": _machine_id(gather),
        "uptime_s": uptime and uptime["uptime_s"],
        "booted_at": uptime and utc(gather.node.now() - uptime["uptime_s"]),
        "cmdline": gather.file("/proc/cmdline", proc_kernel.parse_cmdline),
        "mounts": mounts and [mount for mount in mounts["mounts"] if _holds_data(mount)],
        "modules": modules and [module["name"] for module in modules["modules"]],
        "modules_unsettled": modules and [module["name"] for module in modules["modules"] if module["state"] != "Live"],
        "sysctl": _sysctl(gather),
        "taint": tainted,
        "dmi": _dmi(gather),
        "nvidia_module": nvidia.strip() or None if nvidia else None,
        **_kernel_log(gather),
    }
    if gather.missing("/proc/modules"):  # a kernel without loadable modules
        found.update(modules=[], modules_unsettled=[])
    return {**found, "snapshot": _snapshot(gather, found)}


def _machine_id(gather):
    """Kept as a digest: it proves the same machine, and is nobody else's business."""
    text = gather.file("/etc/machine-id", optional=True)
    return hashlib.sha256(text.strip().encode()).hexdigest() if text and text.strip() else None


def _holds_data(mount) -> bool:
    return mount["type"] not in NO_DATA and not OF_CONTAINERS.match(mount["mount_point"])


def _sysctl(gather):
    tree = gather.tree("/proc/sys/kernel", SYSCTL)
    if tree is None:
        return None
    values = {name: tree.files.get(name, "").strip() or None for name in SYSCTL}
    return {name: int(value) if re.fullmatch(r"-?[0-9]{1,9}", value or "") else value for name, value in values.items()}


def _dmi(gather):
    """What the firmware says of the machine; serials may be root's alone to read."""
    root = "/sys/class/dmi/id"
    tree = gather.tree(root, DMI, optional=True)
    if tree is None:
        return None
    for name, reason in sorted(tree.errors.items()):
        gather.error(f"{root}/{name}", reason, f"{root}/{name}: {reason}")
    return {name: _programmed(tree.files.get(name)) for name in DMI}


def _programmed(text):
    """A DMI string; "none" where the vendor left the field as the firmware came, None where it could not be read."""
    if text is None:
        return None
    return "none" if text.strip().lower() in UNPROGRAMMED else text.strip()


def _kernel_log(gather) -> dict:
    """The ring buffer; where it cannot be read, or its beginning is overwritten, the journal of this boot."""
    log, source = _log_of(gather, DMESG), "dmesg"
    if log is None or log["covers_boot"] is not True:
        journal = _log_of(gather, JOURNAL)
        if journal and (log is None or journal["covers_boot"]):
            log, source = journal, "journalctl"
    if log:
        return {"kernel_log": {"source": source, **log}, "kernel_log_reason": ""}
    said = [error["message"] for error in gather.errors if error["source"] in (" ".join(DMESG), " ".join(JOURNAL))]
    return {"kernel_log": None, "kernel_log_reason": "; ".join(said) or "neither dmesg nor journalctl is installed"}


def _log_of(gather, argv):
    before = len(gather.errors)
    log = gather.command(argv, kernel_log.parse, timeout_s=60, optional=True)
    for error in gather.errors[before:]:
        if re.search("not permitted|permission denied", error["message"], re.I):
            error["reason"] = "permission"
    return log


def _snapshot(gather, found) -> dict:
    dmi, cmdline = found["dmi"] or {}, found["cmdline"]
    return {
        "boot_id": found["boot_id"],
        "machine_id_sha256": found["machine_id_sha256"],
        "product_serial": dmi.get("product_serial"),
        "board_serial": dmi.get("board_serial"),
        "bios_version": dmi.get("bios_version"),
        "cmdline": cmdline and cmdline["text"],
        "gpus": _gpus(gather),
    }


def _gpus(gather):
    """Serials, power limits and clocks; None where no vendor's tool told any."""
    report = gather.command(SMI, nvidia_smi.parse, timeout_s=60, ok=None, streams="both", optional=True)
    if report is None and gather.missing(" ".join(SMI)):
        report = gather.command(AMD, amd_smi.parse, timeout_s=60, optional=True)
    if report is None or report["gpus"] is None:
        return None
    return [
        {**{key: gpu.get(key) for key in GPU_KEYS}, "max_clock_mhz": gpu.get("clocks_mhz", {}).get("max_graphics")}
        for gpu in report["gpus"]
    ]
