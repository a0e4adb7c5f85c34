#!/usr/bin/python
"""Packet loss, round-trip time, MTU and TCP bandwidth from one node to some peers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_net_bench
short_description: Measure the front-end network from a node to its peers
description:
  - One step of what accept_rounds has planned. C(serve) starts an iperf3 server for each peer that will come, C(measure) asks the peers
    one after the other with ping and iperf3, C(finish) ends the servers.
  - Servers and clients are detached jobs with a hard deadline; they outlive the connection, never their time.
  - The action plugin of the same name joins what each step found to the node's envelope of mgmt_network.
options:
  step:
    description: What to do.
    type: str
    choices: [serve, measure, finish]
    required: true
  run_id:
    description: The run that the jobs belong to; their names begin with it.
    type: str
    required: true
  plan:
    description: What the plan says of this node.
    type: dict
    required: true
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
- name: Measure from this node to its peers
  accept_net_bench:
    step: measure
    run_id: "{{ ansible_facts.accept_run.id }}"
    plan: "{{ round.plans[inventory_hostname] }}"
"""

RETURN = r"""
envelopes:
  description: The envelope of mgmt_network with what this step found; docs/evidence.md has the fields.
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
from ansible.module_utils.accept_node.collectors import mgmt_network
from ansible.module_utils.basic import AnsibleModule

CONCERN = "mgmt_network"


def argument_spec() -> dict:
    return {
        "step": {"type": "str", "choices": ["serve", "measure", "finish"], "required": True},
        "run_id": {"type": "str", "required": True},
        "plan": {"type": "dict", "required": True},
        "replay": {"type": "path"},
        "keep_raw": {"type": "bool", "default": True},
    }


def take(step, bench, plan) -> dict:
    """The data that one step adds."""
    if step == "measure":
        return mgmt_network.measure(bench.gather, bench.work, plan)
    {"serve": mgmt_network.serve, "finish": mgmt_network.finish}[step](bench.work, plan)
    return {"sampled": True, "peers": []}


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    step, plan = module.params["step"], module.params["plan"]
    if not {"settings", "tests", "servers"} <= set(plan):
        module.fail_json(msg="plan: settings, tests and servers are wanted; accept_rounds makes them")
    bench = begin(module, CONCERN)
    data = take(step, bench, plan)
    module.exit_json(**bench.result(data, step, module.params["keep_raw"]))


if __name__ == "__main__":
    main()
