#!/usr/bin/python
"""The burn-in of one node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_burn_in_bench
short_description: Begin, watch and collect the burn-in of a node
description:
  - C(discover) tells what the node could load. C(attend) begins the burn-in as a detached job, or tells how it stands where it has been
    begun. C(collect) makes figures of what was sampled, returns the series, and takes the job's state away from the node.
  - The job ends by itself, at its hard deadline at the latest; it outlives this module, the connection and the controller.
  - The action plugin of the same name joins what each step found to the node's envelope of burn_in.
options:
  step:
    description: What to do.
    type: str
    choices: [discover, attend, collect]
    required: true
  run_id:
    description: The run that the job belongs to; its name begins with it.
    type: str
    required: true
  plan:
    description: What the plan says of this node. C(discover) needs of it the key settings, C(attend) what accept_burn_plan has made.
    type: dict
    default: {}
  now_s:
    description: The controller's clock as this task began, in seconds since the epoch; all nodes count from one beginning.
    type: float
    default: 0
  replay:
    description: Folder of a capture to read instead of the node. Relative paths start at the controller's current folder.
    type: path
attributes:
  check_mode:
    support: full
    description: The action plugin runs nothing in check mode.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Begin the burn-in, or hear how it stands
  accept_burn_in_bench:
    step: attend
    run_id: "{{ ansible_facts.accept_run.id }}"
    plan: "{{ burn_in_turn.plans[inventory_hostname] }}"
    now_s: "{{ now(utc=true).timestamp() }}"
"""

RETURN = r"""
envelopes:
  description: The envelope of burn_in with what this step found; docs/evidence.md has the fields.
  type: list
  elements: dict
  returned: always
attachments:
  description: Name and base64 of the series; the action plugin moves it to disk.
  type: list
  elements: dict
  returned: by C(collect)
clock:
  description: The node's clock when the step began and when it ended, in seconds since the epoch.
  type: list
  elements: float
  returned: when the node was asked
"""

import base64

from ansible.module_utils.accept_node.bench import begin
from ansible.module_utils.accept_node.collectors import burn_in
from ansible.module_utils.basic import AnsibleModule

CONCERN = "burn_in"


def argument_spec() -> dict:
    return {
        "step": {"type": "str", "choices": ["discover", "attend", "collect"], "required": True},
        "run_id": {"type": "str", "required": True},
        "plan": {"type": "dict", "default": {}},
        "now_s": {"type": "float", "default": 0},
        "replay": {"type": "path"},
    }


def take(step, bench, job, plan, now_s) -> tuple:
    """(the data that one step adds, the series)"""
    if step == "discover":
        return burn_in.discover(bench.gather, plan.get("settings", {})), b""
    if step == "collect":
        return burn_in.collect(bench.gather, job)
    if not plan.get("begun"):
        plan["settings"]["begin_in_s"] = plan["begin_at_s"] - now_s
    return burn_in.attend(job, plan, bench.host()), b""


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    step, plan = module.params["step"], module.params["plan"]
    if step == "attend" and not (plan.get("begun") or {"settings", "deadline_s", "begin_at_s"} <= set(plan)):
        module.fail_json(msg="plan: settings, deadline_s and begin_at_s are wanted; accept_burn_plan makes them")
    bench = begin(module, CONCERN)
    job = burn_in.RecordedJob(bench.node) if module.params["replay"] else burn_in.LiveJob(module.params["run_id"])
    data, series = take(step, bench, job, plan, module.params["now_s"])
    result = bench.result(data, step, False)
    if series:
        result["attachments"] = [{"name": "burn_in.series.jsonl.gz", "content": base64.b64encode(series).decode("ascii")}]
    module.exit_json(**result)


if __name__ == "__main__":
    main()
