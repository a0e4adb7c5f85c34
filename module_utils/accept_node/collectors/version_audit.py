"""Versions of everything that has a way to be read on a node: running, on disk, and as a package."""

from __future__ import annotations

import re

from ..components import COPIED, DOCKER_PACKAGES, DRIVERS, FILES, KERNEL_IMAGES, KERNEL_PACKAGES, MODULES, OFED_PACKAGES, TOOLS
from ..installed import Packages, ask, entry, settle
from ..parsers import docker, ipmitool, os_release, proc_nvidia_version, tool_version

DOCKER = ("docker", "version", "--format", "{{json .}}")
DMI = ("bios_vendor", "bios_version", "bios_date", "sys_vendor", "product_name")


def collect(gather) -> dict:
    """{os, package_manager, broken_packages, kernels, machine, driver_container, restart_required,
    components: {name: {version, source, package, package_version, origin, reason}}, copies: {name: [{path, version, reason}]},
    modules: {name: version | "loaded" | "none"}, nics: [{device, firmware, board_id, hca_type}]}

    `version` is what is judged: what runs, else what is on disk, else the package's; "none" is a measured absence. Drivers, docker and
    kernel also have `running`, drivers `on_disk`. `origin` is the source package. `kernels` are the releases that have a boot image.
    """
    system = gather.file("/etc/os-release", os_release.parse)
    packages = Packages(gather, system)
    components = {component.name: _tool(gather, component, packages) for component in TOOLS}
    copies = {}
    for component in COPIED:
        components[component.name], copies[component.name] = _copied(gather, component, packages)
    components["docker"] = _docker(gather, packages)
    components["mlnx_ofed"] = _ofed(gather, packages, components["doca_host"])
    modules = _modules(gather)
    for name, module, patterns in DRIVERS:
        components[name] = _driver(gather, packages, modules, module, patterns)
    _files(gather, components)
    components["kernel"] = _kernel(gather, packages)
    machine = _machine(gather)
    bios = machine and machine["bios_version"]
    components["bios"] = entry(bios, "/sys/class/dmi/id", "" if bios else "the firmware tells no version")
    components["bmc"] = _bmc(gather)
    boot = gather.names("/boot")
    return {
        "os": system,
        "package_manager": packages.manager,
        "broken_packages": packages.broken,
        "components": components,
        "copies": copies,
        "modules": modules,
        "nics": _nics(gather),
        "machine": machine,
        "kernels": boot and sorted({name.split("-", 1)[1] for name in boot if name.startswith(KERNEL_IMAGES) and "rescue" not in name}),
        "driver_container": _there(gather, "/run/nvidia/driver/etc/os-release"),
        "restart_required": _there(gather, "/run/reboot-required") if packages.manager == "dpkg" else "none",
    }


def _tool(gather, component, packages):
    answer, source, why = None, "package", ""
    for argv in component.commands:
        answer, failed = ask(gather, argv, component.parse, streams=component.streams)
        if answer or failed != "missing":
            source, why = " ".join(argv), failed
        if answer:
            break
    return settle(packages, answer and answer["version"], source, why, component.packages, component.whole)


def _copied(gather, component, packages):
    """The component, and each copy of it. A copy that is there but does not answer stays in the list, without a version."""
    copies = []
    for argv in component.commands:
        answer, why = ask(gather, argv, component.parse)
        if why != "missing":
            copies.append({"path": argv[0], "version": answer and answer["version"], "reason": why})
    first = next(
        (copy for copy in copies if copy["version"]),
        copies[0] if copies else {"path": component.commands[0][0], "version": None, "reason": ""},
    )
    return settle(packages, first["version"], first["path"], first["reason"], component.packages), copies


def _docker(gather, packages):
    """The daemon's version; where it does not answer, that of its program on disk."""
    answer, why = ask(gather, DOCKER, docker.parse_json, ok=None)
    version, source = answer and answer["server"], " ".join(DOCKER)
    running = version or ("none" if why == "missing" else None)
    if not version:
        disk, failed = ask(gather, ("dockerd", "--version"), tool_version.parse_dockerd)
        version, source, why = disk and disk["version"], "dockerd --version", failed
    return settle(packages, version, source, why, DOCKER_PACKAGES, running=running, vendor=answer and answer["vendor"])


def _ofed(gather, packages, doca):
    """MLNX_OFED. DOCA-Host brings an OFED of its own, which has its own numbers: there MLNX_OFED is none."""
    answer, why = ask(gather, ("ofed_info", "-s"), tool_version.parse_ofed_info)
    if answer and answer["product"] != "MLNX_OFED":
        doca["ofed"] = answer["version"]
        return entry("none", "ofed_info -s")
    return settle(packages, answer and answer["version"], "ofed_info -s", why, OFED_PACKAGES, whole=True)


def _modules(gather):
    tree = gather.tree("/sys/module", [name + end for name in MODULES for end in ("", "/version")], optional=True)
    if tree is None:
        return None
    there = {name.split("/")[0] for name in [*tree.links, *tree.files, *tree.errors]}
    return {name: (tree.files.get(name + "/version") or "").strip() or ("loaded" if name in there else "none") for name in MODULES}


def _driver(gather, packages, modules, module, patterns):
    """`running` from the loaded module, `on_disk` for the running kernel; null running where a loaded module tells no version (in-tree)."""
    loaded = gather.file("/proc/driver/nvidia/version", proc_nvidia_version.parse, optional=True) if module == "nvidia" else None
    state = modules and modules[module]
    running = loaded["version"] if loaded else None if state == "loaded" else state
    disk, why = None, ""
    if module == "nvidia" or state != "none":  # every kernel brings an amdgpu that has no version; it matters where it is loaded
        disk, why = ask(gather, ("modinfo", "-F", "version", module), tool_version.parse_modinfo, ok=(0, 1), streams="both")
    on_disk = disk and disk["version"]
    version = next((each for each in (running, on_disk) if each not in (None, "none")), None)
    source = "/proc/driver/nvidia/version" if loaded else "/sys/module" if version == running else "modinfo"
    why = "the module is loaded and tells no version" if state == "loaded" and not version else why
    return settle(packages, version, source, why, patterns, running=running, on_disk=on_disk, flavour=loaded and loaded["flavour"])


def _files(gather, components):
    """Components that leave their version in a file, where no tool or package told it."""
    for name, path, parse in FILES:
        found = gather.file(path, parse, optional=True)
        if found and components.get(name, {}).get("version") in (None, "none"):
            components[name] = entry(found["version"], path)
        elif name not in components:
            components[name] = entry(
                "none" if gather.missing(path) else None, path, "" if gather.missing(path) else path + " could not be read"
            )
    tree = gather.tree("/opt/nvidia/hpc_sdk", ["Linux_*/[0-9]*.[0-9]*"], optional=True)
    releases = sorted({path.split("/")[1] for path in tree.links}) if tree else []
    if releases and components["nvidia_hpc_sdk"]["version"] in (None, "none"):
        components["nvidia_hpc_sdk"] = entry(releases[-1], "/opt/nvidia/hpc_sdk")


def _kernel(gather, packages):
    """The running release, and the package that holds it: uname leaves out the package's upload number, SUSE its last number."""
    answer, why = ask(gather, ("uname", "-r"), tool_version.parse_uname)
    release = answer and answer["version"]
    kernel = entry(release, "uname -r", why, running=release)
    number = re.sub(r"-(default|azure|64kb)$", "", release or "?")
    for name, found in (packages.known or {}).items():
        if name in ("linux-image-" + (release or "?"), "linux-image-unsigned-" + (release or "?")):
            kernel.update(
                package=name, package_version=found["version"], origin=re.sub("^linux-(restricted-)?signed", "linux", found["origin"])
            )
        elif re.fullmatch(KERNEL_PACKAGES, name):
            for full in found.get("all", ()):
                built = full + "." + found["arch"]
                if number in (full, full.rsplit(".", 1)[0], built, built + "+64k"):
                    kernel.update(package=name, package_version=full, origin=found["origin"])
    return kernel


def _machine(gather):
    tree = gather.tree("/sys/class/dmi/id", DMI, optional=True)
    return tree and {name: (tree.files.get(name) or "").strip() or None for name in DMI}


def _bmc(gather):
    """Through the local interface, where ipmitool and its device are there. Its absence says nothing of the controller."""
    answer, why = ask(gather, ("ipmitool", "mc", "info"), ipmitool.parse_mc_info)
    return entry(answer and answer["firmware"], "ipmitool mc info", "no ipmitool on the node" if why == "missing" else why)


def _nics(gather):
    """[] where the kernel knows no RDMA device."""
    tree = gather.tree("/sys/class/infiniband", ["*/fw_ver", "*/board_id", "*/hca_type"], optional=True)
    if tree is None:
        return [] if gather.missing("/sys/class/infiniband") else None
    read = {name: value.strip() or None for name, value in tree.files.items()}
    devices = sorted({name.split("/")[0] for name in [*tree.files, *tree.errors]})
    keys = (("firmware", "fw_ver"), ("board_id", "board_id"), ("hca_type", "hca_type"))
    return [{"device": device, **{key: read.get(device + "/" + name) for key, name in keys}} for device in devices]


def _there(gather, path):
    """Is this file there? None where that cannot be told."""
    if gather.file(path, optional=True) is not None:
        return True
    return False if gather.missing(path) else None
