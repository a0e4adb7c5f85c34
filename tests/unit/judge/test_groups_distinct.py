"""Values that must differ: whoever shows what another shows is named, and what was not read is not taken for different."""

from __future__ import annotations

from fleet import check, rows_of


def card_of(judge, **serials):
    distinct = check("thing.serial", op="all_distinct", scope="cluster", each="serials", value=None, want=None)
    return judge([distinct, check()], {name: {"thing": {"serials": values, "count": 8}} for name, values in serials.items()})


def test_all_different_pass(judge):
    (row,) = rows_of(card_of(judge, n1=["a", "b"], n2=["c"]), "thing.serial")
    assert row["verdict"] == "pass"


def test_the_same_on_two_nodes_names_both(judge):
    (row,) = rows_of(card_of(judge, n1=["a", "b"], n2=["c"], n3=["b"]), "thing.serial")
    assert (row["verdict"], row["nodes"]) == ("fail", "n[1,3]")
    assert {item["actual"] for item in row["items"]} == {"b"}


def test_what_was_not_read_does_not_pass(judge):
    (row,) = rows_of(card_of(judge, n1=["a"], n2=None), "thing.serial")
    assert row["verdict"] == "not_measured"
