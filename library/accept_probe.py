#!/usr/bin/python
"""Knock at other hosts' ports and count their NFS exports, by written authority."""

from __future__ import annotations

DOCUMENTATION = r"""
module: accept_probe
short_description: Try which services of other hosts answer a tenant
description:
  - Tries TCP connections to the named ports of the named hosts, closes each at once, and counts what came up; asks the named NFS servers
    for their exports and counts those that everybody may mount. No name, path or content of an answer is kept.
  - Other people's hosts are touched, so it does nothing without the digest of a document in which their owner allows it.
  - The action plugin of the same name saves the envelope on the controller.
options:
  concerns:
    description: The concern to fill.
    type: list
    elements: str
    required: true
  authority:
    description: Path of the document that allows the probe, as named on the controller.
    type: str
    default: ""
  authority_sha256:
    description: Digest of that document. Empty probes nothing, and the envelope says why.
    type: str
    default: ""
  targets:
    description: Hosts to try, 256 at most.
    type: list
    elements: str
    default: []
  ports:
    description: Ports to try on each, 32 at most.
    type: list
    elements: int
    default: []
  export_servers:
    description: NFS servers to ask for their exports, 256 at most.
    type: list
    elements: str
    default: []
  replay:
    description: Folder of a capture to read instead of probing. Relative paths start at the controller's current folder.
    type: path
attributes:
  check_mode:
    support: full
    description: It probes nothing in check mode.
author: GPU cluster acceptance
"""

EXAMPLES = r"""
- name: Try the neighbours' exporters
  accept_probe:
    concerns: [tenancy_probe]
    authority: authority.pdf
    authority_sha256: 3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b
    targets: [10.30.0.41, 10.30.0.42]
    ports: [9100, 9400]
"""

RETURN = r"""
envelopes:
  description: The envelope of the concern; docs/evidence.md has the fields.
  type: list
  elements: dict
  returned: always
  sample: [{schema: 1, concern: tenancy_probe, owner: cluster, mode: live, status: not_run, reason: no written authority, data: null}]
attachments:
  description: Name and base64 of the capture of the probe.
  type: list
  elements: dict
  returned: always
"""

from ansible.module_utils.accept_node import capture as captures
from ansible.module_utils.accept_node.collectors import tenancy_probe
from ansible.module_utils.accept_node.envelope import collect, envelope
from ansible.module_utils.accept_node.node import RecordingNode, ReplayNode
from ansible.module_utils.accept_node.probe import ProbingNode
from ansible.module_utils.basic import AnsibleModule

NO_AUTHORITY = "other people's hosts are probed only by written authority: name the document in accept_probe_authority"
NO_TARGETS = "no host to try: name them in accept_probe_targets (and NFS servers in accept_probe_export_servers)"


def argument_spec() -> dict:
    return {
        "concerns": {"type": "list", "elements": "str", "required": True},
        "authority": {"type": "str", "default": ""},
        "authority_sha256": {"type": "str", "default": ""},
        "targets": {"type": "list", "elements": "str", "default": []},
        "ports": {"type": "list", "elements": "int", "default": []},
        "export_servers": {"type": "list", "elements": "str", "default": []},
        "replay": {"type": "path"},
    }


def probe(params) -> tuple:
    """(envelope, capture or None). Raises CaptureError for a capture that cannot be used."""
    mode = "replay" if params["replay"] else "live"
    reason = "" if params["authority_sha256"] else NO_AUTHORITY
    reason = reason or ("" if params["targets"] or params["export_servers"] else NO_TARGETS)
    if reason:
        return envelope("tenancy_probe", mode=mode, owner="cluster", status="not_run", reason=reason), None
    capture = captures.load(params["replay"]) if params["replay"] else None
    if capture and capture.get("unreachable"):
        return envelope("tenancy_probe", mode=mode, owner="cluster", status="error", reason="unreachable: " + capture["unreachable"]), None
    node = RecordingNode(ReplayNode(capture) if capture else ProbingNode(params["targets"], params["ports"], params["export_servers"]))
    found = collect("tenancy_probe", tenancy_probe.collect, node, "cluster")
    if found["data"]:
        found["data"]["authority"] = {"document": params["authority"], "sha256": params["authority_sha256"]}
    return found, node.capture


def main():
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    try:
        found, capture = probe(module.params)
    except captures.CaptureError as error:
        module.fail_json(msg=f"replay: {error}")
    attachments = [captures.attachment("capture.probe.json.gz", capture)] if capture else []
    module.exit_json(changed=False, envelopes=[found], attachments=attachments)


if __name__ == "__main__":
    main()
