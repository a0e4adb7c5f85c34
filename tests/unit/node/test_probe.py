"""The probe on sockets of this machine: open, refused, silent; exports by a server that speaks the protocol, and by those that do not."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
from contextlib import contextmanager, suppress

import pytest
from accept_node import capture as captures
from accept_node import probe
from accept_node.collectors import tenancy_probe
from accept_node.envelope import collect
from accept_node.node import RecordingNode, ReplayNode


@contextmanager
def server(answer):
    """A TCP server on loopback; `answer(connection)` serves each connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError, struct.error):
                answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def reply(connection, results, status=0):
    """One accepted reply of ONC RPC to the call that stands in the connection, in two fragments."""
    call = connection.recv(4096)
    body = call[4:8] + struct.pack(">5I", 1, 0, 0, 0, status) + results
    for last, part in ((0, body[:10]), (0x80000000, body[10:])):
        connection.sendall(struct.pack(">I", last | len(part)) + part)


def text(word):
    raw = word.encode()
    return struct.pack(">I", len(raw)) + raw + b"\0" * (-len(raw) % 4)


def exports(*lists):
    packed = b"".join(
        struct.pack(">I", 1) + text("/secret/name") + b"".join(struct.pack(">I", 1) + text(host) for host in hosts) + struct.pack(">I", 0)
        for hosts in lists
    )
    return packed + struct.pack(">I", 0)


def test_ports_are_counted():
    seen = []
    with server(lambda connection: seen.append(connection.recv(10))) as port:
        found = probe.knock(["127.0.0.1"], [port, closed_port()])["ports"]
    assert [row["open"] for row in found] == [1, 0]
    assert [row["refused"] for row in found] == [0, 1]
    assert all(row["asked"] == 1 for row in found)
    assert not any(seen), "a probe sends nothing"


def test_a_host_that_does_not_resolve_is_silent():
    assert probe.knock(["no-such-host.invalid"], [9400])["ports"][0]["silent"] == 1


def test_exports_are_counted_and_not_kept(monkeypatch):
    lists = [["10.0.0.0/8"], [], ["*"], ["node01", "node02"]]
    with server(lambda c: reply(c, exports(*lists))) as mount, server(lambda c: reply(c, struct.pack(">I", mount))) as portmap:
        real = socket.create_connection
        monkeypatch.setattr(
            probe.socket, "create_connection", lambda to, *a, **k: real((to[0], portmap if to[1] == 111 else to[1]), *a, **k)
        )
        found = probe.exported(["127.0.0.1", "no-such-host.invalid"])
    assert found == {"servers": 2, "answered": 1, "exports": 4, "open_to_all": 2}


@pytest.mark.parametrize(
    "answer",
    [
        lambda c: c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        lambda c: reply(c, b"", status=1),
        lambda c: reply(c, b"\0\0\0\1\0\0\0\xff"),
        lambda c: None,
    ],
)
def test_what_is_no_mount_server_does_not_answer(answer, monkeypatch):
    with server(answer) as port:
        real = socket.create_connection
        monkeypatch.setattr(probe.socket, "create_connection", lambda to, *a, **k: real((to[0], port), *a, **k))
        found = probe.exported(["127.0.0.1"])
    assert found["answered"] == 0
    assert found["open_to_all"] == 0


def test_it_is_bounded():
    node = probe.ProbingNode(["h"] * 1000, range(1000), ["s"] * 1000)
    assert (len(node.targets), len(node.ports), len(node.servers)) == (256, 32, 256)


def test_the_collector_keeps_counts_only():
    port = closed_port()
    envelope = collect("tenancy_probe", tenancy_probe.collect, probe.ProbingNode(["127.0.0.1"], [port], []), "cluster")
    assert envelope["data"]["ports"] == [{"port": port, "asked": 1, "open": 0, "refused": 1, "silent": 0}]
    assert envelope["data"]["exports"] == {"servers": 0, "answered": 0, "exports": 0, "open_to_all": 0}
    assert "127.0.0.1" not in str(envelope)


def test_what_a_run_kept_of_a_probe_replays_beside_the_nodes_own_capture(tmp_path):
    node = RecordingNode(probe.ProbingNode(["127.0.0.1"], [closed_port()], []))
    live = collect("tenancy_probe", tenancy_probe.collect, node, "cluster")
    (tmp_path / "capture.json").write_text(json.dumps({"schema": 1, "recorded_at_s": 1.0, "commands": []}))
    (tmp_path / "capture.probe.json.gz").write_bytes(gzip.compress(json.dumps(node.capture).encode()))
    replayed = collect("tenancy_probe", tenancy_probe.collect, ReplayNode(captures.load(str(tmp_path))), "cluster")
    assert (replayed["mode"], replayed["status"], replayed["data"]) == ("replay", "ok", live["data"])
