#!/usr/bin/python
"""Launches of collectives over nodes, started from the host that may ask the cluster's launcher."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_nccl_bench
short_description: Launch benchmarks of collectives over nodes
description:
  - Runs on the cluster's head. Each launch is a detached job there with a hard deadline; a launch that runs already is taken up again.
  - Launches come one after the other, or all at once on nodes of their own.
  - The action plugin of the same name joins what they measured to the head's envelope of nccl_sweep.
options:
  run_id:
    description: The run that the jobs belong to; their names begin with it.
    type: str
    required: true
  engine:
    description: The benchmark. C(mpi) and C(torch) are programs of this project that travel with the launch; C(mpi) needs no GPU.
    type: str
    choices: [nccl-tests, rccl-tests, torch, mpi]
    required: true
  launcher:
    description: What starts the ranks.
    type: str
    choices: [slurm, mpirun, kubernetes, local]
    required: true
  launches:
    description:
      - Of each, name, collective, mode, nodes, node_set, ranks_per_node, min_bytes, max_bytes, iterations, warmup, env, repeat, timeout_s,
        and round where it belongs to a search.
    type: list
    elements: dict
    required: true
  parallel:
    description: Start all before waiting for the first; their nodes must be disjoint.
    type: bool
    default: false
  settings:
    description: Of engine and launcher; see module_utils/accept_node/launchers and collective_engines.py.
    type: dict
    default: {}
  names:
    description: What the launcher calls a node, where that is not its name in the inventory.
    type: dict
    default: {}
  placement:
    description: Node to its rack and leaf switch.
    type: dict
    default: {}
  plan:
    description: Worlds, sizes, repeats, minutes, and what the budget took away.
    type: dict
    default: {}
  replay:
    description: Folder of a capture to read instead of the node. Relative paths start at the controller's current folder.
    type: path
  keep_raw:
    description: Return what was printed as an attachment.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
    description: The action plugin runs nothing in check mode.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Run the next launches
  accept_nccl_bench:
    run_id: "{{ ansible_facts.accept_run.id }}"
    engine: nccl-tests
    launcher: slurm
    launches: "{{ sweep.launches }}"
    settings: {job: "4711", mpi: pmix}
"""

RETURN = r"""
envelopes:
  description: The envelope of nccl_sweep with what these launches measured; standards/schema/concerns/nccl_sweep.json has its data.
  type: list
  elements: dict
  returned: always
attachments:
  description: Name and base64 of a gzip file with all that was printed; the action plugin moves it to disk.
  type: list
  elements: dict
  returned: when keep_raw is true
clock:
  description: The node's clock when the launches began and when they ended, in seconds since the epoch.
  type: list
  elements: float
  returned: when the node was asked
"""

from ansible.module_utils.accept_node.bench import begin
from ansible.module_utils.accept_node.collective_engines import COLLECTIVES
from ansible.module_utils.accept_node.collective_rows import COLUMNS
from ansible.module_utils.accept_node.collectives import Sweep
from ansible.module_utils.basic import AnsibleModule

CONCERN = "nccl_sweep"
LAUNCH = {
    "name",
    "collective",
    "mode",
    "nodes",
    "node_set",
    "ranks_per_node",
    "min_bytes",
    "max_bytes",
    "iterations",
    "warmup",
    "env",
    "repeat",
    "timeout_s",
}


def argument_spec() -> dict:
    return {
        "run_id": {"type": "str", "required": True},
        "engine": {"type": "str", "choices": ["nccl-tests", "rccl-tests", "torch", "mpi"], "required": True},
        "launcher": {"type": "str", "choices": ["slurm", "mpirun", "kubernetes", "local"], "required": True},
        "launches": {"type": "list", "elements": "dict", "required": True},
        "parallel": {"type": "bool", "default": False},
        "settings": {"type": "dict", "default": {}},
        "names": {"type": "dict", "default": {}},
        "placement": {"type": "dict", "default": {}},
        "plan": {"type": "dict", "default": {}},
        "replay": {"type": "path"},
        "keep_raw": {"type": "bool", "default": True},
    }


def fault(launches, parallel) -> str:
    """What is wrong with the launches as they were given; empty where nothing is."""
    for launch in launches:
        lacking = sorted(LAUNCH - set(launch))
        if lacking or not launch["nodes"] or launch["collective"] not in COLLECTIVES:
            return (
                f"launches: {launch.get('name', '?')}: wants {', '.join(lacking) or 'nodes, and a collective of ' + ', '.join(COLLECTIVES)}"
            )
    nodes = [node for launch in launches for node in launch["nodes"]]
    return "launches: parallel ones share nodes" if parallel and len(set(nodes)) < len(nodes) else ""


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    wrong = fault(params["launches"], params["parallel"])
    if wrong:
        module.fail_json(msg=wrong)
    bench = begin(module, CONCERN)
    settings = {"root": bench.node.identity().get("uid") == 0, "run_id": params["run_id"], **params["settings"]}
    sweep = Sweep(bench.work, params["engine"], params["launcher"], settings, params["names"])
    runs = sweep.run(params["launches"], params["parallel"])
    data = {
        "engine": {"name": params["engine"], "version": sweep.version, "library": sweep.library},
        "launcher": params["launcher"],
        "placement": params["placement"],
        "plan": params["plan"],
        "columns": list(COLUMNS),
        "runs": runs,
    }
    result = bench.result(data, params["launches"][0]["name"] if params["launches"] else "none", params["keep_raw"])
    result["envelopes"][0]["owner"] = "cluster"
    module.exit_json(**result)


if __name__ == "__main__":
    main()
