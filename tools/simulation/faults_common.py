"""What all faults use: records of the kernel's ring buffer."""

from __future__ import annotations


def log(node, rng, *texts, priority=3, ago_s=None):
    """Ring buffer records some hours before the capture, in one burst."""
    at = node.uptime_s - (rng.uniform(1800, 36000) if ago_s is None else ago_s)
    for text in texts:
        node.kernel_log.append((round(at, 6), priority, text))
        at += rng.uniform(0.0001, 0.004)


def xid(gpu, number, rest):
    """The line in which the NVIDIA driver tells an error of a GPU."""
    return f"NVRM: Xid (PCI:{gpu.pci[:-2]}): {number}, {rest}"
