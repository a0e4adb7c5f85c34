"""Published outputs of DCGM and RVS give the values that the corpus lists for them."""

from __future__ import annotations

import pytest
from accept_node.parsers import ParseError, dcgmi, dcgmi_diag, rvs


@pytest.fixture
def text(corpus):
    return lambda name: (corpus / "d_dcgm" / name).read_text(encoding="utf-8", errors="replace")


def test_names_null_and_fewer_gpus_than_counted(text):
    found = dcgmi.parse(text("dcgm229_discovery_null_names.txt"))
    assert (found["connected"], found["gpus_found"]) == (True, 4)
    assert [gpu["name"] for gpu in found["gpus"]] == [None, None]
    assert found["gpus"][0]["pci"] == "00000000:4C:00.0"


def test_no_host_engine(text):
    assert dcgmi.parse(text("dcgm43_discovery_error_and_version.txt")) == {
        "connected": False,
        "gpus_found": None,
        "active": None,
        "gpus": None,
    }


def test_usable_although_the_exit_status_is_223(text):
    found = dcgmi.parse(text("kempner15_discovery_v4_active_rc223.txt"))
    assert (found["gpus_found"], found["active"], found["gpus"][0]["name"]) == (8, True, "NVIDIA H100 80GB HBM3")


def test_table_cut_in_the_middle(text):
    found = dcgmi_diag.parse(text("dcgm55_diag_v3_table_integration_cut.txt"))
    assert (found["counts"], found["complete"], found["worst"]) == ({"Pass": 9}, False, "Pass")


@pytest.mark.parametrize(
    ("name", "worst", "counts"),
    [("gcm_diag_pass_output.json", "Pass", {"Pass": 9}), ("gcm_diag_warn_output.json", "Warn", {"Pass": 8, "Warn": 1})],
)
def test_diagnostic_of_dcgm_3(text, name, worst, counts):
    found = dcgmi_diag.parse(text(name))
    assert (found["format"], found["worst"], found["counts"], found["complete"]) == ("v3", worst, counts, True)
    if worst == "Warn":
        assert [test["name"] for test in found["tests"] if test["status"] == "Warn"] == ["Persistence Mode"]


def test_diagnostic_of_dcgm_4(text):
    found = dcgmi_diag.parse(text("SYNTHETIC_dcgm_v4_schema_example.json"))
    software = found["tests"][0]
    assert (found["format"], found["version"], software["name"], software["status"]) == ("v4", "4.5.2", "software", "Fail")
    assert [(one["entity"], one["status"], one["error_ids"]) for one in software["results"]] == [(0, "Pass", []), (1, "Fail", [29])]


def test_a_schema_is_no_diagnostic(text):
    with pytest.raises(ParseError):
        dcgmi_diag.parse(text("dcgm_v4_diag_schema.json"))


def test_links(text):
    assert dcgmi.parse_nvlink(text("gcm_nvlink_s.txt"))["gpus"] == [
        {"id": 0, "up": 11, "down": 1, "disabled": 0},
        {"id": 1, "up": 9, "down": 1, "disabled": 2},
    ]


@pytest.mark.parametrize("name", ["healthagent_inject_ok.txt", "aks_inject_and_wait.txt"])
def test_injected(text, name):
    assert dcgmi.parse_inject(text(name))["injected"] is True


def test_preflight_log_of_nvsentinel(text):
    found = dcgmi_diag.parse_preflight(text("nvs772_preflight_jsonlines.txt"))
    assert [found[key] for key in ("failed", "warned", "skipped", "total")] == [2, 2, 2, 6]


def test_rvs_result(text):
    found = rvs.parse(text("rvs_result_187.json"))
    assert [(one["suite"], one["test"], one["gpu"]) for one in found["failed"]] == [("testsuite1", "test1", 1)]
    assert len(found["results"]) == 4
