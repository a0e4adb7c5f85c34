"""Our own rights in Kubernetes: `kubectl auth can-i --list` and `kubectl auth whoami -o json`.

parse(text): {"rules": [{"resources": "pods/exec" | "*.*" | "", "urls": ["*"], "names": [], "verbs": ["create"]}], "incomplete": bool};
`incomplete`: the server says that an authorizer could not tell all. parse_whoami(text): {"groups": [...]}; the user's name is not kept.
"""

from __future__ import annotations

import json
import re

from ..loose_json import strict
from . import ParseError

ROW = re.compile(r"(\S*)\s+\[([^\]]*)\]\s+\[([^\]]*)\]\s+\[([^\]]*)\]")


def parse(text: str) -> dict:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    heads = [number for number, line in enumerate(lines) if line.split()[:1] == ["Resources"] and line.split()[-1] == "Verbs"]
    if not heads:
        raise ParseError("no table of rights: %r" % text.strip()[:60])
    rules = []
    for line in lines[heads[0] + 1 :]:
        match = ROW.fullmatch(line)
        if not match:
            raise ParseError("not a right: %r" % line.strip()[:80])
        resource, urls, names, verbs = match.groups()
        rules.append({"resources": resource, "urls": urls.split(), "names": names.split(), "verbs": verbs.split()})
    before = " ".join(lines[: heads[0]]).lower()
    return {"rules": rules, "incomplete": "incomplete" in before}


def parse_whoami(text: str) -> dict:
    document = strict(text)
    status = document.get("status")
    user = status.get("userInfo") if isinstance(status, dict) else None
    groups = user.get("groups") if isinstance(user, dict) else None
    if not isinstance(groups, list):
        raise ParseError("it does not say who we are: %r" % text.strip()[:60])
    return {"groups": [str(group) for group in groups]}


def parse_phases(text: str) -> dict:
    """Namespaces as one phase a line, no name: {"count": N}. That we may not list them is nothing seen: {"count": 0}."""
    if re.search(r"\(Forbidden\)|No resources found", text):
        return {"count": 0}
    words = text.split()
    if not words or not all(word in ("Active", "Terminating", "<none>") for word in words):
        raise ParseError("not phases of namespaces: %r" % text.strip()[:80])
    return {"count": len(words)}


def parse_enforced(text: str) -> dict:
    """The labels of a namespace as JSON: {"enforce": "restricted" | "baseline" | "privileged" | "none"}, its pod security level."""
    try:
        labels = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise ParseError("not JSON: %s" % str(error).split("\n")[0][:80]) from error
    if not isinstance(labels, dict) or not text.strip():
        raise ParseError("no labels of a namespace: %r" % text.strip()[:60])
    return {"enforce": str(labels.get("pod-security.kubernetes.io/enforce", "none"))}
