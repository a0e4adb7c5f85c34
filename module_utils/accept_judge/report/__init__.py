"""scorecard.json -> report.html, report.md, junit.xml, punch_list.csv, and recipe/. Nothing else is read, nothing is judged."""

from __future__ import annotations

import json
from pathlib import Path

from .. import recipe
from ..facts_store import write as write_whole
from . import html, junit, markdown, punch_list
from .view import View

SCHEMA = 1
# format -> (file, renderer); a renderer turns a View and the folder of templates into text
FORMATS = {
    "html": ("report.html", html.render),
    "md": ("report.md", markdown.render),
    "junit": ("junit.xml", junit.render),
    "csv": ("punch_list.csv", punch_list.render),
}


class ReportError(ValueError):
    """The scorecard cannot be rendered; one line says why."""


def load(run_dir: Path) -> dict:
    """The scorecard of a run's folder."""
    path = run_dir / "scorecard.json"
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReportError(f"{path}: {error}") from error
    found = card.get("schema") if isinstance(card, dict) else None
    if found != SCHEMA:
        raise ReportError(f"{path}: schema {found}, this version renders schema {SCHEMA}")
    return card


def render(card: dict, templates: Path, formats=tuple(FORMATS)) -> dict:
    """File name -> text of each format asked for."""
    view = View(card)
    recipes = recipe.files(card["recipes"]) if card.get("recipes") else {}
    return {**{FORMATS[name][0]: FORMATS[name][1](view, templates) for name in formats}, **recipes}


def write(run_dir: Path, templates: Path, formats=tuple(FORMATS), dry: bool = False) -> tuple[dict, bool]:
    """Render into the run's folder, each file whole or not at all. Returns format -> path, and whether anything differed from before."""
    texts = render(load(run_dir), templates, formats)
    changed = False
    for name, text in texts.items():
        path, content = run_dir / name, text.encode("utf-8")
        if path.is_file() and path.read_bytes() == content:
            continue
        changed = True
        if not dry:
            write_whole(path, content)
    return {name: str(run_dir / FORMATS[name][0]) for name in formats}, changed
