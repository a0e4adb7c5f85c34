"""What the versions of a node are judged as: each component with its package and system, and what must fit to what."""

from __future__ import annotations

import functools
import re

from .. import version_order

DISTRIBUTION_PATHS = ("/usr/bin/", "/usr/sbin/")  # copies elsewhere were put there by hand or by another product
FIT = "same"
ELSEWHERE = {
    "switch_os": "read on the switch",
    "hgx_bmc": "read through the BMC (Redfish firmware inventory)",
    "hgx_firmware": "read through the BMC (Redfish firmware inventory)",
    "bluefield_virtio_net": "read on the DPU",
}


def analyse(data: dict, run) -> dict:
    """judged_<component>: the text that a floor is compared with; "none" where it is measured as absent, null with its _reason
    runc_copies, nvidia_container_toolkit_copies: [{path, judged}] · nic_firmware: [{device, firmware, board_id}] of ConnectX and BlueField
    without_floor: [{name, version, floor: null, floor_reason}] of what is installed and not in the table
    <a>_fits_<b>: "same", or what both are · newest_kernel · drift_<what>: texts to compare between nodes · <module>_loaded
    gpudirect_path: dma-buf, peermem or none
    """
    components, system = data.get("components") or {}, _system(data.get("os"))
    table = run.standards.baselines.get("versions") or {}
    rows = {key.split(".", 1)[1]: entry["value"] for key, entry in table.get("values", {}).items() if key.startswith("versions.")}
    facts = {}
    for name, component in components.items():
        facts[f"judged_{name}"] = _judged(component, rows.get(name), system)
        if facts[f"judged_{name}"] is None and component.get("reason"):
            facts[f"judged_{name}_reason"] = f"{name}: {component['reason']}"
    for name, where in ELSEWHERE.items():
        facts[f"judged_{name}"], facts[f"judged_{name}_reason"] = None, f"{where}, not on a node: the provider's evidence is needed"
    for name in ("runc", "nvidia_container_toolkit"):
        facts[f"{name}_copies"] = _copies((data.get("copies") or {}).get(name), name, components.get(name, {}), rows.get(name), system)
    facts["nic_firmware"] = _nic_firmware(data.get("nics"))
    facts["without_floor"] = _without_floor(components, rows)
    facts.update(_fits(data, components))
    facts.update(_drift(data, components))
    return facts


def _system(release) -> str | None:
    return f"{release['id']} {release['version_id']}" if release and release.get("version_id") else None


def _judged(component: dict, row: dict | None, system: str | None) -> str | None:
    """The number alone, or with package and system where the row's rule asks for them. Notices judge the package's own version."""
    version, package = component.get("version"), component.get("package")
    if version in (None, "none") or not row or package in (None, "none"):
        return version
    if row["rule"] == "notices":
        return _text(component.get("package_version") or version, component.get("origin") or package, system)
    return _text(version, package, system) if row.get("distro_packages") else version


def _text(version: str, package: str, system: str | None) -> str:
    return f"{version} [{package}{', ' + system if system else ''}]"


def _copies(copies, name, component, row, system) -> list | None:
    """Every copy of a runtime: the distribution's package only where the distribution installs."""
    if copies is None:
        return None
    items = []
    for copy in copies:
        packaged = copy["path"].startswith(DISTRIBUTION_PATHS)
        judged = _judged({**component, **copy}, row, system) if packaged else copy["version"]
        items.append({"path": copy["path"], "judged": judged, "judged_reason": copy.get("reason") or "it told no version"})
    if not items and component.get("version") != "none":  # a package without a program that answers, or nothing known at all
        reason = component.get("reason") or "it was not measured"
        package = component.get("package")
        items = [
            {"path": package if package not in (None, "none") else name, "judged": _judged(component, row, system), "judged_reason": reason}
        ]
    return items


def _nic_firmware(nics) -> list | None:
    """Only the maker's own devices: other RDMA devices have firmware of other numbering."""
    if nics is None:
        return None
    return [nic for nic in nics if nic.get("hca_type") is None or re.match(r"MT[0-9]", nic["hca_type"])]


def _without_floor(components, rows) -> list:
    return [
        {"name": name, "version": component["version"], "floor": None, "floor_reason": "no security floor is published for these"}
        for name, component in sorted(components.items())
        if not (rows.get(name) or {}).get("floors") and component.get("version") not in (None, "none")
    ]


def _fits(data, components) -> dict:
    driver, kernel = components.get("nvidia_driver") or {}, components.get("kernel") or {}
    running = driver.get("running")
    found = {
        f"{name}_fits_driver": _pair(name, (components.get(name) or {}).get("version"), "driver", running)
        for name in ("fabric_manager", "imex")
    }
    for name in ("nvidia_driver", "amdgpu"):
        component = components.get(name) or {}
        on_disk = component.get("on_disk")
        in_container = on_disk == "none" and data.get("driver_container") is True  # the module came from a driver container
        found[f"{name}_running_fits_disk"] = (
            "none" if in_container else _pair("running", component.get("running"), "on disk", on_disk, missing=True)
        )
    found["newest_kernel"], reason = newest_kernel(data.get("kernels"), kernel.get("running"))
    if reason:
        found["newest_kernel_reason"] = found["kernel_fits_newest_reason"] = reason
    found["kernel_fits_newest"] = found["newest_kernel"] and _pair(
        "running", kernel.get("running"), "newest installed", found["newest_kernel"]
    )
    return found


def _pair(one, a, other, b, missing=False) -> str | None:
    """ "same", or both. "none" where the first is not there; `missing`: that the second is not there is a difference too."""
    if a is None or b is None:
        return None
    if a == "none" or (b == "none" and not missing):
        return "none"
    return FIT if a == b else f"{one} {a}, {other} {b}"


def newest_kernel(kernels, running) -> tuple[str | None, str]:
    """(the newest installed release of the running kernel's flavour, "") or (None, why not)."""
    if not kernels or not running:
        return None, "no boot image of a kernel was found" if kernels == [] else "the installed kernels could not be read"
    alike = [release for release in kernels if _flavour(release) == _flavour(running)]
    try:
        return max(alike or [running], key=functools.cmp_to_key(version_order.rpm_part)), ""
    except version_order.VersionError as error:
        return None, str(error)


def _flavour(release: str) -> str:
    """-generic, -nvidia-64k, -default, .el9_7.x86_64 -> .x86_64: what kernels that can replace each other have in common."""
    words = re.sub(r"\.el[0-9_]+", "", release)
    found = re.search(r"[-.+][a-z].*$", words)
    return found[0] if found else ""


def _drift(data, components) -> dict:
    driver, nics, machine = components.get("nvidia_driver") or {}, data.get("nics"), data.get("machine") or {}
    firmware: dict = {}
    for nic in nics or []:
        firmware.setdefault(nic.get("board_id"), set()).add(nic.get("firmware"))
    unread = nics is None or any(None in (board, *versions) for board, versions in firmware.items())
    by_board = (
        "; ".join(f"{board} {' and '.join(sorted(versions))}" for board, versions in sorted(firmware.items())) if not unread else None
    )
    bios = machine.get("bios_version")
    return {
        "drift_nvidia_driver": _joined(driver.get("version"), driver.get("flavour")),
        "drift_nic_firmware": "none" if nics == [] else by_board,
        "drift_bios": _joined(bios, machine.get("product_name")) if bios else None,
        "drift_kernel": (components.get("kernel") or {}).get("version"),
        "peermem_loaded": _loaded(data, "nvidia_peermem"),
        "gdrdrv_loaded": _loaded(data, "gdrdrv"),
        "gpudirect_path": _gpudirect(data, driver),
    }


def _gpudirect(data, driver) -> str | None:
    """How a NIC gets at a GPU's memory: by dma-buf, which the open kernel modules give, else by the older nvidia_peermem."""
    flavour, peermem = driver.get("flavour"), _loaded(data, "nvidia_peermem")
    if flavour == "open":
        return "dma-buf"
    return "peermem" if peermem else None if flavour is None or peermem is None else "none"


def _loaded(data, module) -> bool | None:
    state = (data.get("modules") or {}).get(module)
    return state and state != "none"


def _joined(version, word) -> str | None:
    """None where either was not read: half a text is unlike the whole one of another node that is the same."""
    if version in (None, "none"):
        return version
    return f"{version} {word}" if word else None
