"""Published version strings, as their list of key values says."""

from __future__ import annotations

import pytest
from accept_node.parsers import ParseError, dmidecode, docker, efa_packages, ipmitool, nvcc, os_release, proc_nvidia_version, tool_version


@pytest.fixture
def text(corpus):
    return lambda name: (corpus / "i_versions" / name).read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize(
    ("name", "system", "version_id"),
    [
        ("aznhc_os_release_azhpc.txt", "ubuntu", "22.04"),
        ("os-release-azurelinux.txt", "azurelinux", "3.0"),
        ("os-release-cos.txt", "cos", "77"),
        ("os-release-flatcar.txt", "flatcar", "4372.0.1"),
        ("os_release_gpud.txt", "ubuntu", "22.04"),
    ],
)
def test_os_release(text, name, system, version_id):
    found = os_release.parse(text(name))
    assert (found["id"], found["version_id"]) == (system, version_id)


def test_a_paste_with_prompts_still_names_its_release(text):
    assert os_release.parse(text("aznhc_os_release_azhpc.txt"))["name"] == "Ubuntu 22.04.5 LTS"
    assert tool_version.parse_uname(text("aznhc_os_release_azhpc.txt").splitlines()[1])["version"] == "5.15.0-1074-azure"


def test_an_empty_os_release_is_unknown(text):
    with pytest.raises(ParseError):
        os_release.parse(text("os-release-empty.txt"))


def test_containerd(text):
    assert tool_version.parse_containerd(text("containerd_version.txt")) == {"version": "1.7.7"}


def test_mixed_lines_of_three_tools(text):
    mixed = text("docker_compose_ctk_mixed.txt")
    found = [
        read(mixed)["version"] for read in (tool_version.parse_dockerd, tool_version.parse_docker_compose, tool_version.parse_nvidia_ctk)
    ]
    assert found == ["29.2.1", "5.0.2", "1.19.0"]


def test_docker_version_followed_by_a_list_of_packages(text):
    found = docker.parse(text("docker_version_full_and_dpkg.txt"))
    assert (found["server"], found["containerd"], found["runc"], found["client"]) == ("20.10.11", "1.4.12", "1.0.2", "20.10.11")


def test_efa(text):
    found = efa_packages.parse(text("efa_installed_packages.txt"))
    assert (found["version"], found["packages"]["libfabric1"]) == ("1.5.1", "1.8.0amzn1.0")


def test_event_logs(text):
    bad, good = (ipmitool.parse(text(f"gcm_ipmitool_{kind}_sel.txt")) for kind in ("fail", "pass"))
    assert len(bad["entries"]) == len(good["entries"]) == 2
    assert "Critical Interrupt #0x90: Bus Fatal Error" in bad["asserted"]
    assert not any("Bus Fatal Error" in event for event in good["asserted"])


def test_dmidecode(text):
    server = dmidecode.parse(text("dmidecode_xe9680.txt"))["system"]
    assert (server["manufacturer"], server["product"], server["version"]) == ("Dell Inc.", "PowerEdge XE9680", None)
    virtual = dmidecode.parse(text("insights_dmidecode_208.txt"))
    assert (virtual["dmidecode"], virtual["bios"]["version"]) == ("3.0", "1.9.1-5.el7_3.2")


def test_the_loaded_driver_in_both_word_orders(text):
    newer, older = (proc_nvidia_version.parse(line) for line in text("nixgl220_proc_driver_version_both.txt").splitlines())
    assert (newer["version"], newer["flavour"]) == ("595.71.05", "open")
    assert (older["version"], older["flavour"]) == ("590.48.01", "open")


@pytest.mark.parametrize(
    ("name", "release", "version"), [("nvcc_12_1_66.txt", "12.1", "12.1.66"), ("nvcc_12_8_61_windows_date.txt", "12.8", "12.8.61")]
)
def test_nvcc(text, name, release, version):
    assert nvcc.parse(text(name)) == {"release": release, "version": version}
