"""Named faults of what carries collectives, as the library's log tells them. Each public function puts one into a node.

`node.sweep["log"]` holds (pattern, put) for the lines of the node's ranks; `bare` a share of the bandwidth where no recipe is set, `across`
that jobs across NVLink domains hang.
"""

from __future__ import annotations


def _log(node, pattern, put):
    node.sweep.setdefault("log", []).append((pattern, put))


def host_staged(node, rng):
    """A node whose adapters go through host memory"""
    _log(node, "/GDRDMA", "")


def link_local_traffic(node, rng):
    """A node whose RoCE traffic uses its link-local GID"""
    _log(node, r"GID \d+ \(0/[0-9A-F]+\)", "GID 0 (80FE/46442FFEFF47BB4E)")


def unforeseen_gid(node, rng):
    """A node whose RoCE traffic uses another index than table and settings let one expect"""
    _log(node, r"GID \d+ ", "GID 5 ")


def one_adapter(node, rng):
    """A node whose library finds one adapter"""
    _log(node, r"Using (\[0\]\S+) .*(\[RO\])", r"Using \1 \2")


def other_library(node, rng, *, version="2.21.5+cuda12.4"):
    """A node whose ranks bring another version of the library"""
    _log(node, r"(CCL version) \S+", rf"\1 {version}")


def acs_hint(node, rng):
    """A node whose library warns of ACS"""
    hint = "NCCL WARN NET/IB: local protection error. HINT In many cases this error occurs when ACS is enabled"
    _log(node, r"^(\S+ \[\d+\]) NCCL INFO (Using network .*\n)", rf"\1 NCCL INFO \2\1 net_ib.cc:2453 {hint}\n")


def needs_a_recipe(node, rng, *, share=0.5):
    """A node that carries full bandwidth only with settings that nobody ships"""
    node.sweep["bare"] = share


def stuck_across_domains(node, rng, *, clique=2):
    """A tray in another NVLink domain, with which no job goes through"""
    if not any(gpu.cluster_uuid for gpu in node.gpus):
        raise LookupError("NVLink domains")
    for gpu in node.gpus:
        gpu.clique_id = clique
    node.sweep["across"] = True
