"""The boot collector on recorded machines: what answers, what may not be read, what is not there."""

from __future__ import annotations

import pytest
from accept_node.collectors import boot
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode

START = "kern  :notice: [    0.000000] Linux version 6.8.0-137-generic (buildd@host) #137-Ubuntu SMP\n"
LOST = "kern  :err   : [90000.000000] NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.\n"
BOOT_ID = "2f5c1d0e-9a41-4d0e-8f55-1c6a2b7d9e03"
DENIED = "dmesg: read kernel buffer failed: Operation not permitted\n"


def command(argv, stdout="", rc=0, stderr="", reason=""):
    return {"argv": argv, "rc": rc, "stdout": stdout, "stderr": stderr, "reason": reason}


def capture(commands, **changes):
    """A machine without GPU tools; `changes`: path -> text or reason."""
    files = {
        "/proc/uptime": "1209600.27 135012345.18\n",
        "/proc/sys/kernel/random/boot_id": BOOT_ID + "\n",
        "/etc/machine-id": "0b9c5f0d8a1e4f6f9d0e3c2b1a495867\n",
        "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/md0 ro iommu=pt\n",
        "/proc/mounts": "sysfs /sys sysfs rw 0 0\n/dev/md0 / ext4 rw,relatime 0 0\n"
        "overlay /var/lib/containerd/x overlay rw 0 0\n/dev/md2 /var/lib/kubelet/pods/x ext4 rw 0 0\n",
        "/proc/modules": "nvidia 103899136 12 - Live 0x0000000000000000 (POE)\nmlx5_core 2707456 1 - Loading 0x0000000000000000\n",
        "/proc/sys/kernel/tainted": "12289\n",
        "/sys/module/nvidia/version": "580.173.02\n",
    }
    files.update(changes)
    records = [
        {"path": path, "text": text if "\n" in text else None, "reason": "" if "\n" in text else text} for path, text in files.items()
    ]
    missing = [command(argv, rc=None, reason="missing") for argv in (boot.SMI, boot.AMD)]
    known = [record["argv"] for record in commands]
    return {
        "recorded_at_s": 1796000000.0,
        "commands": [*commands, *(record for record in missing if record["argv"] not in known)],
        "files": records,
        "trees": [
            {"root": "/proc/sys/kernel", "files": {"panic": "10\n", "watchdog": "1\n", "printk_devkmsg": "on\n"}},
            {
                "root": "/sys/class/dmi/id",
                "files": {"bios_version": "2.4.4\n"},
                "errors": {"product_serial": "permission", "board_serial": "permission"},
            },
        ],
    }


def read(*commands, **changes):
    return collect("boot", boot.collect, RecordingNode(ReplayNode(capture(list(commands), **changes))))


def reasons(envelope):
    return {error["source"]: error["reason"] for error in envelope["errors"]}


def test_what_is_read():
    envelope = read(command(boot.DMESG, START + LOST))
    data = envelope["data"]
    assert data["boot_id"] == BOOT_ID
    assert data["uptime_s"] == 1209600.27
    assert data["booted_at"] == "2026-11-16T00:53:19.730Z"
    assert data["cmdline"]["parameters"]["iommu"] == "pt"
    assert [mount["mount_point"] for mount in data["mounts"]] == ["/"]
    assert data["modules"] == ["mlx5_core", "nvidia"]
    assert data["modules_unsettled"] == ["mlx5_core"]
    assert (data["sysctl"]["panic"], data["sysctl"]["printk_devkmsg"], data["sysctl"]["soft_watchdog"]) == (10, "on", None)
    assert data["taint"] == {"value": 12289, "flags": "POE", "faults": []}
    assert data["nvidia_module"] == "580.173.02"
    assert data["kernel_log"]["source"] == "dmesg"
    assert [event["code"] for event in data["kernel_log"]["events"]] == [79]
    assert data["snapshot"]["cmdline"] == "BOOT_IMAGE=/vmlinuz root=/dev/md0 ro iommu=pt"


def test_the_machine_id_leaves_the_node_as_a_digest_only():
    envelope = read(command(boot.DMESG, START))
    assert "0b9c5f0d8a1e4f6f9d0e3c2b1a495867" not in str(envelope["data"])
    assert len(envelope["data"]["machine_id_sha256"]) == 64


def test_serials_that_are_roots_alone():
    envelope = read(command(boot.DMESG, START))
    assert envelope["data"]["snapshot"]["product_serial"] is None
    assert envelope["data"]["dmi"]["bios_version"] == "2.4.4"
    assert reasons(envelope)["/sys/class/dmi/id/product_serial"] == "permission"
    assert envelope["status"] == "partial"


def test_denied_log():
    envelope = read(command(boot.DMESG, rc=1, stderr=DENIED), command(boot.JOURNAL, "-- No entries --\n"))
    assert envelope["data"]["kernel_log"] is None
    assert "Operation not permitted" in envelope["data"]["kernel_log_reason"]
    assert reasons(envelope)["dmesg --decode"] == "permission"
    assert reasons(envelope)[" ".join(boot.JOURNAL)] == "unparsable"


def test_the_journal_stands_in_for_a_denied_ring_buffer():
    line = "[    0.000000] gpu-01 kernel: Linux version 6.8.0\n[  984.395062] gpu-01 NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, y\n"
    log = read(command(boot.DMESG, rc=1, stderr=DENIED), command(boot.JOURNAL, line))["data"]["kernel_log"]
    assert (log["source"], log["covers_boot"], log["events"][0]["facility"]) == ("journalctl", True, "user")


@pytest.mark.parametrize(("journal", "source"), [("[    0.000000] gpu-01 kernel: Linux version 6.8.0\n", "journalctl"), (LOST, "dmesg")])
def test_the_journal_goes_further_back_than_an_overwritten_buffer(journal, source):
    log = read(command(boot.DMESG, LOST), command(boot.JOURNAL, journal))["data"]["kernel_log"]
    assert log["source"] == source
    assert log["covers_boot"] is (source == "journalctl")


def test_neither_is_installed():
    envelope = read(command(boot.DMESG, rc=None, reason="missing"), command(boot.JOURNAL, rc=None, reason="missing"))
    assert envelope["data"]["kernel_log"] is None
    assert envelope["data"]["kernel_log_reason"] == "neither dmesg nor journalctl is installed"


@pytest.mark.parametrize("text", ["", "\n", "dmesg: unrecognized option '--decode'\nUsage: dmesg [options]\n"])
def test_a_log_that_is_none(text):
    envelope = read(command(boot.DMESG, text), command(boot.JOURNAL, rc=None, reason="missing"))
    assert envelope["data"]["kernel_log"] is None
    assert reasons(envelope)["dmesg --decode"] == "unparsable"


def test_a_log_that_hangs():
    envelope = read(command(boot.DMESG, rc=None, reason="timeout"), command(boot.JOURNAL, rc=None, reason="timeout"))
    assert envelope["data"]["kernel_log"] is None
    assert "timeout" in envelope["data"]["kernel_log_reason"]


def test_rubbish_in_proc_is_not_measured():
    changes = {"/proc/uptime": "up\n", "/proc/sys/kernel/random/boot_id": "x\n", "/proc/mounts": "y\n", "/proc/modules": "z z\n"}
    data = read(command(boot.DMESG, START), **changes)["data"]
    assert [data[key] for key in ("uptime_s", "booted_at", "boot_id", "mounts", "modules", "modules_unsettled")] == [None] * 6
    assert data["snapshot"]["boot_id"] is None


def test_a_kernel_without_modules():
    data = read(command(boot.DMESG, START), **{"/proc/modules": "missing"})["data"]
    assert data["modules"] == data["modules_unsettled"] == []


def test_gpus_of_the_snapshot():
    xml = (
        "<?xml version='1.0' ?>\n<nvidia_smi_log><driver_version>580.173.02</driver_version><attached_gpus>1</attached_gpus>"
        '<gpu id="00000000:1B:00.0"><uuid>GPU-1</uuid><serial>1650000000001</serial>'
        "<max_clocks><graphics_clock>1965 MHz</graphics_clock></max_clocks>"
        "<gpu_power_readings><current_power_limit>1000.00 W</current_power_limit></gpu_power_readings></gpu></nvidia_smi_log>\n"
    )
    gpus = read(command(boot.DMESG, START), command(boot.SMI, xml))["data"]["snapshot"]["gpus"]
    assert gpus == [
        {
            "index": 0,
            "pci": "0000:1b:00.0",
            "uuid": "GPU-1",
            "serial": "1650000000001",
            "vbios": None,
            "power_limit_w": 1000.0,
            "power_default_w": None,
            "max_clock_mhz": 1965,
        }
    ]


def test_a_node_without_gpu_tools_has_no_gpus_measured():
    assert read(command(boot.DMESG, START))["data"]["snapshot"]["gpus"] is None
