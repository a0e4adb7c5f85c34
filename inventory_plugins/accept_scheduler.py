"""List the nodes to accept from Slurm or Kubernetes, with their racks: a cluster of a thousand nodes need not be typed."""

from __future__ import annotations

DOCUMENTATION = r"""
name: accept_scheduler
short_description: Nodes and racks from Slurm or Kubernetes
description:
  - Lists the GPU nodes that a scheduler has, in the group C(gpu_nodes) with C(accept_rack) and C(accept_cluster), and names the C(head).
  - Runs C(scontrol) or C(kubectl) once each, where I(command_prefix) says. It reads only.
  - The file's name ends in C(.accept.yml) or C(.accept.yaml).
  - A node that the scheduler does not have is not listed. The contract says how many were delivered, and the report counts what is missing.
options:
  plugin:
    description: The name of this plugin.
    required: true
    choices: [accept_scheduler]
  scheduler:
    description: Whom to ask. C(none) lists nothing, so that the file may lie beside a typed inventory.
    choices: [slurm, kubernetes, none]
    required: true
  command_prefix:
    description: Words before each command, such as C([ssh, login01]). After C(ssh) the command is quoted for the remote shell.
    type: list
    elements: str
    default: []
  kubeconfig:
    description: The file that C(kubectl) gets its access from.
    type: str
    default: ""
  nodes:
    description: A node set such as C(gpu[001-128]); only these are listed. Empty, all with GPUs.
    type: str
    default: ""
  partition:
    description: Slurm only. A partition; only its nodes are listed.
    type: str
    default: ""
  cluster:
    description: The cluster's name in the contract; may be empty where there is one cluster only.
    type: str
    default: ""
  rack_from:
    description:
      - Where a node's rack is told. C(topology) is the leaf switch or block of Slurm's topology, C(label) a label of the Kubernetes node,
        C(name) a pattern on the node's name.
    choices: [none, topology, label, name]
    default: none
  rack_label:
    description: The label that names the rack.
    type: str
    default: topology.kubernetes.io/rack
  rack_pattern:
    description: A regular expression on the node's name; its group C(rack), else its first group, else the whole match is the rack.
    type: str
    default: ""
  address:
    description: C(name) connects to the node's name, C(scheduler) to the address that the scheduler has.
    choices: [name, scheduler]
    default: name
  head:
    description: Where the scheduler's commands run during an acceptance. C(localhost) is reached without ssh.
    type: str
    default: localhost
  timeout_s:
    description: How long a command may take.
    type: int
    default: 120
author: GPU cluster acceptance
"""

EXAMPLES = r"""
# cluster/scheduler.accept.yml: Slurm on the login node, racks by the leaf switch
plugin: accept_scheduler
scheduler: slurm
command_prefix: [ssh, login01]
head: login01
rack_from: topology

# Kubernetes, racks by the NVLink domain
# plugin: accept_scheduler
# scheduler: kubernetes
# kubeconfig: ~/.kube/cluster
# rack_from: label
# rack_label: nvidia.com/gpu.clique
"""

import os  # noqa: E402
import re  # noqa: E402
import shlex  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from ansible.errors import AnsibleParserError  # noqa: E402
from ansible.plugins.inventory import BaseInventoryPlugin  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "module_utils"))

from accept_judge import nodesets  # noqa: E402
from accept_judge.facts_store import UnsafeName, safe  # noqa: E402
from accept_node.envelope import Gather  # noqa: E402
from accept_node.node import CommandResult  # noqa: E402
from accept_node.parsers import kubernetes_api, kubernetes_nodes, scontrol, scontrol_config  # noqa: E402
from accept_node.schedulers import kubernetes, slurm  # noqa: E402


class Commands:
    """Runs commands of the controller, with its environment, behind a prefix; the part of a node that a Gather needs."""

    mode = "live"

    def __init__(self, prefix, timeout_s):
        self.prefix, self.timeout_s = prefix, timeout_s

    def run(self, argv, timeout_s=30.0):
        start, env = time.monotonic(), {**os.environ, "LC_ALL": "C"}
        whole = [*self.prefix, shlex.join(argv)] if self.prefix and Path(self.prefix[0]).name == "ssh" else [*self.prefix, *argv]
        try:
            done = subprocess.run(whole, capture_output=True, stdin=subprocess.DEVNULL, timeout=self.timeout_s, env=env, check=False)
        except FileNotFoundError:
            return CommandResult(tuple(argv), None, "", f"{whole[0]}: not found", 0.0, "not installed here")
        except (OSError, subprocess.TimeoutExpired) as error:
            return CommandResult(tuple(argv), None, "", "", 0.0, "timeout" if isinstance(error, subprocess.TimeoutExpired) else str(error))
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        return CommandResult(tuple(argv), done.returncode, out, err, time.monotonic() - start, "")


class InventoryModule(BaseInventoryPlugin):
    NAME = "accept_scheduler"

    def verify_file(self, path):
        return super().verify_file(path) and path.endswith((".accept.yml", ".accept.yaml"))

    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        scheduler = self.get_option("scheduler")
        if scheduler == "none":
            return
        self.gather = Gather(Commands(self.get_option("command_prefix"), self.get_option("timeout_s")))
        pattern = self._pattern()
        nodes = self._slurm() if scheduler == "slurm" else self._kubernetes()
        chosen = self._chosen(nodes)
        if not chosen:
            raise AnsibleParserError(f"accept_scheduler: nodes: none of the {len(nodes)} nodes of {scheduler} has GPUs and is wanted")
        inventory.add_group("gpu_nodes")
        inventory.add_group("head")
        for node in chosen:
            self._add(node, pattern)
        self._add_head()

    def _asked(self, value):
        """What a command said, or one line of why not."""
        if value is None:
            raise AnsibleParserError("accept_scheduler: " + "; ".join(error["message"] for error in self.gather.errors))
        return value

    def _slurm(self):
        """[{name, address, gpus, partitions, labels, rack}]"""
        nodes = self._asked(self.gather.command(slurm.NODES, scontrol.parse))["nodes"]
        where = {}
        if self.get_option("rack_from") == "topology":
            topology = self._asked(self.gather.command(slurm.TOPOLOGY, scontrol_config.parse_topology, streams="both", ok=None))
            leaves = [switch for switch in topology["switches"] if not switch["switches"]]
            where = {host: part["name"] for part in (*leaves, *topology["blocks"]) for host in part["hosts"]}
        partition = self.get_option("partition")
        return [
            {"name": node["name"], "address": node["address"], "gpus": node["gpus"], "labels": {}, "rack": where.get(node["name"], "")}
            for node in nodes
            if not partition or partition in (node["partitions"] or ())
        ]

    def _kubernetes(self):
        client, found, label = (
            kubernetes.Client(self.gather, os.path.expanduser(self.get_option("kubeconfig"))),
            [],
            self.get_option("rack_label"),
        )
        self._asked(client.get(kubernetes.VERSION, kubernetes_api.parse))
        complete = client.pages(
            kubernetes.NODES, lambda text: kubernetes_nodes.parse(text, (label,)), None, lambda page: found.extend(page["nodes"])
        )
        self._asked(complete or None)
        return [
            {
                "name": node["name"],
                "address": node["address"],
                "gpus": sum(filter(None, node["gpus_capacity"].values())) or ("nvidia.com/gpu.present" in node["labels"]),
                "labels": node["labels"],
                "rack": "",
            }
            for node in found
            if node["name"]
        ]

    def _chosen(self, nodes):
        """The nodes that are wanted: named, else those that have GPUs (a node set that names others is an error)."""
        wanted = self.get_option("nodes")
        if not wanted:
            return [node for node in nodes if node["gpus"] or node["gpus"] is None]
        try:
            names = nodesets.unfold(wanted)
        except ValueError as error:
            raise AnsibleParserError(f"accept_scheduler: nodes: {error}") from error
        lost = names - {node["name"] for node in nodes}
        if lost:
            raise AnsibleParserError(f"accept_scheduler: nodes: the scheduler does not have {nodesets.fold(lost)}")
        return [node for node in nodes if node["name"] in names]

    def _pattern(self):
        text = self.get_option("rack_pattern")
        if self.get_option("rack_from") != "name":
            return None
        if not text:
            raise AnsibleParserError("accept_scheduler: rack_pattern: rack_from is name, and no pattern is given")
        try:
            return re.compile(text)
        except re.error as error:
            raise AnsibleParserError(f"accept_scheduler: rack_pattern: {text!r} is no regular expression: {error}") from error

    def _rack(self, node, pattern):
        source = self.get_option("rack_from")
        if source == "label":
            return node["labels"].get(self.get_option("rack_label"), "")
        if source == "name":
            match = pattern.search(node["name"])
            return "" if not match else match.groupdict().get("rack") or (match.group(1) if match.groups() else match.group())
        return node["rack"]

    def _add(self, node, pattern):
        try:
            name = safe(node["name"])
        except UnsafeName as error:
            raise AnsibleParserError(f"accept_scheduler: {error}") from error
        self.inventory.add_host(name, group="gpu_nodes")
        rack, cluster = self._rack(node, pattern), self.get_option("cluster")
        if self.get_option("rack_from") != "none" and not rack:
            self.display.warning(f"accept_scheduler: {name}: no rack is told by {self.get_option('rack_from')}")
        values = {"accept_rack": rack, "accept_cluster": cluster}
        if self.get_option("address") == "scheduler" and node["address"]:
            values["ansible_host"] = node["address"]
        for key, value in values.items():
            if value:
                self.inventory.set_variable(name, key, value)

    def _add_head(self):
        head = self.get_option("head")
        self.inventory.add_host(head, group="head")
        if self.get_option("cluster"):
            self.inventory.set_variable(head, "accept_cluster", self.get_option("cluster"))
        if head == "localhost":
            self.inventory.set_variable(head, "ansible_connection", "local")
            self.inventory.set_variable(head, "ansible_python_interpreter", sys.executable)
