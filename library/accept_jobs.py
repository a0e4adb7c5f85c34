#!/usr/bin/python
"""End the detached jobs of a run on a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_jobs
short_description: List or end the detached jobs that this project runs on a node
description:
  - Loads run on a node as jobs with a name and a hard deadline, apart from any connection. This ends those of one run, or of all runs.
options:
  state:
    description: C(stopped) ends them, C(listed) only tells which there are.
    type: str
    choices: [stopped, listed]
    default: stopped
  run_id:
    description: The run whose jobs are meant; empty means every run's.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Lists them.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: End every load
  accept_jobs:
    state: stopped
"""

RETURN = r"""
jobs:
  description: Names of the jobs that ran.
  type: list
  elements: str
  returned: always
  sample: [20261130T120000Z-1a2b.rdma_bandwidth.together-0.mlx5_0]
"""

from ansible.module_utils.accept_node import jobs
from ansible.module_utils.basic import AnsibleModule


def argument_spec() -> dict:
    return {
        "state": {"type": "str", "choices": ["stopped", "listed"], "default": "stopped"},
        "run_id": {"type": "str", "default": ""},
    }


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    run_id = module.params["run_id"]
    try:
        if module.check_mode or module.params["state"] == "listed":
            module.exit_json(changed=False, jobs=[name for name in jobs.names(run_id) if jobs.status(name)["state"] == "running"])
        ran = jobs.stop_all(run_id)
    except jobs.JobError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=bool(ran), jobs=ran)


if __name__ == "__main__":
    main()
