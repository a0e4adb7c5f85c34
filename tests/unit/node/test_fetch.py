"""Questions to a monitoring system over real HTTP: what comes back, what is refused, and that no token is seen anywhere."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from accept_node import fetch, monitored
from accept_node.collectors import monitoring_audit
from accept_node.envelope import Gather, collect
from accept_node.node import RecordingNode, ReplayNode

TOKEN = "glsa_0123456789abcdefghij"


@contextmanager
def server(answer):
    """A server on loopback; `answer(handler)` sends what it likes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            answer(self)

        def log_message(self, *args):
            pass

    listener = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield "http://127.0.0.1:%d" % listener.server_port
    finally:
        listener.shutdown()
        listener.server_close()


def send(handler, code, body, **headers):
    handler.send_response(code)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body.encode())


def ask(url, path="/api/health", query="", token=TOKEN, **more):
    return fetch.FetchingNode({"grafana": (url, token)}).run(fetch.question("grafana", path, query), **more)


def test_a_question_bears_its_token_and_neither_it_nor_the_address_comes_back():
    seen = []

    def answer(handler):
        seen.append((handler.path, handler.headers["Authorization"]))
        send(handler, 200, json.dumps({"version": "12", "you": handler.headers["Authorization"]}))

    with server(answer) as url:
        result = ask(url, "/api/search", "type=dash-db&query=count by (job) (up == 0)")
    assert seen == [("/api/search?type=dash-db&query=count%20by%20%28job%29%20%28up%20==%200%29", "Bearer " + TOKEN)]
    assert (result.rc, result.reason) == (0, "")
    assert TOKEN not in str(result)
    assert url not in str(result)


def test_a_password_is_sent_as_one():
    seen = []
    with server(lambda handler: (seen.append(handler.headers["Authorization"]), send(handler, 200, "{}"))) as url:
        result = ask(url, token="viewer:open sesame")
    assert seen == ["Basic dmlld2VyOm9wZW4gc2VzYW1l"]
    assert "sesame" not in str(result)


@pytest.mark.parametrize("code", [401, 403])
def test_refused_is_permission(code):
    with server(lambda handler: send(handler, code, "no")) as url:
        result = ask(url)
    assert (result.rc, result.stdout, result.reason) == (None, "", "permission")


def test_a_redirect_is_not_followed():
    asked = []

    def answer(handler):
        asked.append(handler.path)
        send(handler, 302, "", Location="/login")

    with server(answer) as url:
        result = ask(url)
    assert asked == ["/api/health"]
    assert (result.rc, "redirects" in result.stderr) == (22, True)


def test_what_an_api_says_of_an_error_is_told_without_the_token():
    with server(lambda handler: send(handler, 422, json.dumps({"status": "error", "error": "bad " + TOKEN}))) as url:
        result = ask(url)
    assert (result.rc, result.stderr) == (22, "HTTP 422: bad [removed]")


def test_nobody_there_and_no_answer_in_time():
    with server(lambda handler: None) as url:
        pass
    assert ask(url).rc == 7
    release = threading.Event()
    with server(lambda handler: release.wait(5)) as url:
        result = ask(url, timeout_s=0.3)
        release.set()
    assert result.reason == "timeout"


@pytest.mark.parametrize(
    "url", ["", "file:///etc/passwd", "ftp://a/", "https://user:word@a/", "http://", "http://a:port/", "http://a/?x=1"]
)
def test_an_address_that_is_not_asked(url):
    assert fetch.fault(url)
    assert "word" not in fetch.fault(url).replace("password", "")


@pytest.mark.parametrize("url", ["http://prometheus:9090", "https://a.example/prometheus/"])
def test_an_address_that_is(url):
    assert fetch.fault(url) == ""


def test_a_page_for_people_is_a_reason_and_no_value():
    with server(lambda handler: send(handler, 200, "<!doctype html>Sign in as blue-team")) as url:
        node = RecordingNode(fetch.FetchingNode({"prometheus": (url, ""), "grafana": (url, "")}))
        found = collect("monitoring_audit", lambda gather: monitoring_audit.collect(gather, ("prometheus", "grafana")), node, "cluster")
    assert (found["status"], found["data"]) == ("error", None)
    assert "not JSON" in found["reason"]
    assert "blue-team" not in json.dumps(node.capture)


PANEL = {"title": "GPUs well", "type": "stat", "targets": [{"expr": 'sum(gpu_health_ok{team="blue-team"}) or vector(0)', "instant": True}]}
NUMBERS = {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {"pod": "blue-team-7"}, "value": [0, "1"]}]}}
AGES = {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {"minutes": "540"}, "value": [0, "4"]}]}}
RULE = {
    "name": "Xid",
    "query": 'DCGM_FI_DEV_XID_ERRORS{namespace="blue-team"} > 0',
    "alerts": [{"state": "firing", "labels": {"pod": "blue-team-7"}}],
}
RULES = {"groups": [{"rules": [RULE, {"name": "blue-team is slow", "query": "blue_latency > 3"}]}]}
ANSWERS = {
    "/api/v1/rules": {"status": "success", "data": RULES},
    "/api/v1/alertmanagers": {"status": "success", "data": {"activeAlertmanagers": [{"url": "http://blue-team"}]}},
    "/api/v1/status/buildinfo": {"status": "success", "data": {"version": "3.5.0"}},
    "/api/search": [{"uid": "gpu", "title": "GPU fleet"}, {"uid": "b", "title": "blue-team"}],
    "/api/dashboards/uid/gpu": {
        "dashboard": {"title": "GPU fleet", "panels": [PANEL, {"title": "blue-team", "targets": [{"expr": "blue_latency"}]}]}
    },
    "/api/health": {"version": "12.1.0"},
    "/api/v1/provisioning/contact-points": [{"type": "slack", "settings": {"recipient": "#blue-team"}}],
}


def monitoring(handler):
    path = handler.path.split("?")[0]
    if path == "/api/v1/query":
        return send(handler, 200, json.dumps(AGES if "minutes" in handler.path else NUMBERS))
    return send(handler, 200 if path in ANSWERS else 403, json.dumps(ANSWERS.get(path, {"message": "Forbidden"})))


def test_live_and_replayed_are_the_same_and_nothing_of_a_tenant_is_kept():
    def ours(gather):
        return monitoring_audit.collect(gather, ("prometheus", "grafana"))

    with server(monitoring) as url:
        node = RecordingNode(fetch.FetchingNode({"prometheus": (url, TOKEN), "grafana": (url, TOKEN)}))
        live = collect("monitoring_audit", ours, node, "cluster")
    replayed = collect("monitoring_audit", ours, ReplayNode(json.loads(json.dumps(node.capture))), "cluster")
    assert live["status"] == "partial"  # its own alert rules may not be read
    assert replayed["data"] == live["data"]
    (tile,) = live["data"]["tiles"]
    assert (tile["query"], tile["masks"], tile["result"]) == ('sum(gpu_health_ok{removed!="1"}) or vector(0)', ["or vector(...)"], 1)
    assert [rule["name"] for rule in live["data"]["rules"]] == ["Xid"]
    assert live["data"]["series"][1]["ages"] == [[540, 4]]
    for text in (json.dumps(node.capture), json.dumps(live)):
        assert TOKEN not in text
        assert "127.0.0.1" not in text
        assert "blue" not in text


@pytest.mark.parametrize("name", [name for name in dir(monitored) if name.startswith("keep_")])
@pytest.mark.parametrize(
    "text", ["", "<html>", "[]", "{}", "null", "7", '{"data": null}', '{"data": {"result": 3}}', "[[1]]", '{"dashboard": {"panels": [3]}}']
)
def test_whatever_comes_is_cut_down_and_twice_is_once(name, text):
    kept = getattr(monitored, name)(text)
    assert len(kept) <= len(text) + 80
    assert getattr(monitored, name)(kept) == kept


def test_a_question_that_hangs_costs_its_time_and_no_more():
    gather = Gather(ReplayNode({"commands": []}))
    assert monitoring_audit.collect(gather) is None
    assert {error["reason"] for error in gather.errors} == {"not_recorded"}
