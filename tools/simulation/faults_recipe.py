"""Named faults of what a provider ships for collective libraries. Each public function puts one into a node; near misses are here too."""

from __future__ import annotations

from .render_rdma import ROOT, TRAFFIC_CLASS
from .render_recipe import MOUNTS, SHELL, shipped


def _export(node, *lines, path=SHELL):
    """More lines in one of the files that set something."""
    node.recipe.setdefault("files", {})[path] = [*shipped(node).get(path, []), *lines]


def exported_conf(node, rng):
    """/etc/nccl.conf written as a shell file: its lines set nothing"""
    node.edits.append(("/etc/nccl.conf", "", f"export NCCL_IB_TC={TRAFFIC_CLASS}\n"))


def lost_conf_file(node, rng):
    """NCCL_CONF_FILE names a file that is not there"""
    _export(node, "export NCCL_CONF_FILE=/opt/site/nccl.conf")
    node.recipe.setdefault("texts", {})["/opt/site/nccl.conf"] = None


def two_values(node, rng, *, name="NCCL_IB_TC", shell="41", conf="106"):
    """A setting with one value in a shell file and another in /etc/nccl.conf"""
    _export(node, f"export {name}={shell}")
    node.edits.append(("/etc/nccl.conf", "", f"{name}={conf}\n"))


def setting(node, rng, *, name="NCCL_IB_DISABLE", value="1"):
    """A setting that every job gets, from a shell file"""
    _export(node, f"export {name}={value}")


def topology_of_another(node, rng, *, gpus=4):
    """A topology file that describes another machine"""
    path = "/opt/microsoft/ndv5-topo.xml"
    _export(node, f"export NCCL_TOPO_FILE={path}")
    devices = "".join(
        f'  <pci busid="000{number}:00:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"/>\n' for number in range(gpus)
    )
    text = f'<system version="1">\n <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel">\n{devices} </cpu>\n</system>\n'
    node.recipe.setdefault("texts", {})[path] = text


def conf_not_mounted(node, rng):
    """/etc/nccl.conf sets something, and containers do not see it"""
    node.recipe.setdefault("files", {})[MOUNTS] = None
    node.edits.append(("/etc/nccl.conf", "", "NCCL_IB_QPS_PER_CONNECTION=4\n"))


def bare_recipe(node, rng):
    """Nothing is shipped for the library"""
    node.recipe.setdefault("files", {})[SHELL] = None


def class_not_forced(node, rng):
    """Near miss: rails on which the driver forces no traffic class; the library's settings name it"""
    if not node.nics or node.nics[0].link_layer != "Ethernet":
        raise LookupError("ports of Ethernet")
    for nic in node.nics:
        node.edits.append((f"{ROOT}/{nic.name}/tc/1/traffic_class", "", "\n"))


def no_peer_mapping(node, rng):
    """A driver that lets no GPU ring an adapter's bell, and no GDRCopy to help"""
    node.isolation.setdefault("params", {})["RegistryDwords"] = '""'
    if "gdrdrv" in node.modules:
        node.modules.remove("gdrdrv")
    node.versions["gdrcopy"] = ""


def quoted_setting(node, rng):
    """Near miss: a shell file that quotes its values; a module file and a comment that set nothing by themselves"""
    _export(node, 'export NCCL_BUFFSIZE="8388608"')
    node.recipe.setdefault("files", {})["/usr/share/modulefiles/nccl/old"] = ["setenv NCCL_IB_DISABLE 1"]
