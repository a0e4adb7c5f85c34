"""The one shape of a fact: an envelope per owner and concern. docs/evidence.md has it field by field."""

from __future__ import annotations

import hashlib
import time

from .parsers import ParseError

SCHEMA = 1
STATUSES = ("ok", "partial", "error", "not_applicable", "not_run")


def utc(seconds: float) -> str:
    """ISO 8601 in UTC with milliseconds, from seconds since the epoch."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + ".%03dZ" % (seconds % 1 * 1000)


def envelope(concern, host="", run_id="", mode="live", owner="node", status="not_run", reason="", data=None, **rest) -> dict:
    """An envelope with every field present. `data` is None where nothing was measured."""
    return {
        "schema": SCHEMA,
        "concern": concern,
        "owner": owner,
        "host": host,
        "run_id": run_id,
        "mode": mode,
        "collected_at": rest.get("collected_at"),
        "observed": rest.get("observed"),
        "duration_s": rest.get("duration_s"),
        "status": status,
        "reason": reason,
        "data": data,
        "sources": rest.get("sources", []),
        "attachments": rest.get("attachments", []),
        "errors": rest.get("errors", []),
    }


class Gather:
    """Asks a node and keeps the account: which sources answered, which did not and why.

    Each method returns the parsed value, or None when it could not be had; the reason then stands in `errors`.
    """

    def __init__(self, node):
        self.node = node
        self.sources = []
        self.errors = []

    def command(self, argv, parse=None, timeout_s=30.0, ok=(0,), streams="stdout", optional=False, strip=None):
        """Run argv and parse what it printed (`streams`: stdout, stderr or both).

        `ok` lists the exit statuses that count as an answer (None: all). `optional`: that the tool is not installed is no error.
        `strip`: text -> text without what is nobody's business; only that is kept as evidence.
        """
        result = self.node.run(argv, timeout_s=timeout_s)
        if strip and result.stdout:
            result = result._replace(stdout=strip(result.stdout))
            if hasattr(self.node, "keep_instead"):
                self.node.keep_instead(result)
        text = {"stdout": result.stdout, "stderr": result.stderr, "both": result.stdout + result.stderr}[streams]
        what = " ".join(argv)
        self._source("command", what, text, result.reason, rc=result.rc, duration_s=round(result.duration_s, 3))
        if result.reason == "missing" and optional:
            return None
        if result.reason:
            return self.error(what, result.reason, f"{what}: {result.reason}{_tail(result.stderr)}")
        if ok is not None and result.rc not in ok:
            return self.error(what, "failed", f"{what}: exit status {result.rc}{_tail(result.stderr or result.stdout)}")
        return self._parsed(what, text, parse)

    def file(self, path, parse=None, timeout_s=10.0, optional=False):
        """Read a file and parse it. `optional`: that there is no such file is no error."""
        result = self.node.read(path, timeout_s=timeout_s)
        self._source("file", path, result.text or "", result.reason)
        if result.reason == "missing" and optional:
            return None
        if result.text is None:
            return self.error(path, result.reason, f"{path}: {result.reason}")
        return self._parsed(path, result.text, parse)

    def tree(self, root, patterns, timeout_s=30.0, optional=False):
        """Read many small files below a root; a TreeResult, or None. `optional`: that there is no such root is no error."""
        result = self.node.read_tree(root, patterns, timeout_s=timeout_s)
        text = "".join(f"{name}\0{result.files[name]}\0" for name in sorted(result.files))
        self._source("tree", root, text, result.reason, files=len(result.files))
        if result.reason == "missing" and optional:
            return None
        if result.reason:
            return self.error(root, result.reason, f"{root}: {result.reason}")
        return result

    def names(self, path, optional=False):
        """The names in a directory, or None. `optional`: that there is no such directory is no error."""
        result = self.node.listdir(path)
        self._source("directory", path, "\n".join(result.names), result.reason)
        if result.reason == "missing" and optional:
            return None
        return self.error(path, result.reason, f"{path}: {result.reason}") if result.reason else result.names

    def error(self, source, reason, message):
        """Note why something is not known; returns None, the value of what is not known."""
        self.errors.append({"source": source, "reason": reason, "message": message})
        return None

    def missing(self, what) -> bool:
        """Was this source asked for and not there? Tells "not installed" from "could not be read"."""
        return any(source["what"] == what and source["reason"] == "missing" for source in self.sources)

    def _source(self, kind, what, text, reason, **rest):
        source = {"kind": kind, "what": what, "reason": reason, "bytes": len(text), **rest}
        if text:
            source["sha256"] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self.sources.append(source)

    def _parsed(self, what, text, parse):
        if parse is None:
            return text
        try:
            return parse(text)
        except ParseError as error:
            return self.error(what, "unparsable", f"{what}: {error}")


def _tail(text, limit=200):
    """The last line a tool said, for a reason in one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f": {lines[-1][:limit]}" if lines else ""


def collect(concern, collector, node, owner="node") -> dict:
    """Run one collector and wrap what it found. A collector returns its data, or None when nothing at all was measured.

    `owner` is "cluster" where one host answers for its whole cluster.
    """
    gather, start, collected_at = Gather(node), node.now(), utc(node.now())
    try:
        data = collector(gather)
    except Exception as error:  # a bug in one collector must not lose the other concerns; it is reported, and nothing passes on it
        data = gather.error(concern, "collector_failed", f"{concern}: {type(error).__name__}: {error}")
    status = "error" if data is None else "partial" if gather.errors else "ok"
    reason = "; ".join(error["message"] for error in gather.errors[:3]) if data is None else ""
    return envelope(
        concern,
        mode=node.mode,
        owner=owner,
        status=status,
        reason=reason,
        data=data,
        collected_at=collected_at,
        duration_s=round(node.now() - start, 3),
        sources=gather.sources,
        errors=gather.errors,
    )
