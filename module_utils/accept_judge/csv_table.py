"""Strict tables that people hand in as CSV: each fault of a file as file:line:column, and no row is guessed at.

Empty lines and lines that begin with # are passed over; the first other line is the header.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from .documents import DocumentError

MOST_ERRORS = 20


def load(path: Path, shapes: dict, optional: tuple, what: str, twice) -> list[tuple[dict, int]]:
    """[(column -> text, line)] of a table, or DocumentError.

    `shapes`: column -> compiled pattern that its cells must have as a whole; columns not in `optional` must be there. `what` a table
    without rows lacks. `twice`: cells -> [(column, key, how it is named)] of what may stand once only.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DocumentError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise DocumentError([f"{path}: is not UTF-8"]) from error
    rows, errors = _Reader(str(path), shapes, tuple(optional)).rows(text)
    if not errors:
        errors = _twice(rows, str(path), list(shapes), twice)
    if not rows and not errors:
        errors = [f"{path}:1:1: no rows: {what}"]
    if errors:
        more = [f"{path}: {len(errors) - MOST_ERRORS} more errors"] if len(errors) > MOST_ERRORS else []
        raise DocumentError(errors[:MOST_ERRORS] + more)
    return rows


class _Reader:
    def __init__(self, name, shapes, optional):
        self.name, self.shapes, self.optional = name, shapes, optional
        self.known = (*shapes, "note")
        self.required = [column for column in shapes if column not in optional]

    def rows(self, text):
        head, rows, errors = None, [], []
        reader = csv.reader(io.StringIO(text), strict=True, skipinitialspace=True)
        try:
            for cells in reader:
                line, cells = reader.line_num, [cell.strip() for cell in cells]
                if not any(cells) or cells[0].startswith("#"):
                    continue
                if head is None:
                    head, errors = [cell.lower() for cell in cells], self._head(cells, f"{self.name}:{line}")
                    if errors:
                        break
                    continue
                row, faults = self._row(head, cells, f"{self.name}:{line}")
                errors += faults
                rows += [(row, line)] if row else []
        except csv.Error as error:
            errors.append(f"{self.name}:{reader.line_num}:1: is no CSV: {error}")
        if head is None and not errors:
            errors = [f"{self.name}:1:1: no header; wanted: {','.join(self.shapes)}"]
        return rows, errors

    def _head(self, cells, place):
        names = [cell.lower() for cell in cells]
        errors = [
            f"{place}:{at}: {cell!r} is no column; known are {', '.join(self.known)}"
            for at, (cell, name) in enumerate(zip(cells, names), 1)
            if name not in self.known
        ]
        errors += [f"{place}:{at}: column {name} stands twice" for at, name in enumerate(names, 1) if name in names[: at - 1]]
        return errors + [f"{place}:{len(names) + 1}: column {name} is missing" for name in self.required if name not in names]

    def _row(self, head, cells, place):
        if len(cells) != len(head):
            return None, [f"{place}:{min(len(cells), len(head)) + 1}: {len(cells)} fields, the header has {len(head)}"]
        given = dict(zip(head, cells))
        errors = [
            f"{place}:{head.index(key) + 1}: {key}: {'is empty' if not given[key] else repr(given[key][:60]) + ' is none'}"
            for key, shape in self.shapes.items()
            if key in given and not shape.fullmatch(given[key])
        ]
        return (None, errors) if errors else (given, [])


def _twice(rows, name, columns, twice):
    errors, seen = [], {}
    for given, line in rows:
        for column, key, what in twice(given):
            if (column, key) in seen:
                errors.append(f"{name}:{line}:{columns.index(column) + 1}: {what} stands already in line {seen[column, key]}")
            seen.setdefault((column, key), line)
    return errors
