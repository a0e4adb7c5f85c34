"""What else than Xid and SXid the kernel says about broken hardware, lost storage and stuck work.

`parse(text)` takes one message, with no time stamp before it, and returns::

    {"kind": "soft_lockup", "code": None, "pci": None | "0000:01:00.0", "severity": None | str, "link": None, "pid": None | int,
     "name": None | str, "detail": {"cpu": 94, "stuck_s": 23}, "follow_up": bool}

`follow_up`: the message is a further line about an event that has a line of its own, and counts only where that one is lost.
RULES lists the kinds: a literal text by which a message is found, the message as the kernel words it, fields of it as <field>. A message
must begin as the kernel writes it, so that a tool's log that quotes one is none. Wordings: the Linux kernel's and the drivers' sources,
for AMD GPUs drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..values import pci_address
from . import ParseError

FIELDS = {
    "pci": r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]",
    "name": r"[^\]\n]{1,40}?",
    "device": r"[\w!-]{1,40}",
    "netdev": r"\S{1,20}",
    "server": r"\S{1,100}",
    "library": r"[^\s\[]{1,60}",
    "layer": r"[^,]{1,40}",
    "status": r"[0-9a-fx:]{1,40}",
    "where": r"\S{1,80}(?: \[\w{1,40}\])?",
    "section": r"[^\n]{1,60}",
    "unit": r"\w{1,40}",
    "mci_status": r"[0-9a-f]{16}",
}
NUMBERS = {"pid", "cpu", "stuck_s", "blocked_s", "errors", "limit", "power_w", "module"}
MACROS = {
    "@AMD": r"(?:\[drm[^\]]*\] )?amdgpu <pci>: (?:amdgpu: )?\s*(?:\{\d+\})?\s*",
    "@MLX5": r"(?:mlx5_core(?: <pci>)?[^:]{0,40}: )?(?:mlx5_\w+:(?:\d{1,5}:\(pid \d{1,9}\):)? )?",
    "@DOG": r"(?:NMI )?(?:watchdog: )?",
    "@BLK": r"(?:blk_update_request: |print_req_error: |Buffer )?",
    "@GHES": r"\{\d+\}\[Hardware Error\]:\s*",
}


class Rule(NamedTuple):
    kind: str
    needle: str  # a message of this kind has this text in it
    pattern: re.Pattern
    follow_up: bool


def worded(text: str) -> re.Pattern:
    """A pattern from a wording: <field> becomes a named group."""
    for macro, meaning in MACROS.items():
        text = text.replace(macro, meaning)
    return re.compile(re.sub(r"(?<!P)<(\w+)>", lambda m: "(?P<%s>%s)" % (m[1], FIELDS.get(m[1], r"\d{1,9}")), text), re.S)


def rule(kind: str, needle: str, wording: str, follow_up: bool = False) -> Rule:
    return Rule(kind, needle, worded(wording), follow_up)


RULES = [
    # NVIDIA GPU and peer memory
    rule("fallen_off_bus", "fallen off the bus", r"NVRM: (?:.*?GPU <pci>)?.*?fallen off the bus"),
    rule("rm_init_failed", "RmInitAdapter failed", r"NVRM: GPU <pci>: RmInitAdapter failed!?(?: \(<status>)?"),
    rule("rm_init_failed", "rm_init_adapter failed", r"NVRM: GPU <pci>: rm_init_adapter failed", True),
    rule("probe_failed", "probe routine failed", r"NVRM: The NVIDIA probe routine failed for <errors> device"),
    rule("api_mismatch", "API mismatch", r"NVRM: API mismatch"),
    rule("peermem", "nvidia-peermem", r"nvidia-peermem nv_\w+:\d{1,5} ERROR"),
    # PCIe
    rule("aer", "PCIe Bus Error: ", r"\S+ <pci>: (?:AER: )?PCIe Bus Error: severity=(?P<severity>[^,]{1,60}), type=<layer>"),
    rule(
        "aer",
        ": AER: ",
        r"\S+ [0-9a-f:.]+: AER: (?:Multiple )?(?P<severity>(?:Unc|C)orrect(?:ed|able)(?: \((?:Non-)?Fatal\))?) error "
        r"(?:message )?received(?:: | from )<pci>",
        True,
    ),
    rule("pcie_dpc", "containment event", r"\S+ <pci>: DPC: containment event"),
    rule("pcie_link_down", "pciehp: ", r"\S+ <pci>: pciehp: Slot\([^)]{1,20}\): Link Down"),
    # CPU and memory
    rule("apei", "Hardware error from APEI", r"\{\d+\}\[Hardware Error\]: Hardware error from APEI"),
    # Without a status or a word it is not said whether the error was corrected.
    rule("mce", "Machine Check", r"mce: \[Hardware Error\]: CPU <cpu>: Machine Check(?: Exception)?: [0-9a-f]+ Bank \d+: <mci_status>"),
    rule("mce", "[Hardware Error]: ", r"\[Hardware Error\]: (?P<severity>Corrected|Uncorrected|Deferred)(?: error|,)"),
    rule("mce", "achine check events logged", r"mce: \[Hardware Error\]: Machine check events logged", True),
    rule("edac", "EDAC ", r"EDAC <device>: <errors> (?P<severity>[UC]E) (?P<what>[^(]{0,100}?) ?(?:\(|$)"),
    rule("cpu_thermal", "temperature above threshold", r"(?:mce: )?CPU<cpu>: (?:Core|Package) temperature above threshold"),
    # AMD GPU. Only counts with a number before them are errors: "no uncorrectable hardware errors detected" is the all-clear.
    rule(
        "amdgpu_ras",
        "hardware errors detected",
        r"@AMD(?:.*?[ :])?(?P<errors>[1-9]\d{0,8}) (?:new )?(?P<severity>(?:un)?correctable|deferred) hardware errors detected"
        r".* in <unit> block",
    ),
    rule("amdgpu_ras", "oison is c", r"@AMD[Pp]oison is (?P<what>created|consumed)"),
    rule("amdgpu_ras", "reaches threshold", r"@AMDSaved (?P<what>bad pages) <errors> reaches threshold"),
    rule("amdgpu_reset", "GPU reset", r"@AMDGPU reset(?P<what> begin|\(\d+\) failed)"),
    rule("amdgpu_reset", "Mode2 reset failed", r"@AMD(?P<what>Mode2 reset failed)"),
    rule("amdgpu_init", "Fatal error during GPU init", r"@AMDFatal error during GPU init"),
    rule("amdgpu_init", "of IP block", r".*\[amdgpu\]\] \*ERROR\* (?P<what>[hs]w_init of IP block)"),
    rule("amdgpu_page_fault", "page fault (", r"@AMD\[(?P<what>(?:mm|gfx)hub\d{0,3})\]\s*(?:no-)?retry page fault"),
    rule("amdgpu_throttle", "GPU is throttled", r"@AMDWARN: GPU is throttled"),
    rule("amd_hw_error", "Accelerator Check Architecture", r"@AMD\[Hardware [Ee]rror\]:? Accelerator Check Architecture"),
    # Memory and stuck work
    rule("oom", "Out of memory: Kill", r"(?P<what>Out of memory): Kill(?:ed)? process <pid>(?:,.{0,30}?)? \(<name>\)"),
    rule("oom", "cgroup out of memory", r"(?P<what>Memory cgroup out of memory): Kill(?:ed)? process <pid> \(<name>\)"),
    rule("oom", "oom-kill:", r"oom-kill:constraint=(?P<what>\w{1,40})", True),
    rule("oom", "invoked oom-killer", r"<name> invoked oom-killer", True),
    rule("oom", "oom_reaper: reaped", r"oom_reaper: reaped process <pid> \(<name>\)", True),
    rule("soft_lockup", "soft lockup - CPU#", r"@DOGBUG: soft lockup - CPU#<cpu> stuck for <stuck_s>s!(?: \[<name>:<pid>\])?"),
    rule("hard_lockup", "hard LOCKUP on cpu", r"@DOGWatchdog detected hard LOCKUP on cpu <cpu>"),
    rule("hung_task", " blocked for more than ", r"INFO: task <name>:<pid> blocked for more than <blocked_s> seconds"),
    rule("rcu_stall", "detected", r"(?:rcu: )?INFO: (?P<what>rcu\w*) (?:self-detected stall|detected (?:expedited )?stalls)"),
    rule("kernel_bug", "unable to handle", r"BUG: (?P<what>unable to handle)"),
    rule("kernel_bug", "kernel BUG at", r"(?P<what>kernel BUG at)"),
    rule("kernel_bug", "general protection fault", r"(?P<what>general protection fault), "),
    rule("segfault", ": segfault at ", r"<name>\[<pid>\]: segfault at .*? in <library>"),
    rule("file_max", "file-max limit", r"VFS: file-max limit <limit> reached"),
    # Storage
    rule("lustre", "Lustre", r"Lustre(?:Error)?: .*?(?P<what>timed out|was lost|was evicted)"),
    rule("lustre", "LustreError: ", r"LustreError: (?!.*Connection restored)"),
    rule("lustre", "LNetError: ", r"LNetError: "),
    rule("nfs_timeout", "nfs: server ", r"nfs: server <server> (?:not responding, )?(?:still trying|timed out)"),
    rule(
        "nvme_reset",
        "nvme nvme",
        r"nvme <device>: (?:I/O .*timeout, |controller is down; |Device not ready; |Removing after probe failure|resetting controller)",
    ),
    rule("io_error", "I/O error, dev ", r"@BLK(?:critical )?I/O error, dev <device>, "),
    rule("io_error", "medium error, dev ", r"@BLKcritical (?P<what>medium) error, dev <device>, "),
    rule("fs_error", "XFS (", r"XFS \(<device>\): (?:.*I/O [Ee]rror|.*[Cc]orruption)"),
    rule("fs_error", "EXT4-fs error", r"EXT4-fs error \(device <device>\)"),
    # NVIDIA network adapters
    rule(
        "mlx5_power",
        "insufficient power on the PCIe slot",
        r"mlx5_core(?: <pci>)?: (?:mlx5_\w+:.{0,40}?)?Detected insufficient power on the PCIe slot(?: \(<power_w>W\))?",
    ),
    rule("mlx5_temperature", "High Temperature", r"@MLX5Port module event.*?(?:module <module>.*)?High Temperature"),
    rule("mlx5_temperature", "igh temperature", r"mlx5_core <pci>:.*?[Hh]igh temperature"),
    rule("mlx5_module", "Port module event[error]", r"@MLX5Port module event\[error\](?:.*?module <module>)?"),
    rule("mlx5_access_reg", "ACCESS_REG", r"(?:mlx5_core <pci>: )?.{0,40}?mlx5_cmd_out_err.{0,40}? ACCESS_REG.* ?failed"),
    rule(
        "mlx5_health",
        "mlx5_core ",
        r"mlx5_core <pci>:.*?(?P<what>health compromised|enter(?:s|ing) error state|[Ff]atal error|firmware internal error|bad device)",
    ),
    rule("mlx5_tx_timeout", "TX timeout detected", r"mlx5_core <pci> <netdev>: TX timeout detected"),
    rule("mlx5_link", "Link down", r"mlx5_core <pci> <netdev>: Link down"),
]
# Lines below a message that say more about it.
BELOW = {
    "apei": {
        "severity": worded(r"@GHESevent severity: (?P<severity>\w{1,30})"),
        "section": worded(r"@GHESsection_type: <section>"),
        "pci": worded(r"@GHESdevice_id: <pci>"),
    },
    "soft_lockup": {"where": worded(r"(?:RIP: \S+?:|pc : )<where>")},
    "hard_lockup": {"where": worded(r"(?:RIP: \S+?:|pc : )<where>")},
}
STARTS = ("Hardware error from APEI", "soft lockup - CPU#", "hard LOCKUP on cpu")


def parse(text: str) -> dict:
    message = text.strip()
    for one in RULES:
        event = match(one, message) if one.needle in message else None
        if event:
            return event
    raise ParseError(f"no kernel event: {message[:80]!r}" if message else "empty text where a kernel message was expected")


def match(one: Rule, message: str):
    """The event of one rule that a message tells, or None."""
    found = one.pattern.match(message)
    if not found:
        return None
    fields = {name: int(value) if name in NUMBERS else value.strip() for name, value in found.groupdict().items() if value}
    event = {"kind": one.kind, "code": None, "pci": None, "severity": None, "link": None, "pid": None, "name": None}
    event.update({name: fields.pop(name) for name in list(fields) if name in event})
    if event["pci"]:
        event["pci"] = pci_address(event["pci"])
    return {**event, "detail": fields, "follow_up": one.follow_up}


def add_below(event: dict, messages) -> None:
    """Fill in what the lines below an event say; each field keeps its first value. A block ends where the next one begins."""
    wanted = dict(BELOW.get(event["kind"], ()))
    for message in messages:
        if not wanted or any(start in message for start in STARTS):
            return
        for field, pattern in list(wanted.items()):
            found = pattern.match(message)
            if found:
                (event if field in event else event["detail"])[field] = found[field].strip()
                del wanted[field]
