"""Secrets go, always; what parsers read stays."""

from __future__ import annotations

import pytest
from accept_node.node import CommandResult, FileResult, TreeResult
from accept_node.secrets import CleanNode, remove_secrets

SECRETS = [
    ("BOOT_IMAGE=/vmlinuz ro rd.luks.key=Zx9!f luks.uuid=1", "Zx9!f"),
    ("export HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "hf_abc"),
    ("wandb_api_key: 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
    ('{"db_password": "p\\"w, d", "user": "x"}', "w, d"),
    ("<admin_password>hunter22</admin_password>", "hunter22"),
    ("https://bob:s3cr3t@registry.example/v2", "s3cr3t"),
    ("https://ghp_abcdefghijklmnopqrstuvwxyz@git.example/x.git", "ghp_"),
    ("Authorization: Bearer abc.def-ghi_jkl", "abc.def"),
    ("kubelet --bootstrap-token abcdef.0123456789abcdef --v=2", "abcdef.01"),
    ("found AKIAIOSFODNN7EXAMPLE in env", "AKIAIOS"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\nBBBB\n-----END OPENSSH PRIVATE KEY-----\nafter", "BBBB"),
    ("mount -o username=x,password=qwertz,vers=3", "qwertz"),
    ("PASSWORD='quoted value'", "quoted"),
    ("-H 'Authorization: Basic dXNlcjpzZWNyZXQ='", "dXNlcjpz"),
]
PLAIN = [
    "Password: Disabled",
    "JobCredentialPrivateKey = (null)",
    "nvidia-smi: token bucket 12",
    "[    1.2] systemd[1]: Started Forward Password Requests to Wall Directory Watch.",
    "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "nfs01:/home on /home type nfs4 (rw,sec=sys,clientaddr=10.0.0.1)",
    "http://10.0.0.1:8080/metrics",
    "PriorityType            = priority/basic\nPrivateData             = jobs,usage",
    "pod_security: basic\nnext_line_of_it: 1",
    "BOOT_IMAGE=/vmlinuz root=UUID=1b2c ro iommu=pt crashkernel=512M apparmor=1",
    "",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_goes_and_a_second_time_changes_nothing(text, secret):
    once = remove_secrets(text)
    assert secret not in once
    assert "[removed]" in once
    assert remove_secrets(once) == once


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text):
    assert remove_secrets(text) == text


def test_neighbours_of_a_secret_stay():
    assert remove_secrets("a=1 token=xyzzy123 b=2\nc") == "a=1 token=[removed] b=2\nc"
    assert remove_secrets('{"token": "xyzzy", "n": 1}') == '{"token": "[removed]", "n": 1}'


class Node:
    mode = "live"

    def identity(self):
        return {}

    now = sleep = listdir = identity

    def run(self, argv, timeout_s):
        return CommandResult(tuple(argv), 0, "token=xyzzy123", "password=xyzzy123", 0.1, "")

    def read(self, path, timeout_s):
        return FileResult(path, "secret=xyzzy123" if path == "/there" else None, "")

    def read_tree(self, root, patterns, timeout_s):
        return TreeResult(root, {"a": "passwd=xyzzy123"}, {}, {}, "")


def test_a_clean_node_hands_out_no_secret():
    node = CleanNode(Node())
    answers = [node.run(["x"]), node.read("/there"), node.read("/away"), node.read_tree("/r", ["*"])]
    assert "xyzzy" not in repr(answers)
    assert repr(answers).count("[removed]") == 4
    assert answers[2].text is None
