#!/usr/bin/python
"""One round trip for a whole audit: run the collectors of the chosen concerns on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_facts
short_description: Read the facts of a node, concern by concern
description:
  - Runs the collectors of the chosen concerns on the node, in one module run, and returns one envelope for each.
  - Reads only. Tools run as argv lists with a time limit in the C locale; what is missing, hangs or cannot be read is a fact with a reason.
  - The action plugin of the same name saves envelopes and attachments on the controller and keeps them out of the task's result.
options:
  concerns:
    description: The concerns to read.
    type: list
    elements: str
    required: true
  replay:
    description: Folder of a capture to read instead of the node. Relative paths start at the controller's current folder.
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
- name: Read the node's versions and hardware
  accept_facts:
    concerns: [version_audit, inventory_audit]
"""

RETURN = r"""
envelopes:
  description: One envelope for each concern; docs/evidence.md has the fields.
  type: list
  elements: dict
  returned: always
  sample: [{schema: 1, concern: boot, owner: node, mode: live, status: ok, reason: "", data: {boot_id: 2f5c}, sources: [], errors: []}]
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


def _preflight():
    from ansible.module_utils.accept_node.collectors import preflight

    return preflight.collect


def _version_audit():
    from ansible.module_utils.accept_node.collectors import version_audit

    return version_audit.collect


def _inventory_audit():
    from ansible.module_utils.accept_node.collectors import inventory_audit

    return inventory_audit.collect


def _boot():
    from ansible.module_utils.accept_node.collectors import boot

    return boot.collect


def _gid_check():
    from ansible.module_utils.accept_node.collectors import gid_check

    return gid_check.collect


def _roce_config():
    from ansible.module_utils.accept_node.collectors import roce_config

    return roce_config.collect


def _ib_config():
    from ansible.module_utils.accept_node.collectors import ib_config

    return ib_config.collect


def _health_audit():
    from ansible.module_utils.accept_node.collectors import health_audit

    return health_audit.collect


def _cabling():
    from ansible.module_utils.accept_node.collectors import cabling

    return cabling.collect


def _isolation_audit():
    from ansible.module_utils.accept_node.collectors import isolation_audit

    return isolation_audit.collect


def _nccl_recipe():
    from ansible.module_utils.accept_node.collectors import nccl_recipe

    return nccl_recipe.collect


# Functions, since a module ships what its import statements name, and imports only the concerns that were asked for.
COLLECTORS = {
    "preflight": _preflight,
    "version_audit": _version_audit,
    "inventory_audit": _inventory_audit,
    "boot": _boot,
    "gid_check": _gid_check,
    "roce_config": _roce_config,
    "ib_config": _ib_config,
    "health_audit": _health_audit,
    "cabling": _cabling,
    "isolation_audit": _isolation_audit,
    "nccl_recipe": _nccl_recipe,
}


def main():
    answer(AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True), COLLECTORS, "capture.json.gz")


if __name__ == "__main__":
    main()
