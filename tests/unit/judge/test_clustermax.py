"""A published table of minimum versions in place of our own: the same rows, and every error named."""

from __future__ import annotations

import hashlib
import json

import jsonschema
import pytest
import yaml
from accept_judge import clustermax, versions
from accept_judge.documents import DocumentError

NOTICE = {"package": "linux", "fixed": "6.8.0-147.147", "status": "released", "cve": "CVE-2026-64378", "source": {"id": "USN-8917-1"}}


def published(**components):
    listed = {
        "nvidiaDriver": {
            "kind": "branchMap",
            "branches": {"580": "580.178.04", "535": "535.309.01"},
            "branchSources": {"580": 5861, "535": 5821},
            "floorAvailability": {"580": {"available": "2026-08-03T10:00:00Z"}},
            "source": {"aId": 5861},
        },
        "docker": {
            "kind": "minimum",
            "minimum": "29.9.2",
            "cves": ["CVE-2026-111943"],
            "fixAvailability": {"available": "2026-10-20T00:00:00Z"},
        },
        "connectxFirmware": {"kind": "trainMap", "trains": {"46": 3008}, "source": {"aId": 5699}},
        "runc": {"kind": "ladder", "ladder": {"1.3": "1.3.6"}, "advisoryRanges": {"GHSA-x": [{"introduced": "0", "fixed": "1.3.6"}]}},
        "virtioNetBluefield": {
            "kind": "releaseLines",
            "lines": {"GA": {"fixed": "25.10.6"}, "LTS23": {"fixed": "23.10.23", "legacyAffectedThrough": "1.7.21"}},
        },
        "nvhpc": {"kind": "releaseWindow", "minimum": "26.5", "current": "26.9"},
        "ubuntuNoble": {
            "kind": "distroPackages",
            "release": "noble",
            "packages": {
                "a": NOTICE,
                "b": {**NOTICE, "fixed": None, "status": "pending"},
                "c": {**NOTICE, "package": "linux-nvidia-6.17", "fixed": "6.17.0-1031.31"},
            },
        },
        "amdDriver": {"kind": "programMap", "programs": {}},
        **components,
    }
    return {
        "schemaVersion": 1,
        "generated": "2026-10-26T09:50:44Z",
        "maxAgeDays": 10,
        "components": {k: v for k, v in listed.items() if v is not None},
    }


@pytest.fixture(scope="module")
def built_in(root):
    return yaml.safe_load((root / "standards" / "baselines" / "versions.yml").read_text(encoding="utf-8"))


@pytest.fixture
def load(tmp_path, built_in):
    def read(document):
        path = tmp_path / "minimum-versions.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return clustermax.load(path, built_in)

    return read


def test_its_rows_judge_like_ours(load, root, tmp_path):
    table, sha256 = load(published())
    schema = json.loads((root / "standards" / "schema" / "baseline_versions.json").read_text(encoding="utf-8"))
    assert [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(table)] == []
    assert sha256 == hashlib.sha256((tmp_path / "minimum-versions.json").read_bytes()).hexdigest()
    assert (table["as_of"], table["max_age_days"], table["values"]["version_table.max_age_days"]["value"]) == ("2026-10-26", 10, 10)

    def judge(name, actual):
        return versions.floor(actual, table["values"][f"versions.{name}"]["value"]).ok

    assert [judge("nvidia_driver", text) for text in ("580.178.04", "580.159.03", "535.309.01", "6.16.13")] == [True, False, None, None]
    assert [judge("docker", text) for text in ("29.9.2", "29.7.0", "28.2.2 [docker.io, ubuntu 24.04]")] == [True, False, None]
    assert [judge("connectx_firmware", text) for text in ("40.46.3008", "40.46.1000")] == [True, False]
    assert [judge("runc", text) for text in ("1.3.6", "1.2.8")] == [True, False]
    assert [judge("bluefield_virtio_net", text) for text in ("1.7.21", "23.10.23")] == [False, True]
    assert judge("kernel", "6.8.0-137.137 [linux, ubuntu 24.04]") is False
    assert judge("kernel", "6.17.0-1031.31 [linux-nvidia-6.17, ubuntu 24.04]") is True


def test_what_it_does_not_list_has_no_floor_and_what_is_not_taken_is_named(load):
    table, _ = load(published())
    outcome = versions.floor("24.10-3.2.5.0", table["values"]["versions.mlnx_ofed"]["value"])
    assert outcome.ok is None
    assert "does not list it" in outcome.reason
    assert "amdDriver" in table["note"]
    assert "ubuntuNoble.b" in table["note"]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("{", "text: no JSON"),
        ("[]", "schemaVersion"),
        ({**published(), "schemaVersion": 2}, "schemaVersion"),
        ({**published(), "generated": "yesterday"}, "generated"),
        ({**published(), "maxAgeDays": "ten"}, "maxAgeDays"),
        ({**published(), "components": {}}, "components"),
        (published(docker={"kind": "minimum"}), "components.docker"),
        (published(docker={"kind": "minimum", "minimum": "newest"}), "components.docker"),
        (published(runc={"kind": "ladder", "ladder": {"1.3": "1.3.6"}}), "components.runc"),
        (published(nvidiaDriver={"kind": "branchMap", "branches": ["580"]}), "components.nvidiaDriver"),
    ],
)
def test_errors_name_file_and_key(load, document, says):
    with pytest.raises(DocumentError) as caught:
        load(document)
    assert any("minimum-versions.json" in error and says in error for error in caught.value.errors)


def test_a_file_that_is_not_there(tmp_path, built_in):
    with pytest.raises(DocumentError, match="cannot be read"):
        clustermax.load(tmp_path / "none.json", built_in)
