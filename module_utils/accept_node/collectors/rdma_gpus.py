"""Which GPU is nearest to an RDMA adapter, and how perftest reaches its memory. No concern of its own.

GPU memory is registered by a peer-memory module of the kernel, or handed over as a DMA-BUF. perftest offers what it was built with
(--use_cuda, --use_rocm, each with _dmabuf); where the kernel has no such module, DMA-BUF is what is left, and it is said which was taken.
"""

from __future__ import annotations

from itertools import takewhile
from operator import eq

PCI = "/sys/bus/pci/devices"
MODULES, PEERS = "/sys/module", "/sys/kernel/mm/memory_peers"
KFD = "/sys/class/kfd/kfd/topology/nodes"
GPU_CLASSES = ("0x0302", "0x0300", "0x1200", "0x0380")
VENDORS = {"0x10de": "cuda", "0x1002": "rocm"}
PEER_MEMORY = {"cuda": ("nvidia_peermem", "nv_peer_mem", "nv_mem", "nv_mem_nc"), "rocm": ("amdkfd",)}


class Gpus:
    """The node's GPUs by the order in which their library counts them (PCI addresses), and the way to their memory."""

    def __init__(self, gather):
        pci = gather.tree(PCI, ["*/class", "*/vendor", "*"], optional=True)
        self.links, self.order, self.api = (pci.links if pci else {}), [], None
        if pci is None:
            return
        gpus = sorted(n.split("/")[0] for n, text in pci.files.items() if n.endswith("/class") and text.strip()[:6] in GPU_CLASSES)
        of = {gpu: VENDORS.get(pci.files.get(gpu + "/vendor", "").strip()) for gpu in gpus}
        known = [api for api in ("cuda", "rocm") if api in of.values()]
        self.api = known[0] if known else None
        self.order = [gpu for gpu in gpus if of[gpu] == self.api]
        if self.api == "rocm":
            self.order = _kfd(gather, self.order)
        modules = gather.tree(MODULES, [name + "/version" for name in PEER_MEMORY["cuda"]] + ["nvidia_peermem/refcnt"], optional=True)
        peers = gather.tree(PEERS, ["*/version"], optional=True)
        loaded = {name.split("/")[0] for tree in (modules, peers) if tree for name in tree.files}
        self.peer_memory = bool(self.api) and bool(loaded.intersection(PEER_MEMORY[self.api]))

    def way(self, help_text):
        """cuda, cuda_dmabuf, rocm, rocm_dmabuf; "none": this perftest cannot, None: not known."""
        if help_text is None or self.api is None:
            return None
        if "--use_" + self.api not in help_text:
            return "none"
        dmabuf = "--use_%s_dmabuf" % self.api in help_text
        return self.api + "_dmabuf" if dmabuf and not self.peer_memory else self.api

    def nearest(self, device):
        """Place among the GPUs of the one that shares most bridges with the adapter; None where two are as near."""
        if not device:
            return None
        near = [sum(1 for _ in takewhile(bool, map(eq, device.split("/"), self.links.get(gpu, "").split("/")))) for gpu in self.order]
        return near.index(max(near)) if near and near.count(max(near)) == 1 else None


def _kfd(gather, gpus):
    """ROCm counts GPUs as the kernel's topology does; as the bus does where that cannot be read."""
    tree = gather.tree(KFD, ["*/properties"], optional=True)
    found = []
    for path in sorted(tree.files if tree else (), key=lambda path: int(path.split("/")[0]) if path.split("/")[0].isdigit() else 0):
        facts = dict(line.split(None, 1) for line in tree.files[path].splitlines() if len(line.split(None, 1)) == 2)
        place, domain = facts.get("location_id", "").strip(), facts.get("domain", "0").strip()
        if facts.get("simd_count", "0").strip() != "0" and place.isdigit() and domain.isdigit():
            number = int(place)
            found.append("%04x:%02x:%02x.%d" % (int(domain), number >> 8, number >> 3 & 0x1F, number & 7))
    return found if set(found) == set(gpus) else gpus


def options(way, gpu) -> list:
    """perftest's options for the memory of one GPU."""
    api = way.split("_")[0]
    return ["--use_%s=%s" % (api, gpu), *(["--use_%s_dmabuf" % api] if way.endswith("_dmabuf") else [])]


def environment(way) -> list:
    """CUDA counts by speed unless told to count as the bus does."""
    return ["env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"] if way.startswith("cuda") else []
