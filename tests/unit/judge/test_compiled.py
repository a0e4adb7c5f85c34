"""What is kept of the standards is what their text says, or nothing."""

from __future__ import annotations

import marshal

import pytest
from accept_judge import documents
from accept_judge.compiled import Compiled

TEXT = b"- {id: a, want: 8, as_of: 2026-12-01}\n"
SAYS = [{"id": "a", "want": 8, "as_of": "2026-12-01"}]


@pytest.fixture
def reads(monkeypatch):
    """What was read as YAML."""
    read, seen = documents.read, []
    monkeypatch.setattr(documents, "read", lambda content, name: seen.append(content) or read(content, name))
    return seen


def once(root, text=TEXT):
    reader = Compiled(root / "standards", root)
    data = reader.read(text, "a.yml")
    reader.keep()
    return data


def test_a_text_is_read_once(tmp_path, reads):
    assert once(tmp_path) == once(tmp_path) == SAYS
    assert reads == [TEXT]


def test_another_text_is_read(tmp_path, reads):
    once(tmp_path)
    assert once(tmp_path, TEXT.replace(b"8", b"4"))[0]["want"] == 4
    assert len(reads) == 2


@pytest.mark.parametrize("damage", [b"", b"rubbish", marshal.dumps(5), marshal.dumps({b"other": []})])
def test_what_is_damaged_is_read_again(tmp_path, reads, damage):
    once(tmp_path)
    (kept,) = (tmp_path / ".cache").iterdir()
    kept.write_bytes(damage)
    assert once(tmp_path) == SAYS
    assert len(reads) == 2


def test_standards_elsewhere_are_not_kept(tmp_path):
    reader = Compiled(tmp_path / "theirs", tmp_path)
    assert reader.read(TEXT, "a.yml") == SAYS
    reader.keep()
    assert not (tmp_path / ".cache").exists()


def test_what_cannot_be_read_is_an_error_each_time(tmp_path):
    for _ in range(2):
        with pytest.raises(documents.DocumentError, match=r"a\.yml: line 2"):
            once(tmp_path, b"a: [")
