"""Benchmarks of collectives: published outputs give the values of their index; an output that something happened to is not whole."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

import pytest
from accept_node.parsers import ParseError, nccl_tests, nccl_tests_json

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "nccl_tests"


@pytest.fixture
def read(corpus):
    return lambda name: (corpus / "a_nccl" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "status", "rows", "nothing", "average", "ranks"),
    [
        ("aicr_allreduce_133", "partial", 2, 0, 87.0675, None),
        ("allreduce_a100_16gpu_2node", "ok", 6, 0, 150.209, 16),
        ("cloudai_120", "partial", 1, 0, 111.111, 1),
        ("cloudai_79", "error", 0, 0, None, None),
        ("cvs_rccl_lib_88", "error", 0, 0, 85.5, None),
        ("cw_gb200_1440gpu", "ok", 6, 0, 297.808, 1440),
        ("cw_gb200_nvl72", "ok", 5, 0, 745.53, 72),
        ("cw_h100_64gpu_sharp", "partial", 5, 0, 373.187, None),
        ("deepops_allreduce_old_error_column", "ok", 29, 0, 7.76739, None),
        ("gcp_a3high_with_nccl_info", "ok", 10, 0, 30.9622, None),
        ("gcp_a3mega_wide_columns", "ok", 26, 5, 53.8932, None),
        ("gke_gib_allgather_ssh_noise", "ok", 24, 0, 15.0709, 2),
        ("iss107_nompi_build_two_rank0", "error", 0, 0, None, 1),
        ("iss1244_h20_dip_128M_noheader", "partial", 10, 0, None, None),
        ("iss128_reduce_scatter_zero_sizes", "partial", 2, 5, None, None),
        ("iss142_h200_16G_single_size", "ok", 1, 0, 480.11, 8),
        ("iss1453_rank_prefix_midline_collapse", "partial", 10, 0, None, None),
        ("iss1611_gb200_crash_free", "error", 0, 0, None, None),
        ("iss176_sharp_error_column_1e06", "partial", 6, 0, None, None),
        ("iss204_warn_connection_closed", "error", 0, 0, None, None),
        ("iss2169_header_2178_pci_domain", "error", 0, 0, None, 4),
        ("iss244_hang_mpich_info", "error", 0, 0, None, 2),
        ("iss287_busbw0_NA_1gpu", "partial", 1, 0, 0.0, 1),
        ("iss347_hostname_with_space", "partial", 1, 0, None, 8),
        ("iss389_b200_header_2196", "error", 0, 0, None, 9),
        ("iss44_oldformat_noredop_truncated_avg", "partial", 13, 0, 6.6, None),
        ("iss7_openmpi_banner", "error", 0, 0, None, None),
        ("sb_nccl_allgather", "ok", 29, 5, 58.2651, 8),
        ("sb_nccl_alltoall", "ok", 29, 5, 58.6481, 8),
        ("sb_nccl_broadcast", "ok", 32, 2, 64.8653, 8),
        ("sb_nccl_reduce", "ok", 32, 2, 65.018, 8),
        ("sb_nccl_reducescatter", "ok", 29, 5, 60.168, 8),
    ],
)
def test_published_tables(read, name, status, rows, nothing, average, ranks):
    found = nccl_tests.parse(read(name + ".txt"))
    told = (found["status"], len(found["rows"]), found["zero_size_rows"], found["average_busbw_gbytes_s"], found["ranks"])
    assert told == (status, rows, nothing, average, ranks), found["reasons"]
    assert (status == "ok") or found["reasons"]


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("aicr_allreduce_133", [8589934592, 48292.9, 177.87, 333.51, 0, 48298.2, 177.85, 333.47, 0]),
        ("cw_gb200_1440gpu", [17179869184, 84625, 203.01, 405.74, 0, 84828, 202.53, 404.77, 0]),
        ("cw_gb200_nvl72", [8589934592, 20299, 423.16, 834.57, 0, 20006, 429.37, 846.82, 0]),
        ("cw_h100_64gpu_sharp", [8589934592, 43980, 195.31, 386.56, 0, 44094, 194.81, 385.56, 0]),
        ("deepops_allreduce_old_error_column", [2147483648, 175667, 12.22, 22.92, 0, 176189, 12.19, 22.85, 0]),
        ("gcp_a3high_with_nccl_info", [536870912, 7098.6, 75.63, 70.90, None, 7054.3, 76.11, 71.35, None]),
        ("gcp_a3mega_wide_columns", [8589934592, 42668.7, 201.32, 188.73, 0, 42630.7, 201.50, 188.90, 0]),
        ("gke_gib_allgather_ssh_noise", [8589934592, 133370, 64.41, 32.20, 0, 128890, 66.65, 33.32, 0]),
        ("cloudai_120", [8, None, 2.0, 3.0, 0, 1.0, 2.0, 3.0, 0]),
        ("iss287_busbw0_NA_1gpu", [33554432, 19.56, 1715.44, None, 0, 0.78, 43046.10, None, None]),
        ("iss347_hostname_with_space", [8589934592, 31356, 273.95, 479.41, 0, 31308, 274.36, 480.14, 0]),
        ("iss44_oldformat_noredop_truncated_avg", [134217728, 3298.6, 20.34, 20.34, 0, 3070.3, 21.86, 21.86, 0]),
        ("iss1453_rank_prefix_midline_collapse", [536870912, 193909, 2.77, 5.31, 0, 192903, 2.78, 5.33, 0]),
    ],
)
def test_published_last_rows(read, name, row):
    assert nccl_tests.parse(read(name + ".txt"))["rows"][-1] == row


def test_what_published_texts_say_beside_their_tables(read):
    dip = nccl_tests.parse(read("iss1244_h20_dip_128M_noheader.txt"))
    assert dip["unfinished_bytes"] == 1073741824
    assert {row[0]: row[3] for row in dip["rows"]}[134217728] == 227.14
    collapse = {row[0]: row[3] for row in nccl_tests.parse(read("iss1453_rank_prefix_midline_collapse.txt"))["rows"]}
    assert (collapse[33554432], collapse[67108864]) == (29.50, 5.27)
    assert nccl_tests.parse(read("iss128_reduce_scatter_zero_sizes.txt"))["unfinished_bytes"] == 512
    assert nccl_tests.parse(read("iss347_hostname_with_space.txt"))["hosts"] == ["NODE A"]
    assert nccl_tests.parse(read("iss2169_header_2178_pci_domain.txt"))["tool_version"] == "2.17.8"
    assert nccl_tests.parse(read("iss389_b200_header_2196.txt"))["tool_version"] == "2.19.6"
    assert nccl_tests.parse(read("gke_gib_allgather_ssh_noise.txt"))["hosts"] == ["gpun-ode-clus-2", "gpun-ode-clus-9"]
    lost = nccl_tests.parse(read("iss204_warn_connection_closed.txt"))
    assert lost["warnings"] == 1
    assert "internal error" in lost["reasons"][0]
    assert "free(): corrupted" in nccl_tests.parse(read("iss1611_gb200_crash_free.txt"))["reasons"][0]
    assert nccl_tests.parse(read("cvs_rccl_lib_88.txt"))["warnings"] == 1


@pytest.mark.parametrize(
    "name", ["cvs_transferbench_smoke_217", "iss251_ngc_container_banner", "nvbandwidth_d2d", "sb_gpu_burn", "sb_nvbandwidth"]
)
def test_published_texts_of_other_tools(read, name):
    with pytest.raises(ParseError, match="no line of nccl-tests"):
        nccl_tests.parse(read(name + ".txt"))


def test_published_json(read):
    cut = nccl_tests_json.parse(read("iss318_json_after_mpi_noise.txt"))
    assert (cut["status"], [row[3] for row in cut["rows"]]) == ("partial", [19.648366, 20.628529])
    assert [row[8] for row in cut["rows"]] == [None, None]
    lines = nccl_tests_json.parse(read("rccl93_jsonl_output_file.json"))
    assert (lines["status"], lines["ranks"], lines["collective"]) == ("ok", 4, "all_reduce")
    found = [(row[0], round(row[3], 4), round(row[7], 4), row[4]) for row in lines["rows"]]
    assert found == [(1024, 0.0801, 0.0772, 0), (2048, 0.1581, 0.1516, 0)]


def test_cut_anywhere_is_never_whole():
    """Of every prefix of an output the rows that are kept are rows of the whole, and only the whole says that it is one."""
    text = (FIXTURES / "2.19" / "healthy.txt").read_text(encoding="utf-8")
    whole = nccl_tests.parse(text)
    end = text.index("# Avg bus bandwidth") + len("# Avg bus bandwidth    : 214.035")
    begin = text.index("# nThread") + 1
    for at in range(begin, end):
        found = nccl_tests.parse(text[:at])
        assert found["status"] != "ok" or at >= end - len(".035"), text[:at][-60:]  # "214.0" may be a whole number
        for row in found["rows"]:
            original = next(other for other in whole["rows"] if other[0] == row[0])
            last = row is found["rows"][-1]
            assert last or row == original


def test_lines_of_a_library_anywhere_change_nothing():
    text = (FIXTURES / "2.19" / "healthy.txt").read_text(encoding="utf-8")
    whole, chance = nccl_tests.parse(text), random.Random(7)
    lines = text.splitlines(keepends=True)
    for _ in range(60):
        mixed = []
        for line in lines:
            for _ in range(chance.randrange(3)):
                rank = chance.randrange(8)
                mixed.append(f"gpu0{chance.randrange(1, 3)}:{41000 + rank}:41099 [{rank}] NCCL INFO Channel 00 : 0 1 2 3\n")
            if line[0] == " " and chance.random() < 0.5:  # between what the benchmark prints at once
                at = chance.choice((52, len(line.rstrip()) - 33))
                mixed.append(line[:at] + "gpu02:41008:41077 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n" + line[at:])
            else:
                mixed.append(line)
        found = nccl_tests.parse("".join(mixed))
        assert (found["rows"], found["status"]) == (whole["rows"], "ok"), found["reasons"]


def test_json_cut_anywhere_is_never_whole():
    text = (FIXTURES.parent / "nccl_tests_json" / "2.17" / "healthy.txt").read_text(encoding="utf-8").rstrip()
    whole = nccl_tests_json.parse(text)
    assert whole["status"] == "ok"
    for at in range(text.index('"config"'), len(text), 7):
        found = nccl_tests_json.parse(text[:at])
        assert found["status"] != "ok"
        assert all(row in whole["rows"] for row in found["rows"])


def test_fields_of_another_type_are_no_crash():
    document = json.loads((FIXTURES.parent / "nccl_tests_json" / "2.17" / "healthy.txt").read_text(encoding="utf-8").splitlines()[-1])
    for key in document:
        for value in (None, [], {}, 5, "x", [1], [[1]]):
            with contextlib.suppress(ParseError):
                nccl_tests_json.parse(json.dumps({**document, key: value}))
