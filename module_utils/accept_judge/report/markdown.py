"""The report as Markdown, for a ticket or a terminal."""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import Markup

from .html import SYMBOLS, environment
from .text import say
from .view import OPEN, WORDS, View

# Only what would be markup there, so that the text also reads well as it stands: b200-[01-04], busy_time
SPECIAL = re.compile(r"[\\`*<>|]|^[#+=-]|~(?=~)|&(?=[#A-Za-z])|\](?=[(\[:])|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
LONGEST = 300


def escape(value):
    """Every value that a template prints, as plain words in one line: no markup of a node's own, no broken table."""
    if isinstance(value, Markup):
        return value
    text = " ".join(say(value).split())
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return SPECIAL.sub(r"\\\g<0>", text)


def render(view: View, templates: Path) -> str:
    template = environment(templates, finalize=escape).get_template("report.md.j2")
    return template.render(view=view, card=view.card, words=WORDS, symbols=SYMBOLS, open_verdicts=OPEN)
