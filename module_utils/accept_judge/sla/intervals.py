"""Sets of time as sorted lists of disjoint (start, end) in whole microseconds. Every function takes any order and overlap."""

from __future__ import annotations

HOUR = 3_600_000_000


def union(*sets) -> list[tuple[int, int]]:
    """All time that any of the sets holds; touching pieces become one."""
    out = []
    for start, end in sorted(piece for one in sets for piece in one if piece[0] < piece[1]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def at_least(sets, count: int) -> list[tuple[int, int]]:
    """The time in which `count` or more of the sets hold at once."""
    steps = sorted((at, step) for one in sets for start, end in union(one) for at, step in ((start, 1), (end, -1)))
    out, now, begun = [], 0, None
    for at, step in steps:
        now += step
        if begun is None and now >= count:
            begun = at
        elif begun is not None and now < count:
            out.append((begun, at))
            begun = None
    return union(out)


def intersect(left, right) -> list[tuple[int, int]]:
    return at_least([left, right], 2)


def subtract(left, right) -> list[tuple[int, int]]:
    """What `left` holds and `right` does not."""
    out, cuts = [], union(right)
    for start, end in union(left):
        for low, high in cuts:
            if high <= start or low >= end:
                continue
            out.append((start, low))
            start = max(start, high)
        out.append((start, end))
    return union(out)


def length(pieces) -> int:
    return sum(end - start for start, end in union(pieces))


def first(pieces, most: int) -> list[tuple[int, int]]:
    """The earliest `most` microseconds of a set."""
    out = []
    for start, end in union(pieces):
        end = min(end, start + most)
        most -= end - start
        out.append((start, end))
    return union(out)
