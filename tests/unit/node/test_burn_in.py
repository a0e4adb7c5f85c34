"""The burn-in's parts on a node: real sockets, real processes, real products; and what becomes of a series that is cut or odd."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from accept_node import burn_series, jobs
from accept_node.collectors import burn_in
from accept_node.engines import load_cpu, mesh, sampler
from accept_node.envelope import Gather
from accept_node.node import ReplayNode
from accept_node.parsers import ParseError


def ports(count):
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    found = [["127.0.0.1", one.getsockname()[1]] for one in held]
    for one in held:
        one.close()
    return found


def ranks(count, work, token="00" * 16, tokens=None):
    """What work(mesh) gives on each rank."""
    peers, found = ports(count), [None] * count

    def one(rank):
        try:
            made = mesh.Mesh(rank, peers, (tokens or {}).get(rank, token), 8, 5)
            found[rank] = work(made)
            made.close()
        except mesh.MeshError as error:
            found[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return found


def test_collectives_arrive_as_they_were_sent():
    done = ranks(4, lambda m: [m.all_to_all(70000), m.all_gather(4096), m.reduce_scatter(4096), m.agree(int(m.rank == 2), 7 + m.rank)])
    assert done == [[0, 0, 0, (True, 7)]] * 4


def test_a_wrong_byte_is_counted():
    sent = mesh.pattern(1, 0, 1000)
    made = mesh.Mesh.__new__(mesh.Mesh)
    made.rank, made.size = 0, 2
    made.swap = lambda to, data, source, size: sent
    assert (made.all_to_all(1000), made.all_gather(1000)) == (0, 0)
    made.swap = lambda to, data, source, size: sent[:-1] + bytes([sent[-1] ^ 1])
    assert (made.all_to_all(1000), made.all_gather(1000)) == (1, 1)


def test_who_does_not_know_the_token_is_not_let_in():
    found = ranks(2, lambda made: made.all_to_all(64), tokens={1: "11" * 16})
    assert all(isinstance(error, mesh.MeshError) for error in found)
    assert "no call from rank 1" in str(found[0])


def test_a_rank_that_goes_is_named():
    def work(made):
        if made.rank == 2:
            return "gone"
        try:
            while True:
                made.all_to_all(1000)
        except mesh.MeshError as error:
            made.close()
            return str(error)

    found = ranks(3, work)
    assert found[2] == "gone"
    assert any("rank 2 has gone" in str(text) or "rank 2" in str(text) for text in found[:2])


@pytest.mark.parametrize("numpy", [True, False])
def test_a_flipped_bit_is_a_wrong_result(numpy, monkeypatch):
    if numpy:
        pytest.importorskip("numpy")
    else:
        monkeypatch.setitem(sys.modules, "numpy", None)
    before = os.sched_getaffinity(0)
    core = load_cpu.Core({"device": {"cpu": min(before)}, "matrix": 16})
    os.sched_setaffinity(0, before)
    first = core.products(0.01)
    assert first["bad"] == 0
    assert first["flop"] == 2 * 16**3 * first["n"]
    core.inputs[0][3][5] += 1
    again = core.products(0.01)
    assert again["bad"] == again["n"] > 0
    assert again["sum"] == first["sum"], "the checksum told is the first one's"


# --- the sampler ----------------------------------------------------------------------------------------------------------------------

NVLINK = """GPU 0: NVIDIA B200 (UUID: GPU-1)
\t Link 0: Malformed packet Errors: 0
\t Link 0: Effective Errors: 3
\t Link 1: Rx remote Errors: 2
GPU 1: NVIDIA B200 (UUID: GPU-2)
\t Link 0: Effective BER: 15e-255
"""


def test_nvlink_errors_are_summed_and_ber_is_none():
    assert sampler.nvlink_errors(NVLINK, 3) == [5, None, None]


@pytest.mark.parametrize(("text", "value"), [("1000.00", 1000.0), ("0x0000000000000044", 68), ("[N/A]", None), ("ERR!", None), ("", None)])
def test_numbers_of_nvidia_smi(text, value):
    assert sampler.number(text) == value


def test_old_drivers_know_the_reasons_by_their_old_name(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(
        """#!/bin/sh
case "$1" in
*event_reasons*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2;;
*bus_id,name) echo '00000000:1B:00.0, NVIDIA H100 80GB HBM3';;
*) echo '00000000:1B:00.0, 41, 50, 322.10, 700.00, 1980, 2619, 0x0000000000000004, 100, 0, 0, 5, 16';;
esac
"""
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = sampler.gpus()
    assert found.devices == ["0000:1b:00.0"]
    assert found.read() == [[41.0, 50.0, 322.1, 700.0, 1980.0, 2619.0, 4, 100.0, 0.0, 0.0, 5.0, 16.0]]
    assert sampler.OLD_REASONS in found.columns


def test_ports_tell_what_grew_and_a_reset_counter_starts_anew(tmp_path):
    port = tmp_path / "infiniband/mlx5_0/ports/1"
    (port / "counters").mkdir(parents=True)
    (port / "state").write_text("4: ACTIVE\n")
    (port / "counters/symbol_error").write_text("7\n")
    (port / "counters/link_downed").write_text("2\n")
    seen = sampler.Ports(str(tmp_path))
    assert seen.changes() == ({}, {})
    (port / "counters/symbol_error").write_text("9\n")
    (port / "counters/link_downed").write_text("0\n")
    (port / "state").write_text("1: DOWN\n")
    assert seen.changes() == ({"mlx5_0/1": {"symbol_error": 2, "link_downed": 0}}, {"mlx5_0/1": "DOWN"})


def test_a_tool_that_hangs_is_a_reason():
    assert sampler.tool(["sleep", "5"], 0.2) == ("", "timeout")
    assert sampler.tool(["no-such-tool-here"], 1)[1] == "missing"


# --- the series -----------------------------------------------------------------------------------------------------------------------


def series(ticks=60, load=lambda name, at: 1.0, gpu=None, **settings):
    devices = [{"name": f"cpu{n}", "slot": n, "cpu": n} for n in range(2)]
    given = {"engine": "cpu", "devices": devices, "offset_s": 0, "warm_up_s": 5, "gemm_end_s": ticks, "exchange_end_s": ticks, "soak": []}
    given.update(soak_s=0, resolution_s=1, exchange=False, **settings)
    sources = {"gpu": "sysfs", "kernel_log": "", "ports": [], "order": ["cpu0", "cpu1"]}
    lines = [{"schema": 1, "kind": "burn_in", "columns": list(sampler.GPU_COLUMNS), "sources": sources, "settings": given, "ranks": 2}]
    lines += [{"t": 0.5, "device": {**device, "model": "x", "version": "numpy 2", "checked": True}} for device in devices]
    for at in range(1, ticks + 1):
        loads = {device["name"]: [10, load(device["name"], at), 1.0, 0, "aa"] for device in devices if load(device["name"], at) is not None}
        lines.append({"t": float(at), "gpu": gpu(at) if gpu else [None, None], "load": loads})
    return [json.dumps(line) for line in [*lines, {"t": ticks + 1.0, "end": "done"}]]


def test_a_device_that_stood_still_for_a_while():
    found = burn_series.summarise(series(load=lambda name, at: None if name == "cpu1" and 30 <= at < 42 else 1.0))
    steady, stood = found["devices"]
    assert (steady["loaded_pct"], steady["tflops"]["lowest"]) == (100.0, 1.0)
    assert stood["tflops"]["lowest"] == 0.0
    assert 28 <= stood["tflops"]["lowest_at_s"] <= 32
    assert stood["tflops"]["median"] == 1.0
    assert stood["loaded_pct"] < 80


def test_first_and_last_are_parts_of_the_time_after_warm_up():
    found = burn_series.summarise(series(ticks=85, load=lambda name, at: 9.0 if at <= 5 else 2.0 - at / 85))
    figures = found["devices"][0]["tflops"]
    assert figures["first"] == pytest.approx(1.88, abs=0.02)
    assert figures["last"] == pytest.approx(1.06, abs=0.02)
    assert figures["max"] < 2


def test_seconds_by_reason_and_growth_of_errors():
    def rows(at):
        row = dict.fromkeys(sampler.GPU_COLUMNS)
        row.update(reasons=0x44 if 20 <= at < 30 else 0x4, ecc_corrected=100 + (at > 40) * 3, ecc_uncorrected=None, power_limit_w=700)
        return [list(row.values()), None]

    device, other = burn_series.summarise(series(gpu=rows))["devices"]
    assert device["throttle_s"] == {"hw_thermal": 10.0, "sw_power_cap": 60.0}
    assert (device["ecc_corrected"], device["ecc_uncorrected"]) == (3, None)
    assert device["power_limit_w"] == [700, 700, 700]
    assert other["throttle_s"] is None


def test_what_is_cut_is_told():
    lines = series()
    found = burn_series.summarise([*lines[:40], lines[40][:20]])
    assert (found["state"], found["lines_cut"]) == ("cut", 1)
    assert found["ran_s"] < 40
    assert found["sampled_pct"] < 70


@pytest.mark.parametrize("lines", [[], ["{}"], ["rubbish"], ['{"schema": 2, "kind": "burn_in"}']])
def test_no_series_is_an_error_in_words(lines):
    with pytest.raises(ParseError):
        burn_series.summarise(lines)


# --- discover -------------------------------------------------------------------------------------------------------------------------


def node(commands=(), files=(), trees=()):
    records = [{"argv": argv, "rc": 0, "stdout": out, "stderr": "", "duration_s": 0.1, "reason": why} for argv, out, why in commands]
    texts = [{"path": path, "text": text, "reason": ""} for path, text in files]
    texts.append({"path": burn_in.BOOT_ID, "text": "b1\n", "reason": ""})
    return Gather(ReplayNode({"commands": records, "files": texts, "trees": list(trees)}))


TWO = "1, 00000000:43:00.0, NVIDIA B200, 1000.00 W\n0, 00000000:1B:00.0, NVIDIA B200, 1000.00 W\n"


def test_gpus_without_an_interpreter_are_not_run():
    found = burn_in.discover(node([(burn_in.SMI, TWO, "")]), {})
    assert (found["engine"], found["ready"]) == ("torch", False)
    assert "burn_in_python" in found["ready_reason"]
    assert [gpu["pci"] for gpu in found["devices_found"]] == ["0000:1b:00.0", "0000:43:00.0"]
    assert found["limits_before"] == {"gpu0": 1000.0, "gpu1": 1000.0}


@pytest.mark.parametrize(("seen", "ready"), [("2.9.1 2", True), ("2.9.1 1", False)])
def test_the_interpreter_must_see_every_gpu(seen, ready):
    asked = [(burn_in.SMI, TWO, ""), (["/p/python", "-c", burn_in.TORCH], seen, "")]
    assert burn_in.discover(node(asked), {"python": "/p/python"})["ready"] is ready


def test_gpus_that_do_not_answer_are_not_taken_for_none():
    found = burn_in.discover(node([(burn_in.SMI, "", "timeout")]), {"python": "/p/python"})
    assert found["ready"] is None
    assert found["engine"] == "torch"


def test_without_gpus_cores_are_loaded():
    nothing = [{"root": burn_in.DRM, "files": {}, "links": {}, "reason": "missing"}]
    gather = node([(burn_in.SMI, "", "missing")], [(burn_in.ONLINE, "0-3,6\n")], nothing)
    found = burn_in.discover(gather, {"workers": 5})
    assert (found["engine"], found["ready"]) == ("cpu", True)
    assert [device["cpu"] for device in found["devices_found"]] == [0, 1, 2, 3, 6]
    assert not gather.errors
    assert [device["cpu"] for device in burn_in.discover(gather, {"cores": "2-9"})["devices_found"]] == [2, 3, 6]


# --- the job --------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "jobs"
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(jobs, "base", lambda: str(folder))
    return folder


def plan(seconds, soak=0, devices=2, **more):
    peers = ports(devices)
    cores = [{"name": f"cpu{n}", "slot": n, "cpu": n % (os.cpu_count() or 1)} for n in range(devices)]
    own = {
        "engine": "cpu", "python": "", "devices": cores, "offset_s": 0, "warm_up_s": 0, "gemm_end_s": seconds, "exchange_end_s": seconds,
        "soak": ["all_gather"] if soak else [], "soak_s": soak, "resolution_s": 0.5, "nvlink_every_s": 60, "matrix": 24,
        "exchange": devices > 1, "exchange_bytes": 4096, "cap_mbps": 200, "join_s": 20, "timeout_s": 5, "first_rank": 0, "ranks": devices,
        "peers": peers, "token": "ab" * 16, "begin_in_s": 0.0, **more,
    }  # fmt: skip
    return {"settings": own, "deadline_s": 60, "begin_at_s": 0.0}


def ended(job, timeout=40):
    until = time.monotonic() + timeout
    while job.status()["state"] == "running" and time.monotonic() < until:
        time.sleep(0.1)
    return job.status()


def test_a_whole_burn_in_as_a_job(home):
    job = burn_in.LiveJob("run")
    assert burn_in.attend(job, plan(5, soak=4), "here")["job"]["state"] == "running"
    assert burn_in.attend(job, {"begun": True}, "here")["job"]["state"] == "running", "the same again finds it"
    assert burn_in.collect(node(), job) == ({"job": burn_in._told(job.status())}, b""), "what runs is not collected"
    assert ended(job)["reason"] == "", job.status()
    data, raw = burn_in.collect(node(), job)
    assert data["state"] == "done"
    assert data["devices_loaded"] == 2
    assert all(device["iterations"] > 0 and device["mismatches"] == 0 for device in data["devices"])
    assert data["devices"][0]["checksum"] == data["devices"][1]["checksum"]
    assert data["exchange"]["count"] > 0
    assert data["exchange"]["wrong"] == data["exchange"]["errors"] == 0
    assert data["soak"][0]["count"] > 0
    assert data["events"] == []
    assert json.loads(gzip.decompress(raw).splitlines()[0])["kind"] == "burn_in"
    assert b"abababab" not in gzip.decompress(raw), "the token is nobody's business"
    assert not list(home.iterdir()), "something was left on the node"
    assert burn_in.attend(job, {"begun": True}, "here")["job"]["state"] == "absent", "and it is not begun a second time"


def test_a_stopped_burn_in_keeps_what_it_had(home):
    job = burn_in.LiveJob("run")
    burn_in.attend(job, plan(50), "here")
    time.sleep(4)
    jobs.stop(job.name, wait_s=15)
    data, _ = burn_in.collect(node(), job)
    assert data["job"]["reason"] == "stopped"
    assert data["state"] == "stopped"
    assert data["ran_s"] > 1
    assert not list(home.iterdir())


def test_the_deadline_on_the_node_holds(home):
    job = burn_in.LiveJob("run")
    burn_in.attend(job, {**plan(50), "deadline_s": 3}, "here")
    began = time.monotonic()
    assert ended(job)["reason"] == "deadline"
    assert time.monotonic() - began < 25
    assert burn_in.collect(node(), job)[0]["ran_s"] > 0


def worker_of(device):
    """The process that loads one device of the job under test."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,args"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [line.split()[0] for line in listed.splitlines() if "engines.load_cpu" in line and f'"name": "{device}"' in line]
    return int(found[0]) if found else None


def test_a_worker_that_dies_is_an_event_and_the_products_go_on(home):
    job = burn_in.LiveJob("run")
    burn_in.attend(job, plan(16), "here")
    until = time.monotonic() + 10
    while not worker_of("cpu1") and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(2)
    os.kill(worker_of("cpu1"), signal.SIGKILL)
    ended(job)
    data, _ = burn_in.collect(node(), job)
    texts = [event["text"] for event in data["events"]]
    assert any("cpu1: its load ended with signal 9" in text for text in texts)
    assert any(text.startswith("cpu0: MeshError") for text in texts), "the other rank says that its peer has gone"
    assert data["devices"][1]["iterations"] > 0
    assert data["devices"][1]["tflops"]["last"] > 0, "begun again without the exchange"
