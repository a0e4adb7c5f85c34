"""The report for people: one file, no network. Values come from nodes: everything is escaped, and only our own script may run."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .. import recipe
from . import plots, plots_burn_in
from .text import link, plural, say, when
from .view import OPEN, SEVERITIES, VERDICTS, WORDS, View

SYMBOLS = {"fail": "✕", "not_measured": "?", "warn": "!", "waived": "~", "pass": "✓", "not_applicable": "–"}
EVIDENCE_LINKS = 24  # in one row; the pattern of the others is named


def environment(templates: Path, **options) -> Environment:
    blocks = {"trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    compiled = FileSystemBytecodeCache()  # in Jinja's own folder of this user; half of a small report's time was compiling
    env = Environment(loader=FileSystemLoader(templates), bytecode_cache=compiled, undefined=StrictUndefined, **blocks, **options)
    env.filters |= {"say": say, "link": link, "plural": plural, "when": when}
    return env


def render(view: View, templates: Path) -> str:
    """report.html.j2 with report.css and report.js of the folder `files` beside the templates put into it."""
    files = Path(templates).resolve().parent / "files"
    script = (files / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    template = environment(templates, autoescape=True).get_template("report.html.j2")
    return template.render(
        view=view,
        card=view.card,
        css=Markup((files / "report.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_digest=digest,
        host_list=[[name, view.rack(name)] for name in view.hosts],
        ranges=lambda hosts: ranges(sorted(view.order[host] for host in hosts if host in view.order)),
        symbols=SYMBOLS,
        words=WORDS,
        verdicts=VERDICTS,
        severities=SEVERITIES,
        open_verdicts=OPEN,
        evidence_links=EVIDENCE_LINKS,
        recipe_path=lambda made: recipe.conf_path(made, len(view.card["recipes"]) == 1),
        plots=[(plot, drawn) for plot in view.card.get("plots") or () if (drawn := plots.draw(plot))],
        burn_ins=[(plot, drawn) for plot in view.card.get("plots") or () if (drawn := plots_burn_in.draw(plot))],
    )


def ranges(indexes: list) -> str:
    """[0, 1, 2, 7] -> 0-2,7: places in the list of hosts, for the filter."""
    parts = []
    for index in indexes:
        if parts and parts[-1][1] == index - 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
