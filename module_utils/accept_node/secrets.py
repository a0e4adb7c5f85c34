"""Take passwords, tokens, keys and credentials out of what a node was seen to say; nothing that parsers read is changed."""

from __future__ import annotations

import re

REMOVED = "[removed]"

_WORD = r"(?:pass(?:word|wd|phrase)|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|luks\.key|credential|\bpsk\b)"
_NAME = _WORD + r"[\w.-]{0,64}"  # what stands before the word in a longer name is not looked at: long names would cost their square
# What stands after such a word and is no secret: a state, a small number.
_HARMLESS = r"(?!(?:\(null\)|(?:yes|no|true|false|none|null|n/a|enabled|disabled|supported|\d{1,3})\b))"
_SHAPES = (
    r"(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{20,}|nvapi-[\w-]{20,}|sk-[\w-]{20,}"
    r"|xox[abprs]-[\w-]{10,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+"
)
_RULES = (
    (r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", REMOVED),
    (r"(://)[^\s/@\"']{1,512}@", r"\1" + REMOVED + "@"),
    (r"(?i)(?<![\w/])((?:bearer|basic)[ \t]+)[A-Za-z0-9+/=._~-]{8,}", r"\1" + REMOVED),  # not Slurm's priority/basic and the next line
    (r"(?i)(" + _NAME + r">)[^<]+(</)", r"\1" + REMOVED + r"\2"),
    (r"(?i)(" + _NAME + r"[\"']\s*:\s*\")(?:\\.|[^\"\\])+", r"\1" + REMOVED),
    (r"(?i)(" + _NAME + r"[ \t]*[=:][ \t]*[\"']?)" + _HARMLESS + r"[^\s\"',;&<>\[\]]+", r"\1" + REMOVED),
    (r"(?i)((?<!\S)--?[\w-]{0,64}?" + _NAME + r"[ \t]+)" + _HARMLESS + r"(?!-)[^\s\[\]]+", r"\1" + REMOVED),
    (r"\b(?:" + _SHAPES + ")", REMOVED),
)
_COMPILED = tuple((re.compile(pattern), replacement) for pattern, replacement in _RULES)
# A text without any of these holds nothing to remove: most texts are passed over at once.
_HINTS = "password passwd passphrase secret token key credential psk :// bearer basic".split()
_CASED_HINTS = "AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- hf_ nvapi- sk- xox eyJ".split()


def remove_secrets(text: str) -> str:
    """The text without secrets, each replaced by `[removed]`. Doing it twice changes nothing more."""
    low = text.lower()
    if not any(hint in low for hint in _HINTS) and not any(hint in text for hint in _CASED_HINTS):
        return text
    for pattern, replacement in _COMPILED:
        text = pattern.sub(replacement, text)
    return text


def map_texts(capture: dict, change) -> dict:
    """The capture with every text changed: what commands printed, what files held. The questions (argv, paths) stay, so that it replays."""

    def record(entry, *keys):
        return {**entry, **{key: change(entry[key]) for key in keys if entry.get(key)}}

    made = dict(capture)
    made["commands"] = [record(entry, "stdout", "stderr") for entry in capture.get("commands", ())]
    made["files"] = [record(entry, "text") for entry in capture.get("files", ())]
    made["trees"] = [
        {**entry, "files": {name: change(text) for name, text in entry.get("files", {}).items()}} for entry in capture.get("trees", ())
    ]
    return made


class CleanNode:
    """A node whose answers hold no secrets: what is measured, recorded and attached through it is clean from the start."""

    def __init__(self, node):
        self.node, self.mode = node, node.mode
        self.identity, self.now, self.sleep, self.listdir = node.identity, node.now, node.sleep, node.listdir

    def run(self, argv, timeout_s=30.0):
        result = self.node.run(argv, timeout_s)
        return result._replace(stdout=remove_secrets(result.stdout), stderr=remove_secrets(result.stderr))

    def read(self, path, timeout_s=10.0):
        result = self.node.read(path, timeout_s)
        return result if result.text is None else result._replace(text=remove_secrets(result.text))

    def read_tree(self, root, patterns, timeout_s=30.0):
        result = self.node.read_tree(root, patterns, timeout_s)
        return result._replace(files={name: remove_secrets(text) for name, text in result.files.items()})
