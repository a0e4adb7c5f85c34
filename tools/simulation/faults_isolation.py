"""Named faults of isolation: what a tenant should not see or reach. Near misses, which must stay green, are here too."""

from __future__ import annotations

from .render_isolation import DEVICE, FOLDER, SOCKET


def ipmi_open(node, rng, *, mode="666"):
    """The management controller's device is open to everybody"""
    open_file(node, rng, path="/dev/ipmi0", mode=mode)


def open_file(node, rng, *, path="/dev/rshim0", mode="666", gid=0):
    """A device, socket or folder with another mode"""
    kind = SOCKET if path.endswith(".sock") else FOLDER if path.startswith("/sys/") or "channels" in path else DEVICE
    node.isolation.setdefault("files", {})[path] = f"{mode} 0 {gid} {kind}"


def exporter_open(node, rng, *, port=9400, address="0.0.0.0"):
    """A service that asks nobody who they are listens on the node's network"""
    node.isolation.setdefault("listening", []).append((address, port))


def exporter_on_loopback(node, rng, *, port=9400):
    """Near miss: the same service, on loopback only"""
    node.isolation.setdefault("listening", []).append(("[::1]", port))


def processes_visible(node, rng, *, count=14):
    """An account sees the processes of others"""
    node.isolation["of_others"] = count
    node.edits.append(("/proc/mounts", ",gid=4,hidepid=invisible", ""))


def extra_admin(node, rng, *, members=3):
    """More administrators than on the other nodes"""
    node.isolation["admins"] = members


def no_way_out(node, rng):
    """A node without a default route"""
    node.isolation["no_way_out"] = True


def shared_device_group(node, rng, *, group=41):
    """Two GPUs in one device group that is given to programs"""
    node.isolation["vfio"] = {group: [gpu.pci for gpu in node.gpus[:2]]}


def virtual_machine(node, rng, *, kind="kvm"):
    """A virtual machine among nodes of bare metal"""
    node.isolation["virtual"] = kind


def driver_parameter(node, rng, *, name="RmProfilingAdminOnly", value=1):
    """The GPU driver loaded with another parameter"""
    node.isolation.setdefault("params", {})[name] = value


def foreign_imex_nodes(node, rng, *, count=36):
    """An IMEX domain that reaches beyond the rack"""
    node.isolation["imex"] = [f"10.41.{place // 18}.{place % 18 + 1}" for place in range(count)]


def tenants_jobs_visible(node, rng, *, jobs=37):
    """Slurm shows the jobs of other tenants (on the head of a cluster)"""
    node.isolation["jobs_of_others"] = jobs
    node.control.config["PrivateData"] = "none"


def own_jobs_only(node, rng, *, jobs=3):
    """Near miss: an account on the head sees jobs, and all of them are its own"""
    node.uid, node.isolation["own_jobs"] = node.uid or 1000, jobs


def rights_in_kubernetes(node, rng, *, resource="nodes/proxy", verbs="get"):
    """The head's account may do more in Kubernetes than a tenant should"""
    node.isolation.setdefault("rights", []).append((resource, verbs.split()))


def namespaces_visible(node, rng, *, count=23):
    """The head's account sees the list of namespaces"""
    node.isolation["namespaces"] = count


def privileged_pods(node, rng, *, level="privileged"):
    """A tenant's namespace that takes privileged pods"""
    node.isolation["pod_security"] = level


def neighbours_answer(node, rng, *, open=3, exports=2):
    """Other hosts answer a probe from the head: so many ports, so many NFS exports to everybody"""
    node.isolation["probe"] = {"open": open, "exports": exports}
