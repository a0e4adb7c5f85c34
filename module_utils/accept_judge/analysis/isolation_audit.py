"""What a tenant reaches on a node, by the access that the contract gives, and which of its sockets serve whoever asks.

Each `<what>_exposed` is a list of what is reached: [] is nothing. The controllers (IPMI, DPU) lie outside a tenant's machine: a tenant
with root counts there, and where the contract does not say what a tenant is, the list is null and `<what>_exposed_reason` asks for it. All
else is inside: there it matters what an account without root reaches.
"""

from __future__ import annotations

import re

from ..attested import attested

IPMI = ("/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0")
DPU = ("/dev/rshim0", "/dev/rshim1", "/sys/class/net/tmfifo_net0", "/sys/class/net/tmfifo_net1")
FABRIC = ("/dev/infiniband/umad0", "/dev/infiniband/issm0")
SOCKETS = ("/run/docker.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/podman/podman.sock")
ADMINS = ("sudo", "wheel", "admin")
NO_ACCESS = "the contract does not say what a tenant is on a node (clusters: tenant_access: root, user or pod)"


def analyse(data: dict, run) -> dict:
    """See the module's docstring; beside it open_services, vfio_shared, nfs_proof, cpu_vulnerable, admin_members, kubelet_*, and what the
    provider has put in writing: dpu_host, vm_host."""
    access, mounted = run.context.get("tenant_access"), data["kernel_mounts"]
    tenant, account = _Reach(data, access), _Reach(data, "pod" if access == "pod" else "user")
    return {
        **_field("ipmi_exposed", *_ipmi(data, tenant)),
        **_field("dpu_exposed", *tenant.of(DPU)),
        **_field("fabric_exposed", *account.of(FABRIC)),
        **_field("sockets_exposed", *account.of(SOCKETS)),
        **_field("kernel_exposed", *(account.of(mounted) if mounted is not None else (None, "/proc/mounts could not be read"))),
        **_field("kvm_exposed", *_kvm(data, account)),
        "vfio_shared": _vfio(data["vfio"]),
        "open_services": _services(data["listening"], run.standards.catalogs["ports"]["ports"]),
        "nfs_proof": _nfs(data["nfs"], attested(run, "nfs_exports")["nfs_exports"]),
        "cpu_vulnerable": _vulnerable(data["vulnerabilities"]),
        "admin_members": None if data["groups"] is None else sum(g["members"] for g in data["groups"] if g["name"] in ADMINS),
        **_kubelet(data["kubelet"]),
        **_told("dpu_host", None if data["dpus"] is None else bool(data["dpus"]), run),
        **_told("vm_host", None if data["machine"]["virtual"] is None else data["machine"]["virtual"] != "none", run),
    }


class _Reach:
    """Who gets at a file: by its mode, its group's members, and what a tenant is."""

    def __init__(self, data, access):
        self.files, self.access = data["files"], access
        self.members = {group["gid"]: group for group in data["groups"] or ()}

    def of(self, paths) -> tuple:
        """(what is reached | None, why not known)"""
        reached, unknown = [], []
        for path in paths:
            entry = self.files.get(path)
            if entry == "none":
                continue
            answer, said = self.one(entry) if entry else (None, "could not be looked at")
            (reached if answer else unknown if answer is None else []).append(f"{path}: {said}")
        return (reached, "") if reached else (None, "; ".join(unknown)) if unknown else ([], "")

    def one(self, entry) -> tuple:
        said = f"open to {entry['open_to']}, mode {entry['mode']}"
        if entry["open_to"] == "everyone" or self.access == "root":
            return True, said
        if self.access is None and entry["open_to"] == "root":
            return None, f"{said}; {NO_ACCESS}"
        if entry["open_to"] == "root" or self.access == "pod":
            return False, said
        group = self.members.get(entry["gid"])
        if group and not group["members"]:
            return (False, said) if self.access else (None, f"{said}; {NO_ACCESS}")
        named = f"{group['name']} with {group['members']} members" if group else f"{entry['gid']}, of unknown members"
        return None, f"{said}: group {named}; show that no tenant is in it"


def _field(name, value, reason) -> dict:
    return {name: value, name + "_reason": reason} if value is None else {name: value}


def _ipmi(data, view) -> tuple:
    if data["uid"] and data["ipmi_answers"]:
        return ["ipmitool answers an account without root"], ""
    if data["ipmi_answers"] and all(data["files"].get(path) == "none" for path in IPMI):
        return None, "ipmitool answers, and by which device is not known"
    return view.of(IPMI)


def _kvm(data, view) -> tuple:
    """In a virtual machine: does it get the means to hold others? On bare metal: can a tenant start machines that hold machines?"""
    machine, nested = data["machine"], data["kvm_nested"]
    if machine["virtual"] is None:
        return None, "whether this is a virtual machine is not known"
    if machine["virtual"] != "none":
        extensions = machine["extensions"]
        return (
            (None, "the processor could not be read")
            if extensions is None
            else ([] if extensions == "none" else [f"the host passes {extensions} on"], "")
        )
    if nested in (False, "none"):
        return [], ""
    reached, why = view.of(["/dev/kvm"])
    if nested is None and reached != []:
        return None, why or "whether virtual machines may be nested could not be read"
    return reached, why


def _vfio(groups):
    """Groups that hold devices of several slots: who is given one of them can reach the others."""
    if groups is None:
        return None
    return [
        f"group {one['group']}: {', '.join(one['devices'])}" for one in groups if len({pci.rsplit(".", 1)[0] for pci in one["devices"]}) > 1
    ]


def _services(listening, ports):
    if listening is None:
        return None
    known = {row["port"]: row for row in ports}
    found: dict = {}
    for socket in listening:
        if socket["port"] in known:
            found.setdefault(socket["port"], []).append(socket["address"])
    return [
        {"service": known[port]["service"], "at": f"{', '.join(addresses)} port {port}", "shows": known[port]["shows"]}
        for port, addresses in sorted(found.items())
    ]


def _nfs(mounts, word):
    """Must clients prove who they are? Where the server believes whatever they say, the provider's word on who reaches it counts."""
    if mounts is None:
        return None
    return [{"mount_point": mount["mount_point"], **_proof(mount, word)} for mount in mounts]


def _proof(mount, word) -> dict:
    sec, tls = mount["sec"], mount["xprtsec"]
    if (sec or "").startswith("krb5") or tls == "mtls":
        return {"proven": True}
    if sec in ("none", "null"):
        return {"proven": False}
    if word:
        return {"proven": word.startswith("holds")}
    said = f"sec={sec or 'not told'}, xprtsec={tls}: the server believes whatever user a client names"
    return {
        "proven": None,
        "proven_reason": said + "; ask the provider to show that only this tenant's nodes reach this export (attestations.nfs_exports)",
    }


def _vulnerable(states):
    if states is None:
        return None
    return sorted(f"{name}: {text}" for name, text in states.items() if re.match(r"(KVM: )?(Processor v|V)ulnerable", text))


def _kubelet(found) -> dict:
    """What holds for a kubelet: its file, and where that does not say, the default of such a file (KubeletConfiguration v1beta1)."""
    keys = {
        "kubelet_anonymous": ("anonymous", False),
        "kubelet_authorization": ("authorization", "Webhook"),
        "kubelet_cpu_manager": ("cpu_manager_policy", "none"),
    }
    if not isinstance(found, dict):
        reason = (
            "no configuration file of a kubelet in its known places" if found == "none" else "the kubelet's configuration could not be read"
        )
        return {part: value for name in keys for part, value in ((name, None), (name + "_reason", reason))}
    return {name: default if found[key] is None else found[key] for name, (key, default) in keys.items()}


def _told(what, there, run) -> dict:
    """An attestation, where there is something to attest."""
    if there is None:
        return {what: None, what + "_reason": "whether there is one could not be read"}
    return attested(run, what) if there else {what: "none"}
