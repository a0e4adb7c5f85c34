#!/usr/bin/python
"""RDMA traffic of one node with others, a round at a time."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_rdma_bench
short_description: Take part in a round of RDMA bandwidth and latency tests
description:
  - One step of a round that accept_rounds has planned. C(discover) reads devices and perftest, C(serve) starts the node's servers,
    C(measure) runs its clients and loopbacks, C(finish) hears the servers and ends them.
  - Servers and clients are detached jobs with a hard deadline; they outlive the connection, never their time.
  - The action plugin of the same name joins what each step found to the node's envelope of rdma_bandwidth.
options:
  step:
    description: What to do.
    type: str
    choices: [discover, serve, measure, finish]
    required: true
  run_id:
    description: The run that the jobs belong to; their names begin with it.
    type: str
    required: true
  plan:
    description: What the round says of this node.
    type: dict
    default: {}
  gid_index:
    description: The GID index of the recipe, whose address each device is asked for.
    type: int
  container:
    description: The container of a pod of ours that the tests will run in; C(discover) looks into it.
    type: str
    default: ""
  replay:
    description: Folder of a capture to read instead of the node. Relative paths start at the controller's current folder.
    type: path
  keep_raw:
    description: Return what the tools printed as an attachment.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: The action plugin runs nothing in check mode.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Run this node's clients of the round
  accept_rdma_bench:
    step: measure
    run_id: "{{ ansible_facts.accept_run.id }}"
    plan: "{{ round.plans[inventory_hostname] }}"
"""

RETURN = r"""
envelopes:
  description: The envelope of rdma_bandwidth with what this step found; docs/evidence.md has the fields.
  type: list
  elements: dict
  returned: always
attachments:
  description: Name and base64 of a gzip file with all that was run; the action plugin moves it to disk.
  type: list
  elements: dict
  returned: when keep_raw is true
clock:
  description: The node's clock when the step began and when it ended, in seconds since the epoch.
  type: list
  elements: float
  returned: when the node was asked
"""

from ansible.module_utils.accept_node.bench import begin
from ansible.module_utils.accept_node.collectors import rdma_bandwidth
from ansible.module_utils.basic import AnsibleModule

CONCERN = "rdma_bandwidth"
STEPS = {"serve": rdma_bandwidth.serve, "measure": rdma_bandwidth.measure, "finish": rdma_bandwidth.finish}


def argument_spec() -> dict:
    return {
        "step": {"type": "str", "choices": ["discover", "serve", "measure", "finish"], "required": True},
        "run_id": {"type": "str", "required": True},
        "plan": {"type": "dict", "default": {}},
        "gid_index": {"type": "int"},
        "container": {"type": "str", "default": ""},
        "replay": {"type": "path"},
        "keep_raw": {"type": "bool", "default": True},
    }


def take(step, bench, plan, gid_index=None, container="") -> dict:
    """The data that one step adds."""
    if step == "discover":
        return rdma_bandwidth.discover(bench.gather, gid_index, container)
    return {"tests": STEPS[step](bench.work, plan, bench.host())}


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    step, plan = module.params["step"], module.params["plan"]
    if step != "discover" and not {"round", "settings", "tests"} <= set(plan):
        module.fail_json(msg="plan: round, settings and tests are wanted; accept_rounds makes them")
    bench = begin(module, CONCERN)
    data = take(step, bench, plan, module.params["gid_index"], module.params["container"])
    module.exit_json(**bench.result(data, f"{plan.get('round', 'first')}.{step}", module.params["keep_raw"]))


if __name__ == "__main__":
    main()
