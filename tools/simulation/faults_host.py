"""Named faults of the host and its software. Each public function puts one into a node; `tools/simulate --faults` prints its docstring.

`rng` is seeded by spec, node and place in the spec: the same spec makes the same faults. Near misses, which must stay green, are here too.
"""

from __future__ import annotations

from accept_node.installed import MANAGERS

from .faults_common import log


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


def driver_not_loaded(node, rng):
    """The GPU driver is installed and its module is not loaded"""
    node.modules = [name for name in node.modules if not name.startswith("nvidia")]
    node.broken_tools["nvidia-smi"] = (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed"
        " and running.\n"
    )
    node.edits += [(path, "", None) for path in ("/proc/driver/nvidia/version", "/sys/module/nvidia/version")]


def module_missing(node, rng, *, module="gdrdrv"):
    """A kernel module that is not loaded"""
    node.modules = [name for name in node.modules if name != module]


def driver_update_pending(node, rng, *, version="580.178.01"):
    """Another driver on disk than the one that runs"""
    module = "amdgpu" if node.vendor == "amd" else "nvidia"
    node.edits.append((f"modinfo -F version {module}", "", version + "\n"))


def kernel_update_pending(node, rng, *, release="6.8.0-141-generic"):
    """A newer kernel is installed than the one that runs"""
    node.edits.append(("/boot", "", "vmlinuz-" + release))


def restart_required(node, rng):
    """An update waits for a reboot"""
    node.edits.append(("/run/reboot-required", "", "*** System restart required ***\n"))


def half_installed_package(node, rng, *, package="rdma-core"):
    """A package that is half installed"""
    node.edits.append((" ".join(MANAGERS["dpkg"][0]), f"ii \t{package}\t", f"iF \t{package}\t"))


def extra_package(node, rng, *, package="qemu-system-x86", version="1:8.2.2+ds-0ubuntu1.4", source="qemu"):
    """One package more, on a Debian family"""
    bash = "ii \tbash\t5.2.21-2ubuntu4\tbash\n"
    node.edits.append((" ".join(MANAGERS["dpkg"][0]), bash, f"{bash}ii \t{package}\t{version}\t{source}\n"))


def altered(node, rng, *, what="uname -r", find="", put="6.8.0-31-generic\n"):
    """Whatever has no name of its own: a command, file or directory says something else; an empty find stands for all it says"""
    node.edits.append((what, find, put))


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


def unreachable(node, rng, *, reason="ssh: connect to host: Connection timed out"):
    """A node that does not answer at all"""
    node.unreachable = reason


def hung_tool(node, rng, *, tool="nvidia-smi"):
    """A tool that does not come back"""
    node.hung_tools.add(tool)


def rubbish_tool(node, rng, *, tool="nvidia-smi", prints="Segmentation fault (core dumped)"):
    """A tool that fails and prints something else"""
    node.broken_tools[tool] = prints


def clock_skew(node, rng, *, seconds=42.0):
    """A clock that is off and not disciplined"""
    node.clock_offset_s = float(seconds)


def old_python(node, rng, *, version="3.6.8"):
    """A Python too old for the node's modules"""
    node.python = version


def no_root(node, rng, *, uid=1000):
    """An account that may not become root"""
    node.uid = uid


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
    log(
        node,
        rng,
        "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
        "Out of memory: Killed process 48213 (python3) total-vm:1981214848kB, anon-rss:1874382012kB, file-rss:0kB,"
        " shmem-rss:16384kB, UID:0 pgtables:3682432kB oom_score_adj:0",
    )


def aer_errors(node, rng, *, gpu=0):
    """An uncorrectable PCIe error of a GPU"""
    pci = node.gpus[gpu].pci
    log(
        node,
        rng,
        f"pcieport {pci[:5]}00:01.0: AER: Uncorrectable (Fatal) error message received from {pci}",
        f"nvidia {pci}: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)",
    )


def mce(node, rng):
    """An uncorrectable memory error of the host"""
    log(
        node,
        rng,
        "EDAC MC3: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#2_DIMM#0 (channel:2 slot:0 page:0xb757589 offset:0x140 grain:32)",
        "mce: [Hardware Error]: Machine check events logged",
    )


def soft_lockup(node, rng, *, cpu=94):
    """A CPU that was stuck in the kernel"""
    log(node, rng, f"watchdog: BUG: soft lockup - CPU#{cpu} stuck for 26s! [kworker/{cpu}:1:7142]", priority=0)


def benign_lines(node, rng):
    """Near miss: lines of healthy boots that look like errors"""
    texts = {
        "amd": [
            f"amdgpu {node.gpus[0].pci}: amdgpu: RAS: optional ras ta ucode is not available",
            f"amdgpu {node.gpus[0].pci}: amdgpu: SECUREDISPLAY: securedisplay ta ucode is not available",
        ],
        "nvidia": [
            "nvidia-nvswitch2: open (major=510)",
            "nvidia-peermem: module loaded; no error found in XID table",
            "NVRM: loading NVIDIA UNIX Open Kernel Module",
        ],
    }
    log(node, rng, *texts[node.vendor], priority=6)


def nvme_media_errors(node, rng, *, drive=0, count=12):
    """An NVMe drive that could not read what it holds"""
    node.nvmes[drive].media_errors = count


def odd_nvme_firmware(node, rng, *, drive=0, firmware="GDC5902Q"):
    """An NVMe drive at another firmware"""
    node.nvmes[drive].firmware = firmware


def other_cpu(node, rng, *, model="Intel(R) Xeon(R) Platinum 8468", cores=48):
    """Processors of another model"""
    node.cpu_model, node.cores_per_socket = model, cores


def one_socket(node, rng):
    """Half the processors are missing"""
    node.sockets, node.numa_nodes = node.sockets // 2, node.numa_nodes // 2
