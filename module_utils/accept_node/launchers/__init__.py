"""How ranks are started on many nodes, behind one interface. A module of a launcher has

    TOOL                        the program that it cannot do without
    argv(launch, settings)      the command of one launch, as a list: it prints what rank 0 prints, and ends when all ranks have ended
    why(text, settings)         (cause, reason) that the launcher's own words give, else ("", "")

Whatever is started is a detached job of this host with a hard deadline; it is never a shell's line. `settings` is the module's argument
of that name; a launcher reads its own keys there and ignores the others.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Tuple


class Launch(NamedTuple):
    """One start of a benchmark."""

    name: str  # unique within the run; parts of names of jobs and pods
    nodes: Tuple[str, ...]  # as the launcher calls them
    ranks_per_node: int
    program: List[str]  # of every rank; of every node where `spawns`
    env: Dict[str, str]
    timeout_s: int
    spawns: bool = False  # the program starts the ranks of its node itself

    def tasks_per_node(self) -> int:
        return 1 if self.spawns else self.ranks_per_node


def with_env(launch: Launch) -> list:
    """The program with its variables in front of it: the same under every launcher, in containers too."""
    return (
        ["env", *(f"{key}={value}" for key, value in sorted(launch.env.items())), *launch.program] if launch.env else list(launch.program)
    )


def first_line(text: str, pattern) -> str:
    """The first line that says it, as one line."""
    return next((" ".join(line.split())[:200] for line in text.splitlines() if pattern.search(line)), "")
