"""`sshd -T`, the settings that the server runs with: {"root_login": "no" | "prohibit-password" | "forced-commands-only" | "yes",
"passwords": bool, "keyboard_interactive": bool | None}. `without-password` is the older name of `prohibit-password`."""

from __future__ import annotations

import re

from . import ParseError

KEPT = ("permitrootlogin", "passwordauthentication", "kbdinteractiveauthentication", "challengeresponseauthentication")
WORDS = {"yes": True, "no": False}


def parse(text: str) -> dict:
    fields = dict(re.findall(r"^([a-z]+) (\S.*?)\s*$", text, re.M))
    root, passwords = fields.get("permitrootlogin"), WORDS.get(fields.get("passwordauthentication", ""))
    if root not in ("no", "yes", "prohibit-password", "without-password", "forced-commands-only") or passwords is None:
        raise ParseError("no settings of an ssh server: %r" % text.strip()[:80])
    asked = fields.get("kbdinteractiveauthentication", fields.get("challengeresponseauthentication", ""))
    return {
        "root_login": "prohibit-password" if root == "without-password" else root,
        "passwords": passwords,
        "keyboard_interactive": WORDS.get(asked),
    }


def strip(text: str) -> str:
    """The settings that are read, and no others: some name accounts and hosts."""
    return "".join(line + "\n" for line in text.splitlines() if line.startswith(KEPT))
