"""What a node's versions are judged as, and what must fit to what."""

from __future__ import annotations

import datetime
from types import SimpleNamespace

import pytest
import yaml
from accept_judge.analysis import version_audit


@pytest.fixture(scope="module")
def run(root):
    table = yaml.safe_load((root / "standards" / "baselines" / "versions.yml").read_text(encoding="utf-8"))
    return SimpleNamespace(
        standards=SimpleNamespace(baselines={"versions": table}), started_at=datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
    )


def component(version, **more):
    return {"version": version, "package": "none", "package_version": None, "origin": None, "reason": "", **more}


def node(**components):
    return {
        "os": {"id": "ubuntu", "version_id": "24.04"},
        "components": components,
        "copies": {},
        "nics": [],
        "kernels": [],
        "driver_container": False,
    }


def driver(running="580.159.03", on_disk="580.159.03"):
    return component(running, running=running, on_disk=on_disk, flavour="open")


def test_distribution_packages_carry_their_name(run):
    facts = version_audit.analyse(
        node(docker=component("28.2.2", package="docker.io"), dcgm=component("4.6.0", package="datacenter-gpu-manager-4-core")), run
    )
    assert (facts["judged_docker"], facts["judged_dcgm"]) == ("28.2.2 [docker.io, ubuntu 24.04]", "4.6.0")


def test_a_kernel_is_judged_by_its_package(run):
    kernel = component("6.8.0-137-generic", package="linux-image-6.8.0-137-generic", package_version="6.8.0-137.137", origin="linux")
    assert version_audit.analyse(node(kernel=kernel), run)["judged_kernel"] == "6.8.0-137.137 [linux, ubuntu 24.04]"


def test_a_version_that_is_not_known_keeps_its_reason(run):
    facts = version_audit.analyse(node(dcgm=component(None, reason="dcgmi --version: timeout")), run)
    assert facts["judged_dcgm"] is None
    assert facts["judged_dcgm_reason"] == "dcgm: dcgmi --version: timeout"


def test_copies_beside_the_distribution_are_judged_by_their_number(run):
    data = node(runc=component("1.3.3-0ubuntu1~24.04.3", package="runc"))
    data["copies"]["runc"] = [
        {"path": "/usr/bin/runc", "version": "1.3.3-0ubuntu1~24.04.3", "reason": ""},
        {"path": "/usr/local/sbin/runc", "version": "1.1.12", "reason": ""},
        {"path": "/usr/local/bin/runc", "version": None, "reason": "runc: timeout"},
    ]
    judged = [(copy["judged"], copy["judged_reason"]) for copy in version_audit.analyse(data, run)["runc_copies"]]
    assert judged[0][0] == "1.3.3-0ubuntu1~24.04.3 [runc, ubuntu 24.04]"
    assert judged[1][0] == "1.1.12"
    assert judged[2] == (None, "runc: timeout")


def test_a_runtime_that_nobody_could_ask_is_not_absent(run):
    data = node(runc=component(None, reason="no package database"))
    data["copies"]["runc"] = []
    assert version_audit.analyse(data, run)["runc_copies"] == [{"path": "runc", "judged": None, "judged_reason": "no package database"}]


@pytest.mark.parametrize(
    ("running", "on_disk", "container", "fits"),
    [
        ("580.159.03", "580.159.03", False, "same"),
        ("580.95.05", "580.159.03", False, "running 580.95.05, on disk 580.159.03"),
        ("580.95.05", "none", False, "running 580.95.05, on disk none"),
        ("580.95.05", "none", True, "none"),
        (None, "580.159.03", False, None),
        ("580.95.05", None, False, None),
        ("none", "580.159.03", False, "none"),
    ],
)
def test_running_and_on_disk(run, running, on_disk, container, fits):
    data = {**node(nvidia_driver=driver(running, on_disk)), "driver_container": container}
    assert version_audit.analyse(data, run)["nvidia_driver_running_fits_disk"] == fits


@pytest.mark.parametrize(
    ("manager", "fits"),
    [("580.159.03", "same"), ("580.95.05", "fabric_manager 580.95.05, driver 580.159.03"), ("none", "none"), (None, None)],
)
def test_fabric_manager(run, manager, fits):
    assert version_audit.analyse(node(nvidia_driver=driver(), fabric_manager=component(manager)), run)["fabric_manager_fits_driver"] == fits


@pytest.mark.parametrize(
    ("kernels", "running", "newest"),
    [
        (["6.8.0-9-generic", "6.8.0-124-generic", "6.8.0-137-generic"], "6.8.0-124-generic", "6.8.0-137-generic"),
        (["6.8.0-137-generic", "6.17.0-1031-nvidia"], "6.8.0-137-generic", "6.8.0-137-generic"),
        (["6.8.0-137-generic-64k", "6.8.0-140-generic"], "6.8.0-137-generic-64k", "6.8.0-137-generic-64k"),
        (["5.14.0-570.58.1.el9_6.x86_64", "5.14.0-611.5.1.el9_7.x86_64"], "5.14.0-570.58.1.el9_6.x86_64", "5.14.0-611.5.1.el9_7.x86_64"),
        (["6.4.0-150700.53.11-default", "6.4.0-150700.53.22-default"], "6.4.0-150700.53.22-default", "6.4.0-150700.53.22-default"),
        ([], "6.8.0-137-generic", None),
        (None, "6.8.0-137-generic", None),
        (["6.8.0-137-generic"], None, None),
    ],
)
def test_newest_kernel(kernels, running, newest):
    found, reason = version_audit.newest_kernel(kernels, running)
    assert found == newest
    assert bool(reason) is (newest is None)


def test_firmware_of_boards(run):
    data = node()
    data["nics"] = [
        {"device": "mlx5_0", "firmware": "28.46.3008", "board_id": "MT_1", "hca_type": "MT4129"},
        {"device": "mlx5_1", "firmware": "28.43.1014", "board_id": "MT_1", "hca_type": "MT4129"},
        {"device": "bnxt_re0", "firmware": "231.1.162.0", "board_id": "B1", "hca_type": "BCM57608"},
    ]
    facts = version_audit.analyse(data, run)
    assert facts["drift_nic_firmware"] == "B1 231.1.162.0; MT_1 28.43.1014 and 28.46.3008"
    assert [nic["device"] for nic in facts["nic_firmware"]] == ["mlx5_0", "mlx5_1"]


def test_firmware_that_could_not_be_read_is_no_agreement(run):
    data = node()
    data["nics"] = [{"device": "mlx5_0", "firmware": None, "board_id": "MT_1", "hca_type": "MT4129"}]
    assert version_audit.analyse(data, run)["drift_nic_firmware"] is None


def test_components_without_a_floor_are_listed(run):
    facts = version_audit.analyse(
        node(slurm=component("25.05.4"), dcgm=component("4.6.0"), nccl=component("2.30.7"), munge=component("none")), run
    )
    assert [(item["name"], item["floor"]) for item in facts["without_floor"]] == [("nccl", None), ("slurm", None)]


def test_empty_data_is_unknown_throughout(run):
    facts = version_audit.analyse({}, run)
    assert facts["nic_firmware"] is None
    assert facts["runc_copies"] is None
    assert facts["kernel_fits_newest"] is None


def test_half_of_what_nodes_are_compared_by_is_not_compared(run):
    whole, half = driver(), {**driver(), "flavour": None}
    assert version_audit.analyse(node(nvidia_driver=whole), run)["drift_nvidia_driver"] == "580.159.03 open"
    assert version_audit.analyse(node(nvidia_driver=half), run)["drift_nvidia_driver"] is None
    data = {**node(), "machine": {"bios_version": "2.1", "product_name": None}}
    assert version_audit.analyse(data, run)["drift_bios"] is None
