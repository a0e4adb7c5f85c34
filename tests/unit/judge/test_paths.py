"""Paths: what is null on the way is unknown, and never left out."""

from __future__ import annotations

import pytest
from accept_judge.paths import Item, Unknown, fields, getter, lister, truth

DATA = {
    "gpus": [{"name": "a", "links": [1, 2], "x": 1}, {"name": "b", "links": None}],
    "nics": [{"kind": "ib"}, {"kind": None}, {"kind": "eth"}],
    "parts": {"one": {"v": 1}, "two": {"v": None}},
    "deep": {"er": {"est": 5}},
    "none_yet": None,
    "empty": [],
}


def labels(path):
    return [(item.label if isinstance(item, Item) else None) for item in lister(path)(DATA)]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("gpus", ["0", "1"]),
        ("gpus[]", ["0", "1"]),
        ("gpus[*]", ["0", "1"]),
        ("gpus[].links[]", ["0.0", "0.1", None]),
        ("gpus[*].links[*]", ["0.0", "0.1", None]),
        ("nics[?kind=='ib']", ["0", None]),
        ("nics[?kind!='ib']", [None, "2"]),
        ("nics[?kind!=`null`]", ["0", "2"]),
        ("nics[?contains(kind, 'e')]", [None, "2"]),
        ("parts.*", ["one", "two"]),
        ("parts.*.v", ["one", None]),
        ("deep.er", [""]),
        ("empty", []),
        ("empty[]", []),
        ("[gpus[0].name, none_yet]", ["0", None]),
    ],
)
def test_items(path, expected):
    assert labels(path) == expected
    assert all(isinstance(item, Item | Unknown) for item in lister(path)(DATA))


@pytest.mark.parametrize("path", ["none_yet", "none_yet[]", "nowhere", "nowhere[*].x", "nowhere[?a=='b']", "deep.*.x.y[]", "gpus[9].links"])
def test_nothing_to_list_is_not_an_empty_list(path):
    assert lister(path)(DATA) is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("deep.er.est", 5),
        ("deep.er.nothing", None),
        ("deep.nothing.est", None),
        ("gpus.name", None),
        ("gpus[0].name", "a"),
        ("gpus[-1].name", "b"),
        ("gpus[].name", ["a", "b"]),
        ("gpus[].x", None),
        ("length(gpus)", 2),
        ("length(none_yet)", None),
        ("sum(gpus[].x)", None),
        ("sum(gpus[?name=='a'].x)", 1),
        ("max_by(gpus, &name).name", "b"),
        ("not_null(none_yet, deep.er.est)", 5),
        ("gpus[].name | [0]", "a"),
        ("contains(deep, `3`)", None),
    ],
)
def test_values(path, value):
    assert getter(path)(DATA) == value


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("vendor == 'nvidia'", True),
        ("vendor != 'nvidia'", False),
        ("form == 'hgx'", None),
        ("form != 'hgx'", None),
        ("!(form == 'hgx')", None),
        ("form == 'hgx' && vendor == 'amd'", False),
        ("form == 'hgx' || vendor == 'nvidia'", True),
        ("form == 'hgx' || vendor == 'amd'", None),
        ("form == null", True),
        ("form == `null`", True),
        ("vendor != null", True),
        ("contains(['nvidia', 'amd'], vendor)", True),
        ("contains(['nvidia', 'amd'], form)", None),
        ("count > `3`", True),
        ("count > vendor", None),
        ("form", None),
        ("zero", True),
        ("off", False),
    ],
)
def test_three_valued_truth(expression, expected):
    assert truth(expression)({"vendor": "nvidia", "form": None, "count": 4, "zero": 0, "off": False}) is expected


def test_what_cannot_be_read_is_said_in_one_line():
    with pytest.raises(ValueError, match=r"is no JMESPath") as caught:
        lister("a[?")
    assert "\n" not in str(caught.value)


def test_fields():
    assert fields("sku == 'x' && contains(['a'], transport) && form != null") == {"sku", "transport", "form"}
