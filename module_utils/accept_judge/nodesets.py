"""Node names folded and unfolded: node03, node17 -> node[03,17], padding kept."""

from __future__ import annotations

import functools

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException


def fold(names) -> str:
    """The names as one node set, in a stable order."""
    return _fold(frozenset(names))


@functools.lru_cache(maxsize=4096)
def _fold(names: frozenset) -> str:
    try:
        folded = str(NodeSet.fromlist(sorted(names), resolver=RESOLVER_NOGROUP))
        if unfold(folded) == names:
            return folded
    except NodeSetException:
        pass
    return ",".join(sorted(names))  # a name that has no place in a node set's syntax


def unfold(text: str) -> frozenset:
    """The names of a node set. Raises ValueError for what is none."""
    try:
        return frozenset(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetException as error:
        raise ValueError(f"{text!r} is no node set: {error}") from error
