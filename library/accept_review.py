#!/usr/bin/python
"""Documentation of the action plugin accept_review, which does the work on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_review
short_description: Review a month of service by the ledgers of provider and customer
description:
  - Computes availability, credits, claim dates and termination triggers of one month, exactly, and writes every step of it.
  - Compares two ledgers and tells what is agreed, disputed and missing; shows the month under other tiers, definitions and rules.
  - A ledger with a fault is refused, one line for each fault, and nothing is written.
  - Runs on the controller, as an action plugin.
options:
  review:
    description: File that says what is reviewed, clusters, racks, nodes, fees, tier, definition, overrides.
    type: path
    required: true
  month:
    description: The month, YYYY-MM, in the time zone of the review.
    type: str
    required: true
  provider:
    description: The provider's ledger, CSV or JSON; empty where there is none.
    type: str
    default: ""
  customer:
    description: The customer's ledger, CSV or JSON; empty where there is none.
    type: str
    default: ""
  as_of:
    description: Date, YYYY-MM-DD, on which it is asked whether a claim is still open; empty leaves that unknown.
    type: str
    default: ""
  standards:
    description: Folder of standards; definitions and tiers are in its folder C(sla).
    type: path
    required: true
  output:
    description: Folder to write review.json and review.md into.
    type: path
    required: true
attributes:
  check_mode:
    support: full
    description: Computes, and says whether files would change, without writing them.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Review November
  accept_review:
    review: inventories/example/review.yml
    month: 2026-11
    provider: ledgers/provider.csv
    customer: ledgers/customer.json
    as_of: 2026-12-01
    standards: standards
    output: evidence/reviews/2026-11
"""

RETURN = r"""
paths:
  description: The files of the review.
  type: list
  returned: success
  sample: [evidence/reviews/2026-11/review.json, evidence/reviews/2026-11/review.md]
credit:
  description: The credit by each ledger, as money in text.
  type: dict
  returned: success
  sample: {provider: "0.00", customer: "2500.00"}
"""
