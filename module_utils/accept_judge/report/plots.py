"""Plots of the scorecard as inline SVG: no script, no file beside the report, colours of the page's own light and dark theme.

A plot is a mapping with `kind` and `title` (docs/evidence.md). Values come from nodes: everything that is text is escaped, and what is no
number is not drawn.
"""

from __future__ import annotations

import math

from markupsafe import Markup, escape

from ..text_sizes import size_text

WIDTH, HEIGHT = 340, 210
WIDE, TALL = 700, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 34
COLOURS = 8  # classes s0 to s7 of the style sheet
PANELS = 12  # worlds of one plot that have a panel of their own
MARKS = {
    "dips": "dip",
    "passing": "dip in fewer than half of the repeats",
    "notches": "small dip",
    "switches": "the library's own switch",
    "jagged": "jagged",
}


def draw(plot: dict) -> dict | None:
    """{"title", "wide": SVG of all worlds in one, "panels": [(label, SVG, facts)], "more": panels left out}; None for a kind not known."""
    if plot.get("kind") != "curves":
        return None
    curves = [curve for curve in plot["curves"] if _numbers(curve["fit"])]
    if not curves:
        return None
    shown = sorted(curves, key=lambda curve: not curve["marks"])[:PANELS]
    panels = [(curve["label"], _panel(curve, plot["title"]), curve["facts"]) for curve in curves if curve in shown]
    return {"title": plot["title"], "wide": _together(curves, plot["title"]), "panels": panels, "more": len(curves) - len(shown)}


class Frame:
    """Axes: sizes by their logarithm, bandwidth linear or by its logarithm."""

    def __init__(self, width, height, sizes, rates, log: bool):
        self.width, self.height, self.log = width, height, log
        self.sizes = (math.log2(min(sizes)), max(math.log2(max(sizes)), math.log2(min(sizes)) + 1))
        top = max(rates)
        if log:
            low = max(min(rate for rate in rates if rate > 0), top / 1e5)
            self.rates = (math.floor(math.log10(low)), math.ceil(math.log10(top) + 1e-9))
        else:
            self.rates = (0.0, 1.06 * top)

    def x(self, size):
        low, high = self.sizes
        return round(LEFT + (math.log2(size) - low) / (high - low) * (self.width - LEFT - RIGHT), 1)

    def y(self, rate):
        low, high = self.rates
        value = math.log10(max(rate, 10**low)) if self.log else rate
        return round(self.height - BOTTOM - (value - low) / (high - low) * (self.height - TOP - BOTTOM), 1)

    def axes(self) -> str:
        parts = []
        for rate in self._rates():
            y = self.y(rate)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{self.width - RIGHT}" y1="{y}" y2="{y}"/>')
            parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{rate:g}</text>')
        step = 5 if self.width < WIDE else 3
        first = math.ceil(self.sizes[0] / step) * step
        for power in range(first, int(self.sizes[1]) + 1, step):
            x = self.x(2.0**power)
            parts.append(f'<line class="tick" x1="{x}" x2="{x}" y1="{self.height - BOTTOM}" y2="{self.height - BOTTOM + 4}"/>')
            parts.append(f'<text x="{x}" y="{self.height - BOTTOM + 17}" text-anchor="middle">{size_text(2**power)}</text>')
        return "".join(parts)

    def _rates(self):
        low, high = self.rates
        if self.log:
            return [10.0**power for power in range(low, high + 1)]
        step = 10 ** math.floor(math.log10(high))
        step = next(part * step for part in (0.2, 0.25, 0.5, 1, 2) if high / (part * step) <= 6)
        return [step * number for number in range(int(high / step) + 1)]

    def line(self, sizes, rates, name) -> str:
        """A line through what is known, broken where it is not."""
        parts, gap = [], True
        for size, rate in zip(sizes, rates):
            if not _number(rate) or rate <= 0:
                gap = True
                continue
            parts.append(f"{'M' if gap else 'L'}{self.x(size)} {self.y(rate)}")
            gap = False
        return f'<path class="{name}" d="{"".join(parts)}"/>' if parts else ""

    def svg(self, inner: str, title: str, words: str) -> Markup:
        return Markup(
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(title)}. {escape(words)}">'
            f"<title>{escape(title)}</title><desc>{escape(words)}</desc>{self.axes()}{inner}</svg>"
        )


def _panel(curve, title) -> Markup:
    """One world: each repeat's points, the isotonic fit, what stands out, what was expected. By logarithms: small messages count."""
    repeats = [_pairs(curve["sizes"], repeat) for repeat in curve["busbw"]]
    expected = curve["expected_gbytes_s"]
    rates = [rate for pairs in repeats for _, rate in pairs] + ([expected] if _number(expected) else [])
    frame, parts = Frame(WIDTH, HEIGHT, curve["sizes"], rates, log=True), []
    for mark in curve["marks"]:
        left, right = frame.x(max(mark["from_bytes"] / 1.4, curve["sizes"][0])), frame.x(min(mark["to_bytes"] * 1.4, curve["sizes"][-1]))
        parts.append(
            f'<rect class="{mark["kind"] if mark["kind"] in MARKS else ""}" x="{left}" width="{max(right - left, 3):.1f}" y="{TOP}"'
            f' height="{HEIGHT - TOP - BOTTOM}"><title>{escape(mark["text"])}</title></rect>'
        )
    if _number(expected):
        y = frame.y(expected)
        parts.append(f'<line class="expected" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
    parts.append(frame.line(curve["fit_sizes"], curve["fit"], "fit"))
    for number, pairs in enumerate(repeats):
        parts += [f'<circle class="s{number % COLOURS}" cx="{frame.x(size)}" cy="{frame.y(rate)}" r="2.4"/>' for size, rate in pairs]
    facts = "; ".join(f"{name} {text}" for name, text in curve["facts"].items())
    marks = "; ".join(f"{MARKS.get(mark['kind'], mark['kind'])}: {mark['text']}" for mark in curve["marks"]) or "nothing stands out"
    return frame.svg("".join(parts), f"{title}, {curve['label']}: bus bandwidth in GB/s over message size", f"{facts}. {marks}.")


def _together(curves, title) -> Markup:
    """All worlds in one, the middle of each one's repeats, linear: their plateaus side by side."""
    sizes = [size for curve in curves for size in curve["sizes"]]
    middles = [[_middle([repeat[place] for repeat in curve["busbw"]]) for place in range(len(curve["sizes"]))] for curve in curves]
    expected = [curve["expected_gbytes_s"] for curve in curves if _number(curve["expected_gbytes_s"])]
    rates = [rate for middle in middles for rate in middle if _number(rate)] + expected
    frame, parts = Frame(WIDE, TALL, sizes, rates, log=False), []
    for rate in sorted(set(expected)):
        parts.append(f'<line class="expected" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{frame.y(rate)}" y2="{frame.y(rate)}"/>')
    for number, (curve, middle) in enumerate(zip(curves, middles)):
        parts.append(frame.line(curve["sizes"], middle, f"world s{number % COLOURS}"))
        parts.append(
            f'<text class="name s{number % COLOURS}" x="{LEFT + 10}" y="{TOP + 14 + 15 * number}">{escape(_short(curve["label"]))}</text>'
            if number < PANELS
            else ""
        )
    words = "; ".join(f"{curve['label']}: plateau {curve['facts'].get('Plateau', 'not known')}" for curve in curves[:PANELS])
    return frame.svg("".join(parts), f"{title}: all worlds, bus bandwidth in GB/s over message size", words)


def _pairs(sizes, rates):
    return [(size, rate) for size, rate in zip(sizes, rates) if _number(rate) and rate > 0]


def _middle(values):
    known = sorted(value for value in values if _number(value))
    return known[len(known) // 2] if known else None


def _short(label):
    return label if len(label) <= 44 else label[:43] + "…"


def _number(value) -> bool:
    """A bandwidth that can be drawn: beyond what any link carries, or next to nothing, is no number of GB/s."""
    return isinstance(value, int | float) and not isinstance(value, bool) and (value == 0 or 1e-9 <= value <= 1e9)


def _numbers(values):
    return [value for value in values if _number(value) and value > 0]
