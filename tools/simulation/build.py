"""SPEC.yml -> simulated nodes: SKU profile, layout of the machine, versions, seeded variety of healthy machines, then the named faults."""

from __future__ import annotations

import calendar
import json
import random
import time
import uuid
from functools import cache
from pathlib import Path

import jsonschema
import yaml

from . import faults, render_load
from .model import Gpu, Nic, Nvme, SimNode
from .model_fabric import fabric_of
from .model_scheduler import control_of

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_AT = "2026-11-30T06:00:00Z"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SpecError(Exception):
    """A spec that cannot be built; the message names file and key."""


def load_spec(path) -> dict:
    """The spec in a YAML file, checked against standards/schema/simulation.json, the profiles and the registry of faults."""
    try:
        spec = yaml.load(Path(path).read_text(encoding="utf-8"), LOADER)
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    except yaml.YAMLError as error:
        raise SpecError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    schema = json.loads((ROOT / "standards/schema/simulation.json").read_text())
    for error in sorted(jsonschema.Draft202012Validator(schema).iter_errors(spec), key=lambda e: list(map(str, e.absolute_path))):
        raise SpecError(f"{path}: {'.'.join(map(str, error.absolute_path)) or '(top level)'}: {error.message}")
    _check(spec, path)
    return spec


def _check(spec, path):
    machines, names = _machines()["machines"], set()
    for index, cluster in enumerate(spec["clusters"]):
        key = f"{path}: clusters.{index}"
        if cluster["sku"] not in machines:
            raise SpecError(f"{key}.sku: no simulated machine {cluster['sku']!r}; known: {', '.join(sorted(machines))}")
        if sum(_racks(cluster).values()) != cluster["nodes"]:
            raise SpecError(f"{key}.racks: {sum(_racks(cluster).values())} nodes in racks, nodes says {cluster['nodes']}")
        hosts = set(host_names(cluster))
        if hosts & names:
            raise SpecError(f"{key}.name: host names of two clusters are the same ({sorted(hosts & names)[0]}); set prefix")
        names |= hosts
    for index, entry in enumerate(spec.get("faults") or []):
        try:
            faults.check(entry, names)
        except ValueError as error:
            raise SpecError(f"{path}: faults.{index}.{error}") from error


def build(spec) -> list:
    """The nodes of a checked spec, in the order of the spec."""
    nodes = []
    for cluster in spec["clusters"]:
        of_cluster = list(_cluster(cluster, spec.get("seed", 0)))
        control_of(cluster, of_cluster, recorded_at_s(spec))
        of_cluster[0].control.collectives = bool(cluster.get("collectives"))
        fabric_of(cluster, of_cluster)
        nodes += of_cluster
    by_name = {node.name: node for node in nodes}
    for index, entry in enumerate(spec.get("faults") or []):
        for name in faults.hosts(entry["hosts"]):
            faults.apply(entry, by_name[name], random.Random(f"{spec.get('seed', 0)}:{name}:fault{index}"))
    render_load.meet(nodes)
    return nodes


def recorded_at_s(spec) -> float:
    """When the captures claim to be recorded, in seconds since the epoch."""
    return float(calendar.timegm(time.strptime(spec.get("at", DEFAULT_AT), "%Y-%m-%dT%H:%M:%SZ")))


def host_names(cluster) -> list:
    """b200-01, b200-02, ...: the cluster's prefix and as many digits as the count needs, two at least."""
    width = max(2, len(str(cluster["nodes"])))
    return [f"{cluster.get('prefix', cluster['name'])}-{number:0{width}d}" for number in range(1, cluster["nodes"] + 1)]


def _racks(cluster) -> dict:
    if cluster.get("racks"):
        return cluster["racks"]
    size = 18 if cluster["sku"].endswith("_nvl72") else 4
    full, rest = divmod(cluster["nodes"], size)
    sizes = [size] * full + ([rest] if rest else [])
    return {f"{cluster['name']}-r{number:0{len(str(len(sizes)))}d}": count for number, count in enumerate(sizes, 1)}


@cache
def _machines() -> dict:
    return yaml.load((Path(__file__).parent / "machines.yml").read_text(encoding="utf-8"), LOADER)


@cache
def _profile(sku) -> dict:
    """The SKU profile, its values without sources; over those of machines.yml for what no source tells."""
    path = ROOT / "standards/profiles" / f"{sku}.yml"
    if not path.exists():
        raise SpecError(f"{path}: no profile for {sku}")
    profile = yaml.load(path.read_text(encoding="utf-8"), LOADER)
    known = {key: entry["value"] for key, entry in profile["values"].items()}
    return {**profile, "values": {**_machines()["machines"][sku].get("values", {}), **known}}


def _cluster(cluster, seed):
    racks = [(rack, slot) for rack, count in _racks(cluster).items() for slot in range(1, count + 1)]
    shared = random.Random(f"{seed}:{cluster['name']}")
    domains = {rack: _uuid(shared) for rack in _racks(cluster)}
    for name, (rack, slot) in zip(host_names(cluster), racks):
        yield _node(cluster, name, rack, slot, seed, domains[rack])


def _node(cluster, name, rack, slot, seed, domain) -> SimNode:
    sku, rng = cluster["sku"], random.Random(f"{seed}:{name}")
    machine, profile = _machines()["machines"][sku], _profile(sku)
    versions = _versions(cluster, profile, machine["arch"])
    node = SimNode(
        name=name,
        cluster=cluster["name"],
        rack=rack,
        slot=slot,
        sku=sku,
        vendor=profile["vendor"],
        arch=machine["arch"],
        transport=cluster["transport"],
        scheduler=cluster["scheduler"],
        os=cluster.get("os", "ubuntu24.04"),
        seed=rng.getrandbits(32),
        versions=versions,
        sockets=machine["sockets"],
        cores_per_socket=machine["cores_per_socket"],
        cpu_model=machine["cpu_model"],
        numa_nodes=machine["numa_nodes"],
        memory_gib=machine["memory_gib"],
        kernel_cmdline=machine["cmdline"].format(kernel=versions["kernel"], root_uuid=_uuid(rng)),
        boot_id=_uuid(rng),
        machine_id=_uuid(rng).replace("-", ""),
        uptime_s=round(rng.uniform(6, 15) * 86400, 2),
        chassis_serial=f"{rng.randrange(10**12, 10**13)}",
        free_bytes=rng.randrange(700, 820) * 1024**3,
        clock_offset_s=round(rng.uniform(-2e-5, 2e-5), 9),
    )
    node.gpus = _gpus(profile, machine, rng, domain)
    node.nics = _nics(profile, machine, rng, cluster["transport"])
    node.nvmes = _nvmes(profile["values"]["nvme.count"], machine["nvme"], rng)
    node.mounts, node.modules = _mounts(node), _modules(node)
    return node


def _gpus(profile, machine, rng, domain) -> list:
    values, layout, gpus, board = profile["values"], machine["gpu"], [], ""
    racked = profile["form"] == "nvl72"
    for index in range(values["gpu.count"]):
        if index % layout.get("per_board", 1) == 0:
            board = f"16{rng.randrange(10**10, 10**11)}"
        links = values.get("gpu.nvlink_count") or values.get("gpu.xgmi_count") or 0
        gpus.append(
            Gpu(
                index=index,
                name=profile["smi_names"][0],
                uuid="GPU-" + _uuid(rng),
                serial=board,
                pci=layout["pci"][index],
                memory_mib=values["gpu.memory_mib"],
                vbios=layout["vbios"],
                power_limit_w=float(values["gpu.tdp_w"]),
                power_default_w=float(values["gpu.tdp_w"]),
                power_max_w=float(values["gpu.tdp_w"]),
                max_clock_mhz=values.get("gpu.smi_max_clock_mhz") or values["gpu.max_clock_mhz"],
                module_id=layout.get("modules", range(8))[index],
                pcie_gen=values["gpu.pcie_gen"],
                pcie_gen_max=values["gpu.pcie_gen"],
                pcie_width=values["gpu.pcie_width"],
                pcie_width_max=values["gpu.pcie_width"],
                numa=index * machine["numa_nodes"] // values["gpu.count"],
                # idle temperatures follow the slot (air passes some GPUs second) and vary a little
                temperature_c=layout["idle_c"] + 2 * (index % 2) + rng.randrange(0, 4),
                power_draw_w=round(layout["idle_w"] * rng.uniform(0.96, 1.04), 2),
                nvlinks_gbytes_s=[layout["link_gbytes_s"]] * links,
                clique_id=32766 if racked else 0,
                cluster_uuid=domain if racked else "00000000-0000-0000-0000-000000000000",
            )
        )
    return gpus


def _nics(profile, machine, rng, transport) -> list:
    values, layout, nics = profile["values"], machine["nic"], []
    count, gpus = values.get("nic.count") or len(layout["pci"]), values["gpu.count"]
    per_slot = -(-count // len(layout["pci"]))  # a card of two ports sits at one address as functions 0 and 1
    for index in range(count):
        gpu = index * gpus // count
        slot, function = divmod(index, per_slot)
        pci = layout["pci"][slot][:-1] + str(function)
        nics.append(
            Nic(
                name=f"mlx5_{index}",
                pci=pci,
                rate_gbps=values.get("nic.rate_gbps", 400),
                link_layer="InfiniBand" if transport == "infiniband" else "Ethernet",
                firmware=layout["firmware"],
                board_id=layout["board_id"],
                model=layout["model"],
                netdev=f"ib{index}" if transport == "infiniband" else f"rail{index}",
                numa=gpu * machine["numa_nodes"] // gpus,
                gpu=gpu,
                pcie_gen=6 if layout["model"] == "ConnectX-8" else 5,
            )
        )
    return nics


def _nvmes(count, layout, rng) -> list:
    drives = []
    for index in range(count):
        serial = "".join(str(rng.randrange(10)) if sign == "#" else sign for sign in layout["serial"])
        worn, warm = rng.randrange(0, 3), rng.randrange(31, 39)
        drives.append(
            Nvme(
                f"nvme{index}", layout["model"], serial, layout["size_bytes"], layout["firmware"], percentage_used=worn, temperature_c=warm
            )
        )
    return drives


def _versions(cluster, profile, arch) -> dict:
    """Component -> version of an up-to-date machine; what the spec says wins, and an empty version is none."""
    table, system, versions = _machines()["versions"], cluster.get("os", "ubuntu24.04"), dict(_machines()["versions"]["common"])
    for part in (
        table[profile["vendor"]],
        table.get(cluster["scheduler"], {}),
        table["os"][system],
        table["os_arch"].get(f"{system} {arch}", {}),
    ):
        versions.update(part)
    if profile["vendor"] == "nvidia":
        versions.update(table[profile["form"]])
    return {**versions, **cluster.get("versions", {})}


def _mounts(node) -> list:
    mounts = [
        ("/dev/md0", "/", "ext4", "rw,relatime"),
        ("/dev/md1", "/boot/efi", "vfat", "rw,relatime,fmask=0077,dmask=0077"),
        ("tmpfs", "/run", "tmpfs", "rw,nosuid,nodev,size=209715200k,mode=755,inode64"),
        ("tmpfs", "/dev/shm", "tmpfs", "rw,nosuid,nodev,inode64"),
        ("/dev/md2", "/local", "xfs", "rw,relatime,attr2,inode64,logbufs=8,noquota"),
    ]
    if node.scheduler == "slurm":
        mounts.append(("10.20.0.11@o2ib:10.20.0.12@o2ib:/scratch", "/scratch", "lustre", "rw,flock,lazystatfs,encrypt"))
    else:
        mounts.append(
            (
                "10.30.0.20:/shared",
                "/shared",
                "nfs4",
                "rw,relatime,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=rdma,port=20049,nconnect=8",
            )
        )
    return mounts


def _modules(node) -> list:
    modules = ["ib_core", "ib_umad", "ib_uverbs", "mlx5_core", "mlx5_ib", "mlxfw", "nvme", "nvme_core", "rdma_cm", "rdma_ucm"]
    modules += (
        ["amdgpu", "amdkcl", "amdttm"] if node.vendor == "amd" else ["nvidia", "nvidia_modeset", "nvidia_uvm", "nvidia_peermem", "gdrdrv"]
    )
    modules += ["ib_ipoib"] if node.transport == "infiniband" else []
    modules += ["lnet", "lustre"] if node.scheduler == "slurm" else ["nfsv4", "rpcrdma"]
    return sorted(modules)


def _uuid(rng) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))
