"""Parsers are imported when their tool has answered: that each name is one is seen here, not on a node."""

from __future__ import annotations

import ast
import importlib
import pathlib
import subprocess
import sys

import pytest
from accept_node import parsers

PACKAGE = pathlib.Path(parsers.__file__).parents[1]
NAMED = sorted(
    {
        (path.relative_to(PACKAGE).as_posix(), alias.name)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level and (node.module or "").split(".")[0] in ("parsers", "")
        if path.parent.name == "parsers" or node.module == "parsers"
        for alias in node.names
        if alias.name != "ParseError"
    }
)


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_every_parser_that_is_named_is_there(path, name):
    below = "parsers." if (PACKAGE / "parsers" / (name + ".py")).exists() else ""
    assert importlib.import_module("accept_node." + below + name)


def test_handing_a_parser_on_does_not_import_it():
    code = (
        "import sys; from accept_node.parsers import lscpu, lspci; hand = lscpu.parse;"
        "assert 'accept_node.parsers.lscpu' not in sys.modules;"
        "assert hand('Architecture: x86_64\\nCPU(s): 4\\n');"
        "assert 'accept_node.parsers.lscpu' in sys.modules and 'accept_node.parsers.lspci' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=str(PACKAGE.parent), stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_no_parser_says_so():
    from accept_node.parsers import no_such_tool

    with pytest.raises(ImportError):
        no_such_tool.parse("text")
