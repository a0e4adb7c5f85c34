#!/usr/bin/python
"""Documentation of the action plugin accept_score, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_score
short_description: Judge a run's evidence and write its scorecard
description:
  - Reads the evidence in a run's folder, the standards and the contract, and writes scorecard.json into the folder, whole or not at all.
  - Needs no node and no network. The same evidence can be judged again under another contract or another table of versions.
  - Runs on the controller, as an action plugin.
options:
  run_dir:
    description: Folder of the run; it holds run.json and facts.
    type: path
    required: true
  standards:
    description: Folder of standards.
    type: path
    required: true
  contract:
    description: Contract to judge by. Empty takes the one that the run was started with, if it was.
    type: str
    default: ""
  version_table:
    description: Table of minimum versions (a published ClusterMAX minimum-versions JSON) to judge by instead of the built-in one.
    type: str
    default: ""
  definition:
    description: What is judged, a file of standards/definitions without its suffix. Empty takes the contract's, then the run's.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Judges, and says whether the scorecard would change, without writing it.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Judge the newest run
  accept_score:
    run_dir: evidence/latest
    standards: standards

- name: Judge old evidence under another contract
  accept_score:
    run_dir: evidence/20261130T080000Z-1a2b
    standards: standards
    contract: contracts/silver.yml
"""

RETURN = r"""
decision:
  description: The verdict, its exit code, whether the run is a demonstration, and the reasons.
  type: dict
  returned: success
  sample: {verdict: rejected, exit_code: 10, demonstration: false, reasons: ["blocker: 1 check failed on n[03,17]: inventory.gpu_count"]}
coverage:
  description: The sentence on coverage.
  type: str
  returned: success
counts:
  description: Rows by verdict.
  type: dict
  returned: success
  sample: {pass: 812, warn: 3, fail: 9, not_measured: 14, not_applicable: 120, waived: 1}
exit_code:
  description: 0 accepted, with or without exceptions; 10 rejected; 11 incomplete; 13 no verdict was reached.
  type: int
  returned: always
scorecard:
  description: Path of the scorecard.
  type: str
  returned: success
accept_errors:
  description: All that is wrong with run, standards or contract, one line each.
  type: list
  elements: str
  returned: failure
"""
