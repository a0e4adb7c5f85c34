"""YAML and JSON of people: read strictly, and every error told as `file: key: message`."""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
from pathlib import Path

import jsonschema_rs
import yaml


class DocumentError(ValueError):
    """What is wrong with standards or a contract. `errors` holds all of it, one line each."""

    def __init__(self, errors):
        self.errors = list(errors)
        super().__init__("; ".join(self.errors))


class _Loader(yaml.CSafeLoader):
    """Refuses a key that stands twice in one mapping; keeps dates as text, as JSON would have them."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, f"key {key.value!r} stands twice", key.start_mark)
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read(content: bytes, name: str):
    """The data of a YAML document; DocumentError in one line names file and place."""
    try:
        return yaml.load(content, Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else "text"
        raise DocumentError([f"{name}: {place}: {getattr(error, 'problem', None) or ' '.join(str(error).split())}"]) from error


def validate(data, schema_path: Path, name: str) -> list[str]:
    """What the schema has against the data, one line each. No schema file is an error too: nothing is taken unseen."""
    try:
        schema, quick = _validator(schema_path)
    except (OSError, ValueError) as error:
        return [f"{schema_path.name}: schema: cannot be read: {error}"]
    with contextlib.suppress(ValueError):  # a key that is no text: left to the other one
        if quick.is_valid(data):
            return []
    import jsonschema  # slower by far, and better at saying what is wrong: only where something is

    faults = jsonschema.Draft202012Validator(schema).iter_errors(data)
    return [f"{name}: {_where(error, data)}: {_message(error)}" for error in sorted(faults, key=lambda e: list(map(str, e.path)))]


@functools.cache
def _validator(schema_path: Path):
    schema = json.loads(schema_path.read_text(encoding="utf-8"))
    return schema, jsonschema_rs.Draft202012Validator(schema)


def _where(error, data) -> str:
    """The path of an error, list items by their id or name where they have one."""
    parts = []
    for key in error.absolute_path:
        data = data[key]
        label = data.get("id") or data.get("name") if isinstance(key, int) and isinstance(data, dict) else None
        parts.append(str(label if isinstance(label, str) else key))
    return ".".join(parts) or "top level"


def _message(error) -> str:
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = set(error.schema.get("properties", ()))
        unknown = sorted(str(key) for key in error.instance if key not in known)
        return f"unknown key {', '.join(unknown)}" + (f" (known: {', '.join(sorted(known))})" if known else "")
    if error.validator == "enum":
        return f"{_short(error.instance)} is none of {', '.join(map(str, error.validator_value))}"
    return (
        _short(error.message, 200) if "description" not in error.schema else f"{_short(error.message, 120)} ({error.schema['description']})"
    )


def _short(value, limit=60) -> str:
    text = " ".join((value if isinstance(value, str) else json.dumps(value, default=str)).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def date(text) -> datetime.date | None:
    """A date written as YYYY-MM-DD, or None."""
    try:
        return datetime.date.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def moment(text) -> datetime.datetime | None:
    """A point of time in ISO 8601, in UTC where it does not say; or None."""
    try:
        value = datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
