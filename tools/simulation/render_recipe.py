"""What a simulated provider ships for NCCL or RCCL: settings in shell files, mounts for containers, libraries and plugins.

`node.recipe` holds what differs from a node that ships its platform's golden recipe: `files` {path: [lines]} (None: no such file), `conf`
text of /etc/nccl.conf, `texts` {path: text} of other files, `found` [(path, target of the link)] beside the libraries.
"""

from __future__ import annotations

import json
import re

from accept_node.collectors import nccl_recipe as asked

from .model_scheduler import is_head
from .records import command, file, listing, missing_file, missing_listing

SHELL, FRONT_END = "/etc/profile.d/nccl.sh", "eno1"
MOUNTS = "/etc/enroot/mounts.d/20-nccl.fstab"
FOLDERS = {"x86_64": "/usr/lib/x86_64-linux-gnu", "aarch64": "/usr/lib/aarch64-linux-gnu"}


def render(node) -> dict:
    read = {path for path in (*asked.CONFS, *asked.MODULE_PATHS, *asked.MCA) if path not in ("/root/.nccl.conf", "/etc/nccl.conf")}
    texts = node.recipe.get("texts", {})
    containers = "enroot" if _enroot(node) else ""
    access = node.scheduler == "kubernetes" and is_head(node)
    return {
        "commands": [
            command(asked.SETTINGS, _grepped(node), rc=2, duration_s=0.02),
            command(asked.FIND, "".join(f"{path}\t{target}\n" for path, target in _found(node)), rc=1, duration_s=0.02),
            *(_config_maps(node) if access else []),
        ],
        "files": [
            *[missing_file(path) for path in sorted(read - set(texts))],
            *[file(path, text) if text is not None else missing_file(path) for path, text in sorted(texts.items())],
        ],
        "listings": [
            listing("/etc/enroot", ["environ.d", "enroot.conf", "hooks.d", "mounts.d"]) if containers else missing_listing("/etc/enroot"),
            listing("/etc/kubernetes", ["admin.conf", "kubelet.conf", "manifests", "pki"])
            if access
            else missing_listing("/etc/kubernetes"),
            missing_listing("/root/.kube"),
        ],
    }


def _config_maps(node):
    """What the cluster offers pods: a map that they may load as their environment."""
    kubectl = ["kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf"]
    names = ["default      kube-root-ca.crt", "kube-system  coredns", "nvidia       nccl-recipe"]
    found = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "data": {"NCCL_IB_QPS_PER_CONNECTION": "4", "note": "for large jobs"}})
    return [
        command([*kubectl, *asked.MAPS], "".join(name + "\n" for name in names), duration_s=0.2),
        command([*kubectl, "get", "configmap", "nccl-recipe", "-n", "nvidia", "-o", "json"], found, duration_s=0.2),
    ]


def _enroot(node) -> bool:
    return node.scheduler == "slurm"


def shipped(node) -> dict:
    """Path -> lines of the files that set something."""
    lines = [f"export NCCL_SOCKET_IFNAME={FRONT_END}"]
    if "nvl72" in node.sku:
        lines += ["export NCCL_MNNVL_ENABLE=1", "export NCCL_CUMEM_ENABLE=1", "export NCCL_NET_GDR_C2C=1"]
    if node.vendor == "amd":
        lines += ["export NCCL_DMABUF_ENABLE=1", "export HSA_NO_SCRATCH_RECLAIM=1"]
    files = {SHELL: lines}
    if _enroot(node):
        files[MOUNTS] = ["/etc/nccl.conf /etc/nccl.conf none x-create=file,bind,ro,nofail"]
    given = node.recipe.get("files", {})
    return {path: lines for path, lines in sorted({**files, **given}.items()) if lines}


def _grepped(node) -> str:
    return "".join(f"{path}:{line}\n" for path, lines in shipped(node).items() for line in lines)


def library_lines(node) -> str:
    """What a search of shell files for the library's own names finds, as gid_check asks for it."""
    lines = [
        (path, line) for path, lines in shipped(node).items() for line in lines if path.startswith(("/etc/environment", "/etc/profile"))
    ]
    return "".join(f"{path}:{line}\n" for path, line in lines if re.match(r"\s*(export\s+)?(NCCL|RCCL)_[A-Z0-9_]+=", line))


def _found(node):
    folder, version = FOLDERS.get(node.arch, "/usr/lib"), node.versions.get("nccl", "").split("-")[0]
    found = []
    if node.vendor == "amd":
        found += [("/opt/rocm/lib/librccl.so.1", "librccl.so.1.0"), ("/opt/rocm/lib/librccl.so.1.0", "")]
    elif version:
        found += [(f"{folder}/libnccl.so.2", f"libnccl.so.{version}"), (f"{folder}/libnccl.so.{version}", "")]
    return [*found, *node.recipe.get("found", [])]
