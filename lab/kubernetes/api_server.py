#!/usr/bin/env python3
"""Stands in for a Kubernetes API server, for the real kubectl: discovery, lists in pages, rights, denials, a server that is slow.

What it answers keeps to the published wire format (https://kubernetes.io/docs/reference/using-api/api-concepts/): lists with `continue` and
`remainingItemCount`, 410 for a token that has expired, Status objects for what is refused, SelfSubjectAccessReview,
SelfSubjectRulesReview, SelfSubjectReview. Every request is logged with its user. It keeps nothing, and changes nothing.

  with Server(World(nodes=1200)) as server: server.kubeconfig("tenant", path); ...; server.calls("tenant")
"""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from kube_wire import attributes_of, certify
from kube_world import World

__all__ = ["Server", "World"]
AGGREGATED = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
MANY = {"get", "list", "watch"}
RESOURCES = {
    "v1": [("namespaces", "Namespace", False), ("nodes", "Node", False), ("pods", "Pod", True), ("secrets", "Secret", True)],
    "apps/v1": [("daemonsets", "DaemonSet", True)],
    "authorization.k8s.io/v1": [("selfsubjectaccessreviews", "SelfSubjectAccessReview", False)]
    + [("selfsubjectrulesreviews", "SelfSubjectRulesReview", False)],
    "authentication.k8s.io/v1": [("selfsubjectreviews", "SelfSubjectReview", False)],
    "nvidia.com/v1": [("clusterpolicies", "ClusterPolicy", False)],
    "mellanox.com/v1alpha1": [("nicclusterpolicies", "NicClusterPolicy", False)],
    "resource.k8s.io/v1": [("deviceclasses", "DeviceClass", False), ("resourceslices", "ResourceSlice", False)],
}


class Refused(Exception):
    """A Status that is no success."""

    def __init__(self, code, reason, message):
        self.status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "reason": reason}
        self.status["code"] = code


def allowed(rules, verb, group, resource):
    def has(words, one):
        return words == "*" or one in words.split() or (one == "" and words == "")

    return any(has(verbs, verb) and has(groups, group) and has(resources, resource) for verbs, groups, resources in rules)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self._answer(self._get)

    def do_POST(self):
        self._answer(self._post)

    def _answer(self, handle):
        world, parts = self.server.world, urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.log.append({"method": self.command, "path": parts.path, "query": query, "user": token})
        time.sleep(world.slow_s)
        try:
            if token not in world.users:
                raise Refused(401, "Unauthorized", "Unauthorized")
            code, document = handle(world, token, parts.path, query, body)
        except Refused as refused:
            code, document = refused.status["code"], refused.status
        text = json.dumps(document).encode()
        if parts.path in world.garbled:
            text = b"\xff\xfe\x00 \xc3\x28" + text[:40]
        self.send_response(code)
        aggregated = document.get("kind") == "APIGroupDiscoveryList"
        self.send_header("Content-Type", f"application/json;{AGGREGATED}" if aggregated else "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[: len(text) // 2] if parts.path in world.cut else text)
        self.close_connection = self.close_connection or parts.path in world.cut

    def _get(self, world, user, path, query, _):
        words = path.strip("/").split("/")
        if path == "/version":
            major, minor = world.version.lstrip("v").split(".")[:2]
            return 200, {"major": major, "minor": minor, "gitVersion": world.version, "platform": "linux/amd64"}
        if path in ("/api", "/apis") and AGGREGATED in (self.headers.get("Accept") or ""):
            return 200, _discovery(path == "/apis")
        if path == "/api":
            return 200, {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        if path == "/apis":
            return 200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in RESOURCES if "/" in name]}
        version = "/".join(words[1:3]) if words[0] == "apis" else "v1" if words[:2] == ["api", "v1"] else ""
        if version not in RESOURCES:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        rest = words[3:] if words[0] == "apis" else words[2:]
        if not rest:
            return 200, {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": _resources(version)}
        return self._resource(world, user, version, rest, query)

    def _resource(self, world, user, version, rest, query):
        group, resource, name = version.rpartition("/")[0], rest[0], rest[1] if len(rest) > 1 else ""
        kind = next((one[1] for one in RESOURCES[version] if one[0] == resource), None)
        verb = "get" if name else "list"
        if kind is None:
            raise Refused(404, "NotFound", "the server could not find the requested resource")
        if resource in world.denied or not allowed(world.users[user][1], verb, group, resource):
            what = f"{resource}.{group}" if group else resource
            said = f'User "{user}" cannot {verb} resource "{resource}" in API group "{group}" at the cluster scope'
            raise Refused(403, "Forbidden", f"{what} is forbidden: {said}")
        items = world.items(resource)
        if not name:
            return 200, self._page(items, kind, version, query)
        found = [item for item in items if item["metadata"]["name"] == name]
        if not found:
            raise Refused(404, "NotFound", f'{resource} "{name}" not found')
        return 200, {"kind": kind, "apiVersion": version, **found[0]}

    def _page(self, items, kind, version, query):
        start = 0
        if query.get("continue"):
            if self.server.world.pages_expire:
                raise Refused(410, "Expired", "The provided continue parameter is too old to display a consistent list result.")
            try:
                start = json.loads(base64.urlsafe_b64decode(query["continue"]))["start"]
            except (ValueError, KeyError, TypeError) as error:
                raise Refused(400, "BadRequest", f"continue key is not valid: {error}") from error
        size = int(query.get("limit") or 0) or len(items)
        meta, rest = {"resourceVersion": "81201"}, len(items) - start - size
        if rest > 0:
            token = base64.urlsafe_b64encode(json.dumps({"v": "meta.k8s.io/v1", "rv": 81201, "start": start + size}).encode()).decode()
            meta |= {"continue": token, "remainingItemCount": rest}
        return {"kind": kind + "List", "apiVersion": version, "metadata": meta, "items": items[start : start + size]}

    def _post(self, world, user, path, _, body):
        kind = {"authentication.k8s.io/v1": "SelfSubjectReview"}.get(path[6:].rpartition("/")[0])
        groups, rules = world.users[user]
        try:
            asked = attributes_of(body)
        except ValueError as error:
            raise Refused(400, "BadRequest", f"the body is no object: {error}") from error
        made = {"apiVersion": path[6:].rpartition("/")[0], "metadata": {}, "spec": {}}
        if kind:
            return 201, {**made, "kind": kind, "status": {"userInfo": {"username": user, "groups": groups}}}
        if path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
            may = allowed(rules, asked.get("verb", ""), asked.get("group", ""), asked.get("resource", ""))
            return 201, {**made, "kind": "SelfSubjectAccessReview", "status": {"allowed": may}}
        if path == "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews":
            told = [{"verbs": v.split(), "apiGroups": g.split() or [""], "resources": r.split()} for v, g, r in rules]
            urls = [{"verbs": ["get"], "nonResourceURLs": ["/version", "/api", "/apis/*"]}]
            status = {"resourceRules": told, "nonResourceRules": urls, "incomplete": False}
            return 201, {**made, "kind": "SelfSubjectRulesReview", "status": status}
        raise Refused(404, "NotFound", "the server could not find the requested resource")

    def log_message(self, *_):
        pass


def _group(name):
    group, version = name.rsplit("/", 1)
    one = {"groupVersion": name, "version": version}
    return {"name": group, "versions": [one], "preferredVersion": one}


def _discovery(of_groups):
    """All groups, or the core, in one answer: what servers have had since 1.26, for those that ask for it."""
    items = {}
    for name, resources in RESOURCES.items():
        group, _, version = name.rpartition("/")
        told = [
            {
                "resource": resource,
                "responseKind": {"group": group, "version": version, "kind": kind},
                "scope": "Namespaced" if inside else "Cluster",
                "singularResource": kind.lower(),
                "verbs": sorted(MANY | {"create"}),
            }
            for resource, kind, inside in resources
        ]
        if bool(group) == of_groups:
            items.setdefault(group, []).append({"version": version, "resources": told, "freshness": "Current"})
    named = [{"metadata": {"name": group} if group else {}, "versions": versions} for group, versions in items.items()]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": named}


def _resources(version):
    return [
        {"name": name, "singularName": kind.lower(), "namespaced": inside, "kind": kind, "verbs": sorted(MANY | {"create"})}
        for name, kind, inside in RESOURCES[version]
    ]


class Server:
    """The server on a free port of this machine; `world` may be changed while it runs."""

    def __init__(self, world):
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.world, self.http.log = world, []
        self.authority = certify(self.http)
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()

    def calls(self):
        """Requests since the last time that this was asked: [{method, path, query, user}]"""
        taken, self.http.log = self.http.log, []
        return taken

    def kubeconfig(self, user, path: Path):
        """A user's access, as kubectl reads it."""
        address = f"https://127.0.0.1:{self.http.server_port}"
        parts = {
            "clusters": [{"name": "lab", "cluster": {"server": address, "certificate-authority-data": self.authority}}],
            "users": [{"name": user, "user": {"token": user}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": user}}],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "lab", **parts}))
        path.chmod(0o600)
        return path
