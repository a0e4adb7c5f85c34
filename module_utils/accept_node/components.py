"""Which software a node is asked about: the tools that tell a version, and the packages it comes in. No thresholds, no I/O."""

from __future__ import annotations

from typing import Callable, NamedTuple, Sequence

from .parsers import efa_packages, nvcc, tool_version


class Component(NamedTuple):
    """`packages`: patterns of package names, the most telling first. `commands`: the first that answers tells the version."""

    name: str
    packages: Sequence[str] = ()
    commands: Sequence[Sequence[str]] = ()
    parse: Callable[[str], dict] | None = None
    streams: str = "stdout"
    whole: bool = False  # its number is the whole version of the package, with what elsewhere is a revision


def _paths(tool, *arguments):
    """A runtime lies in several places of one node: the distribution's, a hand-made one, that of k3s or RKE2. Each is asked."""
    places = (
        "/usr/bin",
        "/usr/sbin",
        "/usr/local/bin",
        "/usr/local/sbin",
        "/var/lib/rancher/k3s/data/current/bin",
        "/var/lib/rancher/rke2/bin",
    )
    return tuple((place + "/" + tool, *arguments) for place in places)


# Every copy of these is recorded: the one that a container is started with need not be the one in the search path.
COPIED = (
    Component("runc", (r"runc",), _paths("runc", "--version"), tool_version.parse_runc),
    Component("containerd", (r"containerd\.io", r"containerd"), _paths("containerd", "--version"), tool_version.parse_containerd),
    Component(
        "nvidia_container_toolkit",
        (r"nvidia-container-toolkit",),
        (*_paths("nvidia-ctk", "--version")[:4], ("/usr/local/nvidia/toolkit/nvidia-ctk", "--version")),  # the last is the GPU operator's
        tool_version.parse_nvidia_ctk,
    ),
)

TOOLS = (
    Component("cuda_toolkit", (r"cuda-toolkit-[0-9]+-[0-9]+", r"cuda-nvcc-[0-9]+-[0-9]+"), (("nvcc", "--version"),), nvcc.parse),
    Component(
        "fabric_manager",
        (r"nvidia-fabricmanager(-[0-9]+)?", r"nvidia-fabric-manager"),
        (("nv-fabricmanager", "--version"),),
        tool_version.parse_fabric_manager,
        "both",
    ),
    Component("nvlsm", (r"nvlsm",)),
    Component("imex", (r"nvidia-imex(-[0-9]+)?",), (("nvidia-imex", "--version"),), tool_version.parse_imex, "both"),
    Component("dcgm", (r"datacenter-gpu-manager-4-core", r"datacenter-gpu-manager"), (("dcgmi", "--version"),), tool_version.parse_dcgm),
    Component(
        "dcgm_exporter",
        (r"datacenter-gpu-manager-exporter", r"dcgm-exporter"),
        (("dcgm-exporter", "--version"),),
        tool_version.parse_dcgm_exporter,
    ),
    Component("libnvidia_container", (r"libnvidia-container1",)),
    Component("crio", (r"cri-o", r"cri-o[0-9.]*"), (("crio", "--version"),), tool_version.parse_crio),
    Component("podman", (r"podman",), (("podman", "--version"),), tool_version.parse_podman),
    Component("crun", (r"crun",), (("crun", "--version"),), tool_version.parse_crun),
    Component("apptainer", (r"apptainer", r"singularity-ce"), (("apptainer", "--version"),), tool_version.parse_apptainer),
    Component("enroot", (r"enroot", r"enroot-hardened"), (("enroot", "version"),), tool_version.parse_enroot),
    Component("pyxis", (r".*pyxis.*",)),
    Component("nccl", (r"libnccl2", r"libnccl")),
    Component("nccl_plugins", (r"nccl-rdma-sharp-plugins", r"libnccl-ofi.*", r"aws-ofi-nccl.*", r"nccl-gib.*")),
    Component("rdma_core", (r"rdma-core", r"libibverbs1", r"libibverbs")),
    Component("opensm", (r"opensm",)),
    Component("mft", (r"mft",)),
    Component(
        "slurm",
        (r"slurm-smd(-slurmd)?", r"slurm-wlm", r"slurmd?", r"slurm-slurmd"),
        (("slurmd", "-V"), ("sinfo", "--version")),
        tool_version.parse_slurm,
    ),
    Component("kubelet", (r"kubelet",), (("kubelet", "--version"),), tool_version.parse_kubelet),
    Component("k3s", (r"k3s", r"rke2-(server|agent)"), (("k3s", "--version"), ("rke2", "--version")), tool_version.parse_k3s),
    Component("munge", (r"munge",), (("munge", "--version"),), tool_version.parse_munge, "both"),
    Component("pmix", (r"libpmix2(t64)?", r"pmix")),
    Component("openmpi", (r"openmpi", r"libopenmpi3(t64)?", r"openmpi4"), (("mpirun", "--version"),), tool_version.parse_openmpi),
    Component("ucx", (r"ucx", r"libucx0"), (("ucx_info", "-v"),), tool_version.parse_ucx),
    Component("gdrcopy", (r"gdrdrv-dkms", r"gdrcopy", r"libgdrapi")),
    Component("nvidia_fs", (r"nvidia-fs-dkms", r"nvidia-fs")),
    Component("nsight_systems", (r"nsight-systems-.*", r"nsight-systems"), (("nsys", "--version"),), tool_version.parse_nsight_systems),
    Component("nsight_compute", (r"nsight-compute-.*", r"nsight-compute"), (("ncu", "--version"),), tool_version.parse_nsight_compute),
    Component("qemu", (r"qemu-system-(x86|arm)", r"qemu-kvm-core", r"qemu-kvm", r"qemu-(x86|arm)")),
    Component("nvidia_hpc_sdk", (r"nvhpc-[0-9]+-[0-9]+",)),
    Component("doca_host", (r"doca-ofed", r"doca-all", r"doca-networking", r"doca-host"), whole=True),
    Component("rocm", (r"rocm-core", r"rocm")),
    Component("rccl", (r"rccl",)),
    Component("amd_smi", (r"amd-smi-lib",)),
)

# (component, module of the kernel, packages): a driver is what is loaded, what is on disk for the running kernel, and the package of both
DRIVERS = (
    (
        "nvidia_driver",
        "nvidia",
        (
            r"nvidia-driver-[0-9]+.*",
            r"nvidia-open-[0-9]+.*",
            r"nvidia-dkms-[0-9]+.*",
            r"nvidia-open",
            r"nvidia-driver",
            r"nvidia-open-driver-G.*",
            r"kmod-nvidia.*",
            r"libnvidia-compute-[0-9]+.*",
        ),
    ),
    ("amdgpu", "amdgpu", (r"amdgpu-dkms",)),
)

DOCKER_PACKAGES = (r"docker-ce", r"docker\.io", r"moby-engine", r"docker-ee", r"docker")
OFED_PACKAGES = (r"mlnx-ofed-(all|basic|hpc|guest|dpdk)(-.*)?",)

# (component, file that holds its version, parser)
FILES = (
    ("cuda_toolkit", "/usr/local/cuda/version.json", nvcc.parse_version_json),
    ("rocm", "/opt/rocm/.info/version", tool_version.parse_plain),
    ("efa", "/opt/amazon/efa_installed_packages", efa_packages.parse),
)

# modules of the kernel whose presence and version are recorded
MODULES = (
    *("nvidia", "nvidia_peermem", "nv_peer_mem", "nvidia_fs", "gdrdrv", "amdgpu"),
    *("mlx5_core", "ib_core", "bnxt_re", "irdma", "ionic_rdma", "efa", "knem", "xpmem", "lustre"),
)
KERNEL_IMAGES = ("vmlinuz-", "vmlinux-", "Image-")
KERNEL_PACKAGES = r"kernel(-64k)?(-core|-default|-azure|-uek-core)|kernel-64kb"
