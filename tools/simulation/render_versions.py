"""What tools, packages, /proc and /sys say of the versions on a simulated node, as each prints it.

`node.versions` has the component names of standards/baselines/versions.yml and module_utils/accept_node/components.py; a component that
is left out or empty is not installed.
"""

from __future__ import annotations

import json

from accept_node.collectors.version_audit import DOCKER
from accept_node.components import COPIED, DRIVERS, FILES, MODULES, TOOLS
from accept_node.installed import MANAGERS

from .model import SimNode
from .records import command, file, listing, missing, missing_file, missing_tree, tree

RELEASES = {
    "ubuntu24.04": ("ubuntu", "24.04", "Ubuntu 24.04.3 LTS", "debian", "noble"),
    "ubuntu22.04": ("ubuntu", "22.04", "Ubuntu 22.04.5 LTS", "debian", "jammy"),
    "rhel9": ("rhel", "9.7", "Red Hat Enterprise Linux 9.7 (Plow)", "fedora", ""),
    "sles15": ("sles", "15.7", "SUSE Linux Enterprise Server 15 SP7", "suse", ""),
}
# How a tool says its version.
SAYS = {
    "runc": "runc version {0}\ncommit: v{0}-0-g8bd78a99\nspec: 1.2.1\ngo: go1.24.6\nlibseccomp: 2.5.5\n",
    "containerd": "containerd containerd.io {0} 75cb2b7193e4e490e9fbdc236c0e811ccaba3376\n",
    "nvidia_container_toolkit": "NVIDIA Container Toolkit CLI version {0}\ncommit: e8b7d7c1a2d2b5dd57b3b9dcd1ed4a0b8a0b4d0f\n",
    "fabric_manager": "Fabric Manager version is : {0}\n",
    "imex": "IMEX version is: {0}\n",
    "dcgm": "\ndcgmi  version: {0}\n\n",
    "dcgm_exporter": "DCGM Exporter version 4.6.0-{0}\n",
    "crio": "crio version {0}\n",
    "podman": "podman version {0}\n",
    "crun": "crun version {0}\n",
    "apptainer": "apptainer version {0}\n",
    "enroot": "{0}\n",
    "slurm": "slurm {0}\n",
    "kubelet": "Kubernetes v{0}\n",
    "k3s": "k3s version v{0} (62d01bf8)\n",
    "munge": "munge-{0} (2025-03-11)\n",
    "openmpi": "mpirun (Open MPI) {0}\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
    "ucx": "# Library version: {0}\n# Library path: /lib/x86_64-linux-gnu/libucs.so.0\n# API headers version: {0}\n",
    "nsight_systems": "NVIDIA Nsight Systems version {0}\n",
    "nsight_compute": "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion {0} (build 38283040) (public-release)\n",
}
# component -> (Debian packages, RPM packages); the pattern of a version as each writes it
PACKAGES = {
    "runc": (("containerd.io",), ("containerd.io",)),  # Docker's package of containerd brings its runc
    "docker": (("docker-ce", "docker-ce-cli"), ("docker-ce", "docker-ce-cli")),
    "nvidia_container_toolkit": (("nvidia-container-toolkit", "nvidia-container-toolkit-base"), ("nvidia-container-toolkit",)),
    "libnvidia_container": (("libnvidia-container1",), ("libnvidia-container1",)),
    "fabric_manager": (("nvidia-fabricmanager",), ("nvidia-fabricmanager",)),
    "nvlsm": (("nvlsm",), ("nvlsm",)),
    "imex": (("nvidia-imex",), ("nvidia-imex",)),
    "dcgm": (("datacenter-gpu-manager-4-core",), ("datacenter-gpu-manager-4-core",)),
    "dcgm_exporter": (("datacenter-gpu-manager-exporter",), ("datacenter-gpu-manager-exporter",)),
    "nccl": (("libnccl2",), ("libnccl",)),
    "rdma_core": (("rdma-core", "libibverbs1"), ("rdma-core", "libibverbs")),
    "doca_host": (("doca-ofed",), ("doca-ofed",)),
    "mlnx_ofed": (("mlnx-ofed-all",), ("mlnx-ofed-all",)),
    "slurm": (("slurm-smd",), ("slurm",)),
    "kubelet": (("kubelet",), ("kubelet",)),
    "munge": (("munge",), ("munge",)),
    "pmix": (("libpmix2t64",), ("pmix",)),
    "enroot": (("enroot",), ("enroot",)),
    "pyxis": (("nvslurm-plugin-pyxis",), ("nvslurm-plugin-pyxis",)),
    "openmpi": (("openmpi",), ("openmpi",)),
    "ucx": (("ucx",), ("ucx",)),
    "gdrcopy": (("gdrdrv-dkms", "libgdrapi"), ("gdrcopy",)),
    "mft": (("mft",), ("mft",)),
    "amdgpu": (("amdgpu-dkms",), ("amdgpu-dkms",)),
    "rocm": (("rocm-core",), ("rocm-core",)),
    "rccl": (("rccl",), ("rccl",)),
    "amd_smi": (("amd-smi-lib",), ("amd-smi-lib",)),
}
EPOCHS = {"dcgm": "1:", "docker": "5:"}


def render(node: SimNode) -> dict:
    """The records of the version audit, but for RDMA devices and firmware tables: the inventory's and the kernel's renderer have them."""
    versions, debian = node.versions, node.os.startswith("ubuntu")
    commands = [record for component in TOOLS for record in _asked(component, versions)]
    commands += [record for component in COPIED for record in _copies(component, versions)]
    commands += [_docker(versions), *_dockerd(versions), _ofed(versions), *_drivers(node), _bmc(versions)]
    commands += [command(["uname", "-r"], versions["kernel"] + "\n", duration_s=0.001)]
    argv = MANAGERS["dpkg" if debian else "rpm"][0]
    commands += [command(argv, _dpkg(node) if debian else _rpm(node), duration_s=0.06 if debian else 0.7)]
    return {
        "commands": commands,
        "files": [
            file("/etc/os-release", _os_release(node.os)),
            *_files(versions, node.arch),
            *map(missing_file, _absent(versions, debian)),
        ],
        "trees": [_modules(node), missing_tree("/opt/nvidia/hpc_sdk")],
        "listings": [listing("/boot", ["grub", *(name + release for release in _kernels(node) for name in ("config-", "vmlinuz-"))])],
    }


def _asked(component, versions):
    version, answered = versions.get(component.name), False
    for argv in component.commands:
        if version and not answered:
            answered = True
            said = _nvcc(version) if component.name == "cuda_toolkit" else SAYS[component.name].format(version)
            yield command(argv, said, duration_s=0.02)
        else:
            yield missing(argv)


def _copies(component, versions):
    """One copy, where packages install it."""
    for argv in component.commands:
        there = versions.get(component.name) and argv[0].startswith("/usr/bin/")
        yield command(argv, SAYS[component.name].format(versions[component.name]), duration_s=0.02) if there else missing(argv)


def _nvcc(release) -> str:
    return (
        "nvcc: NVIDIA (R) Cuda compiler driver\nCopyright (c) 2005-2025 NVIDIA Corporation\nBuilt on Tue_Dec_16_19:23:09_UTC_2025\n"
        f"Cuda compilation tools, release {release}, V{release}.115\nBuild cuda_{release}.r{release}/compiler.37061995_0\n"
    )


def _docker(versions):
    version = versions.get("docker")
    if not version:
        return missing(DOCKER)
    side = {"Platform": {"Name": "Docker Engine - Community"}, "Version": version, "ApiVersion": "1.52", "Os": "linux", "Arch": "amd64"}
    parts = [{"Name": name, "Version": versions.get(key, "")} for name, key in (("containerd", "containerd"), ("runc", "runc"))]
    answer = {"Client": {**side, "Context": "default"}, "Server": {**side, "Components": [{"Name": "Engine", "Version": version}, *parts]}}
    return command(DOCKER, json.dumps(answer, separators=(",", ":")) + "\n", duration_s=0.05)


def _dockerd(versions):
    """The program on disk: asked where the daemon does not answer (faults make it hang)."""
    version, argv = versions.get("docker"), ["dockerd", "--version"]
    return [command(argv, f"Docker version {version}, build a5c7197\n", duration_s=0.03) if version else missing(argv)]


def _ofed(versions):
    argv = ["ofed_info", "-s"]
    if versions.get("mlnx_ofed"):
        return command(argv, f"MLNX_OFED_LINUX-{versions['mlnx_ofed']}:\n", duration_s=0.01)
    return command(argv, "OFED-internal-25.07-0.9.7:\n", duration_s=0.01) if versions.get("doca_host") else missing(argv)


def _drivers(node):
    for name, module, _ in DRIVERS:
        version, argv = node.versions.get(name), ["modinfo", "-F", "version", module]
        if version:
            yield command(argv, version + "\n", duration_s=0.005)
        else:
            yield command(argv, rc=1, stderr=f"modinfo: ERROR: Module {module} not found.\n", duration_s=0.005)


def _bmc(versions):
    argv = ["ipmitool", "mc", "info"]
    if not versions.get("bmc"):
        return missing(argv)
    lines = (
        ("Device ID", "32"),
        ("Device Revision", "1"),
        ("Firmware Revision", versions["bmc"]),
        ("IPMI Version", "2.0"),
        ("Manufacturer ID", "674"),
        ("Manufacturer Name", "DELL Inc"),
        ("Product ID", "256 (0x0100)"),
        ("Device Available", "yes"),
    )
    said = "".join(f"{name:<26}: {value}\n" for name, value in lines)
    return command(argv, said + "Aux Firmware Rev Info     : \n    0x00\n    0x04\n    0x07\n    0x00\n", duration_s=0.3)


def _os_release(os) -> str:
    name, version, pretty, like, codename = RELEASES[os]
    lines = [f'PRETTY_NAME="{pretty}"', f'NAME="{pretty.split(" ")[0]}"', f'VERSION_ID="{version}"', f"ID={name}", f"ID_LIKE={like}"]
    return "\n".join([*lines, *([f"VERSION_CODENAME={codename}"] if codename else [])]) + "\n"


def _files(versions, arch):
    driver = versions.get("nvidia_driver")
    if driver:
        yield file(
            "/proc/driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX Open Kernel Module for {arch}  {driver}  Release Build  Tue Jul  7 18:02:11 UTC 2026\n"
            "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04) \n",
        )
    for name, path in (("cuda_toolkit", "/usr/local/cuda/version.json"), ("rocm", "/opt/rocm/.info/version")):
        if versions.get(name):
            text = (
                json.dumps({"cuda": {"name": "CUDA SDK", "version": f"{versions[name]}.1"}})
                if name == "cuda_toolkit"
                else versions[name] + "-38\n"
            )
            yield file(path, text)


def _absent(versions, debian) -> list:
    paths = [] if versions.get("nvidia_driver") else ["/proc/driver/nvidia/version"]
    paths += [path for name, path, _ in FILES if not versions.get(name)]
    return [*paths, "/run/nvidia/driver/etc/os-release", *(["/run/reboot-required"] if debian else [])]


def _modules(node):
    versions = {"nvidia": "nvidia_driver", "nvidia_peermem": "nvidia_driver", "gdrdrv": "gdrcopy", "amdgpu": "amdgpu"}
    there = [name for name in MODULES if name in node.modules]
    told = {f"{name}/version": node.versions[versions[name]] + "\n" for name in there if node.versions.get(versions.get(name))}
    return tree("/sys/module", told, {name: "/sys/module/" + name for name in there})


# --- packages -----------------------------------------------------------------------------------------------------------------------


def _kernels(node) -> list:
    """The kernel that runs, and an older one that was left."""
    running = node.versions["kernel"]
    older = {
        "ubuntu24.04": ("-137-", "-124-"),
        "ubuntu22.04": ("-173-", "-161-"),
        "rhel9": ("-611.5.1.", "-570.58.1."),
        "sles15": (".53.22-", ".53.11-"),
    }
    return sorted({running, running.replace(*older[node.os])})


def _installed(node, family) -> list:
    """(component, package, upstream version) of all that is installed."""
    rows = [
        (name, package, node.versions[name])
        for name, names in PACKAGES.items()
        for package in names[family]
        if node.versions.get(name) and not (name == "runc" and not node.versions.get("containerd"))
    ]
    rows = [(name, package, node.versions["containerd"] if package == "containerd.io" else version) for name, package, version in rows]
    driver, cuda = node.versions.get("nvidia_driver"), node.versions.get("cuda_toolkit")
    if driver:
        branch = driver.split(".")[0]
        names = (
            (f"nvidia-driver-{branch}-open", f"nvidia-dkms-{branch}-open", f"libnvidia-compute-{branch}")
            if family == 0
            else ("nvidia-open",)
        )
        rows += [("nvidia_driver", package, driver) for package in names]
    if cuda:
        rows.append(("cuda_toolkit", "cuda-toolkit-" + cuda.replace(".", "-"), cuda + ".1"))
    return rows


def _dpkg(node) -> str:
    rows = [("ii ", "bash", "5.2.21-2ubuntu4", "bash"), ("rc ", "linux-image-6.8.0-90-generic", "6.8.0-90.91", "linux-signed")]
    for release in _kernels(node):
        base, abi = release.split("-")[:2]
        source = "linux-signed" if "nvidia" not in release else "linux-signed-nvidia-" + ".".join(base.split(".")[:2])
        rows.append(("ii ", f"linux-image-{release}", f"{base}-{abi}.{abi}", source))
    for name, package, version in _installed(node, 0):
        own = "-" in version  # DOCA-Host and OFED number with a dash of their own
        rows.append(("ii ", package, EPOCHS.get(name, "") + version + ("" if own else "-1"), package))
    return "".join("\t".join(row) + "\n" for row in sorted(rows, key=lambda row: row[1]))


def _rpm(node) -> str:
    dist = {"rhel9": "el9", "sles15": "sles15"}[node.os]
    rows = [("bash", "0:5.1.8-9." + dist, node.arch, f"bash-5.1.8-9.{dist}.src.rpm")]
    for release in _kernels(node):
        if node.os == "rhel9":
            full, big = release.split("." + node.arch)[0], "64k" in release
            rows.append(("kernel-64k-core" if big else "kernel-core", f"0:{full}", node.arch, f"kernel-{full}.src.rpm"))
        else:
            full = release.rsplit("-", 1)[0] + ".1"
            rows.append(("kernel-default", f"0:{full}", node.arch, f"kernel-default-{full}.nosrc.rpm"))
    for name, package, version in _installed(node, 1):
        number, _, release = version.partition("-")
        epoch = EPOCHS.get(name, "0:") if name != "docker" else "3:"
        rows.append((package, f"{epoch}{number}-{release or 1}", node.arch, f"{package}-{number}-{release or 1}.src.rpm"))
    return "".join("\t".join(row) + "\n" for row in sorted(rows))
