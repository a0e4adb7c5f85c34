"""Published outputs of GPU benchmarks, read in place: the values that the corpus's index lists."""

from __future__ import annotations

from accept_node.parsers import gpu_burn, nvbandwidth


def of(corpus, name):
    return {test["name"]: test for test in nvbandwidth.parse((corpus / "a_nccl" / name).read_text())["tests"]}


def test_nvbandwidth_with_sums(corpus):
    tests = of(corpus, "sb_nvbandwidth.txt")
    assert tests["host_to_device_memcpy_ce"]["sum_gbytes_s"] == 1985.60
    assert tests["device_to_host_memcpy_ce"]["sum_gbytes_s"] == 607.26
    assert tests["all_to_host_memcpy_ce"]["sum_gbytes_s"] == 295.15
    assert tests["host_to_device_memcpy_ce"]["gbytes_s"][1] == [323.36, 299.33, 312.11]
    assert all(test["name"] != "None" for test in tests.values())


def test_nvbandwidth_without_sums(corpus):
    one = of(corpus, "nvbandwidth_h2d.txt")["host_to_device_memcpy_ce"]
    assert len(one["gbytes_s"]) == 1
    assert len(one["gbytes_s"][0]) == 8
    assert one["gbytes_s"][0][0] == 26.03
    assert min(one["gbytes_s"][0]) == 25.94
    assert one["sum_gbytes_s"] is None
    matrix = of(corpus, "nvbandwidth_d2d.txt")["device_to_device_memcpy_write_ce"]["gbytes_s"]
    assert len(matrix) == 8
    assert all(matrix[n][n] is None for n in range(8))
    assert matrix[0][1] == 276.07
    assert min(cell for row in matrix for cell in row if cell is not None) == 274.89


def test_gpu_burn_with_carriage_returns(corpus):
    found = gpu_burn.parse((corpus / "a_nccl" / "sb_gpu_burn.txt").read_bytes().decode())
    assert found["complete"]
    assert [gpu["ok"] for gpu in found["gpus"]] == [True] * 8
    assert found["gpus"][1]["gflops"] == 17093
    assert found["gpus"][0]["temperature_c"] == 62
    assert {gpu["errors"] for gpu in found["gpus"]} == {0}
