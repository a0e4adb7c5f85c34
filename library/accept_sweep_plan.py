#!/usr/bin/python
"""Documentation of the action plugin accept_sweep_plan, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_sweep_plan
short_description: Plan a sweep of collectives and say what is launched next
description:
  - Runs on the controller, as an action plugin; once for all heads.
  - C(open) makes the plan of each cluster, with minutes and what the budget takes away, before anything runs; a run that goes on keeps its
    plan, in plans/nccl_sweep.json. Clusters whose scheduler was not asked are refused.
  - C(begin) takes the allocations of Slurm into it.
  - C(next) says what each head launches next. When the plan is through and the judge finds a world slow, launches follow that name who
    spoils it, in plans/culprit.json.
options:
  step:
    description: Open the plan, begin it, or say its next launches.
    type: str
    choices: [open, begin, next]
    default: next
  settings:
    description: How the sweep is done; the role's variables without their prefix.
    type: dict
    default: {}
  held:
    description: Of C(begin), results of accept_allocation in a loop over the plan's C(allocations).
    type: list
    elements: dict
    default: []
attributes:
  check_mode:
    support: full
    description: It plans nothing.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Say what is launched next
  accept_sweep_plan:
    step: next
  run_once: true
  register: sweep
"""

RETURN = r"""
done:
  description: Whether there is nothing left to launch.
  type: bool
  returned: always
plans:
  description: Head to the arguments of accept_nccl_bench.
  type: dict
  returned: always
allocations:
  description: What is to be asked of schedulers first, by cluster.
  type: list
  elements: dict
  returned: always
"""
