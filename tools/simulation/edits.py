"""What a command, file or directory of a node says otherwise than its renderer made it say: for faults that no model field carries.

An edit is (source, find, put). An empty find stands for all that the source says; put None takes the source away.
"""

from __future__ import annotations

from .records import command, file, missing, missing_file


def apply(parts, node) -> None:
    """Change the records of a capture by node.edits; an edit that changes nothing is an error, since its fault would not be seen."""
    for source, find, put in node.edits:
        if not any([_texts(parts, source, find, put), _trees(parts, source, find, put), _listings(parts, source, put)]):
            raise ValueError(f"{node.name}: nothing to change in {source!r}" + (f": no {find!r} there" if find else ""))


def _texts(parts, source, find, put) -> bool:
    changed = False
    for kind, key, text in (("commands", "argv", "stdout"), ("files", "path", "text")):
        for record in parts[kind]:
            name = " ".join(record["argv"]) if key == "argv" else record[key]
            if name != source:
                continue
            before = record[text]
            if put is None:
                record.update(missing(record["argv"]) if kind == "commands" else missing_file(source))
            elif not find:  # there, whatever it was before
                record.update(command(record["argv"], put) if kind == "commands" else file(source, put))
            else:
                record[text] = (before or "").replace(find, put)
            changed |= record[text] != before
    return changed


def _trees(parts, source, find, put) -> bool:
    changed = False
    for record in parts["trees"]:
        name = source[len(record["root"]) + 1 :] if source.startswith(record["root"] + "/") else ""
        if name in record["files"]:
            before = record["files"][name]
            if put is None:
                del record["files"][name]
            else:
                record["files"][name] = before.replace(find, put) if find else put
            changed |= record["files"].get(name) != before
    return changed


def _listings(parts, source, put) -> bool:
    """A name more in a directory."""
    found = [record for record in parts["listings"] if record["path"] == source]
    for record in found:
        record["names"], record["reason"] = sorted({*record["names"], put}), ""
    return bool(found)
