"""Ask a monitoring system's HTTP API: GET only, by addresses and tokens that stand in no command line, log or capture.

A question is a command of its own, `accept-fetch SERVICE PATH [QUERY]`, that runs in here and is recorded and replayed as any other. What
the answer says of the token is taken out before anybody sees it; redirects are not followed, so that a token goes where it was meant for.
"""

from __future__ import annotations

import base64
import json
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request

from .node import CommandResult, LiveNode
from .secrets import REMOVED

PROGRAM = "accept-fetch"
SERVICES = ("prometheus", "alertmanager", "grafana")
MOST_BYTES = 32 << 20
MOST_WORDS = 200  # of what a server says of an error


def question(service, path, query="") -> tuple:
    """The argv of a question."""
    return (PROGRAM, service, path, *([query] if query else ()))


def services_of(capture) -> list:
    """The services that a capture holds answers of."""
    asked = {record["argv"][1] for record in capture.get("commands", ()) if record["argv"][:1] == [PROGRAM] and len(record["argv"]) > 2}
    return [name for name in SERVICES if name in asked]


def fault(url) -> str:
    """Why an address cannot be asked; empty where it can. The address itself is not told: it may hold a password."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "not an address"
    if parts.scheme not in ("http", "https") or not host:
        return "not an http or https address"
    if parts.username or parts.password:
        return "an address with a password in it; give the password as the token, user:password"
    return "an address with a query in it" if parts.query or parts.fragment else ""


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **kwargs):
        return None


class FetchingNode(LiveNode):
    """This machine, with one command more. `services`: name -> (address, token)."""

    def __init__(self, services, validate_certs=True):
        self.services = services
        context = ssl.create_default_context()
        if not validate_certs:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        # No proxy of the environment: it would see the token.
        handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context), _Stay())
        self.opener = urllib.request.build_opener(*handlers)

    def run(self, argv, timeout_s=30.0):
        if argv[0] != PROGRAM:
            return super().run(argv, timeout_s)
        start = time.monotonic()
        rc, text, said, reason = self._ask(argv[1], argv[2], argv[3] if len(argv) > 3 else "", start + timeout_s)
        token = self.services.get(argv[1], ("", ""))[1]
        for secret in {token, *token.split(":", 1)} - {""} if token else ():
            text, said = text.replace(secret, REMOVED), said.replace(secret, REMOVED)
        return CommandResult(tuple(argv), rc, text, said, time.monotonic() - start, reason)

    def _ask(self, service, path, query, deadline):
        """(rc, answer, what was said instead, reason)"""
        address, token = self.services[service]
        url = address.rstrip("/") + path + ("?" + urllib.parse.quote(query, safe="=&") if query else "")
        request = urllib.request.Request(url, headers={"Accept": "application/json", **_authorization(token)})
        try:
            with self.opener.open(request, timeout=max(deadline - time.monotonic(), 0.1)) as answer:
                text = _all(answer, deadline)
        except urllib.error.HTTPError as error:
            return (None, "", f"HTTP {error.code}", "permission") if error.code in (401, 403) else (22, "", _said(error), "")
        except (socket.timeout, TimeoutError):
            return None, "", "", "timeout"
        except urllib.error.URLError as error:
            late = isinstance(error.reason, socket.timeout)
            return (None, "", "", "timeout") if late else (7, "", f"no connection: {error.reason}", "")
        except (OSError, ValueError, urllib.error.ContentTooShortError) as error:
            return 7, "", f"no answer: {error}", ""
        except Exception as error:  # http.client raises kinds of its own for what is no HTTP
            return 7, "", f"not HTTP: {type(error).__name__}", ""
        return 0, text, "", ""


def _authorization(token) -> dict:
    if not token:
        return {}
    if ":" in token:
        return {"Authorization": "Basic " + base64.b64encode(token.encode("utf-8")).decode("ascii")}
    return {"Authorization": "Bearer " + token}


def _all(answer, deadline) -> str:
    """In pieces, so that an answer that drips ends with its time."""
    pieces, size = [], 0
    while True:
        piece = answer.read1(1 << 16)
        if not piece:
            return b"".join(pieces).decode("utf-8", "replace")
        size += len(piece)
        if size > MOST_BYTES:
            raise ValueError(f"longer than {MOST_BYTES} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
        pieces.append(piece)


def _said(error) -> str:
    """What an API says of an error; a page for people is passed over."""
    if 300 <= error.code < 400:
        return f"HTTP {error.code}: it redirects, perhaps to a login; name the address that answers"
    try:
        body = json.loads(error.read(1 << 16).decode("utf-8", "replace"))
        said = str(body.get("error") or body.get("message") or "")
    except (ValueError, AttributeError, OSError):
        said = ""
    return f"HTTP {error.code}" + (f": {' '.join(said.split())[:MOST_WORDS]}" if said else "")
