"""No parser raises anything but ParseError, whatever is done to what a tool printed."""

from __future__ import annotations

import pytest
from accept_node.parsers import ParseError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_fixture_pairs import PAIRS, parser_of

RUBBISH = [
    "",
    "\x00",
    "\ufffd\ufffd",
    "N/A",
    "[N/A]",
    "ERR!",
    "[Unknown Error]",
    "-1",
    "1e999",
    "99999999999999999999",
    "{",
    "}",
    '"',
    "<",
    "\r\n",
    "\t",
    ",",
]


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: "/".join(path.parts[-3:]))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_mutated(path, data):
    text = path.read_text(encoding="utf-8")
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, min(len(text), start + 200)))
        piece = data.draw(st.one_of(st.sampled_from(RUBBISH), st.text(max_size=8)))
        text = text[:start] + piece + text[stop:]
    if data.draw(st.booleans()):
        text = text[: data.draw(st.integers(0, len(text)))]
    assert "\n" not in refusal(parser_of(path), text)


def refusal(parser, text) -> str:
    """What a parser says against a text; any other error than ParseError fails the test by itself."""
    try:
        parser(text)
    except ParseError as error:
        return str(error)
    return ""
