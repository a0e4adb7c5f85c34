"""The real kubectl against a stand-in of the API server that keeps to the wire format: paging, a denial, a server that is gone."""

from __future__ import annotations

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from accept_node.collectors import scheduler_audit
from accept_node.envelope import Gather, collect
from accept_node.node import LiveNode, RecordingNode
from accept_node.schedulers import kubernetes

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")
NODES = 1200


def node(number):
    gpus = {"cpu": "144", "memory": "960Gi", "nvidia.com/gpu": "4"}
    return {
        "metadata": {"name": f"t{number:04d}", "labels": {"kubernetes.io/hostname": f"t{number:04d}", "team": "blue"}},
        "spec": {"unschedulable": True} if number == 7 else {},
        "status": {"capacity": gpus, "allocatable": gpus, "conditions": [{"type": "Ready", "status": "True"}]},
    }


CALLS = []


class Server(BaseHTTPRequestHandler):
    def do_GET(self):
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        CALLS.append(self.path)
        if parts.path == "/version":
            return self.answer({"major": "1", "minor": "36", "gitVersion": "v1.36.2"})
        if parts.path == "/apis":
            return self.answer({"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "apps", "versions": [{"version": "v1"}]}]})
        if parts.path == "/api/v1/nodes":
            start, size = int(query.get("continue", "=0")[1:]), int(query["limit"])
            items, rest = [node(number) for number in range(start, min(start + size, NODES))], max(NODES - start - size, 0)
            meta = {"continue": f"={start + size}", "remainingItemCount": rest} if rest else {}
            return self.answer({"kind": "NodeList", "apiVersion": "v1", "metadata": meta, "items": items})
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}
        return self.answer({**status, "message": 'daemonsets.apps is forbidden: User "audit" cannot list resource "daemonsets"'}, 403)

    def answer(self, document, code=200):
        body = json.dumps(document).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    CALLS.clear()
    running = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    configure(tmp_path, monkeypatch, running.server_port)
    yield running
    running.shutdown()


def configure(home, monkeypatch, port):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (home / ".kube").mkdir()
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [cluster],
        "contexts": [context],
        "users": [{"name": "u", "user": {}}],
    }
    (home / ".kube/config").write_text(json.dumps(config))


def test_a_list_of_three_pages_and_a_denial(server):
    recording = RecordingNode(LiveNode())
    envelope = collect("scheduler_audit", scheduler_audit.collect, recording, "cluster")
    data = envelope["data"]
    assert (data["scheduler"], len(data["nodes"]), data["kubernetes"]["complete"]) == ("kubernetes", NODES, True)
    assert [one["name"] for one in data["nodes"] if not one["schedulable"]] == ["t0007"]
    assert data["kubernetes"]["daemonsets"] is None
    denied = [question for question in data["questions"] if question["answered"] is False]
    assert len(denied) == 1
    assert "daemonsets.apps is forbidden" in denied[0]["answered_reason"]
    assert len([call for call in CALLS if call.startswith("/api/v1/nodes")]) == 3
    assert "blue" not in json.dumps(recording.capture), "labels of others are not even in the raw evidence"


def test_a_server_that_is_gone(tmp_path, monkeypatch):
    configure(tmp_path, monkeypatch, 1)
    found = kubernetes.detect(Gather(LiveNode()))
    assert found["present"] is None
    assert "refused" in found["reason"]


def test_no_configuration_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(kubernetes, "CONFIGS", (str(tmp_path / "none.conf"),))
    found = kubernetes.detect(Gather(LiveNode()))
    assert found["present"] is None
    assert "no access to a cluster is configured" in found["reason"]
