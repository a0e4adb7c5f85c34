#!/usr/bin/python
"""The plan of a burn-in."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_burn_plan
short_description: Plan a burn-in and say whose turn it is
description:
  - Runs on the controller, in the action plugin of the same name; nothing is sent to a node.
  - The plan is kept in plans/burn_in.json of the run; a run that goes on keeps its plan, so that the same command finds its jobs again.
  - Racks are loaded one after the other. Nodes of a scheduler without an allocation are refused.
options:
  step:
    description:
      - C(look) tells which hosts have no plan yet, C(open) makes the plan or takes the one there is, C(next) says which hosts are to be
        asked and which to be collected. C(allow) plans nothing and only says which hosts may not be loaded.
    type: str
    choices: [look, open, next, allow]
    default: next
  concern:
    description: The load that is meant.
    type: str
    choices: [burn_in, gpu_compute]
    default: burn_in
  settings:
    description: How the nodes are loaded; the role's variable burn_in_settings.
    type: dict
    default: {}
  wait_s:
    description: Seconds to wait before the turn.
    type: float
    default: 0
attributes:
  check_mode:
    support: full
    description: It plans nothing.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Whose turn is it
  accept_burn_plan:
    step: next
  run_once: true
"""

RETURN = r"""
fresh:
  description: Hosts that have not said yet what they could load.
  type: list
  elements: str
  returned: always
attend:
  description: Hosts to begin, or to ask how they stand.
  type: list
  elements: str
  returned: always
collect:
  description: Hosts whose job has ended.
  type: list
  elements: str
  returned: always
refused:
  description: Hosts that may not be loaded, since nobody asked their scheduler.
  type: list
  elements: str
  returned: always
plans:
  description: Host to its plan.
  type: dict
  returned: always
wait_s:
  description: Seconds to wait before the next turn.
  type: float
  returned: always
done:
  description: Whether nothing is left to do.
  type: bool
  returned: always
"""
