#!/usr/bin/python
"""Documentation of the action plugin accept_preflight, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_preflight
short_description: Open an acceptance run
description:
  - Validates contract, inventory and standards and names every error by file and key; nothing runs while there is one.
  - Chooses the run, writes its record and plan into its folder, and returns the plan.
  - Runs on the controller, as an action plugin; once for all hosts.
options:
  contract:
    description: Path of the contract.
    type: path
    required: true
  standards:
    description: Folder of standards.
    type: path
    required: true
  evidence:
    description: Folder that holds the run folders.
    type: path
    required: true
  run_id:
    description:
      - Name of the run.
      - Empty goes on with the newest unfinished and unlocked run of this inventory and contract, else begins a new one.
    type: str
    default: ""
  concerns:
    description: Concerns to measure; empty takes those of the phases that run.
    type: list
    elements: str
    default: []
  risk:
    description: Highest class of harm allowed.
    type: str
    choices: [read, load, disrupt, destroy]
    default: read
  depth:
    description: How long the loads run.
    type: str
    choices: [quick, standard, full]
    default: quick
  definition:
    description: What is judged; empty takes the contract's definition.
    type: str
    default: ""
  version_table:
    description: A published table of minimum versions to judge by instead of the built-in one.
    type: str
    default: ""
  rail_map:
    description: The planned rail map; empty takes C(rail_map.csv) beside the contract, where there is one.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Prints the plan and writes nothing.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Open the run
  accept_preflight:
    contract: cluster/contract.yml
    standards: standards
    evidence: evidence
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
ansible_facts:
  description: C(accept_run) with the run's id and folder.
  type: dict
  returned: success
  sample: {accept_run: {id: 20261130T101500Z-1a2b, dir: evidence/20261130T101500Z-1a2b}}
accept_plan:
  description: The plan, line by line.
  type: list
  elements: str
  returned: success
accept_errors:
  description: Every error of the input, one line each.
  type: list
  elements: str
  returned: failure
"""
