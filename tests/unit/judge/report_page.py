"""A report's HTML taken apart, for tests."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "input", "br", "col", "link", "img", "hr"}


class Page(HTMLParser):
    """Elements with their attributes, the visible text, and what is not closed properly."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.elements, self.stack, self.broken, self.words, self.scripts = [], [], [], [], []
        self.feed(html)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID and tag != "option":
            self.stack.append(tag)

    def handle_endtag(self, tag):
        if tag == "option":
            return
        if not self.stack or self.stack.pop() != tag:
            self.broken.append(tag)

    def handle_data(self, data):
        inside = self.stack[-1] if self.stack else ""
        if inside == "script":
            self.scripts.append(data)
        elif inside != "style":
            self.words.append(data)

    def all(self, tag) -> list:
        return [attrs for name, attrs in self.elements if name == tag]

    def links(self) -> list:
        return [attrs["href"] for attrs in self.all("a")]
