"""A node's burn-in as inline SVG: strips below each other on one time axis, one line for each device, and what happened when.

Values come from nodes: everything that is text is escaped, and what is no number is not drawn.
"""

from __future__ import annotations

import math

from markupsafe import Markup, escape

WIDTH, STRIP, GAP, LEFT, RIGHT, BOTTOM = 700, 76, 14, 64, 12, 26
COLOURS = 8  # classes s0 to s7 of the style sheet
STEPS = (60, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400)


def draw(plot: dict) -> dict | None:
    """{"title", "svg", "labels": [device], "marks": [text]}; None for a kind not known, and where nothing was measured."""
    if plot.get("kind") != "burn_in" or not _numbers(plot["time_s"]):
        return None
    rows = [row for row in plot["rows"] if any(_numbers(line["values"]) for line in row["lines"])]
    if not rows:
        return None
    end = max(_numbers(plot["time_s"])) * (1 + 0.5 / len(plot["time_s"]))
    marks = [mark for mark in plot["marks"] if _number(mark["at_s"]) and 0 <= mark["at_s"] <= end]
    height = len(rows) * (STRIP + GAP) + BOTTOM
    parts = [_axis(end, height)]
    parts += [_strip(row, plot["time_s"], place * (STRIP + GAP) + GAP, end) for place, row in enumerate(rows)]
    for mark in marks:
        x = _x(mark["at_s"], end)
        parts.append(f'<line class="mark" x1="{x}" x2="{x}" y1="{GAP}" y2="{height - BOTTOM}"><title>{escape(mark["text"])}</title></line>')
    words = "; ".join([*(_words(row) for row in rows), *(f"at {_clock(mark['at_s'])}: {mark['text']}" for mark in marks)])
    svg = Markup(
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(plot["title"])}. {escape(words)}">'
        f"<title>{escape(plot['title'])}</title><desc>{escape(words)}</desc>{''.join(parts)}</svg>"
    )
    labels = list(dict.fromkeys(line["label"] for row in rows for line in row["lines"]))
    told = [f"{_clock(mark['at_s'])}: {mark['text']}" for mark in marks]
    return {"title": plot["title"], "svg": svg, "labels": labels, "marks": told}


def _strip(row, times, top, end) -> str:
    """One quantity of all devices. The scale begins at 0 where that loses nothing; else a clock that falls a little could not be seen."""
    values = [value for line in row["lines"] for value in _numbers(line["values"])]
    low, high = min(values), max(values)
    low = 0.0 if low < 0.5 * high else low - 0.4 * (high - low) - 0.01 * abs(high)
    high += 0.08 * (high - low) or 1.0
    bottom = top + STRIP

    def y(value):
        return round(bottom - (value - low) / (high - low) * STRIP, 1)

    parts = [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{edge}" y2="{edge}"/>' for edge in (top, bottom)]
    for value, at in ((high, top + 8), (low, bottom)):
        parts.append(f'<text x="{LEFT - 6}" y="{at}" text-anchor="end">{value:.4g}</text>')
    parts.append(f'<text class="what" x="{LEFT + 4}" y="{top - 3}">{escape(row["name"])}</text>')
    for number, line in enumerate(row["lines"]):
        parts.append(_path(times, line, y, end, number))
    return "".join(parts)


def _path(times, line, y, end, number) -> str:
    """A line that breaks off where nothing was measured."""
    steps, pen = [], "M"
    for at, value in zip(times, line["values"]):
        if _number(at) and _number(value):
            steps.append(f"{pen}{_x(at, end)} {y(value)}")
            pen = "L"
        else:
            pen = "M"
    return f'<path class="s{number % COLOURS}" d="{"".join(steps)}"><title>{escape(line["label"])}</title></path>' if steps else ""


def _axis(end, height) -> str:
    step = next((step for step in STEPS if end / step <= 9), STEPS[-1])
    parts = []
    for number in range(int(end // step) + 1):
        x = _x(number * step, end)
        parts.append(f'<line class="tick" x1="{x}" x2="{x}" y1="{height - BOTTOM}" y2="{height - BOTTOM + 4}"/>')
        parts.append(f'<text x="{x}" y="{height - BOTTOM + 17}" text-anchor="middle">{_clock(number * step)}</text>')
    return "".join(parts)


def _words(row) -> str:
    """What a strip shows, for who does not see it."""
    lines = [(line["label"], _numbers(line["values"])) for line in row["lines"]]
    told = [f"{label} {min(values):.4g} to {max(values):.4g}" for label, values in lines if values]
    return f"{row['name']}: {', '.join(told)}"


def _x(at, end):
    return round(LEFT + at / end * (WIDTH - LEFT - RIGHT), 1)


def _clock(seconds) -> str:
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02d} h" if hours or not rest % 60 else f"{rest} s"


def _number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _numbers(values):
    return [value for value in values if _number(value)]
