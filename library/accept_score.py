#!/usr/bin/python
"""Judge a run's evidence and write its scorecard."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_score
short_description: Judge a run's evidence and write its scorecard
description:
  - Reads the evidence in a run's folder, the standards and the contract, and writes scorecard.json into the folder, whole or not at all.
  - Needs no node and no network. The same evidence can be judged again under another contract or another table of versions.
  - Runs on the controller.
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
errors:
  description: All that is wrong with run, standards or contract, one line each.
  type: list
  elements: str
  returned: failure
"""

import json
from pathlib import Path

from ansible.module_utils.accept_judge import scorecard
from ansible.module_utils.accept_judge.decision import NO_VERDICT
from ansible.module_utils.accept_judge.facts_store import write
from ansible.module_utils.basic import AnsibleModule


def argument_spec() -> dict:
    optional = {"type": "str", "default": ""}
    return {
        "run_dir": {"type": "path", "required": True},
        "standards": {"type": "path", "required": True},
        "contract": optional,
        "version_table": optional,
        "definition": optional,
    }


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    run_dir, path = Path(module.params["run_dir"]), Path(module.params["run_dir"]) / "scorecard.json"
    own = run_dir / "contract.yml"
    try:
        card = scorecard.score(
            run_dir,
            Path(module.params["standards"]),
            module.params["contract"] or (own if own.exists() else None),
            version_table=module.params["version_table"] or None,
            definition=module.params["definition"] or None,
        )
        content = (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode()
        if not module.check_mode:
            write(path, content)
    except scorecard.ERRORS as error:
        errors = getattr(error, "errors", [str(error)])
        module.fail_json(msg=f"no verdict: {'; '.join(errors)}", errors=errors, exit_code=NO_VERDICT)
    except OSError as error:
        message = f"{error.filename or path}: {error.strerror or error}"
        module.fail_json(msg=f"no verdict: {message}", errors=[message], exit_code=NO_VERDICT)
    module.exit_json(
        changed=True,
        decision=card["decision"],
        coverage=card["coverage"]["statement"],
        counts=card["coverage"]["rows"],
        exit_code=card["decision"]["exit_code"],
        scorecard=str(path),
    )


if __name__ == "__main__":
    main()
