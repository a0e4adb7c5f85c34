"""Orders of versions: Debian, RPM, and upstream numbers. Each compares two texts and gives -1, 0 or 1.

Numbers are compared as numbers (510.99 before 510.100) and stay the text they were written as: 570.211.01 is not 570.211.1 in a row.
"""

from __future__ import annotations

import functools
import re

DEBIAN = re.compile(r"(?:([0-9]{1,9}):)?([0-9A-Za-z.+:~-]+?)(?:-([0-9A-Za-z.+~]+))?(?<!-)")
RPM = re.compile(r"(?:([0-9]{1,9}):)?([0-9A-Za-z.+_~^]+)(?:-([0-9A-Za-z.+_~^]+))?")
UPSTREAM = re.compile(r"(?:[0-9]{1,9}:)?[vV]?([0-9]+(?:\.[0-9]+)*)([^+\s]*)(?:\+\S*)?")
BEFORE_RELEASE = re.compile(r"~|[-._]?(?:rc|alpha|beta|preview|pre|dev|[abc])(?![A-Za-z])", re.IGNORECASE)
LONGEST = 200


class VersionError(ValueError):
    """A text that is no version of that kind."""


def _match(pattern, text):
    found = pattern.fullmatch(text) if isinstance(text, str) and len(text) <= LONGEST else None
    if found is None:
        raise VersionError(f"{str(text)[:60]!r} is not a version of that kind")
    return found


def _sign(one, other) -> int:
    return (one > other) - (one < other)


def debian(one: str, other: str) -> int:
    """[epoch:]upstream[-revision] as dpkg orders them: a tilde before everything, even the end; letters before other signs."""
    (epoch, upstream, revision), (epoch_b, upstream_b, revision_b) = (_match(DEBIAN, text).groups() for text in (one, other))
    return (
        _sign(int(epoch or 0), int(epoch_b or 0)) or _debian_part(upstream, upstream_b) or _debian_part(revision or "0", revision_b or "0")
    )


def _weight(text, index) -> int:
    if index >= len(text) or text[index] in "0123456789":
        return 0
    sign = text[index]
    return -1 if sign == "~" else ord(sign) if sign.isalpha() else ord(sign) + 256


def _debian_part(one, other) -> int:
    i = j = 0
    while i < len(one) or j < len(other):
        while (i < len(one) and one[i] not in "0123456789") or (j < len(other) and other[j] not in "0123456789"):
            order = _sign(_weight(one, i), _weight(other, j))
            if order:
                return order
            i, j = i + 1, j + 1
        digits, digits_b = re.match("[0-9]*", one[i:])[0], re.match("[0-9]*", other[j:])[0]
        order = _sign(int(digits or 0), int(digits_b or 0))
        if order:
            return order
        i, j = i + len(digits), j + len(digits_b)
    return 0


def rpm(one: str, other: str) -> int:
    """[epoch:]version[-release] as rpm orders them: digits before letters, ~ before the end, ^ after it; no epoch is 0."""
    (epoch, version, release), (epoch_b, version_b, release_b) = (_match(RPM, text).groups() for text in (one, other))
    return _sign(int(epoch or 0), int(epoch_b or 0)) or rpm_part(version, version_b) or rpm_part(release or "", release_b or "")


def rpm_part(one, other) -> int:
    parts, parts_b = (re.findall("[0-9]+|[A-Za-z]+|[~^]", text) for text in (one, other))
    for index in range(max(len(parts), len(parts_b))):
        rank, rank_b = (_rpm_rank(side[index] if index < len(side) else "") for side in (parts, parts_b))
        if rank != rank_b:
            return _sign(rank, rank_b)
    return 0


def _rpm_rank(part):
    """~ < the end < ^ < letters < digits."""
    if part in ("~", "", "^"):
        return ("~", "", "^").index(part), 0, ""
    return (4, int(part), "") if part[0] in "0123456789" else (3, 0, part)


def upstream(one: str, other: str) -> int:
    """Numbers as their makers write them: 1.0.0-rc95 before 1.0.0, 13.1 and 13.1.0 the same, 2.1.0amzn3 after 2.1.0, +build left out."""
    return _sign(upstream_key(one), upstream_key(other))


@functools.lru_cache(maxsize=4096)
def upstream_key(text: str) -> tuple:
    numbers, rest = _match(UPSTREAM, text).groups()
    parts = [int(number) for number in numbers.split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    stage = 1 if not rest else 0 if BEFORE_RELEASE.match(rest) else 2
    tokens = re.findall("[0-9]+|[a-z]+", rest.lower())
    return tuple(parts), stage, tuple((0, int(token), "") if token[0] in "0123456789" else (1, 0, token) for token in tokens)
