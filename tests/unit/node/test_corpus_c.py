"""Every published kernel log gives what its reader found in it: code, PCI address and meaning; quotes and healthy lines give nothing."""

from __future__ import annotations

from collections import Counter

import pytest
from accept_node.parsers import ParseError, amd_inband_ras, kernel_log, xid


def summary(log):
    """[(kind or code, pci, severity, link, count)]"""
    return [(event["code"] or event["kind"], event["pci"], event["severity"], event["link"], event["count"]) for event in log["events"]]


def of(kind, pci=None, count=1, severity=None, link=None):
    return (kind, pci, severity, link, count)


EXPECTED = {
    "amd_aca_hw_error.txt": [of("amd_hw_error", "0000:48:00.0")],
    "amd_apei_hw_error.txt": [of("apei", "0000:54:01.0", severity="recoverable")],
    "amd_hw_error_block.txt": [of("amd_hw_error", "0000:0c:00.0")],
    "amd_mmhub_page_faults.txt": [
        of("amdgpu_page_fault", "0000:03:00.0"),
        of("amdgpu_page_fault", "0000:03:00.0"),
        of("amdgpu_page_fault", "0003:02:00.0"),
        of("amdgpu_page_fault", "0000:f5:00.0"),
    ],
    "amdgpu_boot_ras_benign.txt": [],
    "aznhc_syslog_0flap.txt": [],
    "dmesg_edac_oom.txt": [of(13, "0000:38:00.0", 16), of(43, "0000:38:00.0"), of("oom", count=3)],
    "dmesg_filemax_reached.txt": [of("file_max", count=2)],
    "dmesg_segfault_libnccl.txt": [of("segfault", count=2)],
    "gcm_io_errors.txt": [of("io_error", count=3), of("fs_error", count=2)],
    "gcm_xid_ctime.txt": [of(31, "000d:00:00.0"), of(48, "000d:00:00.0")],
    "gpu_fallen_no_xid.txt": [
        of(79, "0000:b3:00.0", 6),
        of(79, "0000:b4:00.0"),
        of(79, "0000:b5:00.0"),
        of("fallen_off_bus", "0000:b3:00.0", 2),
        of("fallen_off_bus"),  # a cut record that does not say which GPU
        of("fallen_off_bus", "0000:b4:00.0"),
    ],
    "gpud338_sxid_decode_format.txt": [of(12028, "0000:84:00.0")],
    "gpud46_ctime_13_109_peermem.txt": [of(13, "0000:cb:00.0", 3), of(109, "0000:cb:00.0"), of("peermem")],
    "kmsg_peermem_invalid_context.txt": [of("peermem", count=7)],
    "kmsg_raw_nvswitch_open.txt": [],
    "mlx5_kmsg_events.txt": [
        of("mlx5_power", "0000:5c:00.0", 10),
        of("mlx5_temperature", count=6),
        of("mlx5_temperature"),
        of("mlx5_temperature"),
        of("mlx5_module"),  # Low Signal: of the module, not of its temperature
        of("mlx5_access_reg", "0000:d2:00.0", 2),
        of("mlx5_access_reg", "0000:5c:00.0"),
        of("mlx5_access_reg", count=4),
        of("mlx5_power", count=6),
        of("mlx5_temperature", count=2),
    ],
    "nvs1357_xid145_nonfatal_unclosed.txt": [of(145, "0000:c5:00.0", severity="Nonfatal", link=17)],
    "nvs1475_xid13_azure_domain.txt": [of(13, "000b:00:00.0")],
    "nvs155_fallen_off_multiline_no_xid.txt": [of("fallen_off_bus", "0000:b3:00.0"), of("probe_failed")],
    "okm1150_xid45_caused_by_previous.txt": [
        of(45, "0000:dc:00.0", 2),
        of(45, "0000:ed:00.0", 2),
        of(45, "0000:ba:00.0", 2),
        of(45, "0000:97:00.0"),
    ],
    "ovro117_edac_apei_pcie.txt": [of("apei", "0000:5e:00.0", severity="recoverable"), of("edac", severity="UE")],
    "pop3363_syslog_xid79_unknown_pid.txt": [
        of(79, "0000:01:00.0"),
        of("fallen_off_bus", "0000:01:00.0"),
        of("pcie_link_down", "0000:00:01.1"),
    ],
    "soft_lockup_mlx5.txt": [of("soft_lockup", count=2), of("mlx5_tx_timeout", "0000:65:00.0")],
    "sxid_20034_storm.txt": [
        of(20034, "0000:06:00.0", severity="Fatal", link=48),
        of(20034, "0000:05:00.0", severity="Fatal", link=63),
        of(20034, "0000:07:00.0", severity="Fatal", link=37),
        of(20034, "0000:05:00.0", severity="Fatal", link=62),
    ],
    "sxid_nvsentinel_lines.txt": [
        of(24007, "0000:c3:00.0", severity="Fatal", link=28),
        of(28006, "0000:c1:00.0", severity="Non-fatal", link=46),
        of(12033, "0000:c3:00.0"),
        of(20009, "0000:06:00.0", 2, severity="Non-fatal"),  # cut behind "Li"
        of(20009, "0000:06:00.0", severity="Non-fatal", link=4),
        of(20009, "0000:c3:00.0", severity="Non-fatal", link=28),
        of(28006, "0000:c3:00.0", severity="Non-fatal", link=29),
        of(24007, "0000:c3:00.0", severity="Fatal", link=30),
        of(26006, "0004:00:00.0", 2),
        of(26007, "0004:00:00.0"),
        of(26008, "0004:00:00.0"),
    ],
    "titanv_rminitadapter_and_sel.txt": [of("rm_init_failed", "0000:81:00.0", 2)],
}
NO_LOGS = ("aznhc_distributed_results.txt", "decoy_lines_with_xid_word.txt")
OWN_TESTS = ("amd_inband_ras_error_list.txt", "xid_144_150_nvlink5.txt", "xid_145_149_gb200.txt", "xid_nvsentinel_lines.txt", *NO_LOGS)


def text(corpus, name):
    return (corpus / "c_kernel" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_events(corpus, name):
    assert Counter(summary(kernel_log.parse(text(corpus, name)))) == Counter(EXPECTED[name])


def test_no_file_is_left_out(corpus):
    assert {path.name for path in (corpus / "c_kernel").glob("*.txt")} == {*EXPECTED, *OWN_TESTS}


@pytest.mark.parametrize("name", NO_LOGS)
def test_logs_of_other_tools_are_no_kernel_log(corpus, name):
    with pytest.raises(ParseError, match="no kernel log"):
        kernel_log.parse(text(corpus, name))


def test_the_quoted_message_itself_can_be_read(corpus):
    line = next(line for line in text(corpus, "aznhc_distributed_results.txt").splitlines() if "Xid (" in line)
    event = xid.parse(line[line.index("NVRM:") :])
    assert (event["code"], event["pci"], event["pid"], event["name"]) == (119, "0002:00:00.0", 67769, "nvidia-smi")
    assert line.startswith("mynode-066")
    assert "GSP1" in line


def test_empty_list_of_amd_records_is_no_error(corpus):
    assert amd_inband_ras.parse(text(corpus, "amd_inband_ras_error_list.txt")) == {"errors": []}


def test_nvlink5(corpus):
    events = kernel_log.parse(text(corpus, "xid_144_150_nvlink5.txt"))["events"]
    lines = text(corpus, "xid_144_150_nvlink5.txt").splitlines()
    assert sum(event["count"] for event in events) == len(lines) == 35
    assert {event["code"] for event in events} == set(range(144, 151))
    for event in events:
        assert f"{event['detail']['unit']} {event['severity']} XC" in event["text"]
        assert event["link"] == 0
        assert event["pci"] == "0000:04:00.0"
        assert event["detail"]["error_status"] in event["text"]


def test_nvlink5_of_gb200(corpus):
    log = kernel_log.parse(text(corpus, "xid_145_149_gb200.txt"))
    assert log["counts"] == {"xid": 19}
    assert {event["code"] for event in log["events"]} == {145, 149}
    assert {event["pci"][:4] for event in log["events"]} == {"0008", "0018", "0019"}
    assert -1 in {event["link"] for event in log["events"]}
    assert "ray::WorkerDict" in {event["name"] for event in log["events"]}


def test_many_shapes_of_xids(corpus):
    """Codes that are words are no events, nor are the lines that a health agent forwards with its advice."""
    name = "xid_nvsentinel_lines.txt"
    log = kernel_log.parse(text(corpus, name))
    lines = [line for line in text(corpus, name).splitlines() if line.strip()]
    forwarded = [line for line in lines if "Recommended Action" in line]
    assert len(forwarded) == 3
    assert log["counts"] == {"xid": len(lines) - len(forwarded) - 2}
    assert {event["code"] for event in log["events"]} == {8, 13, 31, 32, 46, 48, 69, 74, 79, 94, 119, 145, 149, 154, 999}
    assert {event["pci"] for event in log["events"] if event["code"] == 69} == {"0001:ab:cd.0"}
    assert "nvc:[driver]" in {event["name"] for event in log["events"]}
    for line in forwarded:
        with pytest.raises(ParseError):
            xid.parse(line.split("] ", 1)[1])


def test_one_fault_of_three_lines_is_one_episode(corpus):
    events = {event["code"]: event for event in kernel_log.parse(text(corpus, "gpud46_ctime_13_109_peermem.txt"))["events"]}
    assert (events[13]["count"], events[13]["episodes"]) == (3, 1)
    assert events[13]["pid"] is None
    assert events[109]["pid"] == 1797828


def test_secondary_events_keep_their_own_code(corpus):
    events = kernel_log.parse(text(corpus, "okm1150_xid45_caused_by_previous.txt"))["events"]
    assert sum(event["count"] for event in events) == 7
    assert {event["pci"][5:7]: event["detail"]["caused_by"] for event in events} == {"dc": 149, "ed": 145, "ba": 145, "97": 145}


def test_details(corpus):
    lockup = kernel_log.parse(text(corpus, "soft_lockup_mlx5.txt"))["events"][0]
    assert lockup["detail"] == {"cpu": 94, "stuck_s": 226906, "where": "mlx5e_poll_ico_cq+0x8b/0x1a0 [mlx5_core]"}
    power = kernel_log.parse(text(corpus, "mlx5_kmsg_events.txt"))["events"][0]
    assert power["detail"] == {"power_w": 27}
    block = kernel_log.parse(text(corpus, "gcm_io_errors.txt"))["events"][0]
    assert block["detail"] == {"device": "nvme2n1"}
    assert block["first_s"] == 470907.28223
    lost = kernel_log.parse(text(corpus, "pop3363_syslog_xid79_unknown_pid.txt"))
    assert lost["gpu_uuids"] == {"0000:01:00.0": "GPU-f11e5385-3a56-cf9d-6ff8-f2dfc79e06a6"}
    assert kernel_log.parse(text(corpus, "gpud338_sxid_decode_format.txt"))["events"][0]["detail"] == {"switch": 1}
    severities = {event["priority"] for event in kernel_log.parse(text(corpus, "amd_mmhub_page_faults.txt"))["events"]}
    assert severities == {3}
