"""Every published perftest output gives what its reader found in it, failures and cut tables included."""

from __future__ import annotations

import pytest
from accept_node.parsers import perftest


def rates(found):
    return {row["bytes"]: row["average_gbps"] for row in found["rows"]}


EXPECTED = {
    "gke_ib_write_bw_a.txt": (
        16,
        {65536: 381.41, 32768: 376.29},
        {"status": 10, "syndrome": "0x88", "cause": "completion", "gid_index": 3},
    ),
    "gke_ib_write_bw_cuda_dmabuf.txt": (23, {8388608: 140.40}, {"cuda": True, "errors": [], "cause": "", "remote_gid": "::ffff:10.0.4.8"}),
    "pt132_ib_write_bw_ib_quoted.txt": (3, {2: 0.042185, 4: 0.084457, 8: 0.17}, {"cut": True, "link_type": "IB", "gid_index": None}),
    "pt173_completion_error_syndrom.txt": (0, {}, {"status": 4, "syndrome": "0x51", "cause": "completion"}),
    "pt228_connect_refused.txt": (0, {}, {"cause": "refused"}),
    "pt262_libibverbs_warning_then_wait.txt": (0, {}, {"waiting": True, "gid_index": 1, "errors": []}),
    "pt342_duration_peak_zero.txt": (1, {65536: 42.31}, {"cut": True, "errors": [], "gid_index": 0, "local_gid": "::ffff:192.168.1.39"}),
    # MB/sec are 2^20 bytes: 24056.72 of them are 201.8 Gb/s
    "sb_ib_loopback_8M.txt": (1, {8388608: 201.802394}, {"waiting": False, "errors": []}),
    "sb_ib_loopback_all.txt": (23, {2: 0.04446, 8388608: 194.956954}, {"waiting": False, "cut": False}),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_published(corpus, name):
    rows, averages, rest = EXPECTED[name]
    found = perftest.parse((corpus / "f_perftest" / name).read_text(encoding="utf-8"))
    assert len(found["rows"]) == rows
    assert {size: rates(found)[size] for size in averages} == averages
    assert {key: found[key] for key in rest} == rest


def test_a_peak_of_zero_is_not_measured(corpus):
    found = perftest.parse((corpus / "f_perftest" / "pt342_duration_peak_zero.txt").read_text(encoding="utf-8"))
    assert found["rows"][0]["peak_gbps"] is None


def test_all_of_them(corpus):
    assert {path.name for path in (corpus / "f_perftest").glob("*.txt")} == set(EXPECTED)


def test_an_average_of_zero_is_a_failure_and_no_bandwidth():
    found = perftest.parse(" #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n 65536 0 0.00 0.00 0.000000\n")
    assert found["rows"][0]["average_gbps"] is None
    assert found["cause"] == "nothing_moved"
