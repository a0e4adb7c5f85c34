"""The rows of a ledger as text, from CSV or JSON; nothing is known here of what an event is."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from ..documents import DocumentError

MOST_ERRORS = 50


def read(path: Path, columns: tuple) -> list[tuple[str, dict]]:
    """[(where it stands, column -> text)]; DocumentError for what is neither a table nor a list of objects with these columns."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DocumentError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise DocumentError([f"{path}: is not UTF-8"]) from error
    return (_json if path.suffix == ".json" else _csv)(text, str(path), columns)


def _csv(text: str, name: str, columns) -> list[tuple[str, dict]]:
    rows, head = [], None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        for cells in reader:
            cells = [cell.strip() for cell in cells]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if head is None:
                head = [cell.lower() for cell in cells]
                if len(set(head)) < len(head):
                    raise DocumentError([f"{name}:{reader.line_num}: a column stands twice"])
            elif len(cells) != len(head):
                raise DocumentError([f"{name}:{reader.line_num}: {len(cells)} fields, the header has {len(head)}"])
            else:
                rows.append((f"{name}:{reader.line_num}", dict(zip(head, cells))))
    except csv.Error as error:
        raise DocumentError([f"{name}:{reader.line_num}: is no CSV: {error}"]) from error
    needed = {"id", "level", "unit", "kind", "verified"}
    if head is None or not needed <= set(head) or not set(head) <= set(columns):
        raise DocumentError([f"{name}: header: wanted {', '.join(columns)}; at least {', '.join(sorted(needed))}"])
    return rows


def _json(text: str, name: str, columns) -> list[tuple[str, dict]]:
    try:
        data = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise DocumentError([f"{name}: is no JSON: {error}"]) from error
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise DocumentError([f"{name}: is no list of events"])
    rows = [(f"{name}: event {at}", {key: value for key, value in row.items() if value is not None}) for at, row in enumerate(data, 1)]
    errors = [f"{place}: unknown key {key!r}" for place, row in rows for key in sorted(set(row) - set(columns))]
    errors += [f"{place}: {key!r}: is no text" for place, row in rows for key, value in row.items() if not isinstance(value, str)]
    if errors:
        raise DocumentError(errors[:MOST_ERRORS])
    return rows


def _once(pairs) -> dict:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return row
