#!/usr/bin/python
"""Take an allocation of a cluster's scheduler for a load, or give it back."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_allocation
short_description: Take an allocation of a scheduler for a load, or give it back
description:
  - Runs on a host that may ask the scheduler (the cluster's head). Slurm gives one job on exclusive nodes, Kubernetes a pod of ours on
    each.
  - An allocation that this run holds already is taken up again. One that stays pending is given back, with the scheduler's reason.
  - Each has a limit that the scheduler itself keeps. The scheduler's tools are called at a capped rate.
options:
  state:
    description: C(held) takes it, C(released) gives it back.
    type: str
    choices: [held, released]
    required: true
  scheduler:
    description: Whose; empty gives back what any scheduler has of ours.
    type: str
    choices: ["", slurm, kubernetes]
    default: ""
  run_id:
    description: The run that it is for; empty gives back those of all runs.
    type: str
    default: ""
  role:
    description: The load that it is for; empty gives back those of all loads of the run.
    type: str
    default: ""
  nodes:
    description: Hosts to load, and what the scheduler calls each.
    type: dict
    default: {}
  settings:
    description: What to ask for; see module_utils/accept_node/allocations.
    type: dict
    default: {}
  minutes:
    description: The limit.
    type: int
    default: 60
attributes:
  check_mode:
    support: full
    description: It asks for nothing and gives nothing back.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Give back every allocation of ours
  accept_allocation:
    state: released
"""

RETURN = r"""
allocation:
  description: Of C(held), its state (held or refused), a reason, and the job's id or the pods by host.
  type: dict
  returned: when taken
  sample: {state: held, job: "4711", reason: ""}
released:
  description: What was given back, job ids and pods.
  type: list
  elements: str
  returned: when released
reason:
  description: Why something may be left.
  type: str
  returned: when released
"""

from ansible.module_utils.accept_node.allocations import NAME, Ask, kubernetes, slurm
from ansible.module_utils.accept_node.node import LiveNode
from ansible.module_utils.basic import AnsibleModule


def argument_spec() -> dict:
    return {
        "state": {"type": "str", "choices": ["held", "released"], "required": True},
        "scheduler": {"type": "str", "choices": ["", "slurm", "kubernetes"], "default": ""},
        "run_id": {"type": "str", "default": ""},
        "role": {"type": "str", "default": ""},
        "nodes": {"type": "dict", "default": {}},
        "settings": {"type": "dict", "default": {}},
        "minutes": {"type": "int", "default": 60},
    }


def take(ask, params) -> dict:
    name = "%s%s.%s" % (NAME, params["run_id"], params["role"])
    nodes, settings, minutes = (params[key] for key in ("nodes", "settings", "minutes"))
    if params["scheduler"] == "slurm":
        return slurm.take(ask, name, sorted(nodes.values()), settings, minutes)
    return kubernetes.take(ask, name, nodes, settings, minutes)


def release(ask, params) -> dict:
    name = "%s%s.%s" % (NAME, params["run_id"], params["role"]) if params["run_id"] else NAME
    answers = []
    if params["scheduler"] in ("", "slurm"):
        answers.append(slurm.release(ask, name))
    if params["scheduler"] in ("", "kubernetes"):
        answers.append(kubernetes.release(ask, name, params["settings"]))
    released = [one for answer in answers for one in answer["released"]]
    return {"released": released, "reason": "; ".join(answer["reason"] for answer in answers if answer["reason"])}


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    if params["state"] == "held" and not (params["scheduler"] and params["run_id"] and params["role"] and params["nodes"]):
        module.fail_json(msg="held wants scheduler, run_id, role and nodes")
    if module.check_mode:
        module.exit_json(changed=False, allocation={"state": "refused", "reason": "check mode"}, released=[], reason="")
    ask = Ask(LiveNode())
    if params["state"] == "held":
        module.exit_json(changed=True, allocation=take(ask, params))
    answer = release(ask, params)
    module.exit_json(changed=bool(answer["released"]), **answer)


if __name__ == "__main__":
    main()
