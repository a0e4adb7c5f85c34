#!/usr/bin/python
"""Documentation of the action plugin accept_rounds, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_rounds
short_description: Plan the rounds of loads between nodes
description:
  - C(open) makes or takes up the plan of a concern, refuses nodes whose scheduler was not asked, and tells rounds, minutes and coverage.
  - C(next) reads what the nodes have measured and says who works with whom next; a slow pair is taken apart with known good partners.
  - Runs on the controller, as an action plugin; once for all hosts.
options:
  concern:
    description: What is planned.
    type: str
    choices: [rdma_bandwidth, mgmt_network]
    required: true
  step:
    description: Say which allocations the load needs, open the plan, or say its next round.
    type: str
    choices: [allocate, open, next]
    default: next
  settings:
    description: How the tests are done; the roles' variables without their prefix.
    type: dict
    default: {}
  held:
    description: What accept_allocation answered for each of the allocations, as a loop registers it.
    type: list
    elements: dict
    default: []
attributes:
  check_mode:
    support: full
    description: There is no round in check mode.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Say who works with whom next
  accept_rounds:
    concern: rdma_bandwidth
    step: next
  run_once: true
  register: rdma_bandwidth_round
"""

RETURN = r"""
done:
  description: Whether there is no further round.
  type: bool
  returned: always
plans:
  description: Host to what it does in this round.
  type: dict
  returned: always
servers:
  description: Hosts that start servers in this round.
  type: list
  elements: str
  returned: always
clients:
  description: Hosts that measure in this round.
  type: list
  elements: str
  returned: always
allocations:
  description: One for each cluster whose scheduler has to be asked; cluster, head, scheduler, nodes, settings and minutes.
  type: list
  elements: dict
  returned: when allocations are planned
refused:
  description: Hosts that may not be loaded.
  type: list
  elements: str
  returned: when the plan is opened
"""
