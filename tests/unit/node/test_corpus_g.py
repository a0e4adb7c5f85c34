"""Published outputs of fio and IOR, read in place: the values that the corpus's index lists."""

from __future__ import annotations

import pytest
from accept_node.parsers import ParseError, fio, ior


@pytest.fixture
def text(corpus):
    return lambda name: (corpus / "g_storage" / name).read_text()


def test_two_jobs_behind_a_banner(text):
    found = fio.parse(text("fio_333_two_jobs_json.json"))
    assert found["version"] == "3.33"
    assert [job["name"] for job in found["jobs"]] == ["r1", "r2"]
    assert [job["read"]["bytes_s"] for job in found["jobs"]] == [182361043, 212369822]
    assert found["jobs"][0]["read"]["percentiles_us"]["99"] == 11599.872
    assert found["jobs"][0]["write"]["bytes"] == 0
    assert found["jobs"][0]["write"]["completion_us"] is None
    assert not found["interrupted"]


def test_group_reporting_is_one_entry(text):
    (job,) = fio.parse(text("fio_333_group_reporting_8jobs.json"))["jobs"]
    assert job["options"]["numjobs"] == "8"
    assert job["write"]["bytes_s"] == 1579032094


def test_interrupted(text):
    found = fio.parse(text("fio_333_interrupted_json.txt"))
    assert found["interrupted"]
    assert found["jobs"][0]["write"]["runtime_ms"] == 922
    assert found["jobs"][0]["write"]["bytes_s"] == 881537388


def test_four_files_under_one_key(text):
    """The paste is one job of a document; four files are four, not the last."""
    (job,) = fio.parse('{"fio version": "fio-3.35", "jobs": [' + text("fio1571_duplicate_filename_keys.json") + "]}")["jobs"]
    assert job["options"]["filename"] == ["Nvme0n1", "Nvme1n1", "Nvme2n1", "Nvme3n1"]
    assert job["read"] is None


def test_fio_2_counts_in_kib(text):
    cut = text("fio272_v215_usec_fields.json")
    with pytest.raises(ParseError, match="cut"):
        fio.parse(cut)
    found = fio.parse(cut.rstrip().rstrip(",") + "}}]}")
    assert found["version"] == "2.15"
    read = found["jobs"][0]["read"]
    assert (read["bytes"], read["bytes_s"]) == (2552320 * 1024, 153412 * 1024)
    assert round(read["iops"], 2) == 299.63


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fio1685_io_error_then_json_cut.txt", "cut or broken: fio: io_u error on file /dev/sdb: Input/output error"),
        ("fio731_seven_error_lines.txt", "cut or broken: fio: pid=4896, err=5"),
        ("fio_333_bad_engine.txt", "no JSON: fio: engine nosuchengine not loadable"),
        ("fio_333_jsonplus_cut.json", "cut or broken"),
        ("fio_333_normal_text.txt", "no JSON"),
    ],
)
def test_refused_with_its_reason(text, name, said):
    with pytest.raises(ParseError) as caught:
        fio.parse(text(name))
    assert said in str(caught.value)


def test_errors_of_all_jobs_are_counted(text):
    lines = text("fio731_seven_error_lines.txt").split("{")[0]
    found = fio.parse(lines + '{"fio version": "fio-3.12", "jobs": [{"jobname": "a", "error": 5}]}')
    assert found["error_codes"] == {"5": 7}
    assert found["jobs"][0]["error"] == 5


def test_ior_summary_behind_a_rank(text):
    (row,) = ior.parse(text("benchpark495_ior_summary_na.txt"))["summary"]
    assert row["operation"] == "write"
    assert row["mean_bytes_s"] == 565.67 * 2**20
    assert row["stonewall_s"] is None
    assert (row["tasks"], row["api"]) == (48, "MPIIO")


def test_ior_maxima(text):
    found = ior.parse(text("ior27_max_write_read.txt"))
    assert found["max_write_bytes_s"] == 25154.87 * 2**20
    assert found["max_read_bytes_s"] == 22659.51 * 2**20
    assert [row["iteration"] for row in found["iterations"] if row["operation"] == "write"] == [1, 2, 3]
    assert not found["finished"]
