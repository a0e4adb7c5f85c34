"""Tables of Slurm's tools with `|` between the columns: `sinfo -o`, `sacctmgr -P`, `sacct -P`; the first line names the columns."""

from __future__ import annotations

from . import ParseError


def parse(text: str) -> dict:
    """{"columns": [name, ...], "rows": [[value, ...], ...], "bad_rows": N}

    A name that stands twice gets `#2`. What has more fields than columns has a `|` in its last value; what has fewer is counted as bad.
    """
    lines = [line for line in text.split("\n") if "|" in line]
    if not lines:
        raise ParseError("no table: %r" % text.strip()[:60])
    names = []
    for name in (part.strip() for part in lines[0].rstrip("|").split("|")):
        same = sum(1 for known in names if known.split("#")[0] == name)
        names.append("%s#%d" % (name, same + 1) if same else name)
    if not all(name and name[0].isalpha() for name in names):
        raise ParseError("no names of columns: %r" % lines[0][:60])
    table = parse_rows("\n".join(lines[1:]), len(names)) if lines[1:] else {"rows": [], "bad_rows": 0}
    return {"columns": names, **table}


def parse_rows(text: str, columns: int = 0) -> dict:
    """{"rows", "bad_rows"} of a table without names; `columns`: how many there are (0: as the first line has)."""
    lines = [line for line in text.split("\n") if "|" in line]
    if not lines:
        raise ParseError("no table: %r" % text.strip()[:60])
    columns = columns or len(lines[0].split("|"))
    rows, bad = [], 0
    for line in lines:
        parts = [part.strip() for part in line.split("|", columns - 1)]
        if len(parts) == columns:
            rows.append(parts)
        else:
            bad += 1
    return {"rows": rows, "bad_rows": bad}


def records(text: str, wanted) -> list:
    """The rows as dictionaries. `wanted`: columns that must be there."""
    table = parse(text)
    lacking = [name for name in wanted if name not in table["columns"]]
    if lacking:
        raise ParseError("no column %s: %r" % (", ".join(lacking), "|".join(table["columns"])[:80]))
    return [dict(zip(table["columns"], row)) for row in table["rows"]]
