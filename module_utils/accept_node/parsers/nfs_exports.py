"""/etc/exports (man 5 exports), as counts: {"exports": 3, "open_to_all": 1, "root_unsquashed": 0}.

`open_to_all`: exports that any host may mount (`*`, no host at all, `0.0.0.0/0`, `::/0`) without Kerberos or TLS. `root_unsquashed`:
those that some host may write as root. Neither paths nor names of hosts are kept. A file of comments only has no exports, and one that is
not there has none.
"""

from __future__ import annotations

import re

from . import ParseError

EVERYBODY = ("", "*", "0.0.0.0/0", "::/0", "0.0.0.0/0.0.0.0")


def parse(text: str) -> dict:
    found = {"exports": 0, "open_to_all": 0, "root_unsquashed": 0}
    for clients in _lines(text):
        found["exports"] += 1
        found["open_to_all"] += any(client in EVERYBODY and not _proven(options) for client, options in clients)
        found["root_unsquashed"] += any("no_root_squash" in options and "ro" not in options for _, options in clients)
    return found


def strip(text: str) -> str:
    """The same exports without their paths and without names of hosts: what is counted stays."""
    lines = []
    for clients in _lines(text):
        said = ["%s(%s)" % (client if client in EVERYBODY else "host", ",".join(filter(None, options))) for client, options in clients]
        lines.append(" ".join(["/export", *said]) + "\n")
    return "".join(lines)


def _lines(text):
    """The clients of each export: (host, options)."""
    if "No such file or directory" in text:
        return
    for line in re.sub(r"\\\n", " ", text).splitlines():
        bare = line.split("#")[0].strip()
        if not bare:
            continue
        match = re.match(r"(?:\"(/[^\"]*)\"|(/\S*))(.*)", bare)
        if not match:
            raise ParseError("not an export: it does not begin with a path")
        common, clients = "", []
        for word in match.group(3).split() or [""]:
            if word.startswith("-"):
                common = word[1:]
                continue
            client, _, options = word.partition("(")
            clients.append((client, [*common.split(","), *options.rstrip(")").split(",")]))
        yield clients


def _proven(options) -> bool:
    """Must a client prove who it is: every flavour allowed is Kerberos, or transport is TLS with certificates on both sides."""
    flavours = [flavour for option in options if option.startswith("sec=") for flavour in option[4:].split(":")]
    kerberos = bool(flavours) and all(flavour.startswith("krb5") for flavour in flavours)
    return kerberos or "xprtsec=mtls" in options
