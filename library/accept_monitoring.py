#!/usr/bin/python
"""Ask a cluster's monitoring what it shows, by the HTTP APIs of Prometheus, Alertmanager and Grafana."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_monitoring
short_description: Read what the monitoring of a cluster shows and whether its series still come
description:
  - Asks Prometheus, Alertmanager and Grafana, as far as access is given, with GET requests only. Nothing is set, silenced or acknowledged.
  - Keeps counts, ages, and queries of panels and rules about nodes, GPUs, fabric, health checks and schedulers. Labels of series, values
    of labels that could name a tenant, and credentials of receivers are not kept.
  - Addresses and tokens stand in no command line, log or capture; redirects are not followed.
  - The action plugin of the same name saves the envelope on the controller.
options:
  concerns:
    description: The concern to fill.
    type: list
    elements: str
    required: true
  prometheus_url:
    description: Address of Prometheus, or of what keeps to its API (Thanos, Mimir, VictoriaMetrics), with the path before C(/api/v1).
    type: str
    default: ""
  prometheus_token:
    description: Bearer token, or C(user:password).
    type: str
    default: ""
  alertmanager_url:
    description: Address of Alertmanager.
    type: str
    default: ""
  alertmanager_token:
    description: Bearer token, or C(user:password).
    type: str
    default: ""
  grafana_url:
    description: Address of Grafana.
    type: str
    default: ""
  grafana_token:
    description: Token of a service account that may view, or C(user:password).
    type: str
    default: ""
  validate_certs:
    description: Check the servers' certificates.
    type: bool
    default: true
  replay:
    description: Folder of a capture to read instead of asking. Relative paths start at the controller's current folder.
    type: path
attributes:
  check_mode:
    support: full
    description: It asks nothing in check mode.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Read what the monitoring shows
  accept_monitoring:
    concerns: [monitoring_audit]
    prometheus_url: https://prometheus.example
    prometheus_token: "{{ vault_prometheus_token }}"
    grafana_url: https://grafana.example
    grafana_token: "{{ vault_grafana_token }}"
"""

RETURN = r"""
envelopes:
  description: The envelope of the concern; docs/evidence.md has the fields.
  type: list
  elements: dict
  returned: always
  sample: [{schema: 1, concern: monitoring_audit, owner: cluster, mode: live, status: not_run, reason: no access, data: null}]
attachments:
  description: Name and base64 of the capture of what was asked.
  type: list
  elements: dict
  returned: always
"""

import functools

from ansible.module_utils.accept_node import capture as captures
from ansible.module_utils.accept_node import fetch
from ansible.module_utils.accept_node.collectors import monitoring_audit
from ansible.module_utils.accept_node.envelope import collect, envelope
from ansible.module_utils.accept_node.node import RecordingNode, ReplayNode
from ansible.module_utils.accept_node.secrets import CleanNode
from ansible.module_utils.basic import AnsibleModule

NO_ACCESS = (
    "no access to the monitoring was given: set accept_prometheus_url, accept_alertmanager_url and accept_grafana_url (with _token), "
    "or have the provider show it in writing (contract: attestations.monitoring_dashboards, attestations.monitoring_alerts)"
)


def argument_spec() -> dict:
    spec = {"concerns": {"type": "list", "elements": "str", "required": True}}
    for name in fetch.SERVICES:
        spec[name + "_url"] = {"type": "str", "default": ""}
        spec[name + "_token"] = {"type": "str", "default": "", "no_log": True}
    return {**spec, "validate_certs": {"type": "bool", "default": True}, "replay": {"type": "path"}}


def ask(params) -> tuple:
    """(envelope, capture or None). Raises CaptureError for a capture that cannot be used."""
    told = functools.partial(envelope, "monitoring_audit", owner="cluster", mode="replay" if params["replay"] else "live")
    capture = captures.load(params["replay"]) if params["replay"] else None
    if capture and capture.get("unreachable"):
        return told(status="error", reason="unreachable: " + capture["unreachable"]), None
    services = {name: (params[name + "_url"], params[name + "_token"]) for name in fetch.SERVICES if params[name + "_url"]}
    given = fetch.services_of(capture) if capture else list(services)
    if not given:
        return told(status="not_run", reason=NO_ACCESS), None
    faults = [f"accept_{name}_url: {fetch.fault(url)}" for name, (url, _) in services.items() if fetch.fault(url)]
    if faults and not capture:
        return told(status="error", reason="; ".join(faults)), None
    node = RecordingNode(CleanNode(ReplayNode(capture) if capture else fetch.FetchingNode(services, params["validate_certs"])))
    return collect("monitoring_audit", functools.partial(monitoring_audit.collect, given=given), node, "cluster"), node.capture


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        found, capture = ask(module.params)
    except captures.CaptureError as error:
        module.fail_json(msg=f"replay: {error}")
    attachments = [captures.attachment("capture.monitoring.json.gz", capture)] if capture else []
    module.exit_json(changed=False, envelopes=[found], attachments=attachments)


if __name__ == "__main__":
    main()
