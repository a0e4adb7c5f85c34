"""What modules that load a node have in common: the node or its capture, the work done on it, envelope and raw outputs of one step."""

from __future__ import annotations

from . import capture as captures
from .envelope import Gather, envelope, utc
from .node import LiveNode, RecordingNode, ReplayNode
from .secrets import CleanNode
from .work import LiveWork, ReplayedWork


class Bench:
    """One step of a load on one node: `gather` asks the node, `work` runs the load, `result` is what the module returns."""

    def __init__(self, concern: str, run_id: str, capture: dict | None):
        self.concern = concern
        self.node = RecordingNode(CleanNode(ReplayNode(capture) if capture else LiveNode()))
        self.work = ReplayedWork(self.node) if capture else LiveWork(run_id, concern)
        self.gather = Gather(self.node)
        self.start = self.node.now()

    def host(self) -> str:
        """The node's own name, as its scheduler knows it."""
        return str(self.node.identity().get("hostname") or "localhost")

    def result(self, data: dict | None, name: str, keep_raw: bool) -> dict:
        now = self.node.now()
        found = envelope(
            self.concern,
            mode=self.node.mode,
            status="error" if data is None else "partial" if self.gather.errors else "ok",
            reason="; ".join(error["message"] for error in self.gather.errors[:3]) if data is None else "",
            data=data,
            collected_at=utc(self.start),
            duration_s=round(now - self.start, 3),
            sources=self.gather.sources,
            errors=self.gather.errors,
        )
        raw = {**self.node.capture, "commands": [*self.node.capture["commands"], *self.work.commands]}
        attachments = []
        if keep_raw and any(raw[kind] for kind in ("commands", "files", "trees", "listings")):
            attachments = [captures.attachment(f"{self.concern}.{name}.json.gz", raw)]
        return {"changed": False, "envelopes": [found], "attachments": attachments, "clock": [self.start, now]}


def begin(module, concern: str) -> Bench:
    """The bench that a module's arguments ask for; a capture that says that its node does not answer ends the module with that."""
    capture = captures.asked(module)
    if capture and capture.get("unreachable"):
        found = envelope(concern, mode="replay", status="error", reason="unreachable: " + capture["unreachable"])
        module.exit_json(changed=False, envelopes=[found], attachments=[])
    return Bench(concern, module.params["run_id"], capture)
