#!/usr/bin/python
"""Documentation of the action plugin accept_gate, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_gate
short_description: End a run with the exit code of its verdict
description:
  - Reads the run's scorecard and fails unless the cluster is accepted.
  - The callback accept_gate turns the code into the exit code of ansible-playbook.
  - Runs on the controller, as an action plugin.
options:
  run_dir:
    description: The run's folder.
    type: path
    required: true
  enforce:
    description: Fail on a verdict that is not an acceptance. Without it the verdict is printed and the exit code is 0.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: There is no verdict in check mode; the code is 13.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: End the run with the code of its verdict
  accept_gate:
    run_dir: evidence/latest
"""

RETURN = r"""
accept_gate_code:
  description: 0 accepted, with or without exceptions; 10 rejected; 11 incomplete; 13 no verdict was reached.
  type: int
  returned: always
accept_summary:
  description: The verdict, line by line.
  type: list
  elements: str
  returned: always
"""
