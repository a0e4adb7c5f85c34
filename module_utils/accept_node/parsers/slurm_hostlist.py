"""Slurm's host lists: `a05-c[03-04,07],login1,r[1-2]n[01-03].dc1.example`."""

from __future__ import annotations

import itertools
import re

from . import ParseError

MOST = 100_000
PART = re.compile(r"\[([^\[\]]*)\]")


def parse(text: str) -> dict:
    """{"hosts": [name, ...]} in the order of the text; `(null)` and `(none)` are no hosts. More than 100,000 are refused."""
    bare = text.strip()
    if bare in ("(null)", "(none)", "None assigned"):
        return {"hosts": []}
    hosts = []
    for word in _split(bare):
        hosts += _expand(word, MOST - len(hosts))
    if not hosts:
        raise ParseError("not a host list: %r" % text[:60])
    return {"hosts": hosts}


def _split(text):
    """At commas outside of brackets."""
    words, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += {"[": 1, "]": -1}.get(sign, 0)
        if depth not in (0, 1):
            raise ParseError("brackets that do not fit: %r" % text[max(0, place - 30) : place + 30])
        if sign == "," and not depth:
            words.append(text[start:place])
            start = place + 1
    if depth:
        raise ParseError("a bracket that is not closed: %r" % text[-60:])
    return [word for word in [*words, text[start:]] if word]


def _expand(word, room):
    pieces = PART.split(word)  # text, ranges, text, ranges, ..., text
    if not all(re.fullmatch(r"[\w.:-]*", piece) for piece in pieces[::2]) or not re.search(r"\w", pieces[0] + "".join(pieces[1:])):
        raise ParseError("not a host name: %r" % word[:60])
    choices, size = [], 1
    for number, piece in enumerate(pieces):
        choice = _numbers(piece, word, room) if number % 2 else [piece]
        size *= len(choice)
        if size > room:
            raise ParseError("more than %d hosts: %r" % (MOST, word[:60]))
        choices.append(choice)
    return ["".join(parts) for parts in itertools.product(*choices)]


def _numbers(ranges, word, room):
    """`01-03,07` -> 01 02 03 07: the width of the first number holds for all of its range."""
    found = []
    for part in ranges.split(","):
        match = re.fullmatch(r"([0-9]{1,12})(?:-([0-9]{1,12}))?", part.strip())
        if not match:
            raise ParseError("not a range of numbers: %r in %r" % (part[:30], word[:60]))
        first, last = int(match.group(1)), int(match.group(2) or match.group(1))
        if last < first or last - first + len(found) >= room:
            raise ParseError("%s: %r" % ("a range that runs backwards" if last < first else "more than %d hosts" % MOST, word[:60]))
        found += ["%0*d" % (len(match.group(1)), number) for number in range(first, last + 1)]
    return found
