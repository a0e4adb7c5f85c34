"""What a tenant reaches, by what the contract says a tenant is; rights by whose credentials asked; whose word an attestation is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from accept_judge import standards
from accept_judge.analysis import isolation_audit, tenancy_audit, tenancy_probe

STANDARDS = standards.load(Path(__file__).resolve().parents[3] / "standards")
IPMI, SOCK = "/dev/ipmi0", "/run/docker.sock"


def entry(mode, gid=0):
    value = int(mode, 8)
    return {
        "mode": mode,
        "uid": 0,
        "gid": gid,
        "kind": "x",
        "open_to": "everyone" if value & 7 else "group" if value & 0o70 and gid else "root",
    }


def data(**changes):
    files = dict.fromkeys(
        (*isolation_audit.IPMI, *isolation_audit.DPU, *isolation_audit.FABRIC, *isolation_audit.SOCKETS, "/dev/kvm"), "none"
    )
    return {
        "uid": 0,
        "machine": {"virtual": "none", "extensions": "none"},
        "groups": [{"name": "docker", "gid": 988, "members": 0}, {"name": "sudo", "gid": 27, "members": 2}],
        "ipmi_answers": None,
        "dpus": [],
        "kvm_nested": "none",
        "vfio": [],
        "kernel_mounts": [],
        "listening": [],
        "nfs": [],
        "vulnerabilities": {},
        "kubelet": "none",
        **changes,
        "files": {**files, **changes.get("files", {})},
    }


def view(access=None, **attestations):
    context = {"tenant_access": access, "attestations": attestations}
    return SimpleNamespace(context=context, standards=STANDARDS)


def analyse(access=None, **changes):
    return isolation_audit.analyse(data(**changes), view(access))


@pytest.mark.parametrize(
    ("mode", "access", "exposed"),
    [
        ("600", "root", True),
        ("600", "user", False),
        ("600", "pod", False),
        ("600", None, None),
        ("666", None, True),
        ("666", "pod", True),
    ],
)
def test_ipmi_by_what_a_tenant_is(mode, access, exposed):
    found = analyse(access, files={IPMI: entry(mode)})
    assert found["ipmi_exposed"] is None if exposed is None else bool(found["ipmi_exposed"]) is exposed
    if exposed is None:
        assert "tenant_access" in found["ipmi_exposed_reason"]


def test_ipmi_that_answers_without_a_device_is_not_closed():
    assert analyse("user", ipmi_answers=True)["ipmi_exposed"] is None
    assert analyse("user", ipmi_answers=True, uid=1001)["ipmi_exposed"]
    assert analyse("user", ipmi_answers=False)["ipmi_exposed"] == []
    assert analyse("user", ipmi_answers=True, files={IPMI: entry("600")})["ipmi_exposed"] == []


@pytest.mark.parametrize(("members", "known", "exposed"), [(0, True, []), (3, True, None), (0, False, None)])
def test_a_socket_open_to_a_group_hangs_on_its_members(members, known, exposed):
    groups = [{"name": "docker", "gid": 988, "members": members}] if known else []
    found = analyse("user", files={SOCK: entry("660", 988)}, groups=groups)
    assert found["sockets_exposed"] == exposed
    assert "sockets_exposed_reason" in found or exposed == []


def test_what_could_not_be_looked_at_is_not_closed():
    found = analyse("user", files={IPMI: None, SOCK: None})
    assert (found["ipmi_exposed"], found["sockets_exposed"]) == (None, None)
    assert "could not be looked at" in found["sockets_exposed_reason"]


def test_the_dpus_own_network_is_open_to_all():
    assert analyse("user", files={"/sys/class/net/tmfifo_net0": entry("755")})["dpu_exposed"]


@pytest.mark.parametrize(
    ("machine", "nested", "kvm", "exposed"),
    [
        (("none", "VT-x"), True, entry("666"), True),
        (("none", "VT-x"), True, entry("660", 36), None),
        (("none", "VT-x"), True, "none", False),
        (("none", "VT-x"), False, entry("666"), False),
        (("kvm", "VT-x"), "none", "none", True),
        (("kvm", "none"), "none", "none", False),
        (("kvm", None), "none", "none", None),
        ((None, "none"), True, "none", None),
    ],
)
def test_nested_virtualisation(machine, nested, kvm, exposed):
    found = analyse("user", machine=dict(zip(("virtual", "extensions"), machine)), kvm_nested=nested, files={"/dev/kvm": kvm})[
        "kvm_exposed"
    ]
    assert (found is None) if exposed is None else (bool(found) is exposed and found is not None)


def test_services_on_the_nodes_network():
    listening = [{"address": "0.0.0.0", "port": 9400}, {"address": "::", "port": 9400}, {"address": "0.0.0.0", "port": 22}]
    (service,) = analyse(listening=listening)["open_services"]
    assert (service["service"], service["at"]) == ("DCGM exporter", "0.0.0.0, :: port 9400")
    assert analyse(listening=[])["open_services"] == []
    assert analyse(listening=None)["open_services"] is None


def test_nfs_identity():
    mounts = [
        {"mount_point": str(n), "sec": sec, "xprtsec": tls}
        for n, (sec, tls) in enumerate([("krb5p", "none"), ("sys", "mtls"), ("sys", "tls"), ("none", "none")])
    ]
    assert [one["proven"] for one in analyse(nfs=mounts)["nfs_proof"]] == [True, True, None, False]
    assert analyse(nfs=None)["nfs_proof"] is None


def test_weaknesses_of_the_processor():
    told = {
        "a": "Vulnerable",
        "b": "Vulnerable: no microcode",
        "c": "Mitigation: x; SMT vulnerable",
        "d": "KVM: Vulnerable",
        "e": "Not affected",
    }
    assert [line[0] for line in analyse(vulnerabilities=told)["cpu_vulnerable"]] == ["a", "b", "d"]


def test_a_kubelet_that_does_not_say_has_its_defaults():
    silent = {"anonymous": None, "authorization": None, "read_only_port": None, "cpu_manager_policy": None}
    found = analyse(kubelet=silent)
    assert (found["kubelet_anonymous"], found["kubelet_authorization"], found["kubelet_cpu_manager"]) == (False, "Webhook", "none")
    assert analyse(kubelet="none")["kubelet_anonymous"] is None
    assert analyse(kubelet=None)["kubelet_anonymous"] is None


def test_device_groups():
    groups = [{"group": 1, "devices": ["0000:1b:00.0", "0000:1b:00.1"]}, {"group": 2, "devices": ["0000:1b:00.0", "0000:1c:00.0"]}]
    assert analyse(vfio=groups)["vfio_shared"] == ["group 2: 0000:1b:00.0, 0000:1c:00.0"]


def test_attestations_are_somebodys_word():
    word = {"holds": True, "by": "the provider", "date": "2026-11-20", "document": "plan v3", "sha256": "ab" * 32}
    machine = {"virtual": "kvm", "extensions": "none"}
    found = isolation_audit.analyse(data(machine=machine, dpus=["mlx5_0"]), view("user", vm_host=word))
    assert found["vm_host"] == "holds: plan v3 sha256 abababababab, the provider, 2026-11-20"
    assert found["dpu_host"] is None
    assert "ask the provider" in found["dpu_host_reason"]
    assert analyse()["vm_host"] == "none"
    assert analyse(dpus=None)["dpu_host"] is None


# --- the head ---------------------------------------------------------------------------------------------------------------------------

RIGHT = {"urls": [], "names": []}


def kubernetes(*rules, groups=("tenants",), **changes):
    told = [{"resources": resource, "verbs": verbs, **RIGHT} for resource, verbs in rules]
    found = {"groups": list(groups), "rules": told, "incomplete": False, "namespaces_visible": 0, "pod_security": "baseline", **changes}
    return tenancy_audit.analyse({"slurm": "none", "kubernetes": found}, view())


@pytest.mark.parametrize(
    ("rule", "right"),
    [
        (("nodes/proxy", ["get"]), "nodes_proxy"),
        (("*/proxy", ["*"]), "nodes_proxy"),
        (("nodes/*", ["create"]), "nodes_proxy"),
        (("secrets", ["list"]), "secrets"),
        (("pods/exec", ["create"]), "pods_exec"),
        (("pods", ["create"]), "pods_create"),
        (("pods", ["watch"]), "pods_read"),
        (("users", ["impersonate"]), "impersonate"),
    ],
)
def test_each_right_by_itself(rule, right):
    found = kubernetes(rule, ("selfsubjectreviews.authentication.k8s.io", ["create"]))
    assert [what for what in tenancy_audit.QUESTIONS if found["right_" + what]] == [right]


def test_all_of_the_core_is_everything_asked_for():
    found = kubernetes(("*", ["*"]))
    assert all(found["right_" + what] for what in tenancy_audit.QUESTIONS)


@pytest.mark.parametrize("admin", [{"groups": ["system:masters"]}, {"rule": ("*.*", ["*"])}])
def test_an_administrator_answers_for_no_tenant(admin):
    found = kubernetes(*([admin["rule"]] if "rule" in admin else []), groups=admin.get("groups", ["x"]), namespaces_visible=30)
    assert found["right_secrets"] is None
    assert "tenant's kubeconfig" in found["right_secrets_reason"]
    assert found["namespaces_visible_count"] is None


def test_an_incomplete_list_denies_nothing():
    found = kubernetes(("secrets", ["get"]), incomplete=True)
    assert (found["right_secrets"], found["right_pods_exec"]) == (True, None)


def test_no_label_may_still_be_refused_by_something_else():
    assert kubernetes(pod_security="none")["pod_security_level"] is None
    assert kubernetes(pod_security="privileged")["pod_security_level"] == "privileged"


def test_nothing_to_ask():
    found = tenancy_audit.analyse({"slurm": "none", "kubernetes": None}, view())
    assert found["slurm_jobs_of_others"] is None
    assert "not on the head" in found["slurm_jobs_of_others_reason"]
    assert "API server" in found["right_secrets_reason"]
    assert found["bmc_network"] is None


def test_probes():
    def probed(ports, exports=None):
        return tenancy_probe.analyse({"ports": ports, "exports": exports}, view())

    row = {"port": 9400, "asked": 3, "open": 0, "refused": 0, "silent": 3}
    assert probed([])["probed"] is None
    assert probed([row])["probed"][0]["open"] is None, "silence everywhere proves nothing"
    assert probed([row, {**row, "port": 9100, "refused": 1}])["probed"][0] == {"service": "DCGM exporter 9400", "asked": 3, "open": 0}
    assert probed([], {"servers": 2, "answered": 1, "exports": 3, "open_to_all": 0})["exports_open"] is None
    assert probed([], {"servers": 2, "answered": 1, "exports": 3, "open_to_all": 1})["exports_open"] == 1
    assert probed([], {"servers": 0, "answered": 0, "exports": 0, "open_to_all": 0})["exports_open"] is None


@pytest.mark.parametrize("holds", [True, False])
def test_the_providers_word_on_who_reaches_an_export(holds):
    word = {"holds": holds, "by": "the provider", "date": "2026-11-20", "document": "storage network"}
    mounts = [{"mount_point": "/home", "sec": "sys", "xprtsec": "none"}, {"mount_point": "/open", "sec": "none", "xprtsec": "none"}]
    found = isolation_audit.analyse(data(nfs=mounts), view("user", nfs_exports=word))["nfs_proof"]
    assert [one["proven"] for one in found] == [holds, False]
