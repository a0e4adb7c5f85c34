#!/usr/bin/python
"""Write the reports of a run from its scorecard."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_report
short_description: Write the reports of a run from its scorecard
description:
  - Renders scorecard.json of a run's folder as HTML, Markdown, JUnit XML and a CSV punch list, into the same folder.
  - Reads nothing but the scorecard and the templates, and judges nothing. Each file is written whole or not at all.
  - Runs on the controller.
options:
  run_dir:
    description: Folder of the run; it holds scorecard.json.
    type: path
    required: true
  templates:
    description: Folder of the report's templates. The style and the script are read from the folder C(files) beside it.
    type: path
    required: true
  formats:
    description: Reports to write.
    type: list
    elements: str
    choices: [html, md, junit, csv]
    default: [html, md, junit, csv]
attributes:
  check_mode:
    support: full
    description: Renders, and says whether files would change, without writing them.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Write the reports of the newest run
  accept_report:
    run_dir: evidence/latest
    templates: roles/sla_score/templates
"""

RETURN = r"""
paths:
  description: Path of the report in each format.
  type: dict
  returned: success
  sample: {html: evidence/latest/report.html, csv: evidence/latest/punch_list.csv}
"""

from pathlib import Path

from ansible.module_utils.accept_judge import report
from ansible.module_utils.basic import AnsibleModule


def argument_spec() -> dict:
    formats = ["html", "md", "junit", "csv"]
    return {
        "run_dir": {"type": "path", "required": True},
        "templates": {"type": "path", "required": True},
        "formats": {"type": "list", "elements": "str", "choices": formats, "default": formats},
    }


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    run_dir, templates = Path(module.params["run_dir"]), Path(module.params["templates"])
    if not (templates / "report.html.j2").is_file():
        module.fail_json(msg=f"templates: {templates} holds no report.html.j2")
    try:
        paths, changed = report.write(run_dir, templates, module.params["formats"], dry=module.check_mode)
    except report.ReportError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"run_dir: {error.filename or run_dir}: {error.strerror or error}")
    module.exit_json(changed=changed, paths=paths)


if __name__ == "__main__":
    main()
