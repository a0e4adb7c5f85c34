"""What a collective library's log says of its transport: published logs, any order of lines, and how fast."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from accept_node.parsers import ParseError, nccl_debug

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "nccl_debug"
TWO_NODES = FIXTURES / "nccl_2.27" / "roce_two_nodes.txt"

PUBLISHED = {
    "allreduce_a100_16gpu_2node.txt": {"versions": {"2.12.12+cuda11.6": 1}, "network": None},
    "gke_gib_allgather_ssh_noise.txt": {"versions": {"2.25.1+cuda12.8": 1}, "processes": 0},
    "iss1611_gb200_crash_free.txt": {"versions": {"2.21.5+cuda12.8": 1}},
    "iss2169_header_2178_pci_domain.txt": {"versions": {"2.28.3": 1}},
    "iss389_b200_header_2196.txt": {"versions": {"2.30.7": 1}},
    "iss318_json_after_mpi_noise.txt": {"versions": {"2.26.6+cudaCUDA_MAJOR.CUDA_MINOR": 1}},
    "gcp_a3high_with_nccl_info.txt": {"env": {"NCCL_P2P_PXN_LEVEL": {"0": 1}}, "processes": 1, "versions": {}},
    "iss204_warn_connection_closed.txt": {"processes": 2, "hosts": 2, "nvls": {"available": 0, "unavailable": 1}, "network": None},
    "iss244_hang_mpich_info.txt": {
        "processes": 2,
        "hosts": 2,
        "interfaces": {"enp45s0f0": 2},
        "plugins_missing": {"libnccl-net.so": 2},
        "hca_sets": [{"hcas": ["mlx5_0:1/IB", "mlx5_1:1/IB", "mlx5_4:1/IB"], "ranks": 1, "hosts": []}],
        "network": None,  # which one is used is never said: it hung before
    },
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published(corpus, name):
    found = nccl_debug.parse((corpus / "a_nccl" / name).read_text(encoding="utf-8"))
    assert {key: found[key] for key in PUBLISHED[name]} == PUBLISHED[name]


def test_published_warnings(corpus):
    lost = nccl_debug.parse((corpus / "a_nccl" / "iss204_warn_connection_closed.txt").read_text(encoding="utf-8"))
    assert [(entry["kind"], entry["count"]) for entry in lost["warnings"]] == [("peer_lost", 1)]
    mild = nccl_debug.parse((corpus / "a_nccl" / "cvs_rccl_lib_88.txt").read_text(encoding="utf-8"))
    assert [(entry["kind"], entry["text"]) for entry in mild["warnings"]] == [("other", "Performance warning")]


@pytest.mark.parametrize("name", ["nvbandwidth_d2d.txt", "cw_gb200_1440gpu.txt", "iss251_ngc_container_banner.txt"])
def test_other_output_is_no_log(corpus, name):
    with pytest.raises(ParseError):
        nccl_debug.parse((corpus / "a_nccl" / name).read_text(encoding="utf-8"))


def test_order_of_lines_does_not_matter():
    lines = TWO_NODES.read_text(encoding="utf-8").splitlines()
    expected = nccl_debug.parse("\n".join(lines))
    shuffle = random.Random(7)
    for _ in range(20):
        shuffle.shuffle(lines)
        assert nccl_debug.parse("\n".join(lines)) == expected


def test_labels_and_line_ends_do_not_matter():
    lines = TWO_NODES.read_text(encoding="utf-8").splitlines()
    expected = nccl_debug.parse("\n".join(lines))
    assert nccl_debug.parse("\n".join(f"[1,{number}]<stdout>: {line}" for number, line in enumerate(lines))) == expected
    assert nccl_debug.parse("\n".join(f"{number % 4}: {line}\r" for number, line in enumerate(lines))) == expected


def test_glued_lines_are_told_apart():
    """Two processes write at once and one line holds both messages: nothing is lost, and no host is invented."""
    one = "n01:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\nn02:3:4 [1] NCCL INFO Bootstrap : Using eth0:10.0.0.2<0>\n"
    found = nccl_debug.parse(one + "n01:1:2 [0] NCCL INFO Using network IBn02:3:4 [1] NCCL INFO Using network Socket")
    assert [(entry["name"], entry["hosts"]) for entry in found["networks"]] == [("IB", ["n01"]), ("Socket", ["n02"])]
    assert found["hosts"] == 2


def test_a_large_launch_is_small_and_quick():
    lines = []
    for rank in range(1440):
        say = f"{rank}: r{rank // 72}t{rank // 4 % 18:02d}:{4000 + rank % 4}:{4100 + rank % 4} [{rank % 4}] NCCL INFO "
        lines += [say + "NCCL version 2.27.6+cuda13.0", say + "NET/IB : Using [0]ibp0:1/RoCE [1]ibp1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"]
        lines += [say + "Using network IB", say + f"comm 0x1 rank {rank} nRanks 1440 nNodes 20 localRanks 72 localRank 0 MNNVL 1"]
        lines += [say + f"Channel {n:02d}/0 : {rank}[0] -> {rank + 1}[1] [send] via NET/IB/{n % 2}/GDRDMA" for n in range(24)]
    random.Random(1).shuffle(lines)
    text = "\n".join(lines)
    start = time.process_time()
    found = nccl_debug.parse(text)
    assert len(text) / (time.process_time() - start) > 15e6  # bytes a second on a busy machine; make bench has the figure
    assert (found["network"], found["processes"], found["hosts"], found["ranks"], found["nodes"]) == ("roce", 1440, 360, 1440, 20)
    assert found["channels"] == {"NET/IB": {"gdr": 1440 * 24, "host": 0}}
    assert found["mnnvl"]["active"] is True
    assert len(str(found)) < 4000
