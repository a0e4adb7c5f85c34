"""A pod on a simulated Kubernetes node that is declared for a look into: the RDMA devices of the node, and its own network."""

from __future__ import annotations

from accept_node.collectors import containers, gid_containers

from .model import SimNode
from .records import command, file, missing, missing_file, tree
from .render_rdma import NET, ROOT, SLOTS, ZERO, gids

POD, CONTAINER, PID = "3f" * 32, "9a" * 32, 48211
BASE = f"/proc/{PID}/root"
LISTED = """{
  "items": [
    {
      "id": "%s",
      "metadata": {"name": "accept-gid", "uid": "5b1f6a52-6c1e-4d7e-9f10-7a3c2d1e0b9a", "namespace": "acceptance", "attempt": 0},
      "state": "SANDBOX_READY",
      "labels": {"accept-audit": "gid"}
    }
  ]
}
"""
RUNNING = """{
  "containers": [
    {"id": "%s", "podSandboxId": "%s", "metadata": {"name": "main", "attempt": 0}, "state": "CONTAINER_RUNNING"}
  ]
}
"""


def render(node: SimNode) -> dict:
    """What gid_check asks of containers."""
    roce = [nic for nic in node.nics if nic.link_layer == "Ethernet"]
    asked = [*containers.PODS, "--label", containers.LABEL + "=gid"]
    if not roce:
        return {"commands": []}
    if node.scheduler != "kubernetes":
        return {"commands": [missing(asked)]}
    inspect = ["crictl", "inspect", "--output", "go-template", "--template", "{{.info.pid}}", CONTAINER]
    found = ["find", BASE + "/usr", BASE + "/opt", *gid_containers.LIBRARY]
    files, errors = {}, {}
    for nic in roce:
        base, table = f"{nic.name}/ports/1/", node.pod_gids if node.pod_gids is not None else gids(node, nic)
        files.update({f"{base}link_layer": "Ethernet\n", f"{base}state": "4: ACTIVE\n"})
        for slot in range(SLOTS):
            gid, kind = table[slot] if slot < len(table) else (ZERO, None)
            files[f"{base}gids/{slot}"] = gid + "\n"
            for what, text in (("types", kind), ("ndevs", nic.netdev)):
                where = files if kind else errors
                where[f"{base}gid_attrs/{what}/{slot}"] = f"{text}\n" if kind else "EINVAL"
    return {
        "commands": [
            command(asked, LISTED % POD),
            command(["crictl", "ps", "--pod", POD, "--state", "running", "--output", "json"], RUNNING % (CONTAINER, POD)),
            command(inspect, f"{PID}\n"),
            command([*gid_containers.ENVIRON, f"/proc/{PID}/environ"], "NCCL_VERSION=2.27.3-1\0"),
            command(found, BASE + "/usr/lib/libnccl.so.2.27.3\n"),
        ],
        "files": [missing_file(BASE + "/root/.nccl.conf"), file(BASE + "/etc/nccl.conf", "NCCL_IB_TC=106\n")],
        "trees": [tree(BASE + ROOT, files, {}, errors), tree(BASE + NET, {f"{nic.netdev}/operstate": "up\n" for nic in roce})],
    }
