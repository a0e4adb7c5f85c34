"""Standards are read strictly: what is wrong with them is named by file and key, all of it at once."""

from __future__ import annotations

import fleet
import pytest
from accept_judge import standards as standards_of
from accept_judge.documents import DocumentError
from fleet import check


def errors_of(tmp_path, checks, **files):
    with pytest.raises(DocumentError) as caught:
        standards_of.load(fleet.write_standards(tmp_path / "s", checks, **files))
    assert all("\n" not in error for error in caught.value.errors)
    return "\n".join(caught.value.errors)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"op": "is"}, "checks/thing.yml: thing.count.op: is is none of all_distinct, all_equal, between"),
        ({"op": "ge", "want": "8"}, "thing.count.want: ge wants a number"),
        ({"op": "ge", "want": None}, "thing.count.want: ge needs one"),
        ({"op": "empty"}, "thing.count.want: empty takes none"),
        ({"op": "in", "want": []}, "thing.count.want: in wants a list"),
        ({"op": "matches", "want": "("}, "thing.count.want: matches wants a regular expression"),
        ({"op": "between", "want": [1]}, "thing.count.want: between wants [low, high]"),
        ({"op": "within_pct", "want": 5}, "thing.count.want: within_pct wants {of: number, pct: number}"),
        ({"op": "version_ge", "want": 3.8}, "thing.count.want: version_ge wants a version, as text"),
        ({"each": "a[?"}, "thing.count.each: 'a[?' is no JMESPath"),
        ({"applies": "colour == 'x'"}, "thing.count.applies: unknown: colour (known: definition, form"),
        ({"want": "$gpu.nothing"}, "thing.count.want: $gpu.nothing stands in no profile, tier or baseline, and there is no default"),
        ({"op": "ge", "want": "$a.b", "default": {"value": "x", "source": "test"}}, "thing.count.default: ge wants a number"),
        ({"default": {"value": 8, "source": "test"}}, "thing.count.default: serves a want of exactly one $reference"),
        ({"default": {"value": 8}, "want": "$a.b"}, "thing.count.default: 'source' is a required property"),
        ({"source": None}, "checks/thing.yml: thing.count: 'source' is a required property"),
        ({"remedy": None}, "checks/thing.yml: thing.count: 'remedy' is a required property"),
        ({"severity": "fatal"}, "thing.count.severity: fatal is none of blocker, major, minor, info"),
        ({"sevrity": "info"}, "thing.count: unknown key sevrity (known: absent, applies"),
        ({"op": "all_equal", "want": None, "value": None}, "thing.count.op: all_equal compares many"),
    ],
)
def test_a_check_that_makes_no_sense(tmp_path, fields, part):
    assert part in errors_of(tmp_path, [check(**fields)])


def test_all_at_once(tmp_path):
    text = errors_of(tmp_path, [check(op="is"), check("thing.two", want="$no.where")])
    assert "thing.count.op" in text
    assert "thing.two.want" in text


def test_an_id_stands_once(tmp_path):
    assert "checks/thing.yml: thing.count: this id stands twice" in errors_of(tmp_path, [check(), check(title="again")])


def test_a_check_stands_in_the_file_of_its_concern(tmp_path):
    fleet.write_standards(tmp_path / "s", [check()])
    fleet.write_yaml(tmp_path / "s" / "checks" / "other.yml", [check("thing.x")])
    with pytest.raises(DocumentError, match=r"a check of thing belongs into checks/thing\.yml"):
        standards_of.load(tmp_path / "s")
    (tmp_path / "s" / "checks" / "other.yml").rename(tmp_path / "s" / "checks" / "thing_more.yml")
    assert [one["id"] for one in standards_of.load(tmp_path / "s").checks] == ["thing.count", "thing.x"]


def test_a_number_without_source(tmp_path):
    profile = {**fleet.PROFILE, "values": {"gpu.count": {"value": 8}}}
    assert "profiles/b200_hgx.yml: values.gpu.count: 'source' is a required property" in errors_of(
        tmp_path, [check()], **{"profiles/b200_hgx": profile}
    )


def test_an_id_is_its_files_name(tmp_path):
    assert "profiles/b300_hgx.yml: id: b200_hgx does not fit the file's name" in errors_of(
        tmp_path, [check()], **{"profiles/b300_hgx": fleet.PROFILE}
    )


def test_a_key_stands_once(tmp_path):
    fleet.write_standards(tmp_path / "s", [check()])
    path = tmp_path / "s" / "profiles" / "b200_hgx.yml"
    path.write_text(path.read_text(encoding="utf-8") + "title: again\n", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"profiles/b200_hgx.yml: line \d+: key 'title' stands twice"):
        standards_of.load(tmp_path / "s")


def test_no_standards(tmp_path):
    with pytest.raises(DocumentError, match="no standards here"):
        standards_of.load(tmp_path)


def test_the_digest_is_of_what_is_wanted(tmp_path):
    folder = fleet.write_standards(tmp_path / "s", [check()])
    before = standards_of.digest(folder)
    assert before == standards_of.load(folder).sha256
    (folder / "schema" / "more.json").write_text("{}", encoding="utf-8")
    assert standards_of.digest(folder) == before
    fleet.write_standards(folder, [check(want=7)])
    assert standards_of.digest(folder) != before


def test_what_is_kept_serves_until_a_file_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(standards_of, "_kept", {})
    folder = fleet.write_standards(tmp_path / "s", [check()])
    standards_of.keep(folder)
    kept = standards_of.load(folder)
    assert standards_of.load(folder) is kept
    (folder / "schema" / "other.json").write_text("{}")  # a schema says what may be believed
    assert standards_of.load(folder) is not kept
    fleet.write_standards(tmp_path / "s", [check(title="another")])
    assert standards_of.load(folder).checks[0]["title"] == "another"
