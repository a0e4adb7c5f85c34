#!/usr/bin/python
"""Documentation of the action plugin accept_report, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_report
short_description: Write the reports of a run from its scorecard
description:
  - Renders scorecard.json of a run's folder as HTML, Markdown, JUnit XML and a CSV punch list, into the same folder.
  - Reads nothing but the scorecard and the templates, and judges nothing. Each file is written whole or not at all.
  - Runs on the controller, as an action plugin.
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
