"""What the reading modules do: run the collectors of the chosen concerns on a node, or on a capture in its place."""

from __future__ import annotations

import zipimport

from . import capture as captures
from .envelope import collect, envelope
from .node import LiveNode, RecordingNode, ReplayNode
from .secrets import CleanNode


def _place(loader, name):
    """Where a module lies in the zip that Ansible sends. Python's own answer compiles it, and running it compiles it again: a fifth of an
    audit's time on a node."""
    return "%s/%s%s%s" % (loader.archive, loader.prefix, name.rpartition(".")[2], "/__init__.py" if loader.is_package(name) else ".py")


zipimport.zipimporter.get_filename = _place


def argument_spec() -> dict:
    return {
        "concerns": {"type": "list", "elements": "str", "required": True},
        "replay": {"type": "path"},
        "keep_raw": {"type": "bool", "default": True},
    }


def read(concerns, node, collectors, owner="node") -> list:
    """The envelope of each concern, from one node. Tools that several concerns ask for run once. `collectors`: concern -> how to get it."""
    return [collect(concern, collectors[concern](), node, owner) for concern in concerns]


def answer(module, collectors, attachment, owner="node"):
    """All of a reading module's main: what the AnsibleModule asks for, read and returned. `attachment` names the kept capture."""
    concerns = module.params["concerns"]
    unknown = sorted(set(concerns) - set(collectors))
    if unknown:
        module.fail_json(msg=f"concerns: {', '.join(unknown)} unknown; known are {', '.join(sorted(collectors))}")
    capture = captures.asked(module)
    if capture and capture.get("unreachable"):
        lost = [envelope(c, mode="replay", status="error", reason="unreachable: " + capture["unreachable"]) for c in concerns]
        module.exit_json(changed=False, envelopes=lost, attachments=[])
    node = RecordingNode(CleanNode(ReplayNode(capture) if capture else LiveNode()))  # secrets never reach evidence
    start = node.now()
    envelopes = read(concerns, node, collectors, owner)
    attachments = [captures.attachment(attachment, node.capture)] if module.params["keep_raw"] else []
    module.exit_json(changed=False, envelopes=envelopes, attachments=attachments, clock=[start, node.now()])
