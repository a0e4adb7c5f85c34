"""What the provider ships for NCCL or RCCL on a node: settings and where they stand, plugins, topology file, what containers are given.

Which of several values wins is the judge's to say. Homes of users are not looked into: what a user set is that user's business; root's
own file and the one that new users are given (/etc/skel) are read.
"""

from __future__ import annotations

import re

from ..parsers import nccl_conf, nccl_files, nvidia_params

# First writer wins: the file that NCCL_CONF_FILE names, or else that of the user; /etc last. RCCL reads names of its own beside them.
CONFS = ("/root/.nccl.conf", "/root/.rccl.conf", "/etc/skel/.nccl.conf", "/etc/nccl.conf", "/etc/rccl.conf")
PLACES = [
    *["/etc/environment", "/etc/environment.d", "/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/csh.cshrc"],
    *["/etc/modulefiles", "/usr/share/modulefiles", "/usr/share/modules/modulefiles", "/usr/share/Modules/modulefiles"],
    *["/opt/modulefiles", "/usr/local/modulefiles", "/etc/lmod"],
    *["/etc/slurm", "/etc/systemd/system/slurmd.service.d", "/etc/enroot", "/etc/cdi", "/var/run/cdi", "/etc/nvidia-container-runtime"],
    *["/etc/ucx", "/usr/local/gib/scripts", "/usr/local/gib/configs"],
]
NAMES = "(NCCL|RCCL|OFI_NCCL|UCX|OMPI_MCA|PMIX_MCA|FI|NVSHMEM|SHARP|HSA|RDMAV)_[A-Za-z0-9_]+"
# Lines that set such a name, and lines of enroot's fstab files that mount one of these files: no other line leaves the node.
LINES = (
    r"^(Environment=)?([^#=$]{0,48}[\"'[:space:](])?"
    + NAMES
    + r"[\"']?[[:space:]]*[=,[:space:]]|^/[^[:space:]]*(nccl|topo|gib)[^[:space:]]*[[:space:]]+/"
)
SETTINGS = ["grep", "-rHsIE", LINES, *PLACES]
LIBRARIES = [
    *["/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/local/lib", "/usr/local/cuda/lib64"],
    *["/opt/amazon/ofi-nccl/lib", "/opt/amazon/ofi-nccl/lib64", "/opt/aws-ofi-nccl/lib", "/usr/local/gib/lib64", "/opt/rocm/lib"],
    *["/opt/hpcx/nccl_rdma_sharp_plugin/lib", "/opt/hpcx/nccl_spectrum-x_plugin/lib", "/opt/mellanox/sharp/lib", "/opt/nvshmem/lib"],
    *["/var/run/nvidia-topologyd", "/opt/microsoft"],
]
WANTED = (
    "libnccl*.so*",
    "librccl*.so*",
    "libnvshmem_host.so*",
    "libsharp_coll.so*",
    "libgdrapi.so*",
    "libmlx5.so*",
    "*topo*.xml",
    "virtualTopology.xml",
)
FIND = ["find", "-H", *LIBRARIES, "-maxdepth", "1", "("]
FIND += [word for name in WANTED for word in ("-o", "-name", name)][1:] + [")", "-printf", "%p\\t%l\\n"]
MODULE_PATHS = ("/etc/environment-modules/modulespath", "/etc/lmod/modulespath")
MCA = ("/etc/openmpi/openmpi-mca-params.conf", "/etc/openmpi-mca-params.conf", "/opt/hpcx/ompi/etc/openmpi-mca-params.conf")
PARAMETERS = "/proc/driver/nvidia/params"
TOPOLOGYD = "/var/run/nvidia-topologyd/virtualTopology.xml"  # the library loads it unasked
PLUGIN = re.compile(r"lib(?:nccl|rccl)-(net|tuner|profiler|env|gin)[\w.\-]*\.so(?:\.[\d.]+)?$")
PATH = re.compile(r"/(?!proc/|sys/|dev/)[\w.+\-/]{1,200}")
MAPS = ["get", "configmaps", "-A", "--no-headers", "-o", "custom-columns=NS:.metadata.namespace,NAME:.metadata.name"]
KUBECONFIGS = (("/etc/kubernetes", "admin.conf"), ("/root/.kube", "config"))  # where an administrator's access lies
KEPT_MAPS = 4
KEPT_FILES, KEPT_NAMES, KEPT = 24, 40, 24


def collect(gather) -> dict:
    """The data of the concern; standards/schema/concerns/nccl_recipe.json is its shape."""
    shells = gather.command(SETTINGS, nccl_files.parse, ok=(0, 1, 2), timeout_s=20.0)
    found = gather.command(FIND, nccl_files.parse_found, ok=(0, 1), timeout_s=20.0)
    files = [{"from": path, "values": _few(values)} for path, values in sorted((shells or {"files": {}})["files"].items())]
    files += _config_maps(gather)
    unread = [] if shells else ["shell, module and container files"]
    named = _named(files, "NCCL_CONF_FILE")
    confs, ignored = [], []
    for path in [*([named] if named and PATH.fullmatch(named) and ".." not in named else []), *CONFS]:
        conf = gather.file(path, nccl_conf.parse, optional=True)
        if conf:
            confs.append({"from": path, "values": _few(conf["values"])})
            ignored += [f"{path}: {line}" for line in conf["ignored"]]
        elif not gather.missing(path):
            unread.append(path)
    there = named in [conf["from"] for conf in confs] or (False if gather.missing(named) else None)
    return {
        "settings": confs + files[:KEPT_FILES],
        "settings_left_out": max(0, len(files) - KEPT_FILES),
        "ignored": ignored[:KEPT],
        "unread": unread,
        "conf_file": "none" if named is None else {"path": named, "there": there},
        "modules_elsewhere": _modules(gather),
        "mounts": (shells or {"mounts": None})["mounts"],
        "containers": _containers(gather),
        "mca": _mca(gather),
        **_libraries(found),
        "topology": _topology(gather, confs + files, found),
        "driver_params": _parameters(gather),
    }


def _config_maps(gather) -> list:
    """What the cluster offers pods for the library, asked where an administrator's access lies; names of other maps are not kept."""
    access = next((f"{folder}/{name}" for folder, name in KUBECONFIGS if name in (gather.names(folder, optional=True) or ())), None)
    if access is None:
        return []
    kubectl = ["kubectl", "--kubeconfig", access]
    listed = gather.command([*kubectl, *MAPS], nccl_files.parse_map_names, timeout_s=20.0, optional=True, strip=nccl_files.only_about)
    found = []
    for one in (listed or {"maps": []})["maps"][:KEPT_MAPS]:
        argv = [*kubectl, "get", "configmap", one["name"], "-n", one["namespace"], "-o", "json"]
        told = gather.command(argv, nccl_files.parse_map, timeout_s=20.0, strip=nccl_files.only_settings)
        if told and told["values"]:
            found.append({"from": f"ConfigMap {one['namespace']}/{one['name']}", "values": _few(told["values"])})
    return found


def _few(values):
    return dict(sorted(values.items())[:KEPT_NAMES])


def _named(files, name):
    return next((file["values"][name] for file in files if file["values"].get(name)), None)


def _modules(gather):
    """Folders with module files that were not searched: shared file systems, whole software trees."""
    paths = set()
    for path in MODULE_PATHS:
        listed = gather.file(path, nccl_files.parse_paths, optional=True)
        paths.update(listed["paths"] if listed else ())
    return sorted(path for path in paths if not any(path == place or path.startswith(place + "/") for place in PLACES))[:KEPT]


def _containers(gather):
    """Is enroot there, as pyxis needs it? Its hooks decide what of the host's settings a container sees."""
    names = gather.names("/etc/enroot", optional=True)
    return "enroot" if names else "none" if gather.missing("/etc/enroot") else None


def _mca(gather):
    for path in MCA:
        found = gather.file(path, nccl_files.parse_mca, optional=True)
        if found:
            return {"from": path, "values": _few(found["values"])}
    return {"from": "none", "values": {}}


def _libraries(found):
    """Plugins, and copies of the libraries themselves; None where the search failed."""
    if found is None:
        return {"plugins": None, "libraries": None}
    plugins, libraries = [], []
    for entry in found["files"]:
        name = entry["path"].rsplit("/", 1)[1]
        kind = PLUGIN.match(name)
        if kind:
            plugins.append({"path": entry["path"], "kind": kind.group(1), "target": entry["target"].rsplit("/", 1)[-1]})
        elif re.search(r"\.so\.\d+\.\d", name) and not entry["target"]:
            libraries.append(entry["path"])
    return {"plugins": plugins[:KEPT], "libraries": libraries[:KEPT]}


def _topology(gather, files, found):
    """The topology file that the library is told to read, or reads unasked: {path, from, there, gpus, nics}; "none" where there is none."""
    named = next(((file["values"]["NCCL_TOPO_FILE"], file["from"]) for file in files if file["values"].get("NCCL_TOPO_FILE")), None)
    unasked = found and any(entry["path"] == TOPOLOGYD for entry in found["files"])
    if named is None and not unasked:
        return "none" if found is not None else None
    path, origin = named or (TOPOLOGYD, "nvidia-topologyd")
    entry = {"path": path, "from": origin, "there": None, "gpus": None, "nics": None}
    if not PATH.fullmatch(path) or ".." in path:
        gather.error(path, "refused", f"NCCL_TOPO_FILE in {origin}: not read, since it is no plain path")
        return entry
    read = gather.file(path, nccl_files.parse_topology, optional=True)
    return {**entry, "there": not gather.missing(path), **({"gpus": read["gpus"], "nics": read["nics"]} if read else {})}


def _parameters(gather):
    """What the driver was started with, of what lets adapters be rung from the GPU."""
    found = gather.file(PARAMETERS, nvidia_params.parse, optional=True)
    if found is None:
        return "none" if gather.missing(PARAMETERS) else None
    values = found["values"]
    return {"stream_mem_ops": values.get("EnableStreamMemOPs"), "registry_dwords": str(values.get("RegistryDwords", ""))[:200]}
