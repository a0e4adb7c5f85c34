"""The state of a simulated node, as its tools would tell it. Faults change it; renderers print it; nothing here formats text."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Gpu:
    index: int
    name: str
    uuid: str  # GPU-xxxxxxxx-xxxx-...
    serial: str
    pci: str  # 0000:1b:00.0
    memory_mib: int
    vbios: str
    power_limit_w: float
    power_default_w: float
    power_max_w: float
    max_clock_mhz: int
    module_id: int = 0
    pcie_gen: int = 5
    pcie_gen_max: int = 5
    pcie_width: int = 16
    pcie_width_max: int = 16
    numa: int = 0
    temperature_c: int = 34
    power_draw_w: float = 140.0
    clock_mhz: int = 345
    persistence: bool = True
    mig: bool = False
    ecc: bool = True
    ecc_volatile_uncorrectable: int = 0
    ecc_aggregate_uncorrectable: int = 0
    ecc_aggregate_correctable: int = 0
    remapped_correctable: int = 0
    remapped_uncorrectable: int = 0
    remap_pending: bool = False
    remap_failed: bool = False
    event_reasons: set = field(default_factory=lambda: {"gpu_idle"})  # names as nvidia-smi -q -x has them, without prefix
    nvlinks_gbytes_s: list = field(default_factory=list)  # rate of each link, None for an inactive one
    fabric_state: str = "Completed"
    fabric_status: str = "Success"
    clique_id: int | None = None
    cluster_uuid: str | None = None
    present: bool = True  # false: fallen off the bus; tools no longer list it
    recovery_action: str = "None"


@dataclass
class Nic:
    name: str  # mlx5_0
    pci: str
    rate_gbps: int
    port_state: str = "ACTIVE"
    phys_state: str = "LinkUp"
    link_layer: str = "InfiniBand"
    firmware: str = "40.45.1020"
    board_id: str = "NVD0000000072"
    model: str = "ConnectX-8"
    netdev: str = ""
    numa: int = 0
    gpu: int | None = None
    pcie_gen: int = 5
    pcie_width: int = 16
    gids: list | None = None  # (GID, type) by index; None: as a ConnectX port fills its table by itself


@dataclass
class Nvme:
    name: str  # nvme0
    model: str
    serial: str
    size_bytes: int
    firmware: str = "GDC7302Q"
    critical_warning: int = 0
    percentage_used: int = 1
    available_spare_pct: int = 100
    media_errors: int = 0
    temperature_c: int = 36


@dataclass
class SimNode:
    name: str
    cluster: str
    rack: str
    slot: int
    sku: str
    vendor: str  # nvidia | amd
    arch: str  # x86_64 | aarch64
    transport: str  # infiniband | roce
    scheduler: str  # slurm | kubernetes | none
    os: str = "ubuntu24.04"
    seed: int = 0
    gpus: list = field(default_factory=list)
    nics: list = field(default_factory=list)
    nvmes: list = field(default_factory=list)
    # component -> version as its own tool prints it; "" = not installed. Names are those of standards/baselines/versions.yml
    versions: dict = field(default_factory=dict)
    sockets: int = 2
    cores_per_socket: int = 56
    cpu_model: str = "Intel(R) Xeon(R) Platinum 8570"
    numa_nodes: int = 2
    memory_gib: int = 2048
    hugepages_1g: int = 0
    kernel_cmdline: str = "BOOT_IMAGE=/vmlinuz root=/dev/sda2 ro iommu=pt pci=realloc=off"
    acs_redirect: bool = False  # PCIe ACS redirect on a switch between GPU and NIC
    boot_id: str = ""
    machine_id: str = ""
    uptime_s: float = 1_209_600.0
    chassis_serial: str = ""
    # (seconds since boot, priority 0-7, text) of ring buffer records beyond the usual boot messages
    kernel_log: list = field(default_factory=list)
    mounts: list = field(default_factory=list)  # (device, mount point, type, options)
    modules: list = field(default_factory=list)
    python: str = ""  # empty: that of the system
    uid: int = 0
    clock_offset_s: float = 0.0
    free_bytes: int = 800 * 1024**3
    health: dict = field(default_factory=dict)  # its health agents: health_state.py
    unreachable: str = ""  # a reason: the node does not answer at all
    hung_tools: set = field(default_factory=set)  # argv[0] of tools that hang
    broken_tools: dict = field(default_factory=dict)  # argv[0] -> what it prints instead (exit status 1)
    # (source, find, put) of what one command ("uname -r"), file ("/proc/cmdline") or directory says otherwise; find "": all of it
    edits: list = field(default_factory=list)
    # what the cluster's scheduler thinks of this node, and the scheduler itself: model_scheduler.py
    place: object = field(default=None, compare=False, repr=False)
    control: object = field(default=None, compare=False, repr=False)
    # the fabric of its cluster, model_fabric.py, and NIC -> (switch, port) where a cable does not end as planned
    fabric: object = field(default=None, compare=False, repr=False)
    cables: dict = field(default_factory=dict, compare=False)
    # NIC -> what its switch port is set to otherwise than "pfc" [3], "ecn" [3], "mtu" 9216; "silent": it says nothing of itself
    switch_ports: dict = field(default_factory=dict)
    pod_gids: list | None = None  # (GID, type) by index that a declared pod sees of each RoCE port; None: as the node
    # what a tenant sees of it otherwise than of a closed node, by the names that render_isolation.py reads
    isolation: dict = field(default_factory=dict)
    # what the provider ships for collective libraries otherwise than the golden recipe: render_recipe.py
    recipe: dict = field(default_factory=dict)
    # what traffic of this node shows otherwise than of a healthy one, and of which peers: faults_load.py, render_load.py
    network: dict = field(default_factory=dict)
    peers: dict = field(default_factory=dict, compare=False, repr=False)
    # what hours of load show otherwise, by place of the GPU and by the names that render_burn.py reads
    burn: dict = field(default_factory=dict)
    # place of a GPU -> test of the quick look -> share of the usual rate, None where it fails: render_compute.py
    compute: dict = field(default_factory=dict)
    # what collectives over several nodes show of it otherwise: model_collectives.py
    sweep: dict = field(default_factory=dict)
