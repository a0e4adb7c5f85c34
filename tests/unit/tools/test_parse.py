"""tools/parse: JSON of what a parser makes of a file; everything else is one line and exit status 2."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

DF = "Filesystem 1-blocks Used Available Capacity Mounted on\n/dev/vda 100 40 60 40% /\n"


def test_json(tool, tmp_path, capsys):
    (tmp_path / "df.txt").write_text(DF)
    assert tool("parse").main(["df", str(tmp_path / "df.txt")]) == 0
    assert json.loads(capsys.readouterr().out)["filesystems"][0]["free_bytes"] == 60


def test_standard_input(tool, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(DF.encode())))
    assert tool("parse").main(["df", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["filesystems"][0]["size_bytes"] == 100


def test_a_parse_error_an_unknown_tool_and_a_missing_file_are_one_line_each(tool, tmp_path, capsys):
    (tmp_path / "bad.txt").write_text("rubbish\n\x00")
    for arguments, said in (
        (["df", str(tmp_path / "bad.txt")], "bad.txt: no header of df"),
        (["gremlin", str(tmp_path / "bad.txt")], "no parser 'gremlin'"),
        (["df", str(tmp_path / "none.txt")], "none.txt: No such file or directory"),
        (["df", str(tmp_path)], "Is a directory"),
    ):
        assert tool("parse").main(arguments) == 2
        answer = capsys.readouterr()
        assert answer.out == ""
        assert answer.err.count("\n") == 1
        assert said in answer.err


def test_the_list_names_every_parser_with_what_it_reads(tool, root, capsys):
    assert tool("parse").main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    modules = {path.stem for path in (root / "module_utils/accept_node/parsers").glob("[!_]*.py")}
    assert {line.split()[0].split(":")[0] for line in lines} == modules
    assert all(len(line.split()) > 2 for line in lines)
