"""What the judge makes of a node's log: the class and the reaction of each code, and what was not seen is not "nothing"."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from accept_judge import documents, standards
from accept_judge.analysis import boot, boot_alike
from accept_node.parsers import kernel_log, proc_kernel

ROOT = Path(__file__).resolve().parents[3]
START = "kern  :notice: [    0.000000] Linux version 6.8.0 (buildd@host)\n"
WATCHED = {"watchdog": 1, "soft_watchdog": 1, "hung_task_timeout_secs": 120}


@pytest.fixture(scope="module")
def run():
    folder = ROOT / "standards" / "catalogs"
    catalogs = {name: documents.read((folder / f"{name}.yml").read_bytes(), name) for name in ("xid", "sxid")}
    return SimpleNamespace(standards=standards.Standards(folder, "", catalogs=catalogs))


@pytest.fixture
def analyse(run):
    def analyse(*messages, start=START, who="kern", driver="580.173.02", **data):
        lines = "".join("%-6s:err   : [%12.6f] %s\n" % (who, 1000 + number * 10, message) for number, message in enumerate(messages))
        log = kernel_log.parse(start + lines)
        return boot.analyse({"kernel_log": log, "nvidia_module": driver, "sysctl": WATCHED, **data}, run)

    return analyse


def xid(rest, pci="0000:1b:00"):
    return f"NVRM: Xid (PCI:{pci}): {rest}"


def lists(facts):
    """The lists that hold something."""
    return {
        name: len(lines) for name, lines in facts.items() if isinstance(lines, list) and lines and name not in ("events", "nic_link_downs")
    }


def unread(facts):
    return {name for name, value in facts.items() if value is None and not name.endswith(("mounts", "common", "modules"))}


def test_a_healthy_log_gives_empty_lists(analyse):
    facts = analyse("nvidia-nvswitch0: open (major=510)", "amdgpu 0000:26:00.0: amdgpu: RAS: optional ras ta ucode is not available")
    assert lists(facts) == {}
    assert unread(facts) == set()
    assert facts["log_begins_at_boot"] is True


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("79, GPU has fallen off the bus.", "xids_hardware"),
        ("48, pid='<unknown>', name=<unknown>, DBE (double bit error) ECC Error", "xids_hardware"),
        ("119, pid=1, name=x, Timeout after 6s of waiting for RPC response from GPU0 GSP!", "xids_hardware"),
        ("95, Uncontained: LTC TAG (0x2,0x1). RST: Yes, D-RST: No", "xids_hardware"),
        ("94, pid=1, name=x, Contained: SM (0x1). RST: No, D-RST: No", "xids_contained"),
        ("63, Row Remapper: New row marked for remapping, reset gpu to activate.", "xids_contained"),
        ("13, pid=1, name=x, Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0)", "xids_application"),
        ("31, pid=1, name=x, Ch 00000008, intr 00000000. MMU Fault", "xids_application"),
        ("43, pid=1, name=x, Ch 00000008", "xids_application"),
        ("45, pid=1, name=x, Ch 00000008", "xids_application"),
        ("92", "xids_informational"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "xids_hardware"),
        ("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "xids_informational"),
        ("154 (", "xids_unclear"),
        ("1, Ch 00000001", "xids_unclear"),  # a code that no current GPU uses
        ("175", "xids_unclear"),
        ("999, pid=1, name=x", "xids_unclear"),
        ("145, RLW_REMAP Fatal XC1 i0 Link 10 (0x00000004 0x00000040 0x00000000 0x0)", "xids_hardware"),
        ("145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 17 (0x04084507 0x00000004 0x00000000", "xids_nvlink_nonfatal"),
        ("149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00000013 0x00000001 0x0)", "xids_nvlink_nonfatal"),
        ("150, NEW_UNIT Nonfatal XC0 i0 Link 03 (0x00000013 0x00000001 0x0)", "xids_nvlink_nonfatal"),
        ("150, NEW_UNIT Fatal XC0 i0 Link 03 (0x00000013 0x00000001 0x0)", "xids_hardware"),
        ("146, TLW", "xids_unclear"),  # cut: no word of severity
    ],
)
def test_each_xid_goes_to_its_list(analyse, message, where):
    assert lists(analyse(xid(message))) == {where: 1}


def test_45_is_the_shadow_of_another_error(analyse):
    shadow = xid("45, pid=9, name=x, Ch 0000000b caused by previous Xid 149")
    fatal = xid("149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x0)")
    assert lists(analyse(fatal, shadow)) == {"xids_hardware": 1}
    assert lists(analyse(xid("94, Contained"), xid("45, Ch 1"))) == {"xids_contained": 1}


def test_45_stands_in_for_a_record_that_is_lost(analyse):
    assert lists(analyse(xid("45, Ch 1 caused by previous Xid 48"))) == {"xids_hardware": 1}
    assert lists(analyse(xid("45, Ch 1 caused by previous Xid 149"))) == {"xids_unclear": 1}
    assert lists(analyse(xid("45, Ch 1 caused by previous Xid 13"))) == {"xids_application": 1}


def test_a_storm_of_45_after_a_killed_job_harms_nobody(analyse):
    facts = analyse(*[xid(f"45, pid=48213, name=python3, Ch {channel:08x}") for channel in range(672)])
    assert lists(facts) == {"xids_application": 1}
    assert "×672" in facts["xids_application"][0]


def test_another_gpus_error_casts_no_shadow(analyse):
    facts = analyse(xid("79, lost", pci="0000:43:00"), xid("45, Ch 1"))
    assert lists(facts) == {"xids_hardware": 1, "xids_application": 1}


def test_the_line_says_what_where_and_what_to_do(analyse):
    line = analyse(xid("79, GPU has fallen off the bus."))["xids_hardware"][0]
    assert line == "Xid 79 0000:1b:00.0 at 1000 s: GPU no longer reachable over PCIe; drain, reboot the node; if it comes back, replace"


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("20034, Fatal, Link 41 LTSSM Fault Up", "sxids_fatal"),
        ("20009, Non-fatal, Link 04 RX Short Error Rate", "sxids_nonfatal"),
        ("20034, Data {0x10000000, 0x10000000}", "sxids_fatal"),  # the word is lost: the catalogue's class
        ("12028, Data {0x000001c0}", "sxids_nonfatal"),
        ("12033, Severity 1 Engine instance 00 Sub-engine instance 00", "sxids_unclear"),
        ("26006, SOE HALTED", "sxids_unclear"),
        ("99999, Something", "sxids_unclear"),
    ],
)
def test_each_sxid_goes_to_its_list(analyse, message, where):
    assert lists(analyse(f"nvidia-nvswitch2: SXid (PCI:0000:07:00.0): {message}")) == {where: 1}


@pytest.mark.parametrize(
    ("message", "where"),
    [
        ("NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.", "gpus_fallen_off"),
        ("NVRM: GPU 0000:1b:00.0: RmInitAdapter failed! (0x25:0x65:1540)", "gpu_init_failures"),
        ("nvidia 0000:1b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)", "pcie_uncorrected"),
        ("nvidia 0000:1b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)", "pcie_corrected"),
        ("EDAC MC3: 1 UE memory read error on CPU_SrcID#1 (channel:2)", "machine_checks"),
        ("EDAC MC3: 7 CE memory read error on CPU_SrcID#1 (channel:2)", "errors_corrected"),
        ("mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 7: be00004000010092", "machine_checks"),
        ("mce: [Hardware Error]: CPU 5: Machine Check: 0 Bank 7: 9c00004000010092", "errors_corrected"),
        ("[Hardware Error]: Corrected error, no action required.", "errors_corrected"),
        ("mce: [Hardware Error]: Machine check events logged", "machine_check_events"),
        ("Out of memory: Killed process 1 (python3) total-vm:1kB", "oom_system"),
        ("Memory cgroup out of memory: Killed process 1 (python3) total-vm:1kB", "oom_cgroup"),
        ("amdgpu 0000:26:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block", "amd_ras_uncorrected"),
        ("amdgpu 0000:26:00.0: amdgpu: 2 correctable hardware errors detected in umc block", "amd_ras_corrected"),
        ("amdgpu 0000:26:00.0: amdgpu: GPU reset begin!", "amd_ras_uncorrected"),
        ("pt[9917]: segfault at 7f7 ip 0 sp 0 error 4 in libnccl.so.2[7f7+d3]", "gpu_library_crashes"),
        ("LustreError: 11-0: scratch-MDT0000: operation failed: rc = -107", "storage_timeouts"),
        ("pcieport 0000:00:01.1: pciehp: Slot(0): Link Down", "pcie_uncorrected"),
    ],
)
def test_each_kind_goes_to_its_list(analyse, message, where):
    assert lists(analyse(message)) == {where: 1}


def test_crashes_of_other_programs_are_theirs(analyse):
    assert lists(analyse("vim[9917]: segfault at 7f7 ip 0 sp 0 error 4 in libc.so.6[7f7+d3]")) == {}


def test_every_list_is_judged_by_a_check(analyse, root):
    judged = {check.get("each", check.get("value")) for check in documents.read((root / "standards/checks/boot.yml").read_bytes(), "boot")}
    facts = analyse()
    assert {name for name, value in facts.items() if isinstance(value, list)} - {"events"} <= judged


def test_every_kind_of_event_has_a_list():
    from accept_node.parsers import kernel_events

    listed = {kind for tests in boot.SORTS.values() for kind, _ in tests} | {"mlx5_link"}
    assert {rule.kind for rule in kernel_events.RULES} == listed


def test_records_of_programs_are_no_faults_and_hide_none(analyse):
    lost = xid("79, GPU has fallen off the bus.")
    facts = analyse(lost, who="user")
    assert lists(facts) == {"user_records": 1}
    assert facts["xids_hardware"] == []
    assert [event["injected_or_user"] for event in facts["events"]] == [True]
    later = "kern  :err   : [ 5000.000000] " + lost + "\n"
    both = analyse(lost, who="user", start=START + later)
    assert lists(both) == {"user_records": 1, "xids_hardware": 1}


def test_what_was_overwritten_was_not_seen(analyse):
    facts = analyse(xid("79, lost"), start="kern  :info  : [  500.000000] usb 1-1: new device\n")
    assert facts["log_begins_at_boot"] is False
    assert lists(facts) == {"xids_hardware": 1}  # a fault that is there counts
    assert facts["oom_system"] is None
    assert facts["oom_system_reason"].endswith("it begins 500 s after it")
    assert facts["nic_link_downs"] is None


def test_no_log_at_all(run):
    facts = boot.analyse({"kernel_log": None, "kernel_log_reason": "dmesg --decode: permission denied"}, run)
    assert lists(facts) == {}
    assert facts["xids_hardware"] is None
    assert facts["xids_hardware_reason"] == "dmesg --decode: permission denied"
    assert facts["log_begins_at_boot"] is None


@pytest.mark.parametrize(
    ("sysctl", "name"),
    [
        ({**WATCHED, "watchdog": 0}, "lockups"),
        ({**WATCHED, "soft_watchdog": 0}, "lockups"),
        ({**WATCHED, "hung_task_timeout_secs": 0}, "hung_tasks"),
        ({**WATCHED, "hung_task_timeout_secs": None}, "hung_tasks"),
    ],
)
def test_what_the_kernel_does_not_watch_is_not_measured(analyse, sysctl, name):
    facts = analyse(sysctl=sysctl)
    assert unread(facts) == {name}
    assert "not watched" in facts[name + "_reason"]


def test_events_that_were_not_kept_are_not_denied(analyse):
    crashes = [f"prog{number}[1]: segfault at 0 ip 0 sp 0 error 4 in libx{number}.so[0+1]" for number in range(120)]
    facts = analyse(*crashes)
    assert facts["gpu_library_crashes"] is None
    assert facts["gpu_library_crashes_reason"] == "20 further events were not kept"
    assert facts["xids_hardware"] == []


def test_link_downs_keep_their_last_time(analyse):
    facts = analyse("mlx5_core 0000:18:00.0 ens3np0: Link down", "mlx5_core 0000:18:00.0 ens3np0: Link down")
    assert facts["nic_link_downs"] == [{"port": "0000:18:00.0 ens3np0", "count": 2, "last_s": 1010.0}]


def test_what_is_each_nodes_own_is_left_out_of_comparisons():
    def node(uuid, address):
        text = f'BOOT_IMAGE=/vmlinuz-6.8.0 root=UUID={uuid} ip={address} ro iommu=pt hugepages=16 hugepages=32 opt="a b"'
        mounts = [
            {"device": "/dev/md0", "mount_point": "/", "type": "ext4", "options": ["rw", "relatime"]},
            {"device": "10.0.0.9:/home", "mount_point": "/home", "type": "nfs4", "options": ["rw", f"clientaddr={address}", "hard"]},
        ]
        return boot_alike.alike({"cmdline": proc_kernel.parse_cmdline(text), "mounts": mounts, "modules": ["loop", "nvidia", "veth"]})

    one, other = node("7a2c", "10.0.0.1"), node("9b1d", "10.0.0.2")
    assert one == other
    assert one == {
        "cmdline_common": "hugepages=16 hugepages=32 iommu=pt opt=a b ro",
        "network_mounts": "10.0.0.9:/home on /home nfs4 hard,rw",
        "local_mounts": "/ ext4 relatime,rw",
        "fabric_modules": "nvidia",
    }


def test_nothing_is_compared_that_was_not_read():
    assert set(boot_alike.alike({}).values()) == {None}
    assert boot_alike.alike({"mounts": [], "modules": []})["network_mounts"] == "none"
