"""Each rule of the table of minimum versions: what passes, what fails, and what may not pass."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml
from accept_judge import versions


@pytest.fixture(scope="module")
def table(root):
    return yaml.safe_load((root / "standards" / "baselines" / "versions.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def row(table):
    return lambda name: table["values"][f"versions.{name}"]["value"]


def test_the_table_has_its_shape(root, table):
    schema = json.loads((root / "standards" / "schema" / "baseline_versions.json").read_text(encoding="utf-8"))
    assert [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(table)] == []


@pytest.mark.parametrize(
    ("name", "actual", "ok", "says"),
    [
        ("nvidia_driver", "580.159.03", True, "NVIDIA bulletin 5821"),
        ("nvidia_driver", "580.173.02", True, "2026-04-28"),
        ("nvidia_driver", "580.126.09", False, "CVE-2026-24187"),
        ("nvidia_driver", "535.288.01", False, "535.309.01"),
        ("nvidia_driver", "570.211.01", False, "another branch is needed"),
        ("nvidia_driver", "590.48.01", False, "has none for branch 590"),
        ("nvidia_driver", "570.195.03", False, "below 570.211.01"),
        ("nvidia_driver", "610.57.04", None, "newer than all"),
        ("nvidia_driver", "550.54.15", None, "no floor is published for branch 550"),
        ("nvidia_driver", "585.10.01", None, "no floor is published for branch 585"),
        ("nvidia_driver", "6.16.13", None, "not a version of it"),
        ("nvidia_container_toolkit", "1.19.1", True, "5850"),
        ("nvidia_container_toolkit", "1.16.1", False, "CVE-2026-24260"),
        ("nvidia_container_toolkit", "1.19.1-rc.1", False, "1.19.1"),
        ("cuda_toolkit", "13.1.115", True, "5755"),
        ("cuda_toolkit", "12.8.93", False, "13.1"),
        ("docker", "29.7.0 [docker-ce, ubuntu 24.04]", True, "29"),
        ("docker", "29.1.3 [docker-ce, ubuntu 24.04]", False, "CVE-2026-17106"),
        ("docker", "28.2.2 [docker.io, ubuntu 24.04]", None, "own notice"),
        ("runc", "1.3.6", True, "GHSA-xjvp-4fhw-gc47"),
        ("runc", "1.2.8", False, "GHSA-xjvp-4fhw-gc47"),
        ("runc", "1.1.14", False, "GHSA-9493-h29p-rfm2"),
        ("runc", "1.0.0-rc93", False, "GHSA-c3xm-pvg7-gh7r"),
        ("runc", "1.4.2", False, "1.4.3"),
        ("runc", "1.4.0-rc.3", False, "1.4.3"),
        ("runc", "1.5.0-rc.3", True, "1.5.0-rc.3"),
        ("runc", "1.5.0-rc.2", False, "1.5.0-rc.3"),
        ("runc", "1.6.0", None, "newer than all"),
        ("runc", "1.3.3-0ubuntu1~24.04.3 [runc, ubuntu 24.04]", None, "own notice"),
        ("runc", "1.3.3-0ubuntu1~24.04.3", None, "own notice"),
        ("runc", "1.2.5-2.el9_7 [runc, rhel 9.7]", None, "own notice"),
        ("connectx_firmware", "40.46.3008", True, "5699"),
        ("connectx_firmware", "28.43.1014", False, "43.8002"),
        ("connectx_firmware", "28.45.4702", None, "train 45"),
        ("connectx_firmware", "40.47.1026", None, "newer than all"),
        ("connectx_firmware", "231.1.162.0", None, "not a version of it"),
        ("mlnx_ofed", "24.10-3.2.5.0", True, "5654"),
        ("mlnx_ofed", "24.10-2.1.8.0", False, "24.10-3.2.5.0"),
        ("mlnx_ofed", "24.10-3.2.5.0.rhel9.4", True, "5654"),
        ("mlnx_ofed", "24.04-0.6.6.0", None, "branch 24.04"),
        ("doca_host", "2.9.1-0.4.4", False, "2.9.2-0.1.6"),
        ("doca_host", "3.0.0-058001", True, "5654"),
        ("doca_host", "3.1.0-091000", None, "newer than all"),
        ("kernel", "6.8.0-137.137 [linux, ubuntu 24.04]", True, "USN-8630-1"),
        ("kernel", "6.8.0-124.124 [linux, ubuntu 24.04]", False, "CVE-2026-53359"),
        ("kernel", "6.8.0-1031.34 [linux-nvidia-6.8, ubuntu 24.04]", None, "linux-nvidia-6.8 of ubuntu 24.04"),
        ("kernel", "5.14.0-611.5.1.el9_7 [kernel, rhel 9.7]", None, "kernel of rhel 9.7"),
        ("kernel", "6.8.0-137-generic", None, "not known"),
        ("qemu", "1:8.2.2+ds-0ubuntu1.9 [qemu, ubuntu 24.04]", False, "CVE-2024-3446"),
        ("qemu", "1:8.2.2+ds-0ubuntu1.10 [qemu, ubuntu 24.04]", True, "USN-7744-1"),
        ("bluefield_virtio_net", "24.10.49", False, "24.10.50"),
        ("bluefield_virtio_net", "24.10.50", True, "24.10.50"),
        ("bluefield_virtio_net", "25.10.4", None, "the line must be told"),
        ("bluefield_virtio_net", "25.10.4 [LTS25]", True, "25.10.2"),
        ("bluefield_virtio_net", "25.10.1", False, "25.10"),
        ("bluefield_virtio_net", "25.10.6", True, "25.10"),
        ("bluefield_virtio_net", "1.7.21", False, "affected"),
        ("bluefield_virtio_net", "1.9.0", None, "numbering"),
        ("switch_os", "25.0.2.4438 [NVOS on GB300 NVLink switch]", True, "5817"),
        ("switch_os", "25.02.4282 [NVOS on GB300 NVLink switch]", False, "25.02.4438"),
        ("switch_os", "25.02.4438", None, "a product that is not told"),
        ("nccl", "2.30.7", None, "no security floor"),
        ("nvidia_driver", "none", None, "no version"),
        ("nvidia_driver", "[N/A]", None, "not a version"),
        ("nvidia_driver", "", None, "no version"),
        ("nvidia_driver", None, None, "no version"),
    ],
)
def test_floor(row, name, actual, ok, says):
    outcome = versions.floor(actual, row(name))
    assert outcome.ok is ok, outcome
    assert says in outcome.reason


@pytest.mark.parametrize("wanted", [None, "1.0", {}, {"rule": "newer"}])
def test_without_a_rule_nothing_passes(wanted):
    assert versions.floor("1.0", wanted).ok is None


def test_a_branch_whose_floor_is_of_an_older_bulletin_is_not_said_to_be_fixed():
    floors = {
        "535": {"version": "535.309.01", "advisory": "bulletin 1", "cves": []},
        "580": {"version": "580.178.04", "advisory": "bulletin 2", "cves": []},
    }
    drivers = {"title": "driver", "rule": "branch", "pattern": r"[0-9.]+", "advisory": "bulletin 2", "floors": floors}
    assert versions.floor("580.178.04", drivers).ok is True
    outcome = versions.floor("535.309.01", drivers)
    assert outcome.ok is None
    assert "bulletin 2 is newer" in outcome.reason


def test_wanted_text_names_the_floor_that_applies(row):
    text = versions.wanted_text(row("nvidia_driver"), "580.95.05")
    assert text == "580.159.03 (NVIDIA bulletin 5821; CVE-2026-24187..CVE-2026-24201; fix out since 2026-04-28) or newer"
    assert "no fix for this branch" in versions.wanted_text(row("nvidia_driver"), "570.211.01")
    assert "595: 595.71.05 or newer" in versions.wanted_text(row("nvidia_driver"), "6.16.13")
    assert versions.wanted_text(row("nccl")) == "no published floor"
    assert "linux of ubuntu 24.04: 6.8.0-137.137" in versions.wanted_text(row("kernel"))


def test_every_row_can_be_shown(table):
    for key, entry in table["values"].items():
        if key.startswith("versions."):
            assert "None" not in versions.wanted_text(entry["value"])


@pytest.mark.parametrize(
    ("actual", "wanted", "ok"),
    [
        ("570.133.20", "570.133.20", True),
        ("580.95.05 [nvidia-open, rhel 9.7]", "570.133.20", True),
        ("565.57.01", "570.133.20", False),
        ("6.16.13", "570.133.20", None),
        ("3.9.21", "3.8", True),
        ("3.6.8", "3.8", False),
        ("ERR!", "3.8", None),
    ],
)
def test_at_least(actual, wanted, ok):
    assert versions.at_least(actual, wanted).ok is ok
