"""What a node lets be seen and reached that is nobody's business: its controllers, devices, sockets, settings, mounts.

It reads this node only and sends nothing. Of other people's processes, groups and exports it counts, and keeps no name.
"""

from __future__ import annotations

import hashlib

from ..installed import ask
from ..parsers import (
    ParseError,
    counted,
    detect_virt,
    imex_nodes,
    ipmitool,
    kubelet_config,
    lscpu,
    nfs_exports,
    nvidia_params,
    proc_mounts,
    proc_route,
    ss,
    sshd,
    stat_files,
)
from ..values import integer

IPMI = ("/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0")
DPU = ("/dev/rshim0", "/dev/rshim1", "/sys/class/net/tmfifo_net0", "/sys/class/net/tmfifo_net1")
FABRIC = ("/dev/infiniband/umad0", "/dev/infiniband/issm0")
SOCKETS = ("/run/docker.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/podman/podman.sock")
KERNEL = ("/sys/kernel/debug", "/sys/kernel/tracing")
KVM, VFIO, CHANNELS = "/dev/kvm", "/dev/vfio", "/dev/nvidia-caps-imex-channels"
STAT = ["stat", "-L", "-c", "%a %u %g %F %n", *IPMI, *DPU, *FABRIC, *SOCKETS, *KERNEL, KVM, VFIO, CHANNELS]
IPMITOOL = ("ipmitool", "mc", "info")  # word for word what the versions ask; nothing else is asked of the controller
GROUPS = ["awk", "-F:", '$1 ~ /^(sudo|wheel|admin|docker|lxd|libvirt|kvm|disk)$/ {print $1, $3, gsub(/[^,]+/, "", $4)}', "/etc/group"]
SS = ["ss", "-H", "-l", "-t", "-n"]
PROC_TCP = ["awk", '$4 == "0A" {print $2}', "/proc/net/tcp", "/proc/net/tcp6"]  # listening only: who is connected is not read
EXPORTS = ["cat", "/etc/exports"]
PROXY = ["grep", "-ciE", "^[^#]*_proxy=", "/etc/environment"]
NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
# Processes of people: above the system's accounts, below those that systemd makes up; the dot of /proc itself is always there.
PEOPLE = "find /proc -maxdepth 1 ( -path /proc -o -regex /proc/[0-9]+ -uid +999 -uid -61184 -not -uid".split()
SYSCTL = ("perf_event_paranoid", "kptr_restrict", "unprivileged_bpf_disabled")
PARAMS = {"profiling_admin_only": "RmProfilingAdminOnly", "imex_channel0": "CreateImexChannel0", "device_file_mode": "DeviceFileMode"}
NETWORKED = ("nfs", "nfs4")
NESTED = ["/sys/module/%s/parameters/nested" % module for module in ("kvm_intel", "kvm_amd")]
KUBELET = ("/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet/config.json", "/home/kubernetes/kubelet-config.yaml")
IMEX_NODES = "/etc/nvidia-imex/nodes_config.cfg"
PARAMETERS = "/proc/driver/nvidia/params"
SELINUX, APPARMOR = "/sys/fs/selinux/enforce", "/sys/module/apparmor/parameters/enabled"
BLUEFIELDS = ("MT41682", "MT41686", "MT41692", "MT41695")


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/isolation_audit.json is its shape."""
    seen = gather.command(STAT, stat_files.parse, ok=(0, 1), streams="both")
    files = seen["files"] if seen else {}
    mounts = gather.file("/proc/mounts", proc_mounts.parse)
    mounts = mounts and mounts["mounts"]
    answer, why = ask(gather, IPMITOOL, ipmitool.parse_mc_info)
    return {
        "uid": gather.node.identity().get("uid"),
        "machine": _machine(gather),
        "files": {path: files.get(path) for path in STAT[4:]},
        "groups": _groups(gather),
        "ipmi_answers": True if answer else None if why == "missing" or "timeout" in why else False,
        "dpus": _dpus(gather),
        "kvm_nested": _nested(gather),
        "vfio": _vfio(gather, files),
        "nvidia": _nvidia(gather),
        "imex": _imex(gather, files),
        "kernel_mounts": None if mounts is None else [m["mount_point"] for m in mounts if m["type"] in ("debugfs", "tracefs")],
        "processes": _processes(gather, mounts),
        "listening": _listening(gather),
        "egress": _egress(gather),
        "nfs": _nfs(mounts),
        "exports": _exports(gather),
        "mac": _mac(gather),
        "ssh": gather.command(["sshd", "-T"], sshd.parse, optional=True, strip=sshd.strip)
        or ("none" if gather.missing("sshd -T") else None),
        "sysctl": _sysctl(gather),
        "vulnerabilities": _vulnerabilities(gather),
        "kubelet": _kubelet(gather),
    }


def _machine(gather):
    """Bare metal or a virtual machine, and whether the processor could hold virtual machines itself."""
    cpu = gather.command(["lscpu", "-J"], lscpu.parse_virtual)
    virt = gather.command(["systemd-detect-virt", "--vm"], detect_virt.parse, ok=(0, 1), optional=True)
    kind = virt["virtual"] if virt else cpu["hypervisor"].lower() if cpu and cpu["hypervisor"] != "none" else None
    return {"virtual": kind, "extensions": cpu and cpu["extensions"]}


def _groups(gather):
    found = gather.command(GROUPS, counted.parse_groups)
    return found and found["groups"]


def _dpus(gather):
    """RDMA devices of the BlueField kind, by the type that their driver tells."""
    tree = gather.tree("/sys/class/infiniband", ["*/hca_type"], optional=True)
    if tree is None:
        return [] if gather.missing("/sys/class/infiniband") else None
    return sorted(path.split("/")[0] for path, text in tree.files.items() if text.strip() in BLUEFIELDS)


def _nested(gather):
    """May virtual machines on this node hold virtual machines of their own? "none": no such module is loaded."""
    said = [gather.file(path, optional=True) for path in NESTED]
    text = next((text.strip() for text in said if text), None)
    return text in ("Y", "1") if text else "none" if all(map(gather.missing, NESTED)) else None


def _vfio(gather, files):
    """IOMMU groups that are given to programs, with the devices in each. [] where the kernel gives none."""
    if files.get(VFIO) in (None, "none"):
        return [] if files.get(VFIO) else None
    names = gather.names(VFIO)
    groups = [name for name in names or [] if name.isdigit()]
    if not groups:
        return names and []
    tree = gather.tree("/sys/kernel/iommu_groups", [group + "/devices/*" for group in groups])
    devices = [path.split("/") for path in sorted(tree.links)] if tree else []
    return tree and [{"group": int(group), "devices": [path[2] for path in devices if path[0] == group]} for group in groups]


def _nvidia(gather):
    found = gather.file(PARAMETERS, nvidia_params.parse, optional=True)
    if found is None:
        return "none" if gather.missing(PARAMETERS) else None
    return {ours: found["values"].get(theirs) for ours, theirs in PARAMS.items()}


def _imex(gather, files):
    """Nodes of the host's own IMEX domain as count and digest, and the channels that stand open on the host."""
    found, there = gather.file(IMEX_NODES, imex_nodes.parse, optional=True), files.get(CHANNELS)
    peers, digest = (0, "none") if gather.missing(IMEX_NODES) else (None, None)
    if found:
        peers, digest = len(found["addresses"]), hashlib.sha256("\n".join(found["addresses"]).encode()).hexdigest()
    names = gather.names(CHANNELS) if there not in (None, "none") else [] if there else None
    channels = None if names is None else sum(name.startswith("channel") for name in names)
    return {"peers": peers, "peers_sha256": digest, "channels": channels}


def _processes(gather, mounts):
    """`hidden`: the option by which /proc keeps processes from others; `of_others`: how many of other people an ordinary account sees."""
    options = next((m["options"] for m in mounts or [] if m["mount_point"] == "/proc" and m["type"] == "proc"), None)
    told = None if options is None else next((o.split("=")[1] for o in options if o.startswith("hidepid=")), "off")
    uid = gather.node.identity().get("uid")
    argv = [*([] if uid else AS_NOBODY), *PEOPLE, str(uid or NOBODY), ")", "-printf", "."]
    found = gather.command(argv, counted.parse_dots, ok=(0, 1))  # 1: a process ended meanwhile
    words = {"0": "off", "1": "noaccess", "2": "invisible", "4": "ptraceable"}
    return {"hidden": words.get(told, told), "of_others": found and found["count"]}


def _listening(gather):
    """Sockets that wait for connections from elsewhere than this node."""
    found = gather.command(SS, ss.parse, optional=True)
    if found is None and gather.missing(" ".join(SS)):
        found = gather.command(PROC_TCP, ss.parse_proc, ok=None)
    return found and [{"address": one["address"], "port": one["port"]} for one in found["listening"] if not one["loopback"]]


def _egress(gather):
    """Which ways out there are, by the routing tables and the proxy settings; nothing is sent."""
    routes = gather.file("/proc/net/route", proc_route.parse)
    over6 = gather.file("/proc/net/ipv6_route", proc_route.parse_ipv6, optional=True)
    proxy = gather.command(PROXY, counted.parse, ok=(0, 1, 2), streams="both")
    default = None if routes is None else sorted({*routes["default"], *(over6["default"] if over6 else [])})
    way = "route" if default else "proxy" if proxy and proxy["count"] else None if default is None or proxy is None else "none"
    return {"way": way, "default_routes": default, "proxy_settings": proxy and proxy["count"]}


def _nfs(mounts):
    """Each NFS mount with the proof of identity that its server asks for."""
    found = []
    for mount in mounts or []:
        if mount["type"] in NETWORKED:
            options = dict(option.partition("=")[::2] for option in mount["options"])
            found.append({"mount_point": mount["mount_point"], "sec": options.get("sec"), "xprtsec": options.get("xprtsec", "none")})
    return None if mounts is None else found


def _exports(gather):
    """By cat and not as a file, so that paths and hosts can be cut before anything is kept."""
    return gather.command(EXPORTS, nfs_exports.parse, ok=(0, 1), streams="both", strip=_without_names)


def _without_names(text):
    try:
        return nfs_exports.strip(text)
    except ParseError:
        return "not a table of exports\n"


def _mac(gather):
    """Mandatory access control: which of the two kinds is there, and whether one of them is active."""
    words = {SELINUX: {"1": "enforcing", "0": "permissive"}, APPARMOR: {"Y": "enabled", "N": "none"}}
    said = {path: (gather.file(path, optional=True) or "").strip() for path in words}
    selinux, apparmor = (words[path].get(said[path], "none" if gather.missing(path) else None) for path in words)
    active = selinux == "enforcing" or apparmor == "enabled"
    return {"selinux": selinux, "apparmor": apparmor, "active": active or (None if None in (selinux, apparmor) else False)}


def _sysctl(gather):
    tree = gather.tree("/proc/sys/kernel", SYSCTL)
    return tree and {name: integer(tree.files.get(name)) for name in SYSCTL}


def _vulnerabilities(gather):
    """What the kernel says of each weakness of the processor that it knows."""
    tree = gather.tree("/sys/devices/system/cpu/vulnerabilities", ["*"], optional=True)
    return tree and {name: text.strip() for name, text in sorted(tree.files.items())}


def _kubelet(gather):
    """The settings of the first of the files that is there; "none" where none is."""
    for path in KUBELET:
        found = gather.file(path, kubelet_config.parse, optional=True)
        if not gather.missing(path):
            return found
    return "none"
