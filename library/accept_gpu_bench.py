#!/usr/bin/python
"""A quick look at the GPUs of one node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_gpu_bench
short_description: Measure products, memory and copies of every GPU of a node
description:
  - Runs PyTorch of the interpreter that C(settings.python) names, nvbandwidth and dcgmi diag where they are installed, each as a job with a
    hard deadline. What is not there is a reason; nothing is installed.
  - The action plugin of the same name saves the envelope on the controller.
options:
  run_id:
    description: The run that the jobs belong to; their names begin with it.
    type: str
    required: true
  settings:
    description: How it is measured; the role's variable gpu_compute_settings.
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
- name: Measure every GPU
  accept_gpu_bench:
    run_id: "{{ ansible_facts.accept_run.id }}"
    settings: "{{ gpu_compute_settings }}"
"""

RETURN = r"""
envelopes:
  description: The envelope of gpu_compute; docs/evidence.md has the fields.
  type: list
  elements: dict
  returned: always
attachments:
  description: Name and base64 of a gzip file with all that was run; the action plugin moves it to disk.
  type: list
  elements: dict
  returned: when keep_raw is true
clock:
  description: The node's clock when it began and when it ended, in seconds since the epoch.
  type: list
  elements: float
  returned: when the node was asked
"""

from ansible.module_utils.accept_node.bench import begin
from ansible.module_utils.accept_node.collectors import gpu_compute
from ansible.module_utils.basic import AnsibleModule

CONCERN = "gpu_compute"
NEEDED = {"python", "matrix", "seconds", "bytes", "limit_s", "dcgm_level"}


def argument_spec() -> dict:
    return {
        "run_id": {"type": "str", "required": True},
        "settings": {"type": "dict", "required": True},
        "replay": {"type": "path"},
        "keep_raw": {"type": "bool", "default": True},
    }


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    settings = module.params["settings"]
    if not set(settings) >= NEEDED:
        module.fail_json(msg=f"settings: {', '.join(sorted(NEEDED))} are wanted; the role's defaults have them")
    bench = begin(module, CONCERN)
    data = gpu_compute.collect(bench.gather, bench.work, settings, bench.host())
    module.exit_json(**bench.result(data, "look", module.params["keep_raw"]))


if __name__ == "__main__":
    main()
