"""What tools print when asked for their version: one pattern each, {"version": "..."}.

Each tool has its own pattern, since the first number in such a text is often another one (a year, a commit, the name of a distribution).
`parse` tries all of them and adds {"tool": "..."}. A version stays the text that the tool printed, with leading zeros and revision, without
a leading v.
"""

from __future__ import annotations

import re

from . import ParseError

NUMBER = r"v?([0-9]+(?:\.[0-9]+)*[A-Za-z0-9.+~:_-]*)"
PATTERNS = {
    "containerd": r"^containerd\s+\S+\s+" + NUMBER,
    "crio": r"^(?:crio version |Version:\s+)" + NUMBER,
    "crun": r"^crun version " + NUMBER,
    "apptainer": r"^(?:apptainer|singularity(?:-ce|-pro)?) version " + NUMBER,
    "docker_compose": r"^Docker Compose version " + NUMBER,
    "dcgm": r"^(?:dcgmi\s+version|Version)\s*:\s*" + NUMBER,
    "dockerd": r"^Docker version " + NUMBER + r"(?=,|\s|$)",
    "enroot": r"\A\s*" + NUMBER + r"\s*\Z",
    "fabric_manager": r"^\s*Fabric Manager version is\s*:\s*" + NUMBER,
    "imex": r"^\s*IMEX version is\s*:\s*" + NUMBER,
    "k3s": r"^(?:k3s|rke2) version " + NUMBER,
    "kubelet": r"^Kubernetes " + NUMBER,
    "munge": r"^munge-" + NUMBER,
    "nsight_compute": r"^Version " + NUMBER + r" \(build",
    "nsight_systems": r"^NVIDIA Nsight Systems version " + NUMBER,
    "nvidia_ctk": r"^NVIDIA Container Toolkit CLI version " + NUMBER,
    "openmpi": r"^mpirun \(Open MPI\) " + NUMBER,
    "podman": r"^podman version " + NUMBER,
    "qemu": r"^QEMU emulator version " + NUMBER,
    "runc": r"^runc version " + NUMBER,
    "slurm": r"^slurm(?:-wlm)? " + NUMBER,
    "ucx": r"^# (?:Library version: |UCT version=)" + NUMBER,
}
COMPILED = {tool: re.compile(pattern, re.M) for tool, pattern in PATTERNS.items()}


def _reader(tool):
    def read(text: str) -> dict:
        found = COMPILED[tool].search(text)
        if not found:
            raise ParseError("no version of %s in it" % tool)
        return {"version": found.group(1).rstrip(".,:")}

    return read


parse_apptainer = _reader("apptainer")
parse_containerd = _reader("containerd")
parse_crio = _reader("crio")
parse_crun = _reader("crun")
parse_dcgm = _reader("dcgm")
parse_docker_compose = _reader("docker_compose")
parse_dockerd = _reader("dockerd")
parse_enroot = _reader("enroot")
parse_fabric_manager = _reader("fabric_manager")
parse_imex = _reader("imex")
parse_k3s = _reader("k3s")
parse_kubelet = _reader("kubelet")
parse_munge = _reader("munge")
parse_nsight_compute = _reader("nsight_compute")
parse_nsight_systems = _reader("nsight_systems")
parse_nvidia_ctk = _reader("nvidia_ctk")
parse_openmpi = _reader("openmpi")
parse_podman = _reader("podman")
parse_qemu = _reader("qemu")
parse_runc = _reader("runc")
parse_slurm = _reader("slurm")
parse_ucx = _reader("ucx")


def parse(text: str) -> dict:
    for tool, pattern in COMPILED.items():
        found = pattern.search(text)
        if found:
            return {"tool": tool, "version": found.group(1).rstrip(".,:")}
    raise ParseError("no tool's version in it")


def parse_dcgm_exporter(text: str) -> dict:
    """`DCGM Exporter version 4.5.3-4.8.2`: the DCGM it was built with, then its own version. {"version", "dcgm": "4.5.3" | None}"""
    found = re.search(r"^DCGM Exporter version (?:([0-9.]+)-)?([0-9]+(?:\.[0-9]+)+)", text, re.M)
    if not found:
        raise ParseError("no version of dcgm_exporter in it")
    return {"version": found.group(2), "dcgm": found.group(1)}


def parse_modinfo(text: str) -> dict:
    """`modinfo -F version MODULE`, both streams: {"version": "none"} where no such module is on disk."""
    if re.search(r"Module \S+ not found", text):
        return {"version": "none"}
    found = re.search(r"\A\s*(\S+)\s*\Z", text)
    if not found or not found.group(1)[0].isalnum():
        raise ParseError("not one version: %r" % text.strip()[:60])
    return {"version": found.group(1)}


def parse_ofed_info(text: str) -> dict:
    """`ofed_info -s`: {"version": "24.10-3.2.5.0", "product": "MLNX_OFED" | "OFED-internal"}; the latter comes with DOCA-Host."""
    found = re.search(r"^(MLNX_OFED|OFED-internal)(?:_LINUX)?-([0-9][0-9A-Za-z.-]*):?\s*$", text, re.M)
    if not found:
        raise ParseError("no MLNX_OFED or OFED-internal release in it")
    return {"version": found.group(2), "product": found.group(1)}


def parse_uname(text: str) -> dict:
    """`uname -r`: {"version": "6.8.0-137-generic"}"""
    found = re.search(r"\A\s*([0-9]+\.[0-9]\S*)\s*\Z", text)
    if not found:
        raise ParseError("not a kernel release: %r" % text.strip()[:60])
    return {"version": found.group(1)}


def parse_plain(text: str) -> dict:
    """A file that holds a version and nothing else, such as /opt/rocm/.info/version."""
    found = re.search(r"\A\s*" + NUMBER + r"\s*\Z", text)
    if not found:
        raise ParseError("not one version: %r" % text.strip()[:60])
    return {"version": found.group(1)}
