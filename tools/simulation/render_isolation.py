"""What a closed node shows of itself: devices, sockets, settings, mounts. `node.isolation` holds what is otherwise.

faults_isolation.py sets it: files {path: "mode uid gid kind"}, of_others, admins, listening [(address, port)], vfio {group: [pci]},
virtual, params {name: value}, no_way_out, imex [address].
"""

from __future__ import annotations

import zlib

from accept_node.collectors import isolation_audit as asked

from .model import SimNode
from .records import command, file, listing, missing_file, tree

DEVICE, FOLDER, SOCKET = "character special file", "directory", "socket"
PARAMS = {
    "ResmanDebugLevel": 4294967295,
    "RmLogonRC": 1,
    "ModifyDeviceFiles": 1,
    "DeviceFileUID": 0,
    "DeviceFileGID": 0,
    "DeviceFileMode": 438,
    "RmProfilingAdminOnly": 0,
    "CreateImexChannel0": 0,
    "ImexChannelCount": 2048,
}
VULNERABILITIES = {
    "gather_data_sampling": "Not affected",
    "meltdown": "Not affected",
    "mds": "Not affected",
    "retbleed": "Not affected",
    "spec_store_bypass": "Mitigation: Speculative Store Bypass disabled via prctl",
    "spectre_v1": "Mitigation: usercopy/swapgs barriers and __user pointer sanitization",
    "spectre_v2": "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling; PBRSB-eIBRS: SW sequence; BHI: BHI_DIS_S",
    "vmscape": "Mitigation: IBPB before exit to userspace",
}
SSHD = "port 22\npermitrootlogin without-password\npubkeyauthentication yes\npasswordauthentication no\nkbdinteractiveauthentication no\n"
NO_KEYS = "sshd: no hostkeys available -- exiting.\n"
KUBELET = """apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
authorization:
  mode: Webhook
clusterDNS:
- 10.96.0.10
cpuManagerPolicy: static
kind: KubeletConfiguration
reservedSystemCPUs: 0-3
rotateCertificates: true
"""
ROUTES = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eno1\t00001E0A\t00000000\t0001\t0\t0\t100\t0000FFFF\t0\t0\t0\n"
)
DEFAULT_ROUTE = "eno1\t00000000\t01001E0A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"


def render(node: SimNode) -> dict:
    """The records of the isolation concern; ipmitool, lscpu, mounts and RDMA devices are other renderers'."""
    told, virtual = node.isolation, node.isolation.get("virtual", "none")
    prefix = [] if node.uid else asked.AS_NOBODY
    people = [*prefix, *asked.PEOPLE, str(node.uid or asked.NOBODY), ")", "-printf", "."]
    groups = {"sudo": (27, told.get("admins", 1)), "kvm": (993, 0)}
    groups.update({"docker": (988, 0)} if node.versions.get("docker") else {})
    return {
        "commands": [
            _stat(node),
            command(asked.GROUPS, "".join(f"{name} {gid} {members}\n" for name, (gid, members) in groups.items()), duration_s=0.002),
            command(["systemd-detect-virt", "--vm"], virtual + "\n", rc=int(virtual == "none"), duration_s=0.004),
            command(people, "." * (1 + told.get("of_others", 0)), duration_s=0.02),
            command(asked.SS, _sockets(node), duration_s=0.005),
            command(asked.EXPORTS, rc=1, stderr="cat: /etc/exports: No such file or directory\n", duration_s=0.001),
            command(asked.PROXY, "0\n", rc=1, duration_s=0.002),
            command(["sshd", "-T"], rc=1, stderr="sshd: no hostkeys available -- exiting.\n")
            if node.uid
            else command(["sshd", "-T"], SSHD),
        ],
        "files": [
            *(_nested(node, path) for path in asked.NESTED),
            _params(node),
            _imex(node),
            file("/proc/net/route", ROUTES + ("" if told.get("no_way_out") else DEFAULT_ROUTE)),
            missing_file("/proc/net/ipv6_route"),
            file(asked.SELINUX, "1") if node.os == "rhel9" else missing_file(asked.SELINUX),
            missing_file(asked.APPARMOR) if node.os == "rhel9" else file(asked.APPARMOR, "Y\n"),
            *([file(asked.KUBELET[0], KUBELET)] if node.versions.get("kubelet") else map(missing_file, asked.KUBELET)),
        ],
        "trees": [
            tree("/proc/sys/kernel", {"perf_event_paranoid": "2\n", "kptr_restrict": "1\n", "unprivileged_bpf_disabled": "2\n"}),
            tree("/sys/devices/system/cpu/vulnerabilities", {name: text + "\n" for name, text in VULNERABILITIES.items()}),
            *([_groups_of_devices(told["vfio"])] if told.get("vfio") else []),
        ],
        "listings": [
            *([listing(asked.VFIO, ["vfio", *map(str, told["vfio"])])] if told.get("vfio") else []),
            *([listing(asked.CHANNELS, ["channel0"])] if asked.CHANNELS in told.get("files", {}) else []),
        ],
    }


def _stat(node):
    """What stands there is told, and what does not is an error of stat's."""
    there = {
        "/sys/kernel/debug": f"700 0 0 {FOLDER}",
        "/sys/kernel/tracing": f"700 0 0 {FOLDER}",
        "/dev/infiniband/umad0": f"600 0 0 {DEVICE}",
    }
    there.update({"/dev/infiniband/issm0": f"600 0 0 {DEVICE}"} if node.transport == "infiniband" else {})
    there.update({"/dev/ipmi0": f"600 0 0 {DEVICE}"} if node.versions.get("bmc") else {})
    there.update({"/dev/kvm": f"660 0 993 {DEVICE}"} if node.arch == "x86_64" else {})
    there.update({"/run/docker.sock": f"660 0 988 {SOCKET}"} if node.versions.get("docker") else {})
    there.update({"/run/containerd/containerd.sock": f"660 0 0 {SOCKET}"} if node.versions.get("containerd") else {})
    there.update({asked.VFIO: f"755 0 0 {FOLDER}"} if node.isolation.get("vfio") else {})
    there.update(node.isolation.get("files", {}))
    said = "".join(f"{there[path]} {path}\n" for path in asked.STAT[4:] if path in there)
    lost = "".join(f"stat: cannot statx '{path}': No such file or directory\n" for path in asked.STAT[4:] if path not in there)
    return command(asked.STAT, said, rc=int(bool(lost)), stderr=lost, duration_s=0.002)


def _sockets(node) -> str:
    """ssh for all, exporters on loopback, the scheduler's daemon; and what a fault opened."""
    found = [("0.0.0.0", 22), ("[::]", 22), ("127.0.0.53%lo", 53), ("127.0.0.1", 9100)]
    found += [("*", 10250), ("127.0.0.1", 10248)] if node.scheduler == "kubernetes" else []
    found += [("0.0.0.0", 6818), ("127.0.0.1", 9400)] if node.scheduler == "slurm" else []
    found += node.isolation.get("listening", [])
    lines = []
    for address, port in found:
        peer = "[::]" if "[" in address else "*" if address == "*" else "0.0.0.0"
        lines.append(f"LISTEN 0      4096   {f'{address}:{port}':>20} {peer}:*\n")
    return "".join(lines)


def _nested(node, path):
    module = "" if node.arch != "x86_64" else "kvm_amd" if "EPYC" in node.cpu_model else "kvm_intel"
    answer = {"kvm_amd": "1\n", "kvm_intel": "Y\n"}.get(module)
    return file(path, answer) if module and module in path else missing_file(path)


def _params(node):
    if not node.versions.get("nvidia_driver"):
        return missing_file(asked.PARAMETERS)
    values = {**PARAMS, "RegistryDwords": '"PeerMappingOverride=1;"', **node.isolation.get("params", {})}
    return file(asked.PARAMETERS, "".join(f"{name}: {value}\n" for name, value in values.items()) + 'RmMsg: ""\n')


def _imex(node):
    """Under Slurm the host's own domain, one for a rack; under Kubernetes the driver of claims brings its own."""
    if "nvl72" not in node.sku or node.scheduler == "kubernetes":
        return missing_file(asked.IMEX_NODES) if "imex" not in node.isolation else file(asked.IMEX_NODES, _lines(node.isolation["imex"]))
    subnet = zlib.crc32(node.rack.encode()) % 200
    return file(asked.IMEX_NODES, _lines(node.isolation.get("imex", [f"10.40.{subnet}.{slot}" for slot in range(1, 19)])))


def _lines(words) -> str:
    return "".join(word + "\n" for word in words)


def _groups_of_devices(groups):
    links = {f"{group}/devices/{pci}": f"/sys/devices/pci{pci[:7]}/{pci}" for group, devices in groups.items() for pci in devices}
    return tree("/sys/kernel/iommu_groups", {}, links)
