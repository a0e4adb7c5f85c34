"""Every recorded output beside its expected value: adding a pair adds a test."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from accept_node.parsers import ParseError

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PARSERS = Path(__file__).resolve().parents[3] / "module_utils" / "accept_node" / "parsers"
PAIRS = sorted(path for path in FIXTURES.glob("*/*/*.txt") if path.with_suffix(".json").exists())


def parser_of(path: Path):
    """The parser is named by the first folder; a case named `<what>@<case>.txt` is for its function parse_<what>."""
    module = importlib.import_module("accept_node.parsers." + path.parts[-3])
    return getattr(module, "parse_" + path.name.split("@")[0] if "@" in path.name else "parse")


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: "/".join(path.parts[-3:]))
def test_pair(path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8")
    if isinstance(expected, dict) and set(expected) == {"error"}:
        with pytest.raises(ParseError) as caught:
            parser_of(path)(text)
        assert expected["error"] in str(caught.value)
        assert "\n" not in str(caught.value)
    else:
        assert json.loads(json.dumps(parser_of(path)(text))) == expected


def test_every_parser_has_a_pair():
    """A parser that nobody has shown a recorded output to does not exist."""
    named = {path.parts[-3] for path in PAIRS}
    assert {path.stem for path in PARSERS.glob("*.py")} - {"__init__"} <= named
