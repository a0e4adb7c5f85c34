"""Redaction: identities go, shapes stay, equal stays equal, and PCI addresses and versions are left alone."""

from __future__ import annotations

import json
import re

import pytest
from accept_node.parsers import ParseError
from accept_node.redact import Redactor, redact_capture
from accept_node.secrets import remove_secrets
from test_fixture_pairs import PAIRS, parser_of

GONE = [
    ("<serial>1653123001234</serial>", "1653123001234"),
    ("    Serial Number                  : 1320923456789", "1320923456789"),
    ("\tSerial Number: FAE4J20\n", "FAE4J20"),
    ('{"name":"nvme0n1","serial":"S64HNE0R500123"}', "S64HNE0R500123"),
    ("index, serial, name\n0, 1653123001234, NVIDIA H200\n", "1653123001234"),
    (
        "Node                  SN                   Model\n--------------------- -------------------- --------\n"
        "/dev/nvme0n1          S64HNE0R500123       SAMSUNG\n",
        "S64HNE0R500123",
    ),
    ("NVRM: GPU 0000:1b:00.0: GPU serial number is 1653123001234.", "1653123001234"),
    ("GPU 0: NVIDIA H200 (UUID: GPU-5f1c2e3d-1111-2222-3333-444455556666)", "5f1c2e3d-1111-2222-3333-444455556666"),
    ("root=UUID=5f1c2e3d-1111-2222-3333-444455556666 ro", "5f1c2e3d-1111-2222-3333-444455556666"),
    ("0123456789abcdef0123456789abcdee\n", "0123456789abcdef0123456789abcdee"),
    ("\tNode GUID: 0xa088c20300abcdef\n", "a088c20300abcdef"),
    ("Switch: 0xa088c20300abcdee MF0;leaf01:MQM9700/U1:\n   12    1[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>\n", "a088c20300abcdee"),
    ("node_guid: a088:c203:00ab:cdef", "a088:c203:00ab:cdef"),
    ("fe80:0000:0000:0000:a088:c203:00ab:cdef", "a088:c203:00ab:cdef"),
    ('Switch  40 "S-b83fd203002a1b40" # x', "b83fd203002a1b40"),
    ("0000:0000:0000:0000:0000:ffff:0a14:1e28", "0a14:1e28"),
    ("link/ether a0:88:c2:12:34:56 brd ff:ff:ff:ff:ff:ff", "12:34:56"),
    ("    inet 10.20.30.40/24 brd 10.20.30.255 scope global", "20.30.40"),
    ("inet6 fe80::a288:c2ff:fe12:3456/64 scope link", "a288:c2ff:fe12:3456"),
    ("10.20.30.40@o2ib:/scratch /scratch lustre rw 0 0", "20.30.40"),
    ("server 8.20.30.40 iburst", "20.30.40"),
    ("filer07.corp.example:/export /home nfs4 rw,vers=4.2 0 0", "filer07"),
    ("uid=1000(astrid) gid=1000(astrid)", "astrid"),
    ("/home/astrid/job.sh", "astrid"),
]
STAYS = [
    "<vbios_version>96.00.99.00.01</vbios_version>",
    "VBIOS Version : 96.00.99.00",
    "00000000:1B:00.0, 0000:1b:00.0, 0008:06:00.0",
    "Bus Id : 00000009:01:00.0",
    "firmware-version: 28.45.4702 (MT_0000000838)",
    "MLNX_OFED_LINUX-24.10-3.2.5.0:",
    "Firmware Version: 12.0.2.14",
    "BMC 1.2.3.4 build",
    "<uuid>GPU-00000000-0000-0000-0000-000000000000</uuid>",
    "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff",
    "inet 127.0.0.1/8 scope host lo",
    "Serial Number: Not Specified",
    "Serial Number: 0000000000000",
    "Serial Number: To Be Filled By O.E.M.",
    "[Mon Nov 30 12:34:56 2026] 12:34:56",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "NVRM: Xid (PCI:0000:1b:00): 145, RLW_REMAP Fatal XC1 i0 Link 08 (0x00000004 0x00000040)",
    "default via 0.0.0.0 netmask 255.255.255.0",
    "Link 0: 53.125 GB/s",
]


def redacted(*texts, key=b"k"):
    redactor = Redactor(key)
    for text in texts:
        redactor.learn(text)
    return redactor, [redactor.text(text) for text in texts]


def shape(text):
    """Letters of hex may become digits and back; all else keeps its place."""
    return re.sub(r"[0-9a-zA-Z]", "x", text)


@pytest.mark.parametrize(("text", "identity"), GONE)
def test_an_identity_goes_and_its_shape_stays(text, identity):
    redactor, [once] = redacted(text)
    assert identity not in once
    assert shape(once) == shape(text)
    assert len(once) == len(text)
    redactor.learn(once)
    assert redactor.text(once) == once


@pytest.mark.parametrize("text", STAYS)
def test_what_is_no_identity_stays(text):
    assert redacted(text)[1] == [text]


def test_a_serial_seen_with_its_label_is_known_where_it_stands_alone():
    _, [one, other] = redacted("Serial Number: S64HNE0R500123", "nvme0n1 disk S64HNE0R500123 3.5T")
    assert one.split()[-1] == other.split()[2] != "S64HNE0R500123"


def test_one_guid_is_one_guid_in_all_its_forms():
    _, texts = redacted(
        "Node GUID: 0xa088c20300abcdef", "a088:c203:00ab:cdef", "fe80:0000:0000:0000:a088:c203:00ab:cdef", "caguid=0xa088c20300abcdef"
    )
    digits = [re.sub(r"[^0-9a-f]", "", text)[-16:] for text in texts]
    assert len(set(digits)) == 1
    assert digits[0] != "a088c20300abcdef"


def test_an_address_in_a_gid_is_the_address():
    _, [address, gid] = redacted("inet 10.20.30.40/24", "0000:0000:0000:0000:0000:ffff:0a14:1e28")
    packed = bytes.fromhex(gid.replace(":", "")[-8:])
    assert ".".join(map(str, packed)) in address


def test_one_key_makes_the_same_of_a_fleet_and_another_key_does_not():
    text = "GPU-5f1c2e3d-1111-2222-3333-444455556666 10.20.30.40"
    assert redacted(text)[1] == redacted("host 10.20.30.41", text)[1][1:]
    assert redacted(text)[1] != redacted(text, key=b"other")[1]


def test_what_is_made_of_a_mac_still_is():
    _, texts = redacted(
        "a0:88:c2:12:34:56", "fe80:0000:0000:0000:a288:c2ff:fe12:3456", "inet6 fe80::a288:c2ff:fe12:3456/64", "a088:c203:0012:3456"
    )
    mac, gid, link_local, guid = (re.sub(r"[^0-9a-f]", "", text.split("inet6 ")[-1].split("/")[0]) for text in texts)
    assert mac[-6:] == gid[-6:] == link_local[-6:] == guid[-6:] != "123456"
    assert (gid[-10:-6], guid[-10:-6]) == ("fffe", "0300")


@pytest.mark.parametrize("address", ["10.1.2.3", "172.16.5.6", "192.168.7.8", "169.254.9.9", "100.64.3.2", "203.0.113.7"])
def test_a_private_address_stays_private(address):
    [made] = redacted("addr " + address)[1]
    kept = 1 if address.split(".")[0] in ("10", "203") else 2
    assert made.split()[1] != address
    assert made.split()[1].split(".")[:kept] == address.split(".")[:kept]


def test_a_mac_keeps_its_vendor():
    assert redacted("a0:88:c2:12:34:56")[1][0].startswith("a0:88:c2:")


def capture(hostname="gpu-b200-07"):
    return {
        "schema": 1,
        "recorded_at_s": 1.0,
        "identity": {"hostname": hostname, "uid": 0},
        "commands": [
            {"argv": ["uname", "-n"], "rc": 0, "stdout": hostname + "\n", "stderr": "", "reason": ""},
            {"argv": ["dmesg"], "rc": 0, "stdout": f"Nov 30 {hostname} kernel: token=abc123xyz\n", "stderr": "", "reason": ""},
        ],
        "files": [{"path": "/etc/hostname", "text": hostname + "\n", "reason": ""}, {"path": "/away", "text": None, "reason": "missing"}],
        "trees": [
            {"root": "/sys/block", "files": {"nvme0n1/device/serial": "S64HNE0R500123      \n"}, "links": {}, "errors": {}, "reason": ""}
        ],
        "listings": [],
    }


def test_a_capture_keeps_its_questions_and_loses_its_identities():
    made = redact_capture(capture(), b"k")
    text = json.dumps(made)
    assert not re.search("gpu-b200-07|S64HNE0R500123|abc123xyz", text)
    assert made["identity"]["hostname"] == made["files"][0]["text"].strip() == made["commands"][0]["stdout"].strip()
    assert [entry["argv"] for entry in made["commands"]] == [["uname", "-n"], ["dmesg"]]
    assert made["redacted"] is True
    assert made["files"][1]["text"] is None
    assert redact_capture(made, b"other") == made


def test_a_host_called_like_a_word_does_not_take_the_word_along():
    source = capture("gpu")
    source["commands"].append({"argv": ["x"], "rc": 0, "stdout": "the gpu is idle", "stderr": "", "reason": ""})
    made = redact_capture(source, b"k")
    assert made["commands"][-1]["stdout"] == "the gpu is idle"
    assert made["identity"]["hostname"] != "gpu"


def test_other_nodes_of_a_scheduler_go_and_a_folded_set_stays_one():
    source = capture("kestrel-gpu07")
    said = (
        "NodeName=kestrel-gpu08 NodeHostName=kestrel-gpu08\nNodeList=kestrel-gpu[01-16,18]\nSlurmctldHost[0]=osprey-mgmt(10.0.0.1)\n"
        'Nodes=merlin[1-4]\nNodeName=merlin3\n{"kubernetes.io/hostname": "heron-a"}\nPreempted on kestrel-gpu02 by root\n'
    )
    source["commands"].append({"argv": ["scontrol"], "rc": 0, "stdout": said, "stderr": "", "reason": ""})
    made = redact_capture(source, b"k")
    text = made["commands"][-1]["stdout"]
    assert not re.search("kestrel|osprey|merlin|heron", text)
    stem = re.search(r"NodeName=(\S+)08 NodeHostName=(?:\1)08", text).group(1)
    assert f"NodeList={stem}[01-16,18]" in text
    assert f"on {stem}02 by" in text
    assert made["identity"]["hostname"] == stem + "07"


def test_a_host_made_of_its_address_keeps_no_part_of_it():
    made = redact_capture(capture("ip-10-20-30-41"), b"k")
    assert not set(re.findall(r"\d+", made["identity"]["hostname"])) & {"10", "20", "30", "41"}


def test_a_plain_stem_takes_no_word_along():
    source = capture("node07")
    source["commands"].append({"argv": ["x"], "rc": 0, "stdout": "NUMA node0 CPU(s): 0-3\nNodes=node[01-08]", "stderr": "", "reason": ""})
    text = redact_capture(source, b"k")["commands"][-1]["stdout"]
    assert text.startswith("NUMA node0 CPU(s)")
    assert re.search(r"Nodes=(?!node)[a-z]{4}\[01-08\]$", text)


def outline(value):
    """A fact without its texts: keys, numbers, and the shape of strings."""
    if isinstance(value, dict):
        return {shape(key): outline(item) for key, item in value.items()}
    if isinstance(value, list):
        return [outline(item) for item in value]
    return shape(value) if isinstance(value, str) else value


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: "/".join(path.parts[-3:]))
def test_a_parser_makes_the_same_of_a_redacted_output(path):
    def parsed(text):
        try:
            return parser_of(path)(text)
        except ParseError:
            return "error"

    text = path.read_text(encoding="utf-8")
    redactor, [once] = redacted(text)
    assert outline(parsed(once)) == outline(parsed(text))
    assert outline(parsed(remove_secrets(text))) == outline(parsed(text))
    redactor.learn(once)
    assert redactor.text(once) == once
