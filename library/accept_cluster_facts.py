#!/usr/bin/python
"""What the head says for its cluster: run the collectors of the chosen concerns there, once for all nodes."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_cluster_facts
short_description: Read the facts of a whole cluster from its head, concern by concern
description:
  - Runs the collectors of the chosen concerns on the head, in one module run, and returns one envelope for each, owned by the cluster.
  - A module of its own, since what it ships would otherwise go to every node.
  - Reads only. Tools run as argv lists with a time limit in the C locale; what is missing, hangs or cannot be read is a fact with a reason.
  - The action plugin of the same name saves envelopes and attachments on the controller and keeps them out of the task's result.
options:
  concerns:
    description: The cluster's concerns to read.
    type: list
    elements: str
    required: true
  replay:
    description: Folder of a capture to read instead of the head. Relative paths start at the controller's current folder.
    type: path
  keep_raw:
    description: Return everything that was read as an attachment, in a form that can be replayed.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: It changes nothing in either mode.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Read the scheduler
  accept_cluster_facts:
    concerns: [scheduler_audit, tenancy_audit]
"""

RETURN = r"""
envelopes:
  description: One envelope for each concern; docs/evidence.md has the fields.
  type: list
  elements: dict
  returned: always
  sample: [{schema: 1, concern: scheduler_audit, owner: cluster, mode: live, status: ok, data: {kind: slurm}, sources: [], errors: []}]
attachments:
  description: Name and base64 of a gzip file for each attachment; the action plugin moves them to disk.
  type: list
  elements: dict
  returned: when keep_raw is true
clock:
  description: The node's clock when reading began and when it ended, in seconds since the epoch.
  type: list
  elements: float
  returned: when the node was read
"""

from ansible.module_utils.accept_node.facts import answer, argument_spec
from ansible.module_utils.basic import AnsibleModule


def _scheduler_audit():
    from ansible.module_utils.accept_node.collectors import scheduler_audit

    return scheduler_audit.collect


def _tenancy_audit():
    from ansible.module_utils.accept_node.collectors import tenancy_audit

    return tenancy_audit.collect


def _ib_fabric():
    from ansible.module_utils.accept_node.collectors import ib_fabric

    return ib_fabric.collect


# Functions, since a module ships what its import statements name, and imports only the concerns that were asked for.
COLLECTORS = {"scheduler_audit": _scheduler_audit, "ib_fabric": _ib_fabric, "tenancy_audit": _tenancy_audit}


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    # An attachment of its own: a head that is a node too answers in two runs.
    answer(module, COLLECTORS, "capture.cluster.json.gz", "cluster")


if __name__ == "__main__":
    main()
