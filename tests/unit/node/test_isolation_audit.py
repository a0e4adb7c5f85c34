"""The isolation collector on recorded machines: what is there, what is not, what may not be read, and that it keeps no names."""

from __future__ import annotations

import pytest
from accept_node.collectors import isolation_audit as isolation
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode
from accept_node.parsers import ss

MOUNTS = "proc /proc proc rw,nosuid,hidepid=invisible 0 0\ndebugfs /sys/kernel/debug debugfs rw 0 0\n/dev/md0 / ext4 rw 0 0\n"
NFS = "10.0.0.2:/home /home nfs4 rw,vers=4.2,sec=sys 0 0\n10.0.0.2:/safe /safe nfs4 rw,sec=krb5p,xprtsec=mtls 0 0\n"


def command(argv, stdout="", rc=0, stderr="", reason=""):
    return {"argv": list(argv), "rc": rc, "stdout": stdout, "stderr": stderr, "reason": reason}


def absent(argv):
    return command(argv, rc=None, reason="missing")


def people(uid=0):
    return [*([] if uid else isolation.AS_NOBODY), *isolation.PEOPLE, str(uid or isolation.NOBODY), ")", "-printf", "."]


def capture(*commands, uid=0, stat="", files=(), **rest):
    """A bare machine where nothing of what is asked for is installed; `stat`: lines of files that are there."""
    there = [line.rsplit(" ", 1)[1] for line in stat.splitlines()]
    lost = "".join(f"stat: cannot statx '{path}': No such file or directory\n" for path in isolation.STAT[4:] if path not in there)
    usual = [
        command(isolation.STAT, stat, 1, lost),
        command(isolation.GROUPS, "sudo 27 1\n"),
        absent(isolation.IPMITOOL),
        command(["lscpu", "-J"], '{"lscpu": [{"field": "Architecture:", "data": "x86_64"}]}'),
        command(["systemd-detect-virt", "--vm"], "none\n", 1),
        command(people(uid), "."),
        command(isolation.SS, "LISTEN 0 128 0.0.0.0:22 0.0.0.0:*\n"),
        command(isolation.EXPORTS, "", 1, "cat: /etc/exports: No such file or directory\n"),
        command(isolation.PROXY, "0\n", 1),
        absent(["sshd", "-T"]),
    ]
    given = [record["argv"] for record in commands]
    texts = {"/proc/mounts": MOUNTS, "/proc/net/route": "Iface\tDestination\n", **dict(files)}
    lacking = ["/proc/net/ipv6_route", isolation.IMEX_NODES, isolation.PARAMETERS, isolation.SELINUX, isolation.APPARMOR]
    lacking += [*isolation.NESTED, *isolation.KUBELET]
    return {
        "recorded_at_s": 1796000000.0,
        "identity": {"uid": uid, "hostname": "n1"},
        "commands": [*commands, *(record for record in usual if record["argv"] not in given)],
        "files": [{"path": path, "text": text, "reason": ""} for path, text in texts.items()]
        + [{"path": path, "text": None, "reason": "missing"} for path in lacking if path not in texts],
        "trees": [
            {"root": "/proc/sys/kernel", "files": {"perf_event_paranoid": "4\n"}},
            {"root": "/sys/class/infiniband", "files": {}, "reason": "missing"},
            {"root": "/sys/devices/system/cpu/vulnerabilities", "files": {"mds": "Not affected\n"}},
            *rest.get("trees", ()),
        ],
        "listings": rest.get("listings", []),
    }


def read(*commands, **more):
    return collect("isolation_audit", isolation.collect, ReplayNode(capture(*commands, **more)))


def test_a_bare_machine_measures_absences():
    envelope = read()
    data = envelope["data"]
    assert (envelope["status"], envelope["errors"]) == ("ok", [])
    assert set(data["files"].values()) == {"none"}
    assert [data[key] for key in ("nvidia", "ssh", "kubelet", "kvm_nested", "vfio", "dpus")] == ["none", "none", "none", "none", [], []]
    assert data["imex"] == {"peers": 0, "peers_sha256": "none", "channels": 0}
    assert data["exports"] == {"exports": 0, "open_to_all": 0, "root_unsquashed": 0}
    assert data["sysctl"] == {"perf_event_paranoid": 4, "kptr_restrict": None, "unprivileged_bpf_disabled": None}
    assert data["egress"] == {"way": "none", "default_routes": [], "proxy_settings": 0}
    assert data["mac"] == {"selinux": "none", "apparmor": "none", "active": False}
    assert data["ipmi_answers"] is None


def test_files_and_ipmi():
    info = "Device ID                 : 32\nFirmware Revision         : 1.40\n"
    data = read(command(isolation.IPMITOOL, info), stat="666 0 0 character special file /dev/ipmi0\n")["data"]
    assert data["files"]["/dev/ipmi0"]["open_to"] == "everyone"
    assert data["ipmi_answers"] is True
    refused = read(command(isolation.IPMITOOL, rc=1, stderr="Could not open device at /dev/ipmi0\n"))
    assert refused["data"]["ipmi_answers"] is False


def test_mounts():
    data = read(files={"/proc/mounts": MOUNTS + NFS}.items())["data"]
    assert data["processes"]["hidden"] == "invisible"
    assert data["kernel_mounts"] == ["/sys/kernel/debug"]
    assert data["nfs"] == [
        {"mount_point": "/home", "sec": "sys", "xprtsec": "none"},
        {"mount_point": "/safe", "sec": "krb5p", "xprtsec": "mtls"},
    ]


def test_processes_are_counted_as_an_account_without_rights():
    assert read(command(people(0), "." * 15))["data"]["processes"]["of_others"] == 14
    assert people(0)[:2] == ["setpriv", "--reuid=65534"]
    assert read(command(people(1001), "..", 1), uid=1001)["data"]["processes"]["of_others"] == 1


def test_sockets_of_this_node_only():
    told = "LISTEN 0 128 127.0.0.1:9400 0.0.0.0:*\nLISTEN 0 128 *:9100 *:*\n"
    assert read(command(isolation.SS, told))["data"]["listening"] == [{"address": "*", "port": 9100}]
    by_proc = read(absent(isolation.SS), command(isolation.PROC_TCP, "0100007F:24B8\n00000000:24B8\n"))["data"]["listening"]
    assert by_proc == [{"address": "0.0.0.0", "port": 9400}]
    assert ss.parse_proc("00000000000000000000000001000000:0277\n")["listening"] == [{"address": "::1", "port": 631, "loopback": True}]
    assert "$4" in isolation.PROC_TCP[1], "connections of others would be read"


def test_device_groups_and_channels():
    stat = "755 0 0 directory /dev/vfio\n755 0 0 directory /dev/nvidia-caps-imex-channels\n"
    trees = [{"root": "/sys/kernel/iommu_groups", "files": {}, "links": {"41/devices/0000:1b:00.0": "/x", "41/devices/0000:1c:00.0": "/y"}}]
    listings = [{"path": isolation.VFIO, "names": ["41", "vfio"]}, {"path": isolation.CHANNELS, "names": ["channel0", "channel7"]}]
    data = read(stat=stat, trees=trees, listings=listings)["data"]
    assert data["vfio"] == [{"group": 41, "devices": ["0000:1b:00.0", "0000:1c:00.0"]}]
    assert data["imex"]["channels"] == 2


def test_addresses_of_the_imex_domain_are_kept_as_a_digest():
    data = read(files={isolation.IMEX_NODES: "10.40.1.1\n10.40.1.2\n"}.items())["data"]
    assert data["imex"]["peers"] == 2
    assert "10.40" not in str(data)


def test_settings():
    kubelet = "kind: KubeletConfiguration\nauthentication:\n  anonymous:\n    enabled: true\n"
    files = {
        isolation.KUBELET[1]: kubelet,
        isolation.NESTED[0]: "Y\n",
        isolation.SELINUX: "1",
        isolation.PARAMETERS: "DeviceFileMode: 438\n",
    }
    sshd = "permitrootlogin yes\npasswordauthentication no\n"
    data = read(command(["sshd", "-T"], sshd), files=files.items())["data"]
    assert data["kubelet"]["anonymous"] is True
    assert data["kvm_nested"] is True
    assert data["mac"]["active"] is True
    assert data["nvidia"] == {"profiling_admin_only": None, "imex_channel0": None, "device_file_mode": 438}
    assert data["ssh"]["root_login"] == "yes"


def test_names_are_cut_before_anything_is_kept():
    exports = "/tenants/seven  node-of-seven(rw,no_root_squash) 10.9.8.0/24(ro)\n/all *(ro)\n"
    sshd = "permitrootlogin no\npasswordauthentication no\nallowusers alice bob\n"
    node = RecordingNode(ReplayNode(capture(command(isolation.EXPORTS, exports), command(["sshd", "-T"], sshd))))
    data = collect("isolation_audit", isolation.collect, node)["data"]
    assert data["exports"] == {"exports": 2, "open_to_all": 1, "root_unsquashed": 1}
    assert data["ssh"]["root_login"] == "no"
    kept = str(node.capture)
    assert not [name for name in ("seven", "10.9.8", "alice", "bob") if name in kept]
    again = collect("isolation_audit", isolation.collect, ReplayNode(node.capture))["data"]
    assert again == data


def test_what_cannot_be_had_is_null_with_a_reason():
    envelope = read(
        command(isolation.STAT, rc=None, reason="timeout"),
        command(isolation.GROUPS, "x\n"),
        command(isolation.SS, "garbage\n"),
        command(["sshd", "-T"], rc=1, stderr="sshd: no hostkeys available -- exiting.\n"),
        command(people(), "", 1, "setpriv: not permitted\n"),
        command(isolation.EXPORTS, "y\n"),
        files={"/proc/mounts": "x\n"}.items(),
    )
    data = envelope["data"]
    assert envelope["status"] == "partial"
    assert [data[key] for key in ("groups", "vfio", "kernel_mounts", "listening", "nfs", "exports", "ssh")] == [None] * 7
    assert set(data["files"].values()) == {None}
    assert data["processes"] == {"hidden": None, "of_others": None}
    assert data["imex"]["channels"] is None
    assert {error["source"] for error in envelope["errors"]} >= {"sshd -T", "cat /etc/exports", "/proc/mounts"}


@pytest.mark.parametrize("spoil", ["", "\x00\ufffd"])
def test_rubbish_everywhere_is_no_traceback(spoil):
    recorded = capture()
    for record in [*recorded["commands"], *recorded["files"]]:
        record.update({"stdout": spoil, "text": spoil, "reason": "", "rc": 0})
    envelope = collect("isolation_audit", isolation.collect, RecordingNode(ReplayNode(recorded)))
    assert not [error for error in envelope["errors"] if error["reason"] == "collector_failed"]
    assert envelope["data"]["listening"] is None
