"""What a node says of itself while it is loaded: GPUs, ports, link state, the kernel's ring buffer. No thresholds, nothing but reading.

Sent to a node as a file and run there beside the load, with nothing of this package but its own folder.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import subprocess

# columns of one row per GPU, and what nvidia-smi calls them; drivers before 535 know the reasons by their old name only
GPU_COLUMNS = {
    "temperature_c": "temperature.gpu",
    "memory_temperature_c": "temperature.memory",
    "power_w": "power.draw",
    "power_limit_w": "enforced.power.limit",
    "clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "reasons": "clocks_event_reasons.active",
    "utilization_pct": "utilization.gpu",
    "ecc_corrected": "ecc.errors.corrected.volatile.total",
    "ecc_uncorrected": "ecc.errors.uncorrected.volatile.total",
    "pcie_gen": "pcie.link.gen.current",
    "pcie_width": "pcie.link.width.current",
}
OLD_REASONS = "clocks_throttle_reasons.active"
AMD = {"temperature_c": ("temp2_input", 1e-3), "memory_temperature_c": ("temp3_input", 1e-3), "power_w": ("power1_average", 1e-6),
       "power_limit_w": ("power1_cap", 1e-6), "clock_mhz": ("freq1_input", 1e-6), "memory_clock_mhz": ("freq2_input", 1e-6)}  # fmt: skip
PORT_COUNTERS = (
    "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_rcv_remote_physical_errors", "port_xmit_discards",
    "local_link_integrity_errors", "excessive_buffer_overrun_errors",
)  # fmt: skip
NET_COUNTERS = ("rx_errors", "tx_errors", "rx_crc_errors", "rx_missed_errors")
GPU_LINE, LINK_ERRORS = re.compile(r"GPU (\d{1,4}):"), re.compile(r"Link \d{1,3}: [^:]*Errors?: (\d{1,18})\s*$")
LOG_MAX = 200  # records kept of one tick: a storm must not fill the disk


def tool(argv, timeout_s):
    """(what it printed, reason). A tool that hangs is a reason, not a hang of ours."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return "", "timeout"
    except OSError as error:
        return "", "missing" if isinstance(error, FileNotFoundError) else str(error.strerror)
    text = done.stdout.decode("utf-8", "replace")
    return text, "" if done.returncode == 0 else f"exit status {done.returncode}: {text.strip()[:120]}"


def number(text):
    """A number as nvidia-smi prints it without units, a mask of bits, or None."""
    text = text.strip()
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text):
        return int(text, 16)
    return float(text) if re.fullmatch(r"-?\d{1,15}(\.\d{1,6})?", text) else None


class Nvidia:
    """nvidia-smi's table. `devices` are the PCI addresses in its order."""

    name = "nvidia-smi"

    def __init__(self):
        self.reason, self.devices, self.names = "", [], []
        text, self.reason = tool([self.name, "--query-gpu=pci.bus_id,name", "--format=csv,noheader"], 30)
        if not self.reason:
            rows = [line.split(",", 1) for line in text.splitlines() if re.match(r"[0-9A-Fa-f]{4,8}:", line)]
            self.devices = [row[0].strip().lower()[-12:] for row in rows]
            self.names = [row[1].strip() for row in rows]
        self.columns = list(GPU_COLUMNS.values())

    def read(self):
        """A list of rows, or None."""
        argv = [self.name, "--query-gpu=pci.bus_id," + ",".join(self.columns), "--format=csv,noheader,nounits"]
        text, self.reason = tool(argv, 10)
        if self.reason and "clocks_event_reasons.active" in text and OLD_REASONS not in self.columns:
            self.columns[self.columns.index("clocks_event_reasons.active")] = OLD_REASONS
            return self.read()
        if self.reason:
            return None
        found = {}
        for line in text.splitlines():
            cells = line.split(",")
            if len(cells) == len(self.columns) + 1:
                found[cells[0].strip().lower()[-12:]] = [number(cell) for cell in cells[1:]]
        return [found.get(pci) for pci in self.devices]

    def links(self):
        """NVLink errors of each GPU, all links and kinds together; None where they are not told."""
        text, reason = tool([self.name, "nvlink", "-e"], 30)
        return None if reason else nvlink_errors(text, len(self.devices))


def nvlink_errors(text, count):
    """The sums of `nvidia-smi nvlink -e`; None of a GPU without any such line."""
    sums, gpu = [None] * count, None
    for line in text.splitlines():
        head, found = GPU_LINE.match(line.strip()), LINK_ERRORS.search(line)
        if head:
            gpu = int(head.group(1))
        elif found and gpu is not None and gpu < count:
            sums[gpu] = (sums[gpu] or 0) + int(found.group(1))
    return sums


class Amd:
    """The amdgpu driver's files: temperatures of junction and memory, power, clocks, RAS counts of the memory."""

    name = "sysfs"

    def __init__(self, root="/sys/class/drm"):
        found = sorted(glob.glob(os.path.join(root, "card[0-9]*/device/hwmon/hwmon*")))
        found = [path for path in found if text_of(os.path.join(path, "name")) == "amdgpu"]
        self.folders = sorted(found, key=lambda path: os.path.basename(os.path.realpath(path.split("/hwmon/")[0])))
        self.devices = [os.path.basename(os.path.realpath(path.split("/hwmon/")[0])) for path in self.folders]
        self.names, self.reason = ["amdgpu"] * len(self.devices), "" if self.devices else "missing"

    def read(self):
        return [self._row(folder) for folder in self.folders]

    def _row(self, folder):
        row = dict.fromkeys(GPU_COLUMNS)
        for key, (name, factor) in AMD.items():
            value = number(text_of(os.path.join(folder, name)))
            row[key] = None if value is None else round(value * factor, 1)
        ras = dict(line.split(":", 1) for line in text_of(os.path.join(folder, "../../ras/umc_err_count")).splitlines() if ":" in line)
        row["ecc_corrected"], row["ecc_uncorrected"] = number(ras.get("ce", "")), number(ras.get("ue", ""))
        return list(row.values())

    def links(self):
        return None


class Processors:
    """Cores in the place of GPUs: their clocks, where the kernel tells them."""

    name, reason = "sysfs", ""

    def __init__(self, cpus):
        self.cpus, self.devices, self.names = cpus, [f"cpu{cpu}" for cpu in cpus], ["processor core"] * len(cpus)

    def read(self):
        return [self._row(cpu) for cpu in self.cpus]

    def _row(self, cpu):
        row = dict.fromkeys(GPU_COLUMNS)
        khz = number(text_of(f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"))
        row["clock_mhz"] = khz and round(khz / 1000, 1)
        return list(row.values())

    def links(self):
        return None


def text_of(path):
    """A small file's text, or ""."""
    try:
        with open(path, "rb") as handle:
            return handle.read(65536).decode("utf-8", "replace").strip()
    except OSError:
        return ""


class Ports:
    """Link state and error counters of RDMA ports and of network cards; `changes` tells what is otherwise than the last time."""

    def __init__(self, root="/sys/class"):
        self.paths = {}
        for port in sorted(glob.glob(os.path.join(root, "infiniband/*/ports/*"))):
            name = port.split("/infiniband/")[1].replace("/ports/", "/")
            self.paths[name] = ([os.path.join(port, "counters", one) for one in PORT_COUNTERS], os.path.join(port, "state"))
        for card in sorted(glob.glob(os.path.join(root, "net/*/device"))):
            folder = os.path.dirname(card)
            counters = [os.path.join(folder, "statistics", one) for one in NET_COUNTERS] + [os.path.join(folder, "carrier_changes")]
            self.paths[os.path.basename(folder)] = (counters, os.path.join(folder, "operstate"))
        self.last = self._read()

    def _read(self):
        return {
            name: ({os.path.basename(path): number(text_of(path)) for path in counters}, text_of(state).split(":")[-1].strip())
            for name, (counters, state) in self.paths.items()
        }

    def changes(self):
        """({port: {counter: growth}}, {port: new state}). A counter that went back was reset: its new value is the growth."""
        now, grown, states = self._read(), {}, {}
        for name, (counters, state) in now.items():
            before, was = self.last[name]
            for key, value in counters.items():
                if value is not None and before[key] is not None and value != before[key]:
                    grown.setdefault(name, {})[key] = int(value - before[key] if value > before[key] else value)
            if state != was:
                states[name] = state
        self.last = now
        return grown, states


class KernelLog:
    """New records of the ring buffer, as /dev/kmsg has them. Reading takes nothing away from other readers."""

    def __init__(self, path="/dev/kmsg"):
        self.reason, self.handle = "", None
        try:
            self.handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self.handle, 0, os.SEEK_END)
        except OSError as error:
            self.reason = "permission" if isinstance(error, PermissionError) else str(error.strerror)

    def new(self):
        """Records since the last time, one line each."""
        lines = []
        while self.handle is not None and len(lines) < LOG_MAX:
            try:
                record = os.read(self.handle, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue  # records were overwritten before they were read; the next read goes on behind the gap
            except OSError as error:
                self.reason, self.handle = str(error.strerror), None
                break
            if not record:
                break
            lines.append(record.decode("utf-8", "replace").split("\n", 1)[0])
        return lines


def gpus():
    """The GPUs of this node: NVIDIA's, else AMD's, else none."""
    for kind in (Nvidia, Amd):
        with contextlib.suppress(Exception):
            found = kind()
            if found.devices:
                return found
    return None
